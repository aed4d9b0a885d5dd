import { limits } from '../../base/limits.ts';
import { computePermissions, hasPermission } from '../../base/permissions.ts';
import type { AuditAction, AuditEntry, AuditPage } from '../../contract/member.ts';
import type { BeforeQuery } from '../../contract/shared.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { AuditDoc } from '../../store/mongo/models/moderation.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { type Actor, computeChannelPermissions, requireServer, type ServerContext } from './checks.ts';

/** What changed, by field. */
export type Changes = Record<string, { from: unknown; to: unknown }>;

/** The fields of `after` whose value differs from `before`'s. */
export function diffFields<T extends object>(before: T, after: Partial<T>): Changes {
  const fields = Object.keys(after) as (keyof T & string)[];
  return Object.fromEntries(
    fields
      .filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
      .map((field) => [field, { from: before[field] ?? null, to: after[field] ?? null }]),
  );
}

/** The input of `writeAudit`. A create passes the id of its resource as `id`, so that a repeat after a crash leaves only one entry. */
export interface AuditInput {
  id?: string;
  serverId: string;
  action: AuditAction;
  targetId: string | null;
  reason?: string | null;
  changes?: Changes;
  /** The channel that the entry is about. For a thread, the overwrites are those of its parent channel. */
  channel?: Pick<ChannelDoc, '_id' | 'overwrites'>;
}

/** Adds one entry about a moderation or management write to the server's audit log (docs/behavior/servers.md#audit-log). Called after the write. */
export async function writeAudit(platform: Platform, actor: Actor, input: AuditInput): Promise<void> {
  const { id, serverId, action, targetId, reason = null, changes = {}, channel } = input;
  await insertNew(platform.db.audit, {
    _id: id ?? platform.ids.next(),
    serverId,
    actorId: actor.id,
    action,
    targetId,
    reason,
    changes,
    ...(channel ? { channelId: channel._id, overwrites: channel.overwrites } : {}),
    createdAt: new Date(platform.now()),
  });
}

const toAuditEntry = ({ _id, actorId, action, targetId, reason, changes, createdAt }: AuditDoc): AuditEntry => ({
  id: _id,
  actorId,
  action,
  targetId,
  reason,
  changes,
  createdAt: createdAt.toISOString(),
});

/** The channel that an entry is about; null if it is about none. Older entries have no `channelId`: for them, the channel is the target or a change. */
function getChannelId({ action, targetId, changes, channelId }: AuditDoc): string | null {
  if (channelId !== undefined) return channelId;
  if (action.startsWith('channel_')) return targetId;
  const channelChange = changes.channelId?.to ?? changes.channelId?.from;
  return typeof channelChange === 'string' ? channelChange : null;
}

/**
 * Whether the caller may view the channel that an entry is about. For a deleted channel: whether the caller could have viewed it, by the overwrites of that
 * time. Callers who could not must not learn its name.
 */
async function canSeeChanges({ access, server, member, permissions }: ServerContext, entry: AuditDoc): Promise<boolean> {
  const channelId = getChannelId(entry);
  if (channelId === null || hasPermission(permissions, 'Administrator')) return true;
  const channel = await access.channel(channelId);
  if (channel) return hasPermission(await computeChannelPermissions(access, member, channel), 'View Channel');
  return entry.overwrites !== undefined && hasPermission(computePermissions(server, member, entry.overwrites), 'View Channel');
}

/**
 * Returns a page of a server's audit log, newest first; `before` is exclusive. Needs Manage Server. If an entry is about a channel that the caller may not
 * view, its `changes` are empty.
 */
export async function listAudit(platform: Platform, actor: Actor, serverId: string, page: BeforeQuery): Promise<AuditPage> {
  const context = await requireServer(platform, actor, serverId, 'Manage Server');
  const limit = page.limit ?? limits.pageDefault;
  const found = await platform.db.audit
    .find({ serverId, ...(page.before === undefined ? {} : { _id: { $lt: page.before } }) })
    .sort({ _id: -1 })
    .limit(limit + 1)
    .toArray();
  await context.access.channels(); // loads all channels in one query
  const items = await Promise.all(
    found.slice(0, limit).map(async (entry) => toAuditEntry((await canSeeChanges(context, entry)) ? entry : { ...entry, changes: {} })),
  );
  return { items, hasMore: found.length > limit };
}
