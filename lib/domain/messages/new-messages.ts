import { forEachLimit } from '../../base/for-each-limit.ts';
import { groupBy } from '../../base/group-by.ts';
import { composeId, idTimeMs } from '../../base/ids.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { entryTime, type MessageEvent, type OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import { refreshLastMessage } from '../channels/dm-activity.ts';
import { requestRecount } from '../channels/thread-activity.ts';
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

/** The message with those pending events that are in its outbox; nothing if there are none. */
export function withoutCreate(message: MessageDoc): MessageDoc[] {
  const outbox = (message.outbox ?? []).filter(({ id }) => !message.isNew || id !== message._id);
  return outbox.length > 0 ? [{ ...message, outbox }] : [];
}

/** What the sweep reads of a new message. */
type NewMessage = Pick<MessageDoc, '_id' | 'channelId' | 'serverId' | 'thread'>;

/** Repairs what a post or a delete of these messages may have left incomplete in their channels when its process died. */
export async function repairChannels(platform: WorkerPlatform, messages: readonly NewMessage[]): Promise<void> {
  const channels = new Map(messages.map((message) => [message.channelId, message])).values();
  await forEachLimit([...channels], channelsAtOnce, async ({ channelId, serverId, thread }) => {
    if (serverId === null) await refreshLastMessage(platform, channelId);
    if (thread) await requestRecount(platform, channelId, relaxedWriteConcern);
  });
}

/** For how many channels at once is read how far they are told, and how many are repaired at once. */
const channelsAtOnce = 32;

/**
 * Looks for the MESSAGE_CREATE of these messages in the log of every place of their channel. Returns the ids of those that are `missing` in one, the marks of the
 * others by place, and what `confirm` needs before these may be acknowledged.
 */
async function findTold(
  platform: WorkerPlatform,
  messages: readonly NewMessage[],
): Promise<{ missing: ReadonlySet<string>; marks: [place: string, ids: string[]][]; appended: Appended[] }> {
  const missing = new Set<string>();
  const appended: Appended[] = [];
  const looked: [string, string[]][] = [];
  await forEachLimit([...groupBy(messages, ({ channelId }) => channelId)], channelsAtOnce, async ([channelId, inChannel]) => {
    const ids = inChannel.map(({ _id }) => _id);
    const { places } = await findPlacesOfChannel(platform, { channelId, serverId: inChannel[0]?.serverId ?? null, isThread: false });
    for (const place of places) {
      const told = await platform.readTold(place, channelId, ids);
      for (const id of told.missing) missing.add(id);
      appended.push(...told.appended);
      looked.push([place, ids]);
    }
  });
  return { missing, appended, marks: looked.map(([place, ids]) => [place, ids.filter((id) => !missing.has(id))]) };
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
  for (let from = await platform.logState.readAnnounced(); from < below && !platform.hasEnded(); ) {
    const end = [below, composeId(idTimeMs(from) + pageMs, 0, 0)].sort()[0] as string;
    const page = await platform.db.messages
      .find({ _id: { $gt: from, $lt: end }, isNew: true }, { projection: { channelId: 1, serverId: 1, thread: 1 } })
      .sort({ _id: 1 })
      .limit(pageSize)
      .hint('_id_')
      .toArray();
    const startMs = performance.now();
    const { missing, marks, appended } = await findTold(platform, page);
    // The marks may have expired if another worker has done this meanwhile.
    if (performance.now() - startMs > batchLifeMs) throw new Error('looking at new messages took too long; they will be read again');
    await addToOutboxes(
      platform,
      page.filter(({ _id }) => missing.has(_id)),
    );
    await Promise.all([platform.confirm(appended), repairChannels(platform, page)]);
    from = page.length === pageSize ? (page.at(-1)?._id ?? end) : end;
    await platform.logState.recordAnnounced(from);
    for (const [place, ids] of marks) void platform.expireMarks(place, ids);
  }
}

/** After how long a new message is overdue that no sweep has seen, in milliseconds, times STORE_TIMEOUT_FACTOR. */
const overdueMs = 8_000;

/** How old the oldest new message is that is overdue, in milliseconds; 0 when there is none. */
export async function newMessageAgeMs({ db, logState, config, now }: Platform): Promise<number> {
  const announcedTo = await logState.readAnnounced();
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
