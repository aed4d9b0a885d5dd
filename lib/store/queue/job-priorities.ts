import type { QueueName } from '../../contract/jobs.ts';
import type { Keys } from '../redis/log/keys.ts';
import { bindScript, type RedisClient } from '../redis/redis.ts';

/** Jobs that are about to be added to a queue for an account. */
export interface PriorityRequest {
  queue: QueueName;
  /** The account, or another id if the queue is shared between other things than accounts. */
  accountId: string;
  /** What each job costs, in whole units of the queue, for example megapixels. */
  costs: readonly number[];
  /** How much may wait for one account, in the same units; without it there is no limit. An account with no waiting jobs is never refused. */
  maxWaiting?: number;
}

/** Returns the priorities of the jobs, for `enqueue`; null when more than `maxWaiting` would wait for the account. Rejects while Redis is unavailable. */
export type ReservePriorities = (request: PriorityRequest) => Promise<number[] | null>;

/** Shares queues fairly between accounts by giving their jobs priorities. */
export interface JobPriorities {
  reserve: ReservePriorities;
  /** Records that a job of this priority is done. */
  markServed(queue: QueueName, priority: number): Promise<void>;
  /** Deletes the state of the queue if no job waits in it. */
  removeIfEmpty(queue: QueueName): Promise<void>;
}

/** The largest priority that BullMQ takes. */
const maxPriority = 2 ** 21 - 1;
/** How long the state of a queue is kept without jobs, in milliseconds. */
const stateTtlMs = 60 * 60_000;

// Start-time fair queueing. A job's tag is the virtual time at which it would start if all accounts with waiting jobs were served at the same rate. That is
// after the account's earlier jobs, but not before the current virtual time, which is the highest tag of a job that is done. In the sorted set, the member ''
// holds the current virtual time; each other member is an account and holds the virtual time at which its last job ends.
const reserveLua = `
local now = tonumber(redis.call('ZSCORE', KEYS[1], '') or '0')
local ends = math.max(now, tonumber(redis.call('ZSCORE', KEYS[1], ARGV[1]) or '0'))
local tags, after = {}, ends
for i = 4, #ARGV do
  tags[#tags + 1] = after
  after = after + tonumber(ARGV[i])
end
if ends > now and tonumber(ARGV[2]) >= 0 and after - now > tonumber(ARGV[2]) then return false end
redis.call('ZADD', KEYS[1], after, ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return tags
`;
const servedLua = `
if tonumber(ARGV[1]) <= tonumber(redis.call('ZSCORE', KEYS[1], '') or '0') then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1])
redis.call('ZADD', KEYS[1], ARGV[1], '')
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`;

/** Binds the priorities of jobs to `redis`. `isQueueEmpty` returns whether a queue has neither waiting nor delayed jobs. */
export function createJobPriorities(redis: RedisClient, keys: Keys, isQueueEmpty: (queue: QueueName) => Promise<boolean>): JobPriorities {
  const reserveScript = bindScript<number[] | null>(redis, 'parlanceReservePriorities', reserveLua);
  const markServedScript = bindScript<number>(redis, 'parlanceJobServed', servedLua);
  const keyOf = (queue: QueueName): string => `${keys.partitionPrefix(keys.partitionOf(queue))}fair:${queue}`;
  return {
    async reserve({ queue, accountId, costs, maxWaiting = -1 }) {
      const tags = await reserveScript([keyOf(queue)], [accountId, maxWaiting, stateTtlMs, ...costs]);
      // Priorities begin at 1: in BullMQ 0 means no priority, and such jobs run first.
      return tags && tags.map((tag) => Math.min(tag + 1, maxPriority));
    },
    async markServed(queue, priority) {
      await markServedScript([keyOf(queue)], [priority - 1, stateTtlMs]);
    },
    async removeIfEmpty(queue) {
      if (await isQueueEmpty(queue)) await redis.del(keyOf(queue));
    },
  };
}
