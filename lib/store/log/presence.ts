import { randomUUID } from 'node:crypto';
import type { Redis } from 'ioredis';
import { limits } from '../../base/limits.ts';
import { bindScript } from '../redis.ts';
import type { Keys } from './keys.ts';

/**
 * Lua for every script that may change who is seen as what. `mark`: the account's presence is due to be looked at, under a number of its own. `arrive` and
 * `go`: a session is on that node now, or no longer. `gone`: its socket has lost it; unless another of the same node holds it, it is there no longer.
 */
export const markLua = `
local function mark(P, account)
  redis.call('ZADD', P..'due', redis.call('INCR', P..'opened'), account)
end
local function arrive(P, node, sid, account)
  redis.call('HSETNX', P..'nodes', node, 'live')
  if redis.call('HSET', P..'live:'..node, sid, account) == 1 then mark(P, account) end
end
local function go(P, node, sid)
  local account = redis.call('HGET', P..'live:'..node, sid)
  if not account then return end
  redis.call('HDEL', P..'live:'..node, sid)
  mark(P, account)
end
local function gone(P, owner, sid)
  local node = string.match(owner, '^(.*)-%d+$') or ''
  if redis.call('HGET', P..'ses:'..sid, 'node') ~= node then go(P, node, sid) end
end
`;

// What is due, first come first: account, number, and what was last told of it or false. A node whose lease ended, or lives again, makes all its accounts
// due; it is forgotten when none of its sessions can be resumed any more.
const dueLua = `
${markLua}
local P, now = ARGV[1], tonumber(redis.call('TIME')[1])
local nodes = redis.call('HGETALL', P..'nodes')
for i = 1, #nodes, 2 do
  local node, state, all = nodes[i], nodes[i + 1], P..'live:'..nodes[i]
  local live = redis.call('EXISTS', P..'node:'..node) == 1
  if live ~= (state == 'live') then
    for _, account in ipairs(redis.call('HVALS', all)) do mark(P, account) end
    redis.call('HSET', P..'nodes', node, live and 'live' or now)
  elseif not live and (now - tonumber(state)) * 1000 > ${limits.sessionKeptMs} then
    redis.call('DEL', all)
    redis.call('HDEL', P..'nodes', node)
  end
end
local out, due = {}, redis.call('ZRANGE', P..'due', 0, ARGV[2] - 1, 'WITHSCORES')
for i = 1, #due, 2 do
  out[#out + 1] = { due[i], due[i + 1], redis.call('HGET', P..'told', due[i]) }
end
return out
`;

// Notes what was told of an account. One that is due anew stays so; one that another worker settled meanwhile is looked at once more.
const settleLua = `
${markLua}
local P, account, number, told = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local due = redis.call('ZSCORE', P..'due', account)
if due == number then redis.call('ZREM', P..'due', account) elseif not due then mark(P, account) end
if told == '' then redis.call('HDEL', P..'told', account) else redis.call('HSET', P..'told', account, told) end
return 1
`;

// Of an account that is told as offline nothing is kept: '?' makes what it says about itself news all the same.
const changedLua = `
${markLua}
local P, account = ARGV[1], ARGV[2]
if ARGV[3] == '1' then redis.call('HSETNX', P..'told', account, '?') end
mark(P, account)
return 1
`;

const turnLua = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/** An account whose presence may have changed, the number of that change, and what was last told of it: null for offline. */
export interface DuePresence {
  accountId: string;
  number: string;
  told: string | null;
}

/** The worker's power over what is told of presence. Everything rejects while Redis is away. */
export interface Presences {
  /** Takes or keeps the turn for so long, so that one worker at a time looks; false when another has it. */
  takeTurn(ms: number): Promise<boolean>;
  /** The presences to look at, at most `count` of each partition, the longest waiting first; those of a node that died are among them. */
  due(count: number): Promise<DuePresence[]>;
  /** Notes what is told of an account now, null for offline, and that this is done. */
  settle(due: DuePresence, told: string | null): Promise<void>;
}

/** Says that an account changed its presence; with `news` also one that is seen as offline has something to tell. Rejects while Redis is away. */
export type PresenceChanged = (accountId: string, news: boolean) => Promise<void>;

/** Binds `presenceChanged` to `redis`. */
export function createPresenceChanged(redis: Redis, keys: Keys): PresenceChanged {
  const changed = bindScript<number>(redis, 'parlancePresenceChanged', changedLua);
  return async (accountId, news) => {
    const prefix = keys.partition(keys.partitionOfAccount(accountId));
    await changed([`${prefix}due`], [prefix, accountId, news ? 1 : 0]);
  };
}

/** Binds the scripts to `redis`. */
export function createPresences(redis: Redis, keys: Keys): Presences {
  const holder = randomUUID();
  const turn = bindScript<number>(redis, 'parlancePresenceTurn', turnLua);
  const due = bindScript<[string, string, string | null][]>(redis, 'parlancePresencesDue', dueLua);
  const settle = bindScript<number>(redis, 'parlancePresenceSettle', settleLua);
  return {
    takeTurn: async (ms) => (await turn([`${keys.partition(0)}presence-turn`], [holder, ms])) === 1,
    async due(count) {
      const found: DuePresence[] = [];
      for (let k = 0; k < keys.partitions; k++) {
        const prefix = keys.partition(k);
        for (const [accountId, number, told] of await due([`${prefix}due`], [prefix, count])) found.push({ accountId, number, told });
      }
      return found;
    },
    async settle({ accountId, number }, told) {
      const prefix = keys.partition(keys.partitionOfAccount(accountId));
      await settle([`${prefix}due`], [prefix, accountId, number, told ?? '']);
    },
  };
}
