import { channelKinds } from '../../base/channel-kinds.ts';
import { type FieldError, refuse, refuseField } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions, computeRank, type Overwrite } from '../../base/permissions.ts';
import type { Channel, OverwriteInput } from '../../contract/channel.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { addEventInPipeline, outboxHasRoom, requireOutboxRoom } from '../events/pending-events.ts';
import {
  type Actor,
  requireGrantable,
  requirePermissions,
  requireServerChannel,
  type ServerChannelContext,
  type ServerContext,
} from '../members/access.ts';
import { type Changes, diffFields, writeAudit } from '../servers/audit.ts';
import { toChannel } from '../servers/server-view.ts';

type OverwriteBits = Pick<Overwrite, 'allow' | 'deny'>;

const noBits: OverwriteBits = { allow: 0, deny: 0 };
/** How often a change is checked again because the overwrites of the channel changed meanwhile. */
const triesMax = 20;

/**
 * The channel of an overwrite for `targetId`, a role or member below the caller's highest role; `@everyone` is below all. `existing` is the current overwrite.
 * Needs Manage Roles. 404 for an id that is neither a role nor a member, 403 `role_hierarchy` for one that is not below the caller, 400 in a thread, which uses
 * the overwrites of its channel.
 */
async function requireOverwriteContext(
  platform: Platform,
  actor: Actor,
  channelId: string,
  targetId: string,
): Promise<ServerChannelContext & { existing: Overwrite | undefined }> {
  // Reads the database and not the cache, because the write applies only to exactly what is checked here.
  const context = await requireServerChannel(
    platform,
    { ...actor, version: null, versionOf: () => Promise.resolve(null) },
    channelId,
    'Manage Roles',
  );
  const { channel } = context;
  if (!channelKinds[channel.kind].hasOverwrites)
    refuse('invalid_request', { reason: 'a thread uses the permission overwrites of its parent channel' });
  const existing = channel.overwrites.find((one) => one.id === targetId);
  await requireTargetBelowCaller(context, targetId, existing !== undefined);
  return { ...context, existing };
}

/** Refuses a target that is neither a role nor a member (404, unless it is `isKnown`) or that is not below the caller's highest role (`role_hierarchy`). */
async function requireTargetBelowCaller({ access, server, member }: ServerContext, targetId: string, isKnown = false): Promise<void> {
  const position = server.roles.findIndex((role) => role.id === targetId);
  const target = position < 0 && isId(targetId) ? await access.member(targetId) : null;
  if (position < 0 && !target && !isKnown) refuse('not_found', { what: 'role or member' });
  const rank = target ? computeRank(server, target) : Math.max(position, 0);
  if (position !== 0 && rank >= computeRank(server, member)) refuse('role_hierarchy');
}

/** The errors in the overwrites of a new channel that the schema does not find: a target that appears twice, a bit that is allowed and denied. */
export function findOverwriteErrors(overwrites: readonly Overwrite[]): FieldError[] {
  const ids = new Set<string>();
  return overwrites.flatMap(({ id, allow, deny }, at) => {
    const errors: FieldError[] = [];
    if (ids.has(id)) errors.push({ path: `/overwrites/${at}/id`, message: 'A role or member can have only one overwrite.' });
    ids.add(id);
    if (allow & deny) errors.push({ path: `/overwrites/${at}/deny`, message: 'A permission cannot be both allowed and denied.' });
    return errors;
  });
}

/**
 * Checks that the caller may set the overwrites of a new channel, which have no errors of `findOverwriteErrors`: needs Manage Roles, only bits that the caller
 * has, and only targets below their highest role.
 */
export async function checkNewOverwrites(context: ServerContext, overwrites: readonly Overwrite[]): Promise<Overwrite[]> {
  if (overwrites.length > 0) requirePermissions(context.permissions, 'Manage Roles');
  for (const { id, allow, deny } of overwrites) {
    await requireTargetBelowCaller(context, id);
    requireGrantable(context.permissions, allow | deny);
  }
  return overwrites.map(({ id, allow, deny }) => ({ id, allow, deny }));
}

/**
 * Requires the caller to have every bit that `after` changes, in the server or in this channel. Removing a denial grants as much as allowing does, so it needs
 * the bit too. The permissions in the server count so that a caller who denied a bit to `@everyone`, and so to themselves, can undo that.
 */
function requireOwnBits({ server, member, permissions }: ServerChannelContext, before: OverwriteBits, after: OverwriteBits): void {
  requireGrantable(permissions | computePermissions(server, member), (before.allow ^ after.allow) | (before.deny ^ after.deny));
}

/**
 * Replaces the overwrite of `targetId` by `replacement`. One update, made only if the target's overwrite and those that determine the caller's permissions are
 * still as they were checked; null if they have changed.
 */
async function replaceOverwrite(
  platform: EnqueuePlatform,
  { channel, server, member }: ServerChannelContext,
  targetId: string,
  replacement: Overwrite[],
): Promise<ChannelDoc | null> {
  const checkedIds = [targetId, server._id, member.userId, ...member.roles];
  const checked = channel.overwrites.filter(({ id }) => checkedIds.includes(id));
  const filterOverwrites = (cond: object): object => ({ $filter: { input: '$overwrites', as: 'one', cond } });
  const others = filterOverwrites({ $ne: ['$$one.id', { $literal: targetId }] });
  const pendingEvent = addEventInPipeline(platform, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
  const lastField = `overwrites.${limits.overwritesPerChannel - 1}`;
  const capacityFilter = checked.some(({ id }) => id === targetId) ? {} : { [lastField]: { $exists: false } };
  const unchangedExpr = { $eq: [filterOverwrites({ $in: ['$$one.id', { $literal: checkedIds }] }), { $literal: checked }] };
  const after = await platform.accessVersions.runChange({ servers: [server._id] }, () =>
    platform.db.channels.findOneAndUpdate(
      { _id: channel._id, serverId: server._id, ...outboxHasRoom, ...capacityFilter, $expr: unchangedExpr },
      [{ $set: { overwrites: { $concatArrays: [others, { $literal: replacement }] }, ...pendingEvent } }],
      { returnDocument: 'after' },
    ),
  );
  if (after) return after;
  const existing = await platform.db.channels.findOne({ _id: channel._id }, { projection: { outbox: 1 } });
  requireOutboxRoom((existing ?? refuse('not_found', { what: 'channel' })).outbox);
  return null;
}

/**
 * Sets the overwrite for `targetId` to `bits`, or removes it for null. The rule "only bits that the caller has" is checked on the overwrites that were read,
 * and these are in the filter of the write. If another request changed them meanwhile, the check runs again, so nobody changes bits that they lack. `changes`
 * is null if nothing changed.
 */
async function changeOverwrite(
  platform: EnqueuePlatform,
  actor: Actor,
  channelId: string,
  targetId: string,
  bits: OverwriteBits | null,
): Promise<{ channel: ChannelDoc; changes: Changes | null; serverId: string }> {
  for (let tries = 0; tries < triesMax; tries++) {
    const context = await requireOverwriteContext(platform, actor, channelId, targetId);
    const { channel, server, existing } = context;
    const serverId = server._id;
    requireOwnBits(context, existing ?? noBits, bits ?? noBits);
    const changes = diffFields<OverwriteBits>(existing ?? noBits, bits ?? noBits);
    if (bits === null ? !existing : existing && Object.keys(changes).length === 0) return { channel, changes: null, serverId };
    if (!existing && channel.overwrites.length >= limits.overwritesPerChannel)
      refuse('too_many_overwrites', { limit: limits.overwritesPerChannel });
    const after = await replaceOverwrite(platform, context, targetId, bits === null ? [] : [{ id: targetId, ...bits }]);
    if (!after) continue;
    platform.wake('relay-server', { serverId });
    return { channel: after, changes: { ...changes, channelId: { from: channelId, to: channelId } }, serverId };
  }
  return refuse('unavailable');
}

/**
 * Sets the overwrite of a channel for a role or member (docs/behavior/servers.md#overwrites). Refuses with `missing_permission` if the caller lacks a changed
 * bit.
 */
export async function setOverwrite(
  platform: EnqueuePlatform,
  actor: Actor,
  channelId: string,
  targetId: string,
  { allow, deny }: OverwriteInput,
): Promise<Channel> {
  const bits = { allow, deny };
  if (allow & deny) {
    await requireOverwriteContext(platform, actor, channelId, targetId);
    refuseField('/deny', 'A permission cannot be both allowed and denied.');
  }
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, bits);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_set', targetId, changes, channel });
  return toChannel(channel);
}

/** Removes the overwrite of a channel for a role or member. Changes nothing if there is none. */
export async function deleteOverwrite(platform: EnqueuePlatform, actor: Actor, channelId: string, targetId: string): Promise<void> {
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, null);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_delete', targetId, changes, channel });
}
