import { randomUUID } from 'node:crypto';
import { refuse } from '../../base/errors.ts';
import { createIds, type IdSource, idTimeMs, isId } from '../../base/ids.ts';
import type { Logger } from '../../base/log.ts';
import type { Database } from '../mongo/database.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/**
 * How long a process holds its node number after the last renewal, in milliseconds. While Redis is unavailable for less than that, the process keeps creating
 * ids.
 */
const leaseMs = 600_000;
/** How often the lease is renewed, in milliseconds. */
const renewIntervalMs = 15_000;

// Takes the first free number from 1 to 1023, starting at a random one so that restarting processes rarely try the same; -1 when all are taken.
const acquireLua = `
for i = 0, 1022 do
  local node = (tonumber(ARGV[2]) + i) % 1023 + 1
  if redis.call('SET', KEYS[1]..node, ARGV[1], 'NX', 'PX', ${leaseMs}) then return node end
end
return -1
`;
const renewLua = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ${leaseMs})
return 1
`;
const releaseLua = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end return 1`;

/** The lease of a process' node number for ids. */
export interface NodeLease {
  /**
   * The number, 1-1023. Refuses `unavailable` while the number may belong to another process, because the lease has expired. The expiry is measured by the
   * monotonic clock, which keeps running while a process is stopped.
   */
  readonly node: () => number;
  /** Renews the lease, or takes another number when this one is lost. To be called every 15 s. */
  renew(): Promise<void>;
  release(): Promise<void>;
}

/** Leases a node number. `nowMs` is a monotonic clock in milliseconds. Throws when all are taken. */
export async function leaseNode(
  redis: RedisClient,
  keys: Keys,
  log: Logger,
  nowMs: () => number = () => performance.now(),
): Promise<NodeLease> {
  const ownerId = randomUUID();
  const prefix = `${keys.partitionPrefix(0)}id-node:`;
  const acquireScript = bindScript<number>(redis, 'parlanceTakeNode', acquireLua);
  const renewScript = bindScript<number>(redis, 'parlanceKeepNode', renewLua);
  const releaseScript = bindScript<number>(redis, 'parlanceReleaseNode', releaseLua);
  let node = 0;
  let heldUntilMs = Number.NEGATIVE_INFINITY;
  const acquire = async (): Promise<void> => {
    const startMs = nowMs();
    const newNode = await acquireScript([prefix], [ownerId, Math.floor(Math.random() * 1023)]);
    if (newNode < 0) throw new Error('all 1,023 node numbers are taken; stop unused processes, or wait 10 minutes');
    node = newNode;
    heldUntilMs = startMs + leaseMs;
  };
  await acquire();
  return {
    node: () => (nowMs() < heldUntilMs ? node : refuse('unavailable')),
    async renew() {
      const startMs = nowMs();
      if ((await renewScript([prefix + node], [ownerId])) === 1) {
        heldUntilMs = startMs + leaseMs;
        return;
      }
      heldUntilMs = Number.NEGATIVE_INFINITY;
      log.warn({ node }, 'this process lost its node number; taking another one');
      await acquire();
    },
    release: async () => {
      await releaseScript([prefix + node], [ownerId]).catch(() => undefined);
    },
  };
}

/**
 * Creates the id source of a process, under a leased node number that is renewed until `release`. Its ids are above those of the stored messages, even after
 * clocks were set back.
 */
export async function openIds(
  redis: RedisClient,
  keys: Keys,
  db: Database,
  log: Logger,
  now: () => number,
): Promise<{ ids: IdSource; release: () => Promise<void> }> {
  const lease = await leaseNode(redis, keys, log);
  const ids = createIds(lease.node, now);
  const newest = await db.messages.findOne({}, { projection: { _id: 1 }, sort: { _id: -1 } });
  if (isId(newest?._id)) ids.markUsed(idTimeMs(newest._id));
  const timer = setInterval(() => void lease.renew().catch(() => undefined), renewIntervalMs); // while Redis is unavailable, the lease continues until it expires
  timer.unref();
  return {
    ids,
    release: async () => {
      clearInterval(timer);
      await lease.release();
    },
  };
}
