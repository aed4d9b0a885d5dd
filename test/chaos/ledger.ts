import { idTimeMs } from '../../lib/base/ids.ts';

/** The result of a fault run. A delivery is one post that one reader has received. */
export interface Verdict {
  posted: number;
  /** Deliveries as gateway events. */
  delivered: number;
  /** Deliveries as responses to requests after op 9. */
  fetched: number;
  /** Posts that a reader has neither received nor fetched at the end. */
  lost: number;
  /** Deliveries that arrived more than once within a session. */
  doubled: number;
  /** Deliveries that arrived after a later post of the same channel. */
  outOfOrder: number;
  /** Posts after READY that a session skipped although it received later ones of the channel, and posts missing at the end. */
  silentHoles: number;
  /** Answers of the API with a status of 500 or above. Requests that got no answer are not counted. */
  serverErrors: number;
  /** From the 201 to the event on the socket, in milliseconds. */
  p50: number;
  p99: number;
}

/** A post: the `n`th of its channel, counted from 0, and its message id. */
export interface Post {
  n: number;
  id: string;
}

/**
 * Records what every reader of a run has received. Posts of a channel are sent one after another, so each reader must receive them in that order and without
 * gaps. Only missing posts are stored, so the size does not grow with the run.
 */
export interface Ledger {
  /** The API has answered a request. */
  answered(status: number): void;
  /** The API has acknowledged the next post of a channel. */
  posted(channel: number): void;
  /** A reader has received an event. */
  received(reader: number, channel: number, post: Post): void;
  /** Op 9: the reader's session has ended, and the reader fetches what it lacks. */
  invalidated(reader: number): void;
  /** READY: a session has begun. Earlier posts are fetched; the log may deliver some of them again if it lost others. */
  began(reader: number): void;
  /** The id of the last post up to which a reader lacks nothing in a channel; empty if there is none. */
  lastId(reader: number, channel: number): string;
  /** A request returned all of the channel's posts after `lastId`. */
  fetched(reader: number, channel: number, posts: readonly Post[]): void;
  /** Whether every reader has every post. */
  isComplete(): boolean;
  /** The number of deliveries. */
  count(): number;
  /** The posts that readers lack, one line for each reader and channel. */
  missing(): string[];
  judge(): Verdict;
}

/** The state of one reader in one channel. */
interface Track {
  /** The first post that the session received, and the one that it must receive next; -1 before it has received one. */
  first: number;
  next: number;
  /** All posts below this number were fetched, or received in an earlier session. */
  covered: number;
  /** When the session began, in Unix milliseconds. */
  beganAt: number;
  /** Earlier posts that the reader lacks. */
  missing: Set<number>;
  isFetching: boolean;
  lastId: string;
}

/** The maximum number of missing posts stored per track; further ones count as lost immediately. */
const missingMost = 10_000;
/** How many acknowledgment times are kept per channel, to compute latencies. */
const acknowledgementsKept = 1024;
/** Latencies are counted in buckets that grow by this factor. */
const latencyBase = 1.1;
const latencyBuckets = 150;

/** Counts latencies in milliseconds. */
function createHistogram(): { add(ms: number): void; percentile(share: number): number } {
  const counts = new Uint32Array(latencyBuckets);
  let total = 0;
  return {
    add(ms) {
      const at = Math.min(latencyBuckets - 1, Math.max(0, Math.ceil(Math.log(Math.max(1, ms)) / Math.log(latencyBase))));
      counts[at] = (counts[at] ?? 0) + 1;
      total++;
    },
    percentile(share) {
      let sum = 0;
      const at = counts.findIndex((count) => (sum += count) >= total * share && total > 0);
      return at === -1 ? 0 : latencyBase ** at;
    },
  };
}

const createTrack = (): Track => ({ first: -1, next: -1, covered: 0, beganAt: 0, missing: new Set(), isFetching: false, lastId: '' });

/** Makes a ledger. `channelsOf` has the channels of each reader. Calls `note` for each anomaly, such as a hole that a session had when it ended. */
export function createLedger(channelsOf: readonly (readonly number[])[], channels: number, note: (line: string) => void): Ledger {
  const posts = new Uint32Array(channels);
  const acknowledgedAt = Array.from({ length: channels }, () => new Float64Array(acknowledgementsKept));
  const tracks = channelsOf.map((own) => new Map(own.map((channel): [number, Track] => [channel, createTrack()])));
  const latencies = createHistogram();
  const totals = { delivered: 0, fetched: 0, doubled: 0, outOfOrder: 0, silentHoles: 0, overflowed: 0, serverErrors: 0 };
  const trackOf = (reader: number, channel: number): Track => {
    const found = tracks[reader]?.get(channel);
    if (!found) throw new Error(`reader ${reader} is not in channel ${channel}`);
    return found;
  };
  const miss = ({ missing }: Track, from: number, to: number): void => {
    for (let n = from; n < to; n++)
      if (missing.size < missingMost) missing.add(n);
      else totals.overflowed++;
  };
  /** The number of posts that the reader lacks. */
  const lacks = ({ missing, next, covered }: Track, channel: number): number =>
    missing.size + Math.max(0, (posts[channel] ?? 0) - Math.max(next, covered));
  const holes = (): number =>
    tracks.reduce((sum, own) => [...own].reduce((part, [channel, track]) => part + lacks(track, channel), sum), 0);

  return {
    answered(status) {
      if (status >= 500) totals.serverErrors++;
    },
    posted(channel) {
      const n = posts[channel] ?? 0;
      (acknowledgedAt[channel] as Float64Array)[n % acknowledgementsKept] = performance.now();
      posts[channel] = n + 1;
    },
    received(reader, channel, { n, id }) {
      const track = trackOf(reader, channel);
      if (n < track.next) {
        const isDoubled = !track.missing.delete(n);
        note(`reader ${reader} received ${n} of channel ${channel} ${isDoubled ? 'again' : 'late'}, after ${track.next - 1}`);
        if (isDoubled) totals.doubled++;
        else totals.outOfOrder++;
        return;
      }
      // While the reader is still fetching, it is unknown whether posts before the session's first one are missing.
      if (track.next !== -1) miss(track, track.next, n);
      else if (!track.isFetching) miss(track, track.covered, n);
      if (track.first === -1) track.first = n;
      track.next = n + 1;
      totals.delivered++;
      if (track.missing.size === 0 && !track.isFetching && n >= track.covered) track.lastId = id;
      const at = n < (posts[channel] ?? 0) ? (acknowledgedAt[channel]?.[n % acknowledgementsKept] ?? 0) : performance.now();
      latencies.add(performance.now() - at);
    },
    invalidated(reader) {
      for (const [channel, track] of tracks[reader] ?? []) {
        const { missing, next, covered, isFetching } = track;
        if (missing.size > 0) note(`reader ${reader} had not received ${[...missing].join(', ')} of channel ${channel}, and ${next - 1}`);
        totals.silentHoles += missing.size;
        if (!isFetching) track.covered = missing.size > 0 ? Math.min(...missing) : Math.max(next, covered);
        missing.clear();
        Object.assign(track, { first: -1, next: -1, isFetching: true });
      }
    },
    began(reader) {
      for (const track of tracks[reader]?.values() ?? []) track.beganAt = Date.now();
    },
    lastId: (reader, channel) => trackOf(reader, channel).lastId,
    fetched(reader, channel, list) {
      const track = trackOf(reader, channel);
      const { first, covered, missing, beganAt } = track;
      const found = new Set(list.map(({ n }) => n));
      totals.fetched += found.size;
      for (const { n, id } of list) {
        if (!missing.delete(n)) continue;
        if (idTimeMs(id) < beganAt) continue;
        note(`reader ${reader} was not sent ${n} of channel ${channel}, ${idTimeMs(id) - beganAt} ms after READY`);
        totals.silentHoles++;
      }
      const end = list.reduce((most, { n }) => Math.max(most, n + 1), covered);
      for (let n = covered; n < (first === -1 ? end : first); n++) if (!found.has(n)) miss(track, n, n + 1);
      track.covered = end;
      track.isFetching = false;
      if (missing.size === 0) track.lastId = list.at(-1)?.id ?? track.lastId;
    },
    isComplete: () => tracks.every((own) => [...own].every(([channel, track]) => !track.isFetching && lacks(track, channel) === 0)),
    count: () => totals.delivered + totals.fetched,
    missing: () =>
      tracks.flatMap((own, reader) =>
        [...own].flatMap(([channel, track]) => {
          const { missing, next, covered } = track;
          if (lacks(track, channel) === 0) return [];
          return `reader ${reader} lacks ${[...missing].join(', ')} of channel ${channel}, and all from ${Math.max(next, covered)} of ${posts[channel]}`;
        }),
      ),
    judge() {
      const { delivered, fetched, doubled, outOfOrder, serverErrors } = totals;
      const lost = holes() + totals.overflowed;
      const silentHoles = totals.silentHoles + lost;
      const posted = posts.reduce((sum, n) => sum + n, 0);
      const [p50, p99] = [latencies.percentile(0.5), latencies.percentile(0.99)];
      return { posted, delivered, fetched, lost, doubled, outOfOrder, silentHoles, serverErrors, p50, p99 };
    },
  };
}
