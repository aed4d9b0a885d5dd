import type { Permission } from '../../../lib/base/permissions.ts';

/** What each permission lets someone do, in one sentence, in the spec's order. */
export const permissionTexts: Readonly<Record<Permission, string>> = {
  'View Channel': 'See channels and read what was written in them; without it nothing else counts there.',
  'Send Messages': 'Write messages, start threads and use slash commands.',
  'Attach Files': 'Add images and other files to messages.',
  'Add Reactions': 'Add a new emoji to a message; joining one that is there already is open to everyone.',
  'Mention Everyone': 'Ping all who can see a channel with @everyone and @here.',
  'Manage Messages': 'Delete and pin messages of others, crosspost them, and write without waiting for slow mode.',
  'Manage Channels': 'Make, change and delete channels and categories, and archive threads.',
  'Manage Roles': 'Make and change roles below their own highest, hand them out, and set what channels allow them.',
  'Manage Server': 'Change the name, icon, Community and Discovery of the server, add bots, manage invites and read the audit log.',
  'Manage Webhooks': 'Make webhooks and see their secret addresses, and let channels follow announcements.',
  'Kick Members': 'Remove members whose highest role is below their own; they can come back with an invite.',
  'Ban Members': 'Keep accounts out whose highest role is below their own, see the bans and lift them.',
  Administrator: 'Do all of the above in every channel, whatever a channel denies. Give it only to those you trust with everything.',
};

/** Every permission, in the spec's order. */
export const allPermissionNames = Object.keys(permissionTexts) as readonly Permission[];
