import type { LogState } from '../../mongo/log-state.ts';
import { bindScript, onConnectionLost, type RedisClient } from '../redis.ts';
import type { Keys } from './keys.ts';

/** The numbers of epoch e are e · 2^40 + 1, e · 2^40 + 2 and so on. They never repeat, whatever Redis loses. */
export const epochSize = 2 ** 40;
/** The epoch of a number. */
export const getEpoch = (number: number): number => Math.floor(number / epochSize);

/** The state of a partition's log. */
export interface EpochState {
  /** The run id of Redis at the last `syncEpoch`. */
  runId: string;
  epoch: number;
  /** The last number that was assigned. */
  lastNumber: number;
  /** Positions below it are invalid, because acknowledged entries were lost. */
  floor: number;
  /** The last number of each epoch that has ended. */
  epochEnds: ReadonlyMap<number, number>;
}

// KEYS: state, n, ends. ARGV: the highest epoch that the caller knows, the highest acknowledged number that it knows.
// The first call under a run of Redis ends the epoch at the current number. If a higher number was acknowledged, entries were lost, and the floor is raised.
const syncLua = `
local known, acknowledged, size = tonumber(ARGV[1]), tonumber(ARGV[2]), ${epochSize}
local info = redis.call('INFO', 'server')
local run = string.match(info, 'run_id:(%x+)')
local node = string.find(info, 'redis_mode:cluster') and redis.call('CLUSTER', 'MYID') or ''
local state = redis.call('HMGET', KEYS[1], 'run', 'epoch', 'floor', 'node')
local epoch, floor = tonumber(state[2] or '0'), tonumber(state[3] or '0')
local n = tonumber(redis.call('GET', KEYS[2]) or '0')
local function begin(e)
  if epoch > 0 then redis.call('HSET', KEYS[3], epoch, string.format('%.0f', n)) end
  epoch, n = e, e * size
  redis.call('SET', KEYS[2], string.format('%.0f', n))
  redis.call('HSET', KEYS[1], 'run', run, 'node', node, 'epoch', epoch)
end
if state[1] ~= run or (state[4] or '') ~= node or known > epoch then begin(math.max(epoch, known) + 1) end
local raised = 0
if acknowledged > 0 and acknowledged >= floor then
  local e = math.floor(acknowledged / size)
  local last = e == epoch and n or tonumber(redis.call('HGET', KEYS[3], e) or '-1')
  if acknowledged > last then
    begin(epoch + 1)
    floor, raised = n, 1
    redis.call('HSET', KEYS[1], 'floor', string.format('%.0f', floor))
  end
end
local out = { run, string.format('%.0f', epoch), string.format('%.0f', n), string.format('%.0f', floor), raised }
for _, each in ipairs(redis.call('HGETALL', KEYS[3])) do out[#out + 1] = each end
return out
`;

/**
 * Lua: `isCurrent(key, run)` returns whether `syncEpoch` was called under this run of this Redis node. On a cluster, the state is copied to replicas and moves
 * with its slot. The stored node id then differs from the node's own until `syncEpoch` is called there.
 */
export const isCurrentLua = `
local function isCurrent(key, run)
  local state = redis.call('HMGET', key, 'run', 'node')
  return state[1] == run and (not state[2] or state[2] == '' or state[2] == redis.call('CLUSTER', 'MYID'))
end
`;

/**
 * Detects restarts of Redis (docs/delivery.md#loss). The first process that appends or reads after a restart passes the highest acknowledged number that it
 * knows. If Redis has lost that entry, all earlier positions become invalid.
 */
export interface Epochs {
  /** The run id of a partition's Redis that this process knows; empty after the connection was lost, until `syncEpoch`. */
  runId(partition: number): string;
  /** The epoch of a partition that this process knows. */
  epoch(partition: number): number;
  /** Records that `number` was acknowledged. */
  acknowledge(partition: number, number: number): void;
  /** Reads the state of the log, and begins a new epoch if Redis was restarted. Rejects while Redis is unavailable. */
  syncEpoch(partition: number): Promise<EpochState>;
}

/**
 * Binds the epochs of all partitions to `redis`. Calls `onLoss` when acknowledged entries were lost. `logState` has the acknowledged numbers of all processes.
 */
export function createEpochs(redis: RedisClient, keys: Keys, onLoss: () => void, logState?: Pick<LogState, 'readAcknowledged'>): Epochs {
  const script = bindScript<[string, string, string, string, number, ...string[]]>(redis, 'parlanceBoot', syncLua);
  const states = Array.from({ length: keys.partitions }, () => ({ runId: '', epoch: 0, acknowledged: 0, floor: 0 }));
  const getState = (partition: number): (typeof states)[number] => {
    const state = states[partition];
    if (!state) throw new Error(`there is no partition ${partition}`);
    return state;
  };
  onConnectionLost(redis, () => {
    for (const state of states) state.runId = '';
  });
  return {
    runId: (partition) => getState(partition).runId,
    epoch: (partition) => getState(partition).epoch,
    acknowledge(partition, number) {
      const state = getState(partition);
      if (number > state.acknowledged) state.acknowledged = number;
    },
    async syncEpoch(partition) {
      const state = getState(partition);
      const prefix = keys.partitionPrefix(partition);
      if (logState) state.acknowledged = Math.max(state.acknowledged, await logState.readAcknowledged(partition));
      const knownEpoch = Math.max(state.epoch, getEpoch(state.acknowledged));
      const reply = await script([`${prefix}state`, `${prefix}n`, `${prefix}ends`], [knownEpoch, state.acknowledged]);
      const [runId, epoch, lastNumber, floor, isRaised, ...ends] = reply;
      if (isRaised === 1 || (state.epoch > 0 && Number(floor) > state.floor)) onLoss();
      state.runId = runId;
      state.epoch = Number(epoch);
      state.floor = Number(floor);
      return {
        runId,
        epoch: state.epoch,
        lastNumber: Number(lastNumber),
        floor: state.floor,
        epochEnds: new Map(ends.flatMap((end, index) => (index % 2 === 0 ? [[Number(end), Number(ends[index + 1])]] : []))),
      };
    },
  };
}
