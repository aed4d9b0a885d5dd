import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';

/**
 * Refuses `unavailable` for a change to a document that owes `most` events, 1,000 by default: no worker has taken them for long, and nobody makes one document grow without
 * end (quality 1, P11). Called when a change did not find it with room.
 */
export function requireRoom(owed: number, most: number = limits.eventsOwed): void {
  if (owed >= most) refuse('unavailable', undefined, { retryAfter: 5 });
}
