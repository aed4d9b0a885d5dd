import { idTimeMs } from '../../../lib/base/ids.ts';
import { countOf } from './counts.ts';

const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'short' });
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });

const maxCached = 500;

/** Wraps a format of whole minutes with a cache of at most 500 results, because lists show the same few times again and formatting is slow. */
function byMinute(format: Intl.DateTimeFormat): (at: string | number) => string {
  const cache = new Map<number, string>();
  return (at) => {
    const minute = Math.floor(new Date(at).getTime() / 60_000);
    const text = cache.get(minute) ?? format.format(minute * 60_000);
    if (cache.size >= maxCached) cache.clear();
    cache.set(minute, text);
    return text;
  };
}

/** `14:05`. */
export const clockOf = byMinute(clock);
/** `22 November 2026`. */
export const dateOf = (at: string | number): string => date.format(new Date(at));
/** `22 Nov 2026, 14:05`. */
export const momentOf = byMinute(full);
/** Returns when the object with this id was created, formatted as `momentOf`. */
export const creationTimeOf = (id: string): string => momentOf(idTimeMs(id));

/** `Today at 14:05`, `Yesterday at 14:05`, or the date and time as `momentOf`. */
export function shortMomentOf(at: string, now: number = Date.now()): string {
  const day = new Date(at).toDateString();
  const today = new Date(now);
  if (day === today.toDateString()) return `Today at ${clockOf(at)}`;
  // By the calendar: a day has 23 or 25 hours when the clocks change.
  if (day === new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1).toDateString()) return `Yesterday at ${clockOf(at)}`;
  return momentOf(at);
}

/** A duration in its largest whole unit: `10 minutes`, `3 days`. */
export function spanOf(secs: number): string {
  for (const [unit, size] of [
    ['day', 86_400],
    ['hour', 3_600],
    ['minute', 60],
  ] as const)
    if (secs >= size && secs % size === 0) return countOf(secs / size, unit);
  return countOf(secs, 'second');
}
