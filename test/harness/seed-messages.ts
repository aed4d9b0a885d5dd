import { forEachLimit } from '../../lib/base/for-each-limit.ts';
import { relaxedWriteConcern } from '../../lib/store/mongo/database.ts';
import type { Platform } from '../../lib/store/platform.ts';
import { plainMessage } from './plain-message.ts';

const messageBatch = 2_000;
const batchesAtOnce = 4;

/**
 * Inserts messages by direct writes: half of them in the first of `channels`, the others in all in turn. Returns the ids of those in the first channel,
 * sorted.
 */
export async function seedMessages(
  { db, ids }: Pick<Platform, 'db' | 'ids'>,
  channels: readonly { channelId: string; serverId: string }[],
  authorId: string,
  count: number,
): Promise<string[]> {
  const mainIds: string[] = [];
  const starts = Array.from({ length: Math.ceil(count / messageBatch) }, (_, at) => at * messageBatch);
  await forEachLimit(starts, batchesAtOnce, async (start) => {
    const batch = Array.from({ length: Math.min(messageBatch, count - start) }, (_, n) => {
      const at = start + n;
      const channel = channels[at % 2 === 0 ? 0 : ((at - 1) / 2) % channels.length] as { channelId: string; serverId: string };
      const content = `message ${at} of a usual length, as people write them`;
      return { _id: ids.next(), ...channel, authorId, content, ...plainMessage, createdAt: new Date() };
    });
    for (const { _id, channelId } of batch) if (channelId === channels[0]?.channelId) mainIds.push(_id);
    await db.messages.insertMany(batch, { ordered: false, ...relaxedWriteConcern });
  });
  return mainIds.sort();
}
