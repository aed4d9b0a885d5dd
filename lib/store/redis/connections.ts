import type { Keys } from './log/keys.ts';
import { presenceLua } from './presence.ts';
import { bindScript, type RedisClient } from './redis.ts';

const connectedLua = `
local P, out = ARGV[1], {}
for i = 2, #ARGV do
  local live = 0
  for _, sid in ipairs(redis.call('SMEMBERS', P..'bot:'..ARGV[i])) do
    local node = redis.call('HGET', P..'ses:'..sid, 'node')
    if node and node ~= '' and redis.call('EXISTS', P..'node:'..node) == 1 then live = 1 break end
  end
  out[#out + 1] = live
end
return out
`;

// The newest session of an account on a live node; false when there is none.
const newestLua = `
local P, newest, openedLast = ARGV[1], false, -1
for _, sid in ipairs(redis.call('SMEMBERS', P..'bot:'..ARGV[2])) do
  local h = redis.call('HMGET', P..'ses:'..sid, 'node', 'opened')
  if h[1] and h[1] ~= '' and tonumber(h[2]) > openedLast and redis.call('EXISTS', P..'node:'..h[1]) == 1 then newest, openedLast = sid, tonumber(h[2]) end
end
return newest
`;

// The nodes with sessions whose lease has not expired.
const nodesLua = `
local P, out = ARGV[1], {}
for _, node in ipairs(redis.call('HKEYS', P..'nodes')) do
  if redis.call('EXISTS', P..'node:'..node) == 1 then out[#out + 1] = node end
end
return out
`;

// One page of the accounts on a node: the next cursor, then the accounts. Sessions that are no longer on the node are removed from its list.
const pageLua = `
${presenceLua}
local P, node = ARGV[1], ARGV[2]
local page = redis.call('HSCAN', P..'live:'..node, ARGV[3], 'COUNT', 500)
local out = { page[1] }
for i = 1, #page[2], 2 do
  local sid, account = page[2][i], page[2][i + 1]
  if redis.call('HGET', P..'ses:'..sid, 'node') == node then out[#out + 1] = account
  else removeFromNode(P, node, sid) end
end
return out
`;

/** Which accounts have a socket on a live node. Presence, online counts and `bot_offline` use it. All methods reject while Redis is unavailable. */
export interface Connections {
  /** Whether each account is connected now, in the order of `accountIds`. */
  areConnected(accountIds: readonly string[]): Promise<boolean[]>;
  /** The newest session of an account on a live node; null when it is offline. */
  findNewestSession(accountId: string): Promise<string | null>;
  /** All accounts that are connected now. They are read page by page, so that Redis is never blocked for long. */
  listConnected(): Promise<Set<string>>;
}

/** Binds the scripts to `redis`. */
export function createConnections(redis: RedisClient, keys: Keys): Connections {
  const connected = bindScript<number[]>(redis, 'parlanceConnected', connectedLua);
  const nodes = bindScript<string[]>(redis, 'parlanceNodes', nodesLua);
  const page = bindScript<string[]>(redis, 'parlanceConnectedPage', pageLua);
  const newest = bindScript<string | null>(redis, 'parlanceNewest', newestLua);
  return {
    findNewestSession: (accountId) => {
      const prefix = keys.partitionPrefix(keys.partitionOfAccount(accountId));
      return newest([`${prefix}connected`], [prefix, accountId]);
    },
    async areConnected(accountIds) {
      const connectedIds = new Set<string>();
      for (let partition = 0; partition < keys.partitions; partition++) {
        const ids = accountIds.filter((id) => keys.partitionOfAccount(id) === partition);
        if (ids.length === 0) continue;
        const prefix = keys.partitionPrefix(partition);
        const connectedFlags = await connected([`${prefix}connected`], [prefix, ...ids]);
        ids.forEach((id, index) => connectedFlags[index] && connectedIds.add(id));
      }
      return accountIds.map((id) => connectedIds.has(id));
    },
    async listConnected() {
      const accounts = new Set<string>();
      for (let partition = 0; partition < keys.partitions; partition++) {
        const prefix = keys.partitionPrefix(partition);
        for (const node of await nodes([`${prefix}nodes`], [prefix])) {
          let cursor = '0';
          do {
            const [next = '0', ...pageAccounts] = await page([`${prefix}nodes`], [prefix, node, cursor]);
            for (const account of pageAccounts) accounts.add(account);
            cursor = next;
          } while (cursor !== '0');
        }
      }
      return accounts;
    },
  };
}
