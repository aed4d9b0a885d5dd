/** How many points a series has, and how many milliseconds one point covers: an hour. */
const pointCount = 120;
const pointMs = 30_000;
/** How many series are kept at most; the values of others are not kept. */
const maxSeries = 2_000;

/** The values of the last hour of several series. */
export interface LastHour {
  /** Records a value of a series. `at` is in milliseconds, by a monotonic clock. */
  record(series: string, value: number | null, at: number): void;
  /** The highest value of each half minute of the hour before `at`, oldest first; null where none is known. Leaves out the part before the first value. */
  read(series: string, at: number): (number | null)[];
}

interface Series {
  /** The values by their number modulo the number of points. */
  points: (number | null)[];
  /** The number of the newest point: how many points fit before it, counted from the start of the clock. */
  newest: number;
}

/** Clears the points between the newest one and `number`, for which no value is known. */
function advance(series: Series, number: number): void {
  for (let next = Math.max(series.newest + 1, number - pointCount + 1); next <= number; next++) series.points[next % pointCount] = null;
  series.newest = Math.max(series.newest, number);
}

/** Creates an empty hour. A series without a value for an hour is dropped. */
export function createLastHour(): LastHour {
  const all = new Map<string, Series>();
  const toNumber = (at: number): number => Math.floor(at / pointMs);
  let pruned = 0;
  const dropOld = (number: number): void => {
    if (number === pruned) return;
    pruned = number;
    for (const [name, { newest }] of all) if (newest <= number - pointCount) all.delete(name);
  };
  return {
    record(name, value, at) {
      const number = toNumber(at);
      dropOld(number);
      const series = all.get(name) ?? { points: Array.from({ length: pointCount }, () => null), newest: number };
      if (!all.has(name)) {
        if (all.size >= maxSeries || value === null) return;
        all.set(name, series);
      }
      if (value === null) return;
      advance(series, number);
      const slot = number % pointCount;
      series.points[slot] = Math.max(value, series.points[slot] ?? value);
    },
    read(name, at) {
      const series = all.get(name);
      if (!series) return [];
      const number = toNumber(at);
      advance(series, number);
      const points = Array.from({ length: pointCount }, (_, index) => series.points[(number + 1 + index) % pointCount] ?? null);
      const first = points.findIndex((value) => value !== null);
      return first === -1 ? [] : points.slice(first);
    },
  };
}
