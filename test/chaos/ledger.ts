/** What a fault run is judged by. */
export interface Verdict {
  posted: number;
  delivered: number;
  /** Deliveries that never came to a bot, over all bots. */
  lost: number;
  /** Deliveries that came to a bot more than once. */
  dup: number;
  /** Deliveries that came before an earlier post of the same channel. */
  ooo: number;
  /** From 201 to the socket, in milliseconds. */
  p50: number;
  p99: number;
}

/** Every 201 and every event of a run. Posts of one channel are made one after another, so each bot must see them in that order. */
export interface Ledger {
  /** A post that was acknowledged: the `n`th of its channel. */
  posted(channel: number, n: number): void;
  /** An event at a bot. */
  seen(bot: number, channel: number, n: number): void;
  /** Whether every bot has seen every post. */
  complete(): boolean;
  /** How many deliveries have been seen. */
  count(): number;
  judge(): Verdict;
}

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;

/** A ledger for so many bots and channels. */
export function createLedger(bots: number, channels: number): Ledger {
  const acknowledgedAt = Array.from({ length: channels }, () => new Map<number, number>());
  const seen = Array.from({ length: bots }, () => Array.from({ length: channels }, () => new Map<number, number>()));
  const latest = Array.from({ length: bots }, () => Array.from({ length: channels }, () => -1));
  let dup = 0;
  let ooo = 0;
  let delivered = 0;
  let posted = 0;
  return {
    posted(channel, n) {
      posted++;
      acknowledgedAt[channel]?.set(n, performance.now());
    },
    seen(bot, channel, n) {
      const mine = seen[bot]?.[channel];
      const last = latest[bot];
      if (!mine || !last) return;
      if (mine.has(n)) {
        dup++;
        return;
      }
      if (n < (last[channel] ?? -1)) ooo++;
      last[channel] = Math.max(last[channel] ?? -1, n);
      mine.set(n, performance.now());
      delivered++;
    },
    complete: () => delivered >= posted * bots,
    count: () => delivered,
    judge() {
      let lost = 0;
      const latencies: number[] = [];
      for (const byChannel of seen)
        byChannel.forEach((mine, channel) => {
          for (const [n, at] of acknowledgedAt[channel] ?? []) {
            const arrived = mine.get(n);
            if (arrived === undefined) lost++;
            else latencies.push(Math.max(0, arrived - at));
          }
        });
      latencies.sort((a, b) => a - b);
      return { posted, delivered, lost, dup, ooo, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99) };
    },
  };
}
