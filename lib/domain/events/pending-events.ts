import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { lastOutboxPath, type OutboxEvent, type PipelineEvent, pushEntries, setEntry } from '../../store/mongo/models/outbox.ts';
import type { Platform } from '../../store/platform.ts';

/** Matches a document whose outbox has room for one more event. */
export const outboxHasRoom = { [lastOutboxPath]: { $exists: false } };

/**
 * Refuses with `unavailable` if a document has `max` pending events (default 1,000), so that the outbox does not grow without bound while no worker relays
 * (docs/guarantees.md#p11-bounded-resources). Called after an update that found no room.
 */
export function requireOutboxRoom(pendingCount: number, max: number = limits.pendingEvents): void {
  if (pendingCount >= max) refuse('unavailable', undefined, { retryAfter: 5 });
}

/** The update that adds an event to the outbox of a document: `{ $push, $min }`. */
export const addEvent = <E extends OutboxEvent>(platform: Platform, event: E): ReturnType<typeof pushEntries<E>> =>
  pushEntries([{ id: platform.ids.next(), ...event }], new Date(platform.now()));

/** `addEvent` for the `$set` of an update pipeline. An event may replace a pending one, as in `setEntry`. */
export const addEventInPipeline = (platform: Platform, event: PipelineEvent): ReturnType<typeof setEntry> =>
  setEntry({ id: platform.ids.next(), ...event }, new Date(platform.now()));

/** `addEventInPipeline` for an update of many documents: each gets an event with its own id. */
export const addEventToEach = (platform: Platform, event: PipelineEvent): ReturnType<typeof setEntry> =>
  setEntry({ id: { $concat: [platform.ids.next(), '-', '$_id'] }, ...event }, new Date(platform.now()));
