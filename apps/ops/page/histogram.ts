/** How often something took how long: `buckets` counts by upper bound in seconds, cumulative, as Prometheus has them. */
export interface Histogram {
  count: number;
  sum: number;
  buckets: Map<number, number>;
}

/** One in which nothing is counted. */
export const emptyHistogram = (): Histogram => ({ count: 0, sum: 0, buckets: new Map() });

/** Adds what `more` counted to `total`. */
export function addHistogram(total: Histogram, more: Histogram): void {
  total.count += more.count;
  total.sum += more.sum;
  for (const [bound, count] of more.buckets) total.buckets.set(bound, (total.buckets.get(bound) ?? 0) + count);
}

/** The time that `share` of all kept to, in seconds, taken as evenly spread within its bucket; the last bound when it lies beyond; null when nothing is counted. */
export function quantile({ count, buckets }: Histogram, share: number): number | null {
  if (count === 0) return null;
  const rank = count * share;
  let [lowBound, lowCount] = [0, 0];
  for (const [bound, reached] of [...buckets].sort(([one], [other]) => one - other)) {
    if (!Number.isFinite(bound)) break;
    if (reached >= rank) return reached === lowCount ? bound : lowBound + ((bound - lowBound) * (rank - lowCount)) / (reached - lowCount);
    [lowBound, lowCount] = [bound, reached];
  }
  return lowBound;
}
