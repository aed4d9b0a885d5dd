import { toPermissionNames } from '../../../../lib/base/permissions.ts';
import type { AuditEntry } from '../../../../lib/contract/member.ts';
import type { Server, ServerType } from '../../../../lib/contract/server.ts';
import { nameOf, userOf } from '../../state/people.ts';
import { channels } from '../../state/servers.ts';
import { categoryNames } from '../discovery/categories.ts';
import { serverTypeNames } from '../discovery/type-marks.tsx';
import { contentModeNames, kindNames } from './channels/kinds.ts';

/** The sentence of each action, as it follows the actor's name. `{}` is replaced by the target. */
const sentences: Record<string, string> = {
  server_update: 'changed the server settings',
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
  member_unban: 'unbanned {}',
  invite_create: 'created the invite {}',
  invite_delete: 'revoked the invite {}',
  follow_create: 'made {} follow an announcement channel',
  follow_delete: 'stopped {} from following an announcement channel',
  webhook_create: 'created the webhook {}',
  webhook_update: 'changed the webhook {}',
  webhook_delete: 'deleted the webhook {}',
  message_crosspost: 'published another member’s message',
  message_delete: 'deleted another member’s message',
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
  messageRetentionDays: 'Delete messages after (days)',
  community: 'Community',
  rulesChannelId: 'Rules channel',
  updatesChannelId: 'Updates channel',
  listed: 'Listed in Discovery',
  category: 'Category',
  description: 'Description',
  tags: 'Keywords',
  kind: 'Type',
  topic: 'Topic',
  slowmodeSecs: 'Slow mode (seconds)',
  contentMode: 'Content',
  parentId: 'Category',
  autoArchiveMinutes: 'Archive after (minutes)',
  archived: 'Archived',
  overwrites: 'Channel permissions',
  allow: 'Allowed',
  deny: 'Denied',
  channelId: 'Channel',
  sourceId: 'Announcement channel',
  color: 'Color',
  hoist: 'Show members separately',
  position: 'Position',
  permissions: 'Permissions',
  roles: 'Role',
  reason: 'Reason',
};

const bitFields = ['allow', 'deny', 'permissions'];

/** Returns the name of a channel, role or account; returns the id itself when it is not known. */
function nameOfId(server: Server, id: string): string {
  const role = server.roles.find((one) => one.id === id);
  const channel = channels.value.get(id);
  if (channel) return channel.kind === 'category' ? (channel.name ?? '') : `#${channel.name}`;
  return role?.name ?? (userOf(id) ? nameOf(id) : id);
}

/** Formats one value of a change. */
function valueOf(server: Server, field: string, value: unknown): string {
  if (value === null || value === undefined || value === '') return 'none';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (field === 'color' && typeof value === 'number') return `#${value.toString(16).padStart(6, '0')}`;
  if (typeof value === 'number') return bitFields.includes(field) ? toPermissionNames(value).join(', ') || 'none' : String(value);
  if (Array.isArray(value)) return value.map((one) => valueOf(server, field, one)).join(', ') || 'none';
  if (field === 'overwrites' && typeof value === 'object' && 'id' in value) return nameOfId(server, String(value.id));
  if (typeof value !== 'string') return JSON.stringify(value);
  if (field === 'iconUrl') return 'an image';
  if (field === 'kind') return kindNames[value as keyof typeof kindNames] ?? value;
  if (field === 'contentMode') return contentModeNames[value as keyof typeof contentModeNames] ?? value;
  if (field === 'types') return serverTypeNames[value as ServerType]?.[0] ?? value;
  if (field === 'category') return categoryNames[value as keyof typeof categoryNames] ?? value;
  return /^\d{19}$/.test(value) ? nameOfId(server, value) : value;
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
  const isCreation = /_(create|add)$/.test(action);
  const isRemoval = /_(delete|remove)$/.test(action);
  return Object.entries(changes)
    .filter(([field]) => field !== 'name' || !(isCreation || isRemoval))
    .map(([field, { from, to }]) => {
      const isPermissions = bitFields.includes(field) && typeof from === 'number' && typeof to === 'number';
      const common = isPermissions ? from & to : 0;
      const before = valueOf(server, field, isPermissions ? from & ~common : from);
      const after = valueOf(server, field, isPermissions ? to & ~common : to);
      return { field: fields[field] ?? field, from: isCreation ? after : before, to: isRemoval ? before : after };
    });
}

/** Returns the name of who caused an entry. */
export const actorOf = ({ actorId }: AuditEntry): string => (userOf(actorId) ? nameOf(actorId) : `Account ${actorId}`);

/** Returns the sentence of an entry, as it follows the actor's name. For a deleted target, the name is taken from the changes. */
export function sentenceOf(server: Server, { action, targetId, changes }: AuditEntry): string {
  const oldName = changes.name?.to ?? changes.name?.from;
  const known = targetId === null ? '' : nameOfId(server, targetId);
  const target = known === targetId && typeof oldName === 'string' ? oldName : known;
  return (sentences[action] ?? action.replaceAll('_', ' ')).replace('{}', () => target);
}
