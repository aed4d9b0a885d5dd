import { addHistogram, emptyHistogram, type Histogram } from './histogram.ts';
import type { Growth, Reading } from './reading.ts';

/** How long readings are kept, in milliseconds, and how many at most. */
export const historyMs = 5 * 60_000;
const readingsMax = 61;
/** Rates are computed over this many milliseconds. Rates over a shorter time would jump. */
const rateMs = 30_000;

/** The readings of the last 5 minutes, oldest first. */
export type History = readonly Reading[];

/** Adds a reading to `history`, and drops those that are too old or too many. */
export const addReading = (history: History, reading: Reading): History =>
  [...history, reading].filter(({ at }) => at > reading.at - historyMs && at <= reading.at).slice(-readingsMax);

/** The total growth of the readings of the last `ms`. Null if the growth of the latest reading is not known. */
export function growthOver(history: History, ms: number): Growth | null {
  const last = history.at(-1);
  const known = history.filter(({ at, growth }) => growth && last && at > last.at - ms).map(({ growth }) => growth as Growth);
  if (known.length === 0 || !last?.growth) return null;
  const total: Growth = { secs: 0, messages: 0, delivery: emptyHistogram(), routes: new Map(), statuses: new Map(), jobs: new Map() };
  for (const { secs, messages, delivery, routes, statuses, jobs } of known) {
    total.secs += secs;
    total.messages += messages;
    addHistogram(total.delivery, delivery);
    for (const [route, times] of routes) {
      const sum: Histogram = total.routes.get(route) ?? emptyHistogram();
      addHistogram(sum, times);
      total.routes.set(route, sum);
    }
    for (const [status, count] of statuses) total.statuses.set(status, (total.statuses.get(status) ?? 0) + count);
    for (const [job, { done, failed }] of jobs) {
      const sum = total.jobs.get(job) ?? { done: 0, failed: 0 };
      total.jobs.set(job, { done: sum.done + done, failed: sum.failed + failed });
    }
  }
  return total;
}

/** The growth of the last 30 s, which the overview shows as "now". */
export const growthNow = (history: History): Growth | null => growthOver(history, rateMs);
