import { Refusal, refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { holds, permissionsOf } from '../../base/permissions.ts';
import type { Follower, FollowInput } from '../../contract/follower.ts';
import { trusted } from '../../store/mongo/database.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { FollowDoc } from '../../store/mongo/models/follow.ts';
import type { Platform } from '../../store/platform.ts';
import { inPlace } from '../channels/channel-context.ts';
import { type Actor, type InChannel, inChannel, require } from '../members/access.ts';
import { writeAudit } from '../servers/audit.ts';

const followerOf = ({ targetId, serverId, createdAt }: FollowDoc): Follower => ({
  channelId: targetId,
  serverId,
  createdAt: createdAt.toISOString(),
});

/** Returns the caller's permissions in an announcement channel that the caller may view. Refuses with 400 for any other kind. */
async function sourceFor(platform: Platform, actor: Actor, channelId: string): Promise<number> {
  const { channel, permissions } = await inPlace(platform, actor, channelId);
  if (channel?.kind !== 'announcement') refuse('invalid_request', { reason: 'only announcement channels can be followed' });
  return permissions;
}

/**
 * Returns the text channel that is to follow. A channel that does not exist and one that the caller cannot view are both refused with 400, because the id comes
 * from the body.
 */
async function targetFor(platform: Platform, actor: Actor, channelId: string): Promise<InChannel> {
  const place = await inChannel(platform, actor, channelId).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    return refuseField('/channelId', 'is not a channel that you can see');
  });
  if (place.channel.kind !== 'text') refuseField('/channelId', 'is not a text channel');
  require(place.permissions, 'Manage Webhooks');
  return place;
}

/** The result of following a channel. `made` tells whether this call created it. */
export interface FollowResult {
  made: boolean;
  follower: Follower;
}

/**
 * Makes a text channel follow an announcement channel that the caller can view (docs/behavior/community.md#followers). Needs Manage Webhooks in the target. A
 * target that already follows stays as it is. Refuses with 400 for other kinds and for a target that the caller cannot view, and with `too_many_followers`.
 */
export async function followChannel(
  platform: Platform,
  actor: Actor,
  sourceId: string,
  { channelId: targetId }: FollowInput,
  newId: string,
): Promise<FollowResult> {
  await sourceFor(platform, actor, sourceId);
  const { server } = await targetFor(platform, actor, targetId);
  const fresh = {
    _id: `${sourceId}:${targetId}`,
    sourceId,
    targetId,
    serverId: server._id,
    createId: newId,
    createdAt: new Date(platform.now()),
  };
  const inserted = await insertInSlot(platform.db.follows, { sourceId }, limits.followersPerChannel, fresh);
  if (inserted.end === 'full') return refuse('too_many_followers', { limit: limits.followersPerChannel });
  const follow = inserted.doc;
  await settleFollow(platform, follow);
  const made = follow.createId === newId;
  if (made) {
    const changes = { sourceId: { from: null, to: sourceId } };
    await writeAudit(platform, actor, { id: newId, serverId: server._id, action: 'follow_create', targetId, changes });
  }
  return { made, follower: followerOf(follow) };
}

/** Deletes a new follow again, and refuses it, if the source or the target was deleted concurrently. */
async function settleFollow(platform: Platform, { _id, sourceId, targetId }: FollowDoc): Promise<void> {
  const standing = await platform.db.channels.find({ _id: trusted({ $in: [sourceId, targetId] }) }, { _id: 1 }).lean();
  if (standing.length === 2) return;
  await platform.db.follows.deleteOne({ _id });
  if (!standing.some((one) => one._id === sourceId)) refuse('not_found', { what: 'channel' });
  refuseField('/channelId', 'is not a channel that you can see');
}

/** The follows whose targets the caller may know of: those in which the caller has Manage Webhooks. Makes three queries for any number of follows. */
async function manageable(platform: Platform, actor: Actor, follows: readonly FollowDoc[]): Promise<FollowDoc[]> {
  const { db } = platform;
  const memberIds = [...new Set(follows.map(({ serverId }) => `${serverId}:${actor.id}`))];
  const members = await db.members.find({ _id: trusted({ $in: memberIds }) }).lean();
  const mine = new Map(members.map((member) => [member.serverId, member]));
  const near = follows.filter(({ serverId }) => mine.has(serverId));
  if (near.length === 0) return [];
  const [servers, channels] = await Promise.all([
    db.servers.find({ _id: trusted({ $in: [...mine.keys()] }) }).lean(),
    db.channels.find({ _id: trusted({ $in: near.map(({ targetId }) => targetId) }) }).lean(),
  ]);
  const serverById = new Map(servers.map((server) => [server._id, server]));
  const channelById = new Map(channels.map((channel) => [channel._id, channel]));
  return near.filter(({ serverId, targetId }) => {
    const [server, member, channel] = [serverById.get(serverId), mine.get(serverId), channelById.get(targetId)];
    return server && member && channel && holds(permissionsOf(server, member, channel.overwrites), 'Manage Webhooks');
  });
}

/**
 * Returns the followers of an announcement channel that the caller can view, oldest first. A caller with Manage Webhooks in it sees all. Others see only the
 * targets in which they have Manage Webhooks, because they must not learn the ids of other channels.
 */
export async function listFollowers(platform: Platform, actor: Actor, sourceId: string): Promise<Follower[]> {
  const permissions = await sourceFor(platform, actor, sourceId);
  const follows = await platform.db.follows.find({ sourceId }).sort({ createdAt: 1, _id: 1 }).lean();
  const shown = holds(permissions, 'Manage Webhooks') ? follows : await manageable(platform, actor, follows);
  return shown.map(followerOf);
}

/**
 * Makes a target stop following. Needs Manage Webhooks in the target; the caller need not be able to view the source. Refuses with 404 if the target does not
 * follow.
 */
export async function unfollowChannel(platform: Platform, actor: Actor, sourceId: string, targetId: string): Promise<void> {
  const { server } = await inChannel(platform, actor, targetId, 'Manage Webhooks');
  const { deletedCount } = await platform.db.follows.deleteOne({ _id: `${sourceId}:${targetId}` });
  if (deletedCount === 0) refuse('not_found', { what: 'follower' });
  const changes = { sourceId: { from: sourceId, to: null } };
  await writeAudit(platform, actor, { serverId: server._id, action: 'follow_delete', targetId, changes });
}

/** Deletes all follows of a deleted channel, as source and as target. */
export async function removeFollowsOf(platform: Platform, channelId: string): Promise<void> {
  await platform.db.follows.deleteMany({ sourceId: channelId });
  await platform.db.follows.deleteMany({ targetId: channelId });
}
