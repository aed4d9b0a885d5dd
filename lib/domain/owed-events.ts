import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { EventName } from '../contract/events.ts';
import { trusted } from '../store/database.ts';
import { alsoOwing, type OutboxEntry, outboxEnd, owing } from '../store/models/outbox.ts';
import type { Platform } from '../store/platform.ts';

/** Matches a document that has room for one event more. */
export const withRoom = { [outboxEnd]: trusted({ $exists: false }) };

/**
 * Refuses `unavailable` for a change to a document with `most` pending events, 1,000 by default, so that a document does not grow without end while no worker
 * relays them (docs/guarantees.md#p11-bounded-resources). Called when a change found no room.
 */
export function requireRoom(owed: number, most: number = limits.eventsOwed): void {
  if (owed >= most) refuse('unavailable', undefined, { retryAfter: 5 });
}

/** What an update adds to a document so that it owes this event from now on: `{ $push, $min }`. */
export const owes = (platform: Platform, event: Omit<OutboxEntry, 'id'>): ReturnType<typeof owing> =>
  owing([{ id: platform.ids.next(), ...event }], new Date(platform.now()));

/** An event whose values may be expressions of an update pipeline. */
interface PipelineEvent {
  name: EventName;
  data?: object;
  was?: object;
}

/** `owes` for the `$set` of an update pipeline; one event takes the place of another as in `alsoOwing`. */
export const alsoOwes = (platform: Platform, event: PipelineEvent): ReturnType<typeof alsoOwing> =>
  alsoOwing({ id: platform.ids.next(), ...event }, new Date(platform.now()));

/** `alsoOwes` for an update of many documents: each owes an event of its own. */
export const eachOwes = (platform: Platform, event: PipelineEvent): ReturnType<typeof alsoOwing> =>
  alsoOwing({ id: { $concat: [platform.ids.next(), '-', '$_id'] }, ...event }, new Date(platform.now()));
