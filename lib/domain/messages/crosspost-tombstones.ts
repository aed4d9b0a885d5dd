import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { Platform } from '../../store/platform.ts';

/** The progress mark after the last follower. It is greater than the id of any channel. */
export const afterAllFollowers = '9999999999999999999';

/**
 * Returns the ids of the tombstones that may be removed now. The tombstone of a copy is kept until the progress mark of its crosspost has passed the channel:
 * until then, the unique index on (message, channel) needs it to refuse the deleted copy when a chunk is run again.
 */
export async function removableTombstones(platform: Platform, tombstones: readonly MessageDoc[]): Promise<string[]> {
  const copies = tombstones.filter(({ copyOf }) => copyOf);
  const sources = [...new Set(copies.flatMap(({ copyOf }) => copyOf ?? []))];
  const sourceChannelIds = { $in: [...new Set(copies.map(({ authorId }) => authorId))] }; // the author of a copy is the channel of its source
  const pending = sources.length
    ? await platform.db.messages
        .find({ channelId: sourceChannelIds, _id: { $in: sources }, crosspostAt: { $exists: true } }, { projection: { crosspostTo: 1 } })
        .toArray()
    : [];
  const progressBySource = new Map(pending.map((source) => [source._id, source.crosspostTo ?? '']));
  const isNeeded = ({ copyOf, channelId }: MessageDoc): boolean =>
    copyOf !== undefined && (progressBySource.get(copyOf) ?? channelId) < channelId;
  return tombstones.filter((tombstone) => !isNeeded(tombstone)).map(({ _id }) => _id);
}

/**
 * Removes the tombstones of a message's copies that were kept only for its crosspost, up to the channel `lastChannelId`. Called after the progress mark has
 * reached `lastChannelId`, or when the crosspost is over. Those whose reactions are still stored are removed with them.
 */
export async function clearTombstones(platform: Platform, messageId: string, lastChannelId: string): Promise<void> {
  const removable = { deleted: true, outboxAt: { $exists: false }, reactionCount: { $exists: false } } as const;
  await platform.db.messages.deleteMany({ copyOf: messageId, channelId: { $lte: lastChannelId }, ...removable }, { hint: 'copyOf_1' });
}
