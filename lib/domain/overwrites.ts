import { refuse, refuseField } from '../base/errors.ts';
import { isId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { type Overwrite, permissionsOf, rankOf } from '../base/permissions.ts';
import type { Channel, OverwriteInput } from '../contract/channel.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { type Actor, type InChannel, type InServer, inChannel, require, requireGrantable } from './access.ts';
import { type Changes, changesOf, writeAudit } from './audit.ts';
import { alsoOwes, requireRoom, withRoom } from './owed-events.ts';
import { channelOf } from './server-view.ts';

type Bits = Pick<Overwrite, 'allow' | 'deny'>;

const nothing: Bits = { allow: 0, deny: 0 };
/** How often a change is judged again because the channel's overwrites changed meanwhile. */
const triesMax = 20;

/**
 * The channel of an overwrite for `targetId`, a role or member below the caller's highest; `@everyone` is below all. Needs Manage Roles. 404 for what is
 * neither, 403 `role_hierarchy`, 400 in a thread, which uses its channel's. `standing` is what the channel changes for it now.
 */
async function placeOf(
  platform: Platform,
  actor: Actor,
  channelId: string,
  targetId: string,
): Promise<InChannel & { standing: Overwrite | undefined }> {
  // From the database, not from the cache: the write is made over exactly what is judged here.
  const place = await inChannel(platform, { ...actor, version: null, versionOf: () => Promise.resolve(null) }, channelId, 'Manage Roles');
  const { channel } = place;
  if (channel.kind === 'thread') refuse('invalid_request', { reason: 'a thread uses the permission overwrites of its parent channel' });
  const standing = channel.overwrites.find((one) => one.id === targetId);
  await requireTargetBelow(place, targetId, standing !== undefined);
  return { ...place, standing };
}

/** Refuses a target that is no role or member (404, unless it is `known`), or not below the caller's highest role. */
async function requireTargetBelow({ access, server, member }: InServer, targetId: string, known = false): Promise<void> {
  const position = server.roles.findIndex((role) => role.id === targetId);
  const target = position < 0 && isId(targetId) ? await access.member(targetId) : null;
  if (position < 0 && !target && !known) refuse('not_found', { what: 'role or member' });
  const rank = target ? rankOf(server, target) : Math.max(position, 0);
  if (position !== 0 && rank >= rankOf(server, member)) refuse('role_hierarchy');
}

/**
 * The overwrites of a new channel, by the rules of setting them one by one: needs Manage Roles, only bits that the caller has, targets below their highest role,
 * each once.
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
 * Every bit that `now` changes must be the caller's, in the server or in this channel: taking a denial away gives as much as allowing does, and who
 * denies a bit to `@everyone`, and so to themselves, can take that back.
 */
function requireOwnBits({ server, member, permissions }: InChannel, before: Bits, now: Bits): void {
  requireGrantable(permissions | permissionsOf(server, member), (before.allow ^ now.allow) | (before.deny ^ now.deny));
}

/**
 * The overwrites without `targetId`'s, and with `added`: one update, which is made only while those of the target and those that decide what the caller may do
 * are as they were judged; null when they changed meanwhile.
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
 * Changes what a channel changes for `targetId` to `bits`, null to take it away. The rule "only bits that the caller has" is judged on the overwrites as they are
 * read, and what was judged is the filter of the write: when another changed it meanwhile it is judged again, so nobody undoes bits that they lack. `changes` is null when
 * there are none.
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

/** Sets what a channel changes for a role or member (docs/behavior/servers.md#overwrites). Refuses `missing_permission` for bits that the caller lacks. */
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

/** Removes what a channel changes for a role or member; nothing happens when that is nothing. */
export async function deleteOverwrite(platform: EnqueuePlatform, actor: Actor, channelId: string, targetId: string): Promise<void> {
  const { channel, changes, serverId } = await changeOverwrite(platform, actor, channelId, targetId, null);
  if (changes) await writeAudit(platform, actor, { serverId, action: 'overwrite_delete', targetId, changes, channel });
}
