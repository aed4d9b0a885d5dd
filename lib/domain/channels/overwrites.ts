import { refuse, refuseField } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { type Overwrite, permissionsOf, rankOf } from '../../base/permissions.ts';
import type { Channel, OverwriteInput } from '../../contract/channel.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { alsoOwes, requireRoom, withRoom } from '../events/pending-events.ts';
import { type Actor, type InChannel, type InServer, inChannel, require, requireGrantable } from '../members/access.ts';
import { type Changes, changesOf, writeAudit } from '../servers/audit.ts';
import { channelOf } from '../servers/server-view.ts';

type Bits = Pick<Overwrite, 'allow' | 'deny'>;

const nothing: Bits = { allow: 0, deny: 0 };
/** How often a change is checked again because the overwrites of the channel changed meanwhile. */
const triesMax = 20;

/**
 * The channel of an overwrite for `targetId`, a role or member below the caller's highest role; `@everyone` is below all. `standing` is the current overwrite.
 * Needs Manage Roles. 404 for an id that is neither a role nor a member, 403 `role_hierarchy` for one that is not below the caller, 400 in a thread, which uses
 * the overwrites of its channel.
 */
async function placeOf(
  platform: Platform,
  actor: Actor,
  channelId: string,
  targetId: string,
): Promise<InChannel & { standing: Overwrite | undefined }> {
  // Reads the database and not the cache, because the write applies only to exactly what is checked here.
  const place = await inChannel(platform, { ...actor, version: null, versionOf: () => Promise.resolve(null) }, channelId, 'Manage Roles');
  const { channel } = place;
  if (channel.kind === 'thread') refuse('invalid_request', { reason: 'a thread uses the permission overwrites of its parent channel' });
  const standing = channel.overwrites.find((one) => one.id === targetId);
  await requireTargetBelow(place, targetId, standing !== undefined);
  return { ...place, standing };
}

/** Refuses a target that is neither a role nor a member (404, unless it is `known`) or that is not below the caller's highest role (`role_hierarchy`). */
async function requireTargetBelow({ access, server, member }: InServer, targetId: string, known = false): Promise<void> {
  const position = server.roles.findIndex((role) => role.id === targetId);
  const target = position < 0 && isId(targetId) ? await access.member(targetId) : null;
  if (position < 0 && !target && !known) refuse('not_found', { what: 'role or member' });
  const rank = target ? rankOf(server, target) : Math.max(position, 0);
  if (position !== 0 && rank >= rankOf(server, member)) refuse('role_hierarchy');
}

/**
 * Checks the overwrites of a new channel by the rules for setting one: needs Manage Roles, only bits that the caller has, only targets below their highest
 * role, and each target once.
 */
export async function checkNewOverwrites(place: InServer, overwrites: readonly Overwrite[]): Promise<Overwrite[]> {
  if (overwrites.length > 0) require(place.permissions, 'Manage Roles');
  const ids = new Set<string>();
  for (const [at, { id, allow, deny }] of overwrites.entries()) {
    if (ids.has(id)) refuseField(`/overwrites/${at}/id`, 'is in the list twice');
    ids.add(id);
    if (allow & deny) refuseField(`/overwrites/${at}/deny`, 'holds a bit that allow holds as well');
    await requireTargetBelow(place, id);
    requireGrantable(place.permissions, allow | deny);
  }
  return overwrites.map(({ id, allow, deny }) => ({ id, allow, deny }));
}

/**
 * Requires the caller to have every bit that `now` changes, in the server or in this channel. Removing a denial grants as much as allowing does, so it needs
 * the bit too. The permissions in the server count so that a caller who denied a bit to `@everyone`, and so to themselves, can undo that.
 */
function requireOwnBits({ server, member, permissions }: InChannel, before: Bits, now: Bits): void {
  requireGrantable(permissions | permissionsOf(server, member), (before.allow ^ now.allow) | (before.deny ^ now.deny));
}

/**
 * Replaces the overwrite of `targetId` by `added`. One update, made only if the target's overwrite and those that determine the caller's permissions are still
 * as they were checked; null if they have changed.
 */
async function replaceOverwrite(
  platform: EnqueuePlatform,
  { channel, server, member }: InChannel,
  targetId: string,
  added: Overwrite[],
): Promise<ChannelDoc | null> {
  const judgedIds = [targetId, server._id, member.userId, ...member.roles];
  const judged = channel.overwrites.filter(({ id }) => judgedIds.includes(id));
  const pick = (cond: object): object => ({ $filter: { input: '$overwrites', as: 'one', cond } });
  const others = pick({ $ne: ['$$one.id', { $literal: targetId }] });
  const was = { overwrites: '$overwrites' };
  const owed = alsoOwes(platform, { name: 'CHANNEL_UPDATE', was });
  const last = `overwrites.${limits.overwritesPerChannel - 1}`;
  const withPlace = judged.some(({ id }) => id === targetId) ? {} : { [last]: { $exists: false } };
  const asJudged = { $eq: [pick({ $in: ['$$one.id', { $literal: judgedIds }] }), { $literal: judged }] };
  const after = await platform.versions.changing({ servers: [server._id] }, () =>
    platform.db.channels.collection.findOneAndUpdate(
      { _id: channel._id as never, serverId: server._id, ...withRoom, ...withPlace, $expr: asJudged },
      [{ $set: { overwrites: { $concatArrays: [others, { $literal: added }] }, ...owed } }],
      { returnDocument: 'after' },
    ),
  );
  if (after) return after as unknown as ChannelDoc;
  const standing = await platform.db.channels.findOne({ _id: channel._id }, { ob: 1 }).lean();
  requireRoom((standing ?? refuse('not_found', { what: 'channel' })).ob?.length ?? 0);
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
  bits: Bits | null,
): Promise<{ channel: ChannelDoc; changes: Changes | null; serverId: string }> {
  for (let tries = 0; tries < triesMax; tries++) {
    const place = await placeOf(platform, actor, channelId, targetId);
    const { channel, server, standing } = place;
    const serverId = server._id;
    requireOwnBits(place, standing ?? nothing, bits ?? nothing);
    const changes = changesOf<Bits>(standing ?? nothing, bits ?? nothing);
    if (bits === null ? !standing : standing && Object.keys(changes).length === 0) return { channel, changes: null, serverId };
    if (!standing && channel.overwrites.length >= limits.overwritesPerChannel)
      refuse('too_many_overwrites', { limit: limits.overwritesPerChannel });
    const after = await replaceOverwrite(platform, place, targetId, bits === null ? [] : [{ id: targetId, ...bits }]);
    if (!after) continue;
    platform.nudge('relay-server', { serverId });
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
    await placeOf(platform, actor, channelId, targetId);
    refuseField('/deny', 'holds a bit that allow holds as well');
  }
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, bits);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_set', targetId, changes, channel });
  return channelOf(channel);
}

/** Removes the overwrite of a channel for a role or member. Changes nothing if there is none. */
export async function deleteOverwrite(platform: EnqueuePlatform, actor: Actor, channelId: string, targetId: string): Promise<void> {
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, null);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_delete', targetId, changes, channel });
}
