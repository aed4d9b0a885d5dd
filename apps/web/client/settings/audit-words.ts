import { permissionNames } from '../../../../lib/base/permissions.ts';
import type { AuditEntry, Server } from '../../../../lib/contract/server.ts';
import { faceOf, nameOf } from '../../state/people.ts';
import { channels } from '../../state/servers.ts';
import { categoryNames } from '../discovery/categories.ts';

/** The sentence of each action, as it follows the actor's name. `{}` is replaced by the target. */
const sentences: Record<string, string> = {
  server_update: 'changed the server',
  channel_create: 'created the channel {}',
  channel_update: 'changed the channel {}',
  channel_delete: 'deleted the channel {}',
  overwrite_set: 'set the channel permissions of {}',
  overwrite_delete: 'removed the channel permissions of {}',
  role_create: 'created the role {}',
  role_update: 'changed the role {}',
  role_delete: 'deleted the role {}',
  member_role_add: 'gave {} a role',
  member_role_remove: 'removed a role from {}',
  member_kick: 'kicked {}',
  member_ban: 'banned {}',
  member_unban: 'removed the ban of {}',
  invite_create: 'created the invite {}',
  invite_delete: 'revoked the invite {}',
  follow_create: 'made {} follow an announcement channel',
  follow_delete: 'stopped {} following an announcement channel',
  webhook_create: 'created the webhook {}',
  webhook_update: 'changed the webhook {}',
  webhook_delete: 'deleted the webhook {}',
  message_crosspost: 'published a message of someone else',
  message_delete: 'deleted a message of someone else',
  message_pin: 'pinned a message',
  message_unpin: 'unpinned a message',
  bot_add: 'added the bot {}',
};

const fields: Record<string, string> = {
  name: 'Name',
  iconUrl: 'Icon',
  invitesPaused: 'Invites paused',
  ownerId: 'Owner',
  types: 'Server types',
  community: 'Community',
  rulesChannelId: 'Rules channel',
  updatesChannelId: 'Updates channel',
  listed: 'Listed in Discovery',
  category: 'Category',
  description: 'Description',
  tags: 'Keywords',
  kind: 'Kind',
  topic: 'Topic',
  slowmodeSecs: 'Slow mode in seconds',
  contentMode: 'Content',
  parentId: 'Category',
  autoArchiveMinutes: 'Archive after minutes',
  archived: 'Archived',
  allow: 'Allowed',
  deny: 'Denied',
  channelId: 'Channel',
  sourceId: 'Announcement channel',
  color: 'Colour',
  hoist: 'Shown separately',
  position: 'Position',
  permissions: 'Permissions',
  roles: 'Role',
  reason: 'Reason',
};

const bitFields = ['allow', 'deny', 'permissions'];

/** Returns the name of a channel, role or account; returns the id itself when it is not known. */
function named(server: Server, id: string): string {
  const role = server.roles.find((one) => one.id === id);
  const channel = channels.value.get(id);
  if (channel) return channel.kind === 'category' ? (channel.name ?? '') : `#${channel.name}`;
  return role?.name ?? (faceOf(id) ? nameOf(id) : id);
}

/** Formats one value of a change. */
function valueOf(server: Server, field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'nothing';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value === 'number') return bitFields.includes(field) ? permissionNames(value).join(', ') || 'nothing' : String(value);
  if (Array.isArray(value)) return value.map((one) => valueOf(server, field, one)).join(', ') || 'nothing';
  if (typeof value !== 'string') return JSON.stringify(value);
  if (field === 'iconUrl') return 'a picture';
  if (field === 'category') return categoryNames[value as keyof typeof categoryNames] ?? value;
  return /^\d{19}$/.test(value) ? named(server, value) : value;
}

/** One change of an entry: the field and its old and new value. Both values are the same when the target was created or deleted. */
export interface AuditChange {
  field: string;
  from: string;
  to: string;
}

/**
 * Returns the changes of an entry as text. For permissions it lists only those that were added or removed. The name of a created or deleted target is left
 * out, because it is in the sentence.
 */
export function changesOf(server: Server, { action, changes }: AuditEntry): AuditChange[] {
  const made = /_(create|add)$/.test(action);
  const gone = /_(delete|remove)$/.test(action);
  return Object.entries(changes)
    .filter(([field]) => field !== 'name' || !(made || gone))
    .map(([field, { from, to }]) => {
      const bits = bitFields.includes(field) && typeof from === 'number' && typeof to === 'number';
      const kept = bits ? from & to : 0;
      const was = valueOf(server, field, bits ? from & ~kept : from);
      const is = valueOf(server, field, bits ? to & ~kept : to);
      return { field: fields[field] ?? field, from: made ? is : was, to: gone ? was : is };
    });
}

/** Returns the name of who caused an entry. */
export const actorOf = ({ actorId }: AuditEntry): string => (faceOf(actorId) ? nameOf(actorId) : `The account ${actorId}`);

/** Returns the sentence of an entry, as it follows the actor's name. For a deleted target, the name is taken from the changes. */
export function sentenceOf(server: Server, { action, targetId, changes }: AuditEntry): string {
  const was = changes.name?.to ?? changes.name?.from;
  const known = targetId === null ? '' : named(server, targetId);
  const target = known === targetId && typeof was === 'string' ? was : known;
  return (sentences[action] ?? action.replaceAll('_', ' ')).replace('{}', () => target);
}
