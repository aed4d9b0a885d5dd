import { randomUUID } from 'node:crypto';
import { limits } from '../../base/limits.ts';
import type { EventData } from '../../contract/events.ts';
import type { Keys } from './log/keys.ts';
import type { ControlMessage } from './log/reader.ts';
import { bindScript, type RedisClient } from './redis.ts';

type PresenceData = EventData<'PRESENCE_UPDATE'>;

/**
 * Lua functions for every script that may change a presence. `markDue` makes the account's presence due for a check, under a new number. `addToNode` and
 * `removeFromNode` record that a session is on a node now, or no longer. `removeFromOldNode` is for a socket that has lost its session: it removes the session
 * from the socket's node, unless another socket of that node has it.
 */
export const presenceLua = `
local function markDue(P, account)
  redis.call('ZADD', P..'due', redis.call('INCR', P..'opened'), account)
end
local function addToNode(P, node, sid, account)
  redis.call('HSETNX', P..'nodes', node, 'live')
  if redis.call('HSET', P..'live:'..node, sid, account) == 1 then markDue(P, account) end
end
local function removeFromNode(P, node, sid)
  local account = redis.call('HGET', P..'live:'..node, sid)
  if not account then return end
  redis.call('HDEL', P..'live:'..node, sid)
  markDue(P, account)
end
local function removeFromOldNode(P, owner, sid)
  local node = string.match(owner, '^(.*)-%d+$') or ''
  if redis.call('HGET', P..'ses:'..sid, 'node') ~= node then removeFromNode(P, node, sid) end
end
`;

// Returns the presences that are due, the longest waiting first: account, number, and the presence that was published last, or false. When the lease of a node
// has expired or is renewed again, all its accounts become due. A node is forgotten once none of its sessions can be resumed.
const dueLua = `
${presenceLua}
local P, now = ARGV[1], tonumber(redis.call('TIME')[1])
local nodes = redis.call('HGETALL', P..'nodes')
for i = 1, #nodes, 2 do
  local node, state, all = nodes[i], nodes[i + 1], P..'live:'..nodes[i]
  local live = redis.call('EXISTS', P..'node:'..node) == 1
  if live ~= (state == 'live') then
    for _, account in ipairs(redis.call('HVALS', all)) do markDue(P, account) end
    redis.call('HSET', P..'nodes', node, live and 'live' or now)
  elseif not live and (now - tonumber(state)) * 1000 > ${limits.sessionRetentionMs} then
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
${presenceLua}
local P, account = ARGV[1], ARGV[2]
if ARGV[3] == '1' then redis.call('HSETNX', P..'published', account, '?') end
markDue(P, account)
return 1
`;

const acquireLockLua = `
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
export const toStoredPresence = ({ status, customStatus }: PresenceData): string | null =>
  status === 'offline' ? null : JSON.stringify([status, customStatus]);

/** Parses the stored presence of an account. */
export function parseStoredPresence(userId: string, stored: string): PresenceData {
  const [status, customStatus] = JSON.parse(stored) as [PresenceData['status'], string | null];
  return { userId, status, customStatus };
}

/** What a worker uses to publish presences. All methods reject while Redis is unavailable. */
export interface Presences {
  /** Takes or renews the lock with which only one worker at a time checks presences, for `ms` milliseconds; false when another worker has it. */
  acquireLock(ms: number): Promise<boolean>;
  /** The presences to check, at most `count` of each partition, the longest waiting first. They include the accounts of a node that died. */
  listDue(count: number): Promise<DuePresence[]>;
  /**
   * Publishes the presence of an account to the sessions that watch it and to bots in `servers`, unless it equals the last published one. The account is no
   * longer due after that. True when it was published.
   */
  publish(due: DuePresence, presence: PresenceData, servers: readonly string[]): Promise<boolean>;
}

/**
 * Makes an account's presence due for a check. With `isForced` it is published even if the account is offline before and after. Rejects while Redis is
 * unavailable.
 */
export type PresenceChanged = (accountId: string, isForced: boolean) => Promise<void>;

/** Binds `markPresenceChanged` to `redis`. */
export function createPresenceChanged(redis: RedisClient, keys: Keys): PresenceChanged {
  const changedScript = bindScript<number>(redis, 'parlancePresenceChanged', changedLua);
  return async (accountId, isForced) => {
    const prefix = keys.partitionPrefix(keys.partitionOfAccount(accountId));
    await changedScript([`${prefix}due`], [prefix, accountId, isForced ? 1 : 0]);
  };
}

/** Binds the scripts to `redis`. */
export function createPresences(redis: RedisClient, keys: Keys): Presences {
  const ownerId = randomUUID();
  const acquireLockScript = bindScript<number>(redis, 'parlancePresenceTurn', acquireLockLua);
  const dueScript = bindScript<[string, string, string | null][]>(redis, 'parlancePresencesDue', dueLua);
  const publishScript = bindScript<number>(redis, 'parlancePresencePublish', publishLua);
  return {
    acquireLock: async (ms) => (await acquireLockScript([`${keys.partitionPrefix(0)}presence-turn`], [ownerId, ms])) === 1,
    async listDue(count) {
      const duePresences: DuePresence[] = [];
      for (let partition = 0; partition < keys.partitions; partition++) {
        const prefix = keys.partitionPrefix(partition);
        for (const [accountId, number, published] of await dueScript([`${prefix}due`], [prefix, count]))
          duePresences.push({ accountId, number, published });
      }
      return duePresences;
    },
    async publish({ accountId, number }, data, servers) {
      const partition = keys.partitionOfAccount(accountId);
      const prefix = keys.partitionPrefix(partition);
      const toWatchers: ControlMessage = { kind: 'presence', data, servers: null };
      const toBots: ControlMessage = { kind: 'presence', data, servers };
      const args = [prefix, accountId, number, toStoredPresence(data) ?? '', JSON.stringify(toWatchers), JSON.stringify(toBots)];
      return (await publishScript([`${prefix}due`, keys.presenceChannel(accountId), keys.botPresenceChannel(partition)], args)) === 1;
    },
  };
}
