/** A histogram of durations. `buckets` has cumulative counts by upper bound in seconds, as in Prometheus. */
export interface Histogram {
  count: number;
  sum: number;
  buckets: Map<number, number>;
}

/** Creates a histogram without counts. */
export const emptyHistogram = (): Histogram => ({ count: 0, sum: 0, buckets: new Map() });

/** Adds the counts of `more` to `total`. */
export function addHistogram(total: Histogram, more: Histogram): void {
  total.count += more.count;
  total.sum += more.sum;
  for (const [bound, count] of more.buckets) total.buckets.set(bound, (total.buckets.get(bound) ?? 0) + count);
}

/**
 * The quantile `share` (0 to 1) in seconds, interpolated linearly within its bucket. The highest finite bound if the quantile is beyond it; null if nothing was
 * counted.
 */
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
