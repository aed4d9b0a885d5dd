import { channelKinds } from '../../base/channel-kinds.ts';
import { type FieldError, refuse, refuseField } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import {
  computePermissions,
  computeRank,
  hasPermission,
  type Overwrite,
  permissionBits,
  toPermissionNames,
} from '../../base/permissions.ts';
import type { Channel, OverwriteInput } from '../../contract/channel.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { type Changes, diffFields, writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions, requireServerChannel, type ServerChannelContext, type ServerContext } from '../access/checks.ts';
import { addEventInPipeline, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { toChannel } from '../views/servers.ts';

type OverwriteBits = Pick<Overwrite, 'allow' | 'deny'>;

const noBits: OverwriteBits = { allow: 0, deny: 0 };
/** How often a change is checked again because the overwrites of the channel changed meanwhile. */
const triesMax = 20;

/** The fields that errors about one entry name, as JSON pointers. */
interface EntryPaths {
  target: string;
  allow: string;
  deny: string;
}

const samePaths = (path: string): EntryPaths => ({ target: path, allow: path, deny: path });
/** The fields of `PUT` of an overwrite. `DELETE` has no body, so its errors name the part of the path. */
const putPaths: EntryPaths = { target: '/roleOrUserId', allow: '/allow', deny: '/deny' };
const deletePaths = samePaths('/roleOrUserId');
const syncPaths = samePaths('/parentId');

const canView = (bits: number): boolean => hasPermission(bits, 'View Channel');

/**
 * The channel of a change of overwrites. Needs Manage Roles. 400 in a thread, which uses the overwrites of its channel. It is read from the database and not
 * the cache, because the write applies only to exactly what is checked here.
 */
async function requireOverwriteContext(platform: Platform, actor: Actor, channelId: string): Promise<ServerChannelContext> {
  const uncached = { ...actor, version: null, versionOf: () => Promise.resolve(null) };
  const context = await requireServerChannel(platform, uncached, channelId, 'Manage Roles');
  if (!channelKinds[context.channel.kind].hasOverwrites)
    refuse('invalid_request', { reason: 'a thread uses the permission overwrites of its parent channel' });
  return context;
}

/**
 * Refuses a target that is neither a role nor a member (404), and a role that is not below the caller's highest role unless the caller has it
 * (`role_hierarchy`). Members have no rank here: an entry gives and takes only permissions that the caller has.
 */
async function requireTarget({ access, server, member }: ServerContext, targetId: string, { target: path }: EntryPaths): Promise<void> {
  const position = server.roles.findIndex((role) => role.id === targetId);
  if (position < 0) {
    const isMember = isId(targetId) && (targetId === member.userId || (await access.member(targetId)) !== null);
    if (!isMember)
      refuse('not_found', { what: 'role or member' }, { errors: [{ path, message: 'Choose a role or member of this server.' }] });
  } else if (position > 0 && !member.roles.includes(targetId) && position >= computeRank(server, member))
    refuse('role_hierarchy', undefined, { errors: [{ path, message: 'Choose a role that you have or that is below your highest role.' }] });
}

/** Requires `callerBits` to have every bit that an entry changes. Removing a denial grants as much as allowing does, so it needs the bit too. */
function requireChangeable(callerBits: number, before: OverwriteBits, after: OverwriteBits, paths: EntryPaths): void {
  const lacked = { allow: (before.allow ^ after.allow) & ~callerBits, deny: (before.deny ^ after.deny) & ~callerBits };
  const missing = toPermissionNames(lacked.allow | lacked.deny);
  if (missing.length === 0) return;
  const errors = (['allow', 'deny'] as const)
    .filter((field) => lacked[field] !== 0)
    .map((field) => ({ path: paths[field], message: `You lack ${toPermissionNames(lacked[field]).join(', ')}.` }));
  refuse('missing_permission', { permissions: missing.join(', ') }, { missing, errors });
}

/**
 * The bits that the caller may change in the entry of `targetId`: those that they have in the channel or in the server. The server's count so that a caller who
 * denied a bit to `@everyone`, and so to themselves, can undo that. In an entry for themselves and their own roles, only a denial to `@everyone` is ignored:
 * nobody lifts a denial that was made for them.
 */
function getChangeableBits({ channel, server, member, permissions }: ServerChannelContext, targetId: string): number {
  const isOwn = targetId === member.userId || member.roles.includes(targetId);
  const others = channel.overwrites.filter(({ id }) => id !== server._id);
  return permissions | (isOwn ? computePermissions(server, member, others) : computePermissions(server, member));
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
 * Returns the overwrites of a new channel for which `given`, without errors of `findOverwriteErrors`, was sent. Each needs what a `PUT` needs, with the caller's
 * permissions in the server. A creator who could not view the channel is allowed to by an entry of their own; if they sent one that denies it, they get 400.
 */
export async function createOverwrites(context: ServerContext, given: readonly Overwrite[]): Promise<Overwrite[]> {
  const { server, member, permissions } = context;
  if (given.length > 0) requirePermissions(permissions, 'Manage Roles');
  for (const [at, overwrite] of given.entries()) {
    const path = `/overwrites/${at}`;
    const paths = { target: `${path}/id`, allow: `${path}/allow`, deny: `${path}/deny` };
    await requireTarget(context, overwrite.id, paths);
    requireChangeable(permissions, noBits, overwrite, paths);
  }
  const overwrites = given.map(({ id, allow, deny }) => ({ id, allow, deny }));
  // Nobody is given View Channel who lacks it in the server.
  if (!canView(permissions) || canView(computePermissions(server, member, overwrites))) return overwrites;
  const view = permissionBits['View Channel'];
  const at = overwrites.findIndex(({ id }) => id === member.userId);
  const own = overwrites[at] ?? { id: member.userId, ...noBits };
  if (own.deny & view) refuseField(`/overwrites/${at}/deny`, 'You could not see the channel. Do not deny yourself View Channel.');
  if (at < 0 && overwrites.length >= limits.overwritesPerChannel)
    refuseField('/overwrites', `You could not see the channel. Leave room for an entry that allows you View Channel.`);
  const seeing = { ...own, allow: own.allow | view };
  return at < 0 ? [...overwrites, seeing] : overwrites.with(at, seeing);
}

/** The overwrites of the channel for which `cond` is true, in an aggregation. */
const filterOverwrites = (cond: object): object => ({ $filter: { input: '$overwrites', as: 'one', cond } });

/**
 * Replaces the overwrites of the channel by `replacement`, a value of an aggregation. One update, made only if the overwrites of `checkedIds` are still as they
 * were checked, and with `isAdded` there is room for one more; null if they have changed.
 */
async function writeOverwrites(
  platform: EnqueuePlatform,
  { channel, server }: ServerChannelContext,
  { checkedIds, isAdded, replacement }: { checkedIds: readonly string[] | null; isAdded: boolean; replacement: object },
): Promise<ChannelDoc | null> {
  const checked = checkedIds ? channel.overwrites.filter(({ id }) => checkedIds.includes(id)) : channel.overwrites;
  const current = checkedIds ? filterOverwrites({ $in: ['$$one.id', { $literal: checkedIds }] }) : '$overwrites';
  const capacityFilter = isAdded ? { [`overwrites.${limits.overwritesPerChannel - 1}`]: { $exists: false } } : {};
  const unchangedExpr = { $eq: [current, { $literal: checked }] };
  const after = await platform.accessVersions.runChange({ servers: [server._id] }, () => {
    const pendingEvent = addEventInPipeline(platform, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
    return platform.db.channels.findOneAndUpdate(
      { _id: channel._id, serverId: server._id, ...outboxHasRoom, ...capacityFilter, $expr: unchangedExpr },
      [{ $set: { overwrites: replacement, ...pendingEvent } }],
      { returnDocument: 'after' },
    );
  });
  if (after) return after;
  const existing = await platform.db.channels.findOne({ _id: channel._id }, { projection: { outbox: 1 } });
  requireOutboxRoom((existing ?? refuse('not_found', { what: 'channel' })).outbox);
  return null;
}

/** Refuses a change after which the caller could not view the channel, with an error at `path`. */
function requireStillVisible({ server, member }: ServerContext, overwrites: readonly Overwrite[], path: string): void {
  if (!canView(computePermissions(server, member, overwrites)))
    refuseField(path, 'You could no longer see this channel. Allow yourself View Channel first, or ask someone who keeps access.');
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
  const paths = bits ? putPaths : deletePaths;
  for (let tries = 0; tries < triesMax; tries++) {
    const context = await requireOverwriteContext(platform, actor, channelId);
    const { channel, server, member } = context;
    const serverId = server._id;
    const existing = channel.overwrites.find((one) => one.id === targetId);
    if (!existing || server.roles.some(({ id }) => id === targetId)) await requireTarget(context, targetId, paths);
    if (bits && bits.allow & bits.deny) refuseField('/deny', 'A permission cannot be both allowed and denied.');
    requireChangeable(getChangeableBits(context, targetId), existing ?? noBits, bits ?? noBits, paths);
    const changes = diffFields<OverwriteBits>(existing ?? noBits, bits ?? noBits);
    if (bits === null ? !existing : existing && Object.keys(changes).length === 0) return { channel, changes: null, serverId };
    if (!existing && channel.overwrites.length >= limits.overwritesPerChannel)
      refuse('too_many_overwrites', { limit: limits.overwritesPerChannel });
    const own = bits === null ? [] : [{ id: targetId, ...bits }];
    const others = channel.overwrites.filter(({ id }) => id !== targetId);
    requireStillVisible(context, [...others, ...own], bits && bits.deny & permissionBits['View Channel'] ? paths.deny : paths.allow);
    const after = await writeOverwrites(platform, context, {
      checkedIds: [targetId, serverId, member.userId, ...member.roles],
      isAdded: !existing,
      replacement: { $concatArrays: [filterOverwrites({ $ne: ['$$one.id', { $literal: targetId }] }), { $literal: own }] },
    });
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
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, { allow, deny });
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_set', targetId, changes, channel });
  return toChannel(channel);
}

/** Removes the overwrite of a channel for a role or member. Changes nothing if there is none. */
export async function deleteOverwrite(platform: EnqueuePlatform, actor: Actor, channelId: string, targetId: string): Promise<void> {
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, null);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_delete', targetId, changes, channel });
}

/**
 * Replaces the overwrites of a channel by those of its category. Needs Manage Roles; each entry that changes follows the rules of `PUT`. Refuses with 400 a
 * channel outside any category.
 */
export async function syncOverwrites(platform: EnqueuePlatform, actor: Actor, channelId: string): Promise<Channel> {
  for (let tries = 0; tries < triesMax; tries++) {
    const context = await requireOverwriteContext(platform, actor, channelId);
    const { access, channel, server } = context;
    const category = channel.parentId === null ? null : await access.channel(channel.parentId);
    if (!category) return refuseField('/parentId', 'This channel is not in a category.');
    const { overwrites } = category;
    const ids = new Set([...channel.overwrites, ...overwrites].map(({ id }) => id));
    for (const id of ids) {
      const before = channel.overwrites.find((one) => one.id === id) ?? noBits;
      const after = overwrites.find((one) => one.id === id) ?? noBits;
      if (before.allow === after.allow && before.deny === after.deny) continue;
      if (server.roles.some((role) => role.id === id)) await requireTarget(context, id, syncPaths);
      requireChangeable(getChangeableBits(context, id), before, after, syncPaths);
    }
    requireStillVisible(context, overwrites, syncPaths.target);
    const changes = diffFields({ overwrites: channel.overwrites }, { overwrites });
    if (Object.keys(changes).length === 0) return toChannel(channel);
    const after = await writeOverwrites(platform, context, { checkedIds: null, isAdded: false, replacement: { $literal: overwrites } });
    if (!after) continue;
    platform.wake('relay-server', { serverId: server._id });
    await writeAudit(platform, actor, { serverId: server._id, action: 'channel_update', targetId: channelId, changes, channel: after });
    return toChannel(after);
  }
  return refuse('unavailable');
}
