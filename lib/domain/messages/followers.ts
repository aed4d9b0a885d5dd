import { channelKinds } from '../../base/channel-kinds.ts';
import { Refusal, refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { computePermissions, hasPermission } from '../../base/permissions.ts';
import type { Follower, FollowInput } from '../../contract/follower.ts';
import { insertInSlot } from '../../store/mongo/insert.ts';
import type { FollowDoc } from '../../store/mongo/models/follow.ts';
import { toMemberKeys } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requirePermissions, requireServerChannel, type ServerChannelContext } from '../access/checks.ts';
import { requireMessageChannel } from '../channels/context.ts';

const toFollower = ({ targetId, serverId, createdAt }: FollowDoc): Follower => ({
  channelId: targetId,
  serverId,
  createdAt: createdAt.toISOString(),
});

/** Returns the caller's permissions in an announcement channel that the caller may view. Refuses with 400 for any other kind. */
async function requireSource(platform: Platform, actor: Actor, channelId: string): Promise<number> {
  const { channel, permissions } = await requireMessageChannel(platform, actor, channelId);
  if (!channel || !channelKinds[channel.kind].canBeFollowed)
    refuse('invalid_request', { reason: 'only announcement channels can be followed' });
  return permissions;
}

/**
 * Returns the text channel that is to follow. A channel that does not exist and one that the caller cannot view are both refused with 400, because the id comes
 * from the body.
 */
async function requireTarget(platform: Platform, actor: Actor, channelId: string): Promise<ServerChannelContext> {
  const context = await requireServerChannel(platform, actor, channelId).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error;
    return refuseField('/channelId', 'Choose a channel that you can view.');
  });
  if (!channelKinds[context.channel.kind].canFollow) refuseField('/channelId', 'Choose a text channel.');
  requirePermissions(context.permissions, 'Manage Webhooks');
  return context;
}

/** The result of following a channel. `isNew` tells whether this call created it. */
export interface FollowResult {
  isNew: boolean;
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
  await requireSource(platform, actor, sourceId);
  const { server } = await requireTarget(platform, actor, targetId);
  const fresh = {
    _id: `${sourceId}:${targetId}`,
    sourceId,
    targetId,
    serverId: server._id,
    createId: newId,
    createdAt: new Date(platform.now()),
  };
  const inserted = await insertInSlot(platform.db.follows, { sourceId }, limits.followersPerChannel, fresh);
  if (inserted.outcome === 'full') return refuse('too_many_followers', { limit: limits.followersPerChannel });
  const follow = inserted.doc;
  await requireBothChannels(platform, follow);
  const isNew = follow.createId === newId;
  if (isNew) {
    const changes = { sourceId: { from: null, to: sourceId } };
    await writeAudit(platform, actor, { id: newId, serverId: server._id, action: 'follow_create', targetId, changes });
  }
  return { isNew, follower: toFollower(follow) };
}

/** Deletes a new follow again, and refuses it, if the source or the target was deleted concurrently. */
async function requireBothChannels(platform: Platform, { _id, sourceId, targetId }: FollowDoc): Promise<void> {
  const existing = await platform.db.channels.find({ _id: { $in: [sourceId, targetId] } }, { projection: { _id: 1 } }).toArray();
  if (existing.length === 2) return;
  await platform.db.follows.deleteOne({ _id });
  if (!existing.some((one) => one._id === sourceId)) refuse('not_found', { what: 'channel' });
  refuseField('/channelId', 'Choose a channel that you can view.');
}

/** The follows whose targets the caller may know of: those in which the caller has Manage Webhooks. Makes three queries for any number of follows. */
async function findManageableFollows(platform: Platform, actor: Actor, follows: readonly FollowDoc[]): Promise<FollowDoc[]> {
  const { db } = platform;
  const serverIds = [...new Set(follows.map(({ serverId }) => serverId))];
  const members = await db.members.find(toMemberKeys(serverIds, [actor.id])).toArray();
  const memberByServerId = new Map(members.map((member) => [member.serverId, member]));
  const inOwnServers = follows.filter(({ serverId }) => memberByServerId.has(serverId));
  if (inOwnServers.length === 0) return [];
  const [servers, channels] = await Promise.all([
    db.servers.find({ _id: { $in: [...memberByServerId.keys()] } }).toArray(),
    db.channels.find({ _id: { $in: inOwnServers.map(({ targetId }) => targetId) } }).toArray(),
  ]);
  const serverById = new Map(servers.map((server) => [server._id, server]));
  const channelById = new Map(channels.map((channel) => [channel._id, channel]));
  return inOwnServers.filter(({ serverId, targetId }) => {
    const [server, member, channel] = [serverById.get(serverId), memberByServerId.get(serverId), channelById.get(targetId)];
    return server && member && channel && hasPermission(computePermissions(server, member, channel.overwrites), 'Manage Webhooks');
  });
}

/**
 * Returns the followers of an announcement channel that the caller can view, oldest first. A caller with Manage Webhooks in it sees all. Others see only the
 * targets in which they have Manage Webhooks, because they must not learn the ids of other channels.
 */
export async function listFollowers(platform: Platform, actor: Actor, sourceId: string): Promise<Follower[]> {
  const permissions = await requireSource(platform, actor, sourceId);
  const follows = await platform.db.follows.find({ sourceId }).sort({ createdAt: 1, _id: 1 }).toArray();
  const shown = hasPermission(permissions, 'Manage Webhooks') ? follows : await findManageableFollows(platform, actor, follows);
  return shown.map(toFollower);
}

/**
 * Makes a target stop following. Needs Manage Webhooks in the target; the caller need not be able to view the source. Refuses with 404 if the target does not
 * follow.
 */
export async function unfollowChannel(platform: Platform, actor: Actor, sourceId: string, targetId: string): Promise<void> {
  const { server } = await requireServerChannel(platform, actor, targetId, 'Manage Webhooks');
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
