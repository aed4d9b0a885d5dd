import type { QueueName } from '../contract/jobs.ts';
import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** Jobs that an account is about to put on a queue. */
export interface PriorityAsk {
  queue: QueueName;
  /** The account, or whatever else the queue is shared between. */
  accountId: string;
  /** What each job costs, in whole units of the queue, such as megapixels. */
  costs: readonly number[];
  /** The most that may wait of one account, in the same units; without it there is no limit. An account of which nothing waits is never refused. */
  maxWaiting?: number;
}

/** The priorities of the jobs, to be given to `enqueue`; null when more than `maxWaiting` of the account would wait. Rejects while Redis is away. */
export type ReservePriorities = (ask: PriorityAsk) => Promise<number[] | null>;

/** Shares queues fairly between accounts, by the priorities of their jobs. */
export interface JobPriorities {
  reserve: ReservePriorities;
  /** Notes that a job of this priority was done. */
  served(queue: QueueName, priority: number): Promise<void>;
  /** Forgets what accounts had waiting when the queue is empty. */
  drained(queue: QueueName): Promise<void>;
}

/** The largest priority that BullMQ takes. */
const maxPriority = 2 ** 21 - 1;
/** After how long without jobs all is forgotten, in milliseconds. */
const keptMs = 60 * 60_000;

// Start-time fair queueing. A job's tag is the virtual time at which it would start if all accounts with waiting jobs were served at the same rate: after the
// account's own jobs, but never before the highest tag of a job that was done, which is the virtual time now. The member '' holds that time; the
// others hold when the last job of their account ends.
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

/** Binds the priorities of jobs to `redis`; `isEmpty` says whether no job of a queue waits, also not for later. */
export function createJobPriorities(redis: RedisClient, keys: Keys, isEmpty: (queue: QueueName) => Promise<boolean>): JobPriorities {
  const reserve = bindScript<number[] | null>(redis, 'parlanceReservePriorities', reserveLua);
  const serve = bindScript<number>(redis, 'parlanceJobServed', servedLua);
  const keyOf = (queue: QueueName): string => `${keys.partition(keys.partitionOf(queue))}fair:${queue}`;
  return {
    async reserve({ queue, accountId, costs, maxWaiting = -1 }) {
      const tags = await reserve([keyOf(queue)], [accountId, maxWaiting, keptMs, ...costs]);
      // BullMQ runs jobs without a priority first, so 0 is none of ours.
      return tags && tags.map((tag) => Math.min(tag + 1, maxPriority));
    },
    async served(queue, priority) {
      await serve([keyOf(queue)], [priority - 1, keptMs]);
    },
    async drained(queue) {
      if (await isEmpty(queue)) await redis.del(keyOf(queue));
    },
  };
}
