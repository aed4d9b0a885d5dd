import { randomUUID } from 'node:crypto';
import { limits } from '../../../base/limits.ts';
import type { EventData } from '../../../contract/events.ts';
import { bindScript, type RedisClient } from '../redis.ts';
import type { Keys } from './keys.ts';
import type { Control } from './reader.ts';

type PresenceData = EventData<'PRESENCE_UPDATE'>;

/**
 * Lua functions for every script that may change a presence. `mark` makes the account's presence due for a check, under a new number. `arrive` and `go` record
 * that a session is on a node now, or no longer. `gone` is for a socket that has lost its session: it removes the session from the socket's node, unless
 * another socket of that node has it.
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

// Returns the presences that are due, the longest waiting first: account, number, and the presence that was published last, or false. When the lease of a node
// has expired or is renewed again, all its accounts become due. A node is forgotten once none of its sessions can be resumed.
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
  out[#out + 1] = { due[i], due[i + 1], redis.call('HGET', P..'published', due[i]) }
end
return out
`;

// Stores the presence of an account after a check, and publishes it if it differs from the last one. This is one step, so that each change is published once.
// Does nothing if the account has become due again, or if another worker has done this. KEYS: due, the account's channel, the channel for bots. ARGV: prefix,
// account, number, the presence as it is kept, the messages for the two channels.
const publishLua = `
local P, account, kept = ARGV[1], ARGV[2], ARGV[4]
if redis.call('ZSCORE', KEYS[1], account) ~= ARGV[3] then return 0 end
redis.call('ZREM', KEYS[1], account)
if (redis.call('HGET', P..'published', account) or '') == kept then return 0 end
if kept == '' then redis.call('HDEL', P..'published', account) else redis.call('HSET', P..'published', account, kept) end
redis.call('PUBLISH', KEYS[2], ARGV[5])
redis.call('PUBLISH', KEYS[3], ARGV[6])
return 1
`;

// No presence is kept for an offline account. The value '?' makes the next check publish the account's presence even if it is still offline.
const changedLua = `
${markLua}
local P, account = ARGV[1], ARGV[2]
if ARGV[3] == '1' then redis.call('HSETNX', P..'published', account, '?') end
mark(P, account)
return 1
`;

const turnLua = `
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
`;

/** An account whose presence may have changed, the number of that change, and its last published presence, which is null for offline. */
export interface DuePresence {
  accountId: string;
  number: string;
  published: string | null;
}

/** The form in which a presence is kept in Redis and compared; null for offline. */
export const keptPresence = ({ status, customStatus }: PresenceData): string | null =>
  status === 'offline' ? null : JSON.stringify([status, customStatus]);

/** Parses the kept presence of an account. */
export function readKeptPresence(userId: string, kept: string): PresenceData {
  const [status, customStatus] = JSON.parse(kept) as [PresenceData['status'], string | null];
  return { userId, status, customStatus };
}

/** What a worker uses to publish presences. All methods reject while Redis is away. */
export interface Presences {
  /** Takes or renews the lock with which only one worker at a time checks presences, for `ms` milliseconds; false when another worker has it. */
  takeTurn(ms: number): Promise<boolean>;
  /** The presences to check, at most `count` of each partition, the longest waiting first. They include the accounts of a node that died. */
  due(count: number): Promise<DuePresence[]>;
  /**
   * Publishes the presence of an account to the sessions that watch it and to bots in `servers`, unless it equals the last published one. The account is no
   * longer due after that. True when it was published.
   */
  publish(due: DuePresence, presence: PresenceData, servers: readonly string[]): Promise<boolean>;
}

/** Makes an account's presence due for a check. With `news` it is published even if the account is offline before and after. Rejects while Redis is away. */
export type PresenceChanged = (accountId: string, news: boolean) => Promise<void>;

/** Binds `presenceChanged` to `redis`. */
export function createPresenceChanged(redis: RedisClient, keys: Keys): PresenceChanged {
  const changed = bindScript<number>(redis, 'parlancePresenceChanged', changedLua);
  return async (accountId, news) => {
    const prefix = keys.partition(keys.partitionOfAccount(accountId));
    await changed([`${prefix}due`], [prefix, accountId, news ? 1 : 0]);
  };
}

/** Binds the scripts to `redis`. */
export function createPresences(redis: RedisClient, keys: Keys): Presences {
  const holder = randomUUID();
  const turn = bindScript<number>(redis, 'parlancePresenceTurn', turnLua);
  const due = bindScript<[string, string, string | null][]>(redis, 'parlancePresencesDue', dueLua);
  const publish = bindScript<number>(redis, 'parlancePresencePublish', publishLua);
  return {
    takeTurn: async (ms) => (await turn([`${keys.partition(0)}presence-turn`], [holder, ms])) === 1,
    async due(count) {
      const found: DuePresence[] = [];
      for (let k = 0; k < keys.partitions; k++) {
        const prefix = keys.partition(k);
        for (const [accountId, number, published] of await due([`${prefix}due`], [prefix, count]))
          found.push({ accountId, number, published });
      }
      return found;
    },
    async publish({ accountId, number }, data, servers) {
      const k = keys.partitionOfAccount(accountId);
      const prefix = keys.partition(k);
      const toWatchers: Control = { kind: 'presence', data, servers: null };
      const toBots: Control = { kind: 'presence', data, servers };
      const args = [prefix, accountId, number, keptPresence(data) ?? '', JSON.stringify(toWatchers), JSON.stringify(toBots)];
      return (await publish([`${prefix}due`, keys.presenceChannel(accountId), keys.botPresenceChannel(k)], args)) === 1;
    },
  };
}
