import { forEachLimit } from '../../base/for-each-limit.ts';
import { composeId, idTimeMs } from '../../base/ids.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { entryTime, type MessageEvent, type OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import { batchLifeMs } from '../events/outbox-source.ts';
import { findPlacesOfChannel } from '../events/placed-events.ts';

/** The MESSAGE_CREATE of a message. Its id is that of the message. */
const toCreateEntry = ({ _id, nonce, trace }: MessageDoc): OutboxEntry<MessageEvent> => ({
  id: _id,
  name: 'MESSAGE_CREATE',
  ...(nonce === undefined ? {} : { nonce }),
  ...(trace === undefined ? {} : { trace }),
});

/**
 * The message as it is inserted. If its insert is recorded as in flight, the sweep of new messages finds it, so that a post costs the database one write. While
 * Redis is away, its MESSAGE_CREATE is in its outbox.
 */
export const toInserted = (message: MessageDoc, isInFlight: boolean): MessageDoc =>
  isInFlight ? { ...message, isNew: true } : { ...message, outbox: [toCreateEntry(message)], outboxAt: entryTime(message._id) };

/** A message with the pending events that are not in its outbox: the MESSAGE_CREATE of a new one. */
export const withCreate = (message: MessageDoc): MessageDoc =>
  message.isNew && message.outbox?.[0]?.id !== message._id
    ? { ...message, outbox: [toCreateEntry(message), ...(message.outbox ?? [])] }
    : message;

/** For how many channels at once is read how far they are told. */
const readsAtOnce = 32;

/**
 * By channel of these messages, up to which id new messages are told: their MESSAGE_CREATE is in the log of every place of the channel. Also returns what
 * `confirm` needs before they may be acknowledged.
 */
export async function readTold(
  platform: WorkerPlatform,
  messages: readonly Pick<MessageDoc, 'channelId' | 'serverId'>[],
): Promise<{ toldTo: ReadonlyMap<string, string>; appended: Appended[] }> {
  const channels = [...new Map(messages.map((message) => [message.channelId, message])).values()];
  const appended: Appended[] = [];
  const toldTo = new Map<string, string>();
  await forEachLimit(channels, readsAtOnce, async ({ channelId, serverId }) => {
    const { places } = await findPlacesOfChannel(platform, { channelId, serverId, isThread: false });
    const told = await Promise.all(places.map((place) => platform.readTold(place, channelId)));
    appended.push(...told.flatMap((one) => one.appended));
    toldTo.set(channelId, told.map(({ id }) => id).sort()[0] ?? '~'); // a DM that is gone has no places
  });
  return { toldTo, appended };
}

/** How many new messages the sweep reads at once, over which time at most, in milliseconds, and how many it changes in one write. */
const pageSize = 1_000;
const pageMs = 60_000;
const writeSize = 100;

/**
 * Looks at every new message when its insert has ended. If its MESSAGE_CREATE is not in the log, because a wake was lost or no worker ran, the event is added to
 * its outbox, where the relay finds it; and so is that of an insert that took effect although it was to be given up (docs/delivery.md#new-messages).
 */
export async function sweepNewMessages(platform: WorkerPlatform): Promise<void> {
  const { below, doubtful } = await platform.messageOrder.readSettled();
  await addToOutboxes(platform, doubtful);
  for (let from = await platform.announced.read(); from < below && !platform.hasEnded(); ) {
    const end = [below, composeId(idTimeMs(from) + pageMs, 0, 0)].sort()[0] as string;
    const page = await platform.db.messages
      .find({ _id: { $gt: from, $lt: end }, isNew: true }, { projection: { channelId: 1, serverId: 1 } })
      .sort({ _id: 1 })
      .limit(pageSize)
      .hint('_id_')
      .toArray();
    const startMs = performance.now();
    const { toldTo, appended } = await readTold(platform, page);
    // Marks expire later than the process may have been paused.
    if (performance.now() - startMs > batchLifeMs) throw new Error('looking at new messages took too long; they will be read again');
    await addToOutboxes(
      platform,
      page.filter(({ _id, channelId }) => _id > (toldTo.get(channelId) ?? '')),
    );
    await platform.confirm(appended);
    from = page.length === pageSize ? (page.at(-1)?._id ?? end) : end;
    await platform.announced.record(from);
  }
}

/** After how long a new message is overdue that no sweep has seen, in milliseconds, times STORE_TIMEOUT_FACTOR. */
const overdueMs = 8_000;

/** How old the oldest new message is that is overdue, in milliseconds; 0 when there is none. */
export async function newMessageAgeMs({ db, announced, config, now }: Platform): Promise<number> {
  const announcedTo = await announced.read();
  if (now() - idTimeMs(announcedTo) < overdueMs * config.STORE_TIMEOUT_FACTOR) return 0;
  const query = db.messages.find({ _id: { $gt: announcedTo }, isNew: true }, { projection: { _id: 1 } });
  const [oldest] = await query.sort({ _id: 1 }).limit(1).hint('_id_').toArray();
  return oldest ? now() - idTimeMs(oldest._id) : 0;
}

/** Adds the MESSAGE_CREATE of messages that are still new to their outboxes. */
async function addToOutboxes({ db }: WorkerPlatform, messages: readonly Pick<MessageDoc, '_id' | 'channelId'>[]): Promise<void> {
  const entry = { id: '$_id', name: 'MESSAGE_CREATE', nonce: '$nonce', trace: '$trace' };
  const outbox = { $concatArrays: [[entry], { $ifNull: ['$outbox', []] }] };
  for (let start = 0; start < messages.length; start += writeSize) {
    const part = messages.slice(start, start + writeSize);
    const keys = { channelId: { $in: [...new Set(part.map(({ channelId }) => channelId))] }, _id: { $in: part.map(({ _id }) => _id) } };
    await db.messages.updateMany({ ...keys, isNew: true }, [
      { $set: { outbox, outboxAt: { $ifNull: ['$outboxAt', '$createdAt'] } } },
      { $unset: 'isNew' },
    ]);
  }
}
