import { trusted } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { Platform } from '../../store/platform.ts';

/**
 * Returns the ids of the tombstones that may be removed now. The tombstone of a copy is kept until the progress mark of its crosspost has passed the channel:
 * until then, the unique index on (message, channel) needs it to refuse the deleted copy when a chunk is run again.
 */
export async function removableGraves(platform: Platform, graves: readonly MessageDoc[]): Promise<string[]> {
  const sources = [...new Set(graves.flatMap(({ copyOf }) => copyOf ?? []))];
  const pending = sources.length
    ? await platform.db.messages
        .find({ _id: trusted({ $in: sources }), crosspostAt: trusted({ $exists: true }) }, { crosspostTo: 1 })
        .lean()
    : [];
  const passedBy = new Map(pending.map((source) => [source._id, source.crosspostTo ?? '']));
  const held = ({ copyOf, channelId }: MessageDoc): boolean => copyOf !== undefined && (passedBy.get(copyOf) ?? channelId) < channelId;
  return graves.filter((grave) => !held(grave)).map((grave) => grave._id);
}

/**
 * Removes the tombstones of a message's copies that were kept only for its crosspost, up to the channel `passed`. Called after the progress mark has reached
 * `passed`, or when the crosspost is over.
 */
export async function clearGraves(platform: Platform, messageId: string, passed: string): Promise<void> {
  await platform.db.messages.deleteMany({
    copyOf: messageId,
    channelId: trusted({ $lte: passed }),
    deleted: true,
    obAt: trusted({ $exists: false }),
  });
}
