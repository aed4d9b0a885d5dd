import { forEachLimit } from '../../base/for-each-limit.ts';
import { composeId, idTimeMs } from '../../base/ids.ts';
import { toParts } from '../../base/parts.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { entryTime, type MessageEvent, type OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import { refreshLastMessage } from '../channels/dm-activity.ts';
import { requestRecounts } from '../channels/thread-activity.ts';
import { batchLifeMs } from '../events/outboxes.ts';

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

/** What the sweep reads of a new message, and of a DM. */
type NewMessage = Pick<MessageDoc, '_id' | 'channelId' | 'serverId' | 'thread'>;
type SweptDm = Pick<DmDoc, '_id' | 'userIds' | 'lastMessageId'>;

/** How many DMs are repaired at once. */
const repairsAtOnce = 8;

/** Reads the DMs of these messages, by id. */
async function readDms({ db }: WorkerPlatform, messages: readonly NewMessage[]): Promise<Map<string, SweptDm>> {
  const ids = new Set(messages.flatMap(({ channelId, serverId }) => (serverId === null ? channelId : [])));
  if (ids.size === 0) return new Map();
  const dms = await db.dms.find({ _id: { $in: [...ids] } }, { projection: { userIds: 1, lastMessageId: 1 } }).toArray();
  return new Map(dms.map((dm) => [dm._id, dm]));
}

/** Repairs what the posts of these messages, oldest first, may have left incomplete: the last message of a DM, and the count of a thread. */
async function repairChannels(platform: WorkerPlatform, messages: readonly NewMessage[], dms: Map<string, SweptDm>): Promise<void> {
  const newest = new Map(messages.map(({ channelId, _id }) => [channelId, _id]));
  const outdated = [...dms.values()].filter(({ _id, lastMessageId }) => (lastMessageId ?? '') < (newest.get(_id) ?? ''));
  await forEachLimit(outdated, repairsAtOnce, ({ _id }) => refreshLastMessage(platform, _id));
  await requestRecounts(
    platform,
    [...new Set(messages.flatMap(({ channelId, thread }) => (thread ? channelId : [])))],
    relaxedWriteConcern,
  );
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
  const { upTo, doubtful } = await platform.messageOrder.readEndedInserts();
  await addToOutboxes(platform, doubtful);
  let startMs = performance.now();
  for (let from = await platform.logState.readAnnounced(); from < upTo && !platform.shares.hasEnded(); startMs = performance.now()) {
    const end = [upTo, composeId(idTimeMs(from) + pageMs, 0, 0)].sort()[0] as string;
    const page = await platform.db.messages
      .find({ _id: { $gt: from, $lte: end }, isNew: true }, { projection: { channelId: 1, serverId: 1, thread: 1 } })
      .sort({ _id: 1 })
      .limit(pageSize)
      .hint('_id_')
      .toArray();
    const dms = await readDms(platform, page);
    const toPlaces = ({ channelId, serverId }: NewMessage): string[] =>
      serverId === null ? (dms.get(channelId)?.userIds.map(accountPlace) ?? []) : [serverPlace(serverId)];
    const events = page.flatMap((message) => toPlaces(message).map((place) => ({ place, id: message._id })));
    const { isMarked, appended } = await platform.eventLog.readMarks(events);
    const missing = new Set(events.filter((_, index) => !isMarked[index]).map(({ id }) => id));
    // The marks may have expired if another worker has done this meanwhile.
    if (performance.now() - startMs > batchLifeMs) throw new Error('looking at new messages took too long; they will be read again');
    await addToOutboxes(
      platform,
      page.filter(({ _id }) => missing.has(_id)),
    );
    await Promise.all([platform.eventLog.confirm(appended), repairChannels(platform, page, dms)]);
    from = page.length === pageSize ? (page.at(-1)?._id ?? end) : end;
    await platform.logState.recordAnnounced(from);
    void platform.eventLog.expireMarks(events.filter(({ id }) => !missing.has(id)));
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
export async function addToOutboxes({ db }: Platform, messages: readonly Pick<MessageDoc, '_id' | 'channelId'>[]): Promise<void> {
  const entry = { id: '$_id', name: 'MESSAGE_CREATE', nonce: '$nonce', trace: '$trace' };
  const outbox = { $concatArrays: [[entry], { $ifNull: ['$outbox', []] }] };
  for (const part of toParts(messages, writeSize)) {
    const keys = { channelId: { $in: [...new Set(part.map(({ channelId }) => channelId))] }, _id: { $in: part.map(({ _id }) => _id) } };
    await db.messages.updateMany({ ...keys, isNew: true }, [
      { $set: { outbox, outboxAt: { $ifNull: ['$outboxAt', '$createdAt'] } } },
      { $unset: 'isNew' },
    ]);
  }
}
