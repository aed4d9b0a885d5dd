import type { Platform } from '../../lib/store/platform.ts';
import { plainMessage } from './plain-message.ts';

/** Inserts plain messages by a direct write, without their events, in this order. Returns their ids. */
export async function insertMessages(
  { db, ids }: Pick<Platform, 'db' | 'ids'>,
  channel: { channelId: string; serverId: string | null },
  messages: readonly { authorId: string; content: string }[],
): Promise<string[]> {
  const docs = messages.map((message) => {
    const mentions = [...message.content.matchAll(/<@(\d+)>/g)].map(([, id]) => id as string);
    const pings = mentions.length > 0 && { pings: true as const };
    return { _id: ids.next(), ...channel, ...plainMessage, ...message, mentions, ...pings, createdAt: new Date() };
  });
  if (docs.length > 0) await db.messages.insertMany(docs);
  return docs.map(({ _id }) => _id);
}
