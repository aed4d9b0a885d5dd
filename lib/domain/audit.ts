import { limits } from '../base/limits.ts';
import type { AuditEntry, AuditPage } from '../contract/server.ts';
import type { BackPage } from '../contract/shared.ts';
import { trusted } from '../store/database.ts';
import { insertNew } from '../store/insert.ts';
import type { AuditDoc } from '../store/models/moderation.ts';
import type { Platform } from '../store/platform.ts';
import { type Actor, inServer } from './access.ts';

/** What an audit entry tells of: the resource, then what was done to it. */
export type AuditAction =
  | 'server_update'
  | 'channel_create'
  | 'channel_update'
  | 'channel_delete'
  | 'overwrite_set'
  | 'overwrite_delete'
  | 'role_create'
  | 'role_update'
  | 'role_delete'
  | 'member_role_add'
  | 'member_role_remove'
  | 'member_kick'
  | 'member_ban'
  | 'member_unban'
  | 'invite_create'
  | 'invite_delete'
  | 'follow_create'
  | 'follow_delete'
  | 'webhook_create'
  | 'webhook_update'
  | 'webhook_delete'
  | 'message_crosspost'
  | 'bot_add'
  | 'message_delete'
  | 'message_pin'
  | 'message_unpin';

/** What changed, by field. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** The fields of `after` whose value differs from `before`'s. */
export function changesOf<T extends object>(before: T, after: Partial<T>): Changes {
  const fields = Object.keys(after) as (keyof T & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [field, { from: before[field] ?? null, to: after[field] ?? null }]),
  );
}

/** What `writeAudit` is told. `id`: a create passes its resource's id, so that one taken up after a crash leaves one entry. */
export interface AuditInput {
  id?: string;
  serverId: string;
  action: AuditAction;
  targetId: string | null;
  reason?: string | null;
  changes?: Changes;
}

/** Leaves one entry of a moderation or Manage-something write in the server's audit log (decisions 3). Called after the write. */
export async function writeAudit(platform: Platform, actor: Actor, input: AuditInput): Promise<void> {
  const { id, serverId, action, targetId, reason = null, changes = {} } = input;
  await insertNew(platform.db.audit, {
    _id: id ?? platform.ids.next(),
    serverId,
    actorId: actor.id,
    action,
    targetId,
    reason,
    changes,
    createdAt: new Date(platform.now()),
  });
}

const entryOf = ({ _id, actorId, action, targetId, reason, changes, createdAt }: AuditDoc): AuditEntry => ({
  id: _id,
  actorId,
  action,
  targetId,
  reason,
  changes,
  createdAt: createdAt.toISOString(),
});

/** A page of a server's audit log, newest first; `before` is exclusive. Needs Manage Server. */
export async function listAudit(platform: Platform, actor: Actor, serverId: string, page: BackPage): Promise<AuditPage> {
  await inServer(platform, actor, serverId, 'Manage Server');
  const limit = page.limit ?? limits.pageDefault;
  const found = await platform.db.audit
    .find({ serverId, ...(page.before === undefined ? {} : { _id: trusted({ $lt: page.before }) }) })
    .sort({ _id: -1 })
    .limit(limit + 1)
    .lean();
  return { items: found.slice(0, limit).map(entryOf), hasMore: found.length > limit };
}
