import type { Permission } from '../../../lib/base/permissions.ts';

/** What each permission lets a bot do, in the spec's order. */
export const permissionHelp: Record<Permission, string> = {
  'View Channel': 'See channels, read their messages and answer commands there. Without it nothing else counts.',
  'Send Messages': 'Post messages and start threads.',
  'Attach Files': 'Post files with its messages.',
  'Add Reactions': 'Add a new emoji to a message; joining one that stands there needs no permission.',
  'Mention Everyone': 'Ping @everyone, @here and whole roles.',
  'Manage Messages': 'Delete and pin anyone’s messages, and crosspost them; slowmode does not count for it.',
  'Manage Channels': 'Make, change and delete channels; slowmode does not count for it.',
  'Manage Roles': 'Give and take roles below its own highest one, and change what they may do in channels.',
  'Manage Server': 'Change the server’s settings, read its audit log and add bots.',
  'Manage Webhooks': 'Make, rename and delete webhooks, and read their URLs.',
  'Kick Members': 'Remove people below its highest role; they can come back with an invite.',
  'Ban Members': 'Remove people below its highest role for good.',
  Administrator: 'Everything, in every channel. Give it only to a bot that you run yourself.',
};
