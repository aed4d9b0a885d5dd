import { createHash, randomUUID } from 'node:crypto';
import { expiringNamesLua } from './expiring-names.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** How long a worker counts as live after its last heartbeat, in milliseconds. */
const leaseMs = 3_000;
/** How often a worker records its heartbeat, in milliseconds. */
export const heartbeatIntervalMs = 500;
/** How many shares all keys are divided into. It is much larger than the number of workers, so that their parts are about equal. */
export const shareCount = 256;

/** The part of the sweeps' work that belongs to this worker (docs/delivery.md#sweeps). */
export interface WorkerShares {
  /** Records a heartbeat of this worker, and learns which workers are live. Rejects while Redis is unavailable. */
  readonly recordHeartbeat: () => Promise<void>;
  /** Ends this worker's lease, so that the others take over its work at once: it owns no key any more. Rejects while Redis is unavailable. */
  readonly endHeartbeat: () => Promise<void>;
  /** Whether `endHeartbeat` was called after the last heartbeat. */
  readonly hasEnded: () => boolean;
  /**
   * Whether the work of this key belongs to this worker. Live workers give one answer: a key belongs to exactly one of them, except for some seconds after a
   * worker started or died. A worker without a heartbeat in the last 3 s owns every key, so that work that does not need Redis goes on without it.
   */
  readonly isOwner: (key: string) => boolean;
  /** Whether this worker is woken for the keys of a share: those that it owns while its heartbeats are recorded. */
  readonly ownsShare: (share: number) => boolean;
}

/** The Redis key of the last heartbeat of any worker. */
export const heartbeatKey = (keys: Keys): string => `${keys.partitionPrefix(0)}worker-beat`;

// KEYS: leases of workers, last heartbeat. ARGV: worker.
const heartbeatLua = `${expiringNamesLua}
removeExpired(KEYS[1])
addName(KEYS[1], ARGV[1], ${leaseMs})
redis.call('SET', KEYS[2], string.format('%.0f', now), 'EX', 60)
return redis.call('ZRANGE', KEYS[1], 0, -1)
`;

const computeHash = (text: string): number => createHash('sha1').update(text).digest().readUInt32BE(0);

/** The share of a key. */
export const shareOf = (key: string): number => computeHash(key) % shareCount;

/**
 * The shares that belong to `workerId` among `workerIds`, which are sorted. Each share belongs to the worker with the highest hash, so few shares move when a
 * worker comes or goes.
 */
export function computeShares(workerId: string, workerIds: readonly string[]): ReadonlySet<number> {
  const shares = new Set<number>();
  for (let share = 0; share < shareCount; share++) {
    const ranks = workerIds.map((id) => computeHash(`${id}:${share}`));
    if (workerIds[ranks.indexOf(Math.max(...ranks))] === workerId) shares.add(share);
  }
  return shares;
}

/** Binds the shares of this worker to `redis`. */
export function createWorkerShares(redis: RedisClient, keys: Keys): WorkerShares {
  const workerId = randomUUID();
  const heartbeatScript = bindScript<string[]>(redis, 'parlanceWorkerHeartbeat', heartbeatLua);
  const leasesKey = `${keys.partitionPrefix(0)}workers`;
  let shares: ReadonlySet<number> = new Set();
  let liveWorkers = '';
  let leasedUntilMs = Number.NEGATIVE_INFINITY;
  let hasEnded = false;
  return {
    async recordHeartbeat() {
      hasEnded = false;
      const startMs = performance.now();
      const workerIds = (await heartbeatScript([leasesKey, heartbeatKey(keys)], [workerId])).toSorted();
      if (workerIds.join() !== liveWorkers) shares = computeShares(workerId, workerIds);
      liveWorkers = workerIds.join();
      leasedUntilMs = startMs + leaseMs;
    },
    endHeartbeat: async () => {
      hasEnded = true;
      await redis.zrem(leasesKey, workerId);
    },
    hasEnded: () => hasEnded,
    isOwner: (key) => !hasEnded && (performance.now() > leasedUntilMs || shares.has(shareOf(key))),
    ownsShare: (share) => !hasEnded && shares.has(share),
  };
}
