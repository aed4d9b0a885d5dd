import type { Permission } from '../../../lib/base/permissions.ts';

/** What each permission allows, in one or two sentences, in the documented order (docs/behavior/servers.md#permissions). */
export const permissionTexts: Readonly<Record<Permission, string>> = {
  'View Channel': 'See channels and read their messages. Without it no other permission applies in a channel.',
  'Send Messages': 'Write messages, start threads and use slash commands.',
  'Attach Files': 'Add images and other files to messages.',
  'Add Reactions': 'Add new emoji reactions to messages. Everyone can join an existing reaction.',
  'Mention Everyone': 'Notify everyone who can see a channel with @everyone and @here.',
  'Manage Messages': 'Delete, pin and publish messages of others, and write without slow mode.',
  'Manage Channels': 'Create, edit and delete channels and categories, and archive threads.',
  'Manage Roles': 'Create, edit and assign roles below their own highest role, and set their channel permissions.',
  'Manage Server': 'Change the server’s name, icon, Community and Discovery settings, add bots, manage invites and read the audit log.',
  'Manage Webhooks': 'Create webhooks, see their secret URLs, and make channels follow announcements.',
  'Kick Members': 'Remove members whose highest role is lower. They can rejoin with an invite.',
  'Ban Members': 'Ban accounts whose highest role is lower, and see and remove bans.',
  Administrator: 'All of the above in every channel, even where a channel denies it. Give it only to people you fully trust.',
};

/** Every permission, in the order of `permissionTexts`. */
export const allPermissionNames = Object.keys(permissionTexts) as readonly Permission[];
