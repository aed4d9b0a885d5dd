import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { EventName } from '../../contract/events.ts';
import { trusted } from '../../store/mongo/database.ts';
import { alsoOwing, type OutboxEntry, outboxEnd, owing } from '../../store/mongo/models/outbox.ts';
import type { Platform } from '../../store/platform.ts';

/** Matches a document whose outbox has room for one more event. */
export const withRoom = { [outboxEnd]: trusted({ $exists: false }) };

/**
 * Refuses with `unavailable` if a document has `most` pending events (default 1,000), so that the outbox does not grow without bound while no worker relays
 * (docs/guarantees.md#p11-bounded-resources). Called after an update that found no room.
 */
export function requireRoom(owed: number, most: number = limits.eventsOwed): void {
  if (owed >= most) refuse('unavailable', undefined, { retryAfter: 5 });
}

/** The update that adds an event to the outbox of a document: `{ $push, $min }`. */
export const owes = (platform: Platform, event: Omit<OutboxEntry, 'id'>): ReturnType<typeof owing> =>
  owing([{ id: platform.ids.next(), ...event }], new Date(platform.now()));

/** An event whose values may be expressions of an update pipeline. */
interface PipelineEvent {
  name: EventName;
  data?: object;
  was?: object;
}

/** `owes` for the `$set` of an update pipeline. An event may replace a pending one, as in `alsoOwing`. */
export const alsoOwes = (platform: Platform, event: PipelineEvent): ReturnType<typeof alsoOwing> =>
  alsoOwing({ id: platform.ids.next(), ...event }, new Date(platform.now()));

/** `alsoOwes` for an update of many documents: each gets an event with its own id. */
export const eachOwes = (platform: Platform, event: PipelineEvent): ReturnType<typeof alsoOwing> =>
  alsoOwing({ id: { $concat: [platform.ids.next(), '-', '$_id'] }, ...event }, new Date(platform.now()));
