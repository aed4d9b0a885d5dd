import { copyToNextFollowers } from '../../lib/domain/jobs/crosspost-copies.ts';
import { insertMissing } from '../../lib/store/mongo/insert.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import type { ApiPlatform, Platform, WorkerPlatform } from '../../lib/store/platform.ts';
import { type SeededServer, seedServer } from './seed.ts';

/** A world whose first channel is an announcement channel, and a world whose channels all follow it. */
export interface Following {
  from: SeededServer;
  to: SeededServer;
  news: string;
  /** The following channels, in the order of their ids. */
  targets: string[];
}

/** Changes a channel in the database and the access version, as a manager's request does. */
export const changeChannel = (platform: Platform, serverId: string, channelId: string, set: object): Promise<unknown> =>
  platform.accessVersions.runChange({ servers: [serverId] }, () => platform.db.channels.updateOne({ _id: channelId }, { $set: set }));

/** Makes two such worlds with this many followers, by direct writes. */
export async function makeFollowing(platform: ApiPlatform, followers: number, bots = 1): Promise<Following> {
  const [from, to] = [await seedServer(platform, { bots: 1, channels: 2 }), await seedServer(platform, { bots, channels: followers })];
  const news = from.channelIds[0] as string;
  await changeChannel(platform, from.serverId, news, { kind: 'announcement' });
  await insertMissing(
    platform.db.follows,
    to.channelIds.map((targetId, slot) => ({
      _id: `${news}:${targetId}`,
      sourceId: news,
      targetId,
      serverId: to.serverId,
      createId: platform.ids.next(),
      slot,
      createdAt: new Date(),
    })),
  );
  return { from, to, news, targets: [...to.channelIds].sort() };
}

/** The copies of a message, sorted by channel, without tombstones. */
export const copiesOf = async ({ db }: Platform, messageId: string): Promise<MessageDoc[]> =>
  (await db.messages.find({ copyOf: messageId }).sort({ channelId: 1 }).toArray()).filter((copy) => !copy.deleted);

/**
 * Runs the job of the next chunk of the server that this message is in; false if the message has no pending copies. The message must be the oldest one of its
 * server that has.
 */
export async function nextChunk(worker: WorkerPlatform, messageId: string): Promise<boolean> {
  const source = await worker.db.messages.findOne({ _id: messageId });
  if (!source?.crosspostAt) return false;
  await copyToNextFollowers(worker, source.serverId as string);
  return true;
}

/** Runs the jobs of all remaining chunks. */
export async function allChunks(worker: WorkerPlatform, messageId: string): Promise<void> {
  while (await nextChunk(worker, messageId));
}
