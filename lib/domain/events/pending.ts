import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { calculateObjectSize } from '../../store/mongo/ejson.ts';
import {
  entryTime,
  type Outbox,
  type OutboxEntry,
  type OutboxEvent,
  type PipelineEvent,
  pushEntries,
  setEntry,
} from '../../store/mongo/models/outbox.ts';
import type { Platform } from '../../store/platform.ts';

/**
 * Matches a document whose outbox has room for one more event: it has fewer than `max` events, and they take less than 1 MiB, so that the document stays far
 * below the 16 MiB that the database allows. Changes that can be repeated without limit are written only then.
 */
export const createRoomFilter = (max: number): { $and: object[] } => ({
  $and: [{ [`outbox.${max - 1}`]: { $exists: false } }, { $expr: { $lt: [{ $bsonSize: { outbox: '$outbox' } }, limits.outboxBytes] } }],
});

/** `createRoomFilter` for every document but an interaction. */
export const outboxHasRoom = createRoomFilter(limits.pendingEvents);

/** The bytes from which a full outbox is assumed after a write was not made. It is lower than what the write compares, so that no caller tries again for ever. */
const nearlyFullBytes = (limits.outboxBytes * 7) / 8;

/**
 * Refuses with `unavailable` if a document has no room for another event (`createRoomFilter`), so that the outbox does not grow without bound while no worker
 * relays (docs/guarantees.md#p11-bounded-resources). Called after an update that found no room. `pending`: its pending events, or only their number where all
 * events are small.
 */
export function requireOutboxRoom(pending: readonly OutboxEntry[] | number = [], max: number = limits.pendingEvents): void {
  const [count, bytes] = typeof pending === 'number' ? [pending, 0] : [pending.length, calculateObjectSize({ outbox: pending })];
  if (count >= max || bytes >= nearlyFullBytes) refuse('unavailable', undefined, { retryAfter: 5 });
}

/** A pending event, with a new id unless it is given, and with the trace of the request or job that causes it. */
export const createEntry = <E extends OutboxEvent>({ ids, tracing }: Platform, event: E, id: string = ids.next()): OutboxEntry<E> => ({
  id,
  ...event,
  ...tracing.current(),
});

/** The outbox of a new document, with one event. */
export function newOutbox<E extends OutboxEvent>(platform: Platform, event: E): Required<Outbox<E>> {
  const entry = createEntry(platform, event);
  return { outbox: [entry], outboxAt: entryTime(entry.id) };
}

/** The update that adds an event to the outbox of a document: `{ $push, $min }`. */
export const addEvent = <E extends OutboxEvent>(platform: Platform, event: E): ReturnType<typeof pushEntries<E>> =>
  pushEntries(createEntry(platform, event));

/** `addEvent` for the `$set` of an update pipeline. An event may replace a pending one, as in `setEntry`. */
export function addEventInPipeline({ ids, tracing }: Platform, event: PipelineEvent): ReturnType<typeof setEntry> {
  const id = ids.next();
  return setEntry({ id, ...event, ...tracing.current() }, id);
}

/** `addEventInPipeline` for an update of many documents: each gets an event with its own id. */
export function addEventToEach({ ids, tracing }: Platform, event: PipelineEvent): ReturnType<typeof setEntry> {
  const id = ids.next();
  return setEntry({ id: { $concat: [id, '-', '$_id'] }, ...event, ...tracing.current() }, id);
}
