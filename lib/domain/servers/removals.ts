import { failpoint } from '../../base/failpoint.ts';
import { chosenFields } from '../../contract/community.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { ApplicationDoc } from '../../store/mongo/models/account.ts';
import type { RemovalDoc, RemovalInServer } from '../../store/mongo/models/removal.ts';
import type { ChannelDoc } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { countServers } from '../applications/app-directory.ts';
import { eachOwes } from '../events/pending-events.ts';
import { overwritesOf, type ServerAccess } from '../members/access.ts';
import { type Departing, isDeparture } from '../members/membership.ts';

/** How long after a deletion the sweep checks whether its job is running, in milliseconds. */
const sweepAfterMs = 2_000;

/** Stores a removal before anything is deleted, so that it is completed whichever process dies after this. */
async function intend<T extends Omit<RemovalDoc, 'at' | 'nextAt'>>(platform: Platform, removal: T): Promise<T & RemovalDoc> {
  const now = platform.now();
  const full = { ...removal, at: new Date(now), nextAt: new Date(now + sweepAfterMs) };
  await platform.db.removals.collection.replaceOne({ _id: removal._id as never }, full, { upsert: true });
  failpoint(platform.config, 'after-removal-intent');
  return full;
}

/** Clears a deleted channel from the Community settings of its server (docs/behavior/community.md#community-channels). */
export async function unchooseChannel({ db }: Platform, serverId: string, channelId: string): Promise<void> {
  for (const field of chosenFields) await db.servers.updateOne({ _id: serverId, [field]: channelId }, { $set: { [field]: null } });
}

/**
 * Deletes a channel's document, which hides it and its threads at once, and moves the channels of a category out of it. Returns false when the channel was
 * deleted already. A repeated call completes an earlier one.
 */
export async function dropChannel(platform: EnqueuePlatform, { _id, serverId }: RemovalInServer): Promise<boolean> {
  const { channels } = platform.db;
  const gone = await platform.versions.changing({ servers: [serverId] }, async () => {
    const { deletedCount } = await channels.deleteOne({ _id, serverId });
    await unchooseChannel(platform, serverId, _id);
    const owed = eachOwes(platform, { name: 'CHANNEL_UPDATE' });
    const inside = { serverId, parentId: _id, position: { $gte: 0 } };
    await channels.collection.updateMany(inside, [{ $set: { parentId: null, ...owed } }]);
    return deletedCount === 1;
  });
  platform.nudge('relay-server', { serverId });
  return gone;
}

/**
 * Removes a channel or thread; false when it was deleted already. From then on nobody can see it or its threads. The job `finish-removal` sends the event to
 * those who could, and deletes what is left of it.
 */
export async function removeChannel(platform: EnqueuePlatform, access: ServerAccess, channel: ChannelDoc): Promise<boolean> {
  const { _id, serverId } = channel;
  const overwrites = [...(await overwritesOf(access, channel))];
  const removal = await intend(platform, { _id, kind: 'channel', serverId, ownerId: null, overwrites });
  const gone = await dropChannel(platform, removal);
  platform.nudge('finish-removal', { removalId: _id });
  return gone;
}

/**
 * Stores the removal of a role before the role is deleted. Its members keep its id for a minute without effect: gateway nodes need it to compute who can no
 * longer see which channels. Then the last pass of the removal takes the id off them, if the role is deleted.
 */
export async function intendRole(platform: Platform, serverId: string, roleId: string): Promise<void> {
  await intend(platform, { _id: roleId, kind: 'role', serverId, ownerId: null, overwrites: [] });
}

/** How many memberships end in one round. */
const membersAtOnce = 1_000;

/**
 * Ends all memberships of a deleted server in rounds, and has these accounts and `others` informed. `others` left just before and have not been informed yet.
 */
async function dropMembers(platform: EnqueuePlatform, serverId: string, others: readonly string[]): Promise<void> {
  const { members } = platform.db;
  for (let round = 0; ; round++) {
    const found = await members.find({ serverId }, { userId: 1, bot: 1 }).sort({ _id: 1 }).limit(membersAtOnce).lean();
    const accounts = found.map((one) => one.userId);
    const bots = found.filter((one) => one.bot).map((one) => one.userId);
    const userIds = round === 0 ? [...new Set([...accounts, ...others])] : accounts;
    if (userIds.length === 0) return;
    const removalId = platform.ids.next();
    await intend(platform, { _id: removalId, kind: 'members', serverId, ownerId: null, overwrites: [], userIds });
    await countServers(platform, bots, 0);
    if (accounts.length > 0)
      await platform.versions.changing({ members: accounts.map((id) => [serverId, id] as const) }, () =>
        members.deleteMany({ serverId, userId: trusted({ $in: accounts }) }),
      );
    await countServers(platform, bots, -1);
    platform.nudge('finish-removal', { removalId });
  }
}

/**
 * Deletes a server's document, which hides it at once, and ends its memberships, so that they no longer count for anybody. Returns `kept` when the server has
 * another owner by now than the one who deleted it, and `gone` when it was deleted before.
 */
export async function dropServer(platform: EnqueuePlatform, { _id, ownerId }: RemovalDoc): Promise<'dropped' | 'gone' | 'kept'> {
  const { servers } = platform.db;
  const dropped = await platform.versions.changing({ servers: [_id] }, () =>
    servers.findOneAndDelete({ _id, ownerId: ownerId as string }).lean(),
  );
  if (!dropped && (await servers.exists({ _id }))) return 'kept';
  const leaving = dropped?.ob?.filter(isDeparture).map(({ data }) => (data as Departing).userId) ?? [];
  await dropMembers(platform, _id, leaving);
  return dropped ? 'dropped' : 'gone';
}

/** Removes a server of `ownerId`; false when it was deleted already or has another owner by now. The job `finish-removal` deletes what is left of it. */
export async function removeServer(platform: EnqueuePlatform, serverId: string, ownerId: string): Promise<boolean> {
  const removal = await intend(platform, { _id: serverId, kind: 'server', serverId, ownerId, overwrites: [] });
  const end = await dropServer(platform, removal);
  if (end === 'kept') await forgetRemoval(platform, removal);
  else platform.nudge('finish-removal', { removalId: serverId });
  return end === 'dropped';
}

/**
 * Deletes an application with its bot: the bot's token and account first, so that it can no longer act or be added. False when the application was deleted
 * already.
 */
export async function dropApplication({ db, versions }: Platform, { _id, ownerId, userIds = [] }: RemovalDoc): Promise<boolean> {
  const bot = { $in: userIds };
  await versions.changing({ accounts: userIds, credentials: true }, async () => {
    await db.tokens.deleteMany({ accountId: trusted(bot) });
    await db.accounts.deleteMany({ _id: trusted(bot) });
  });
  const { deletedCount } = await db.applications.deleteOne({ _id, ownerId: ownerId as string });
  return deletedCount === 1;
}

/** Removes an application; false when it was deleted already. The job `finish-removal` removes its bot from its servers. */
export async function removeApplication(platform: EnqueuePlatform, { _id, ownerId, botId }: ApplicationDoc): Promise<boolean> {
  const removal = await intend(platform, { _id, kind: 'application', serverId: null, ownerId, overwrites: [], userIds: [botId] });
  const gone = await dropApplication(platform, removal);
  platform.nudge('finish-removal', { removalId: _id });
  return gone;
}

/** Deletes a removal's document, unless the removal was stored again meanwhile. */
export async function forgetRemoval(platform: Platform, { _id, ownerId, at }: RemovalDoc): Promise<void> {
  await platform.db.removals.deleteOne({ _id, ownerId, at });
}

/** The removals whose job died or was lost, or whose last pass is due (docs/guarantees.md#sweeps). */
export async function overdueRemovals(platform: Platform): Promise<string[]> {
  const due = trusted({ $lte: new Date(platform.now()) });
  const found = await platform.db.removals.find({ nextAt: due }, { _id: 1 }).sort({ nextAt: 1 }).limit(100).lean();
  return found.map((one) => one._id);
}
