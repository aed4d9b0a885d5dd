import { limits } from '../../base/limits.ts';
import type { Keys } from './log/keys.ts';
import { controlChannel } from './log/reader.ts';
import { presenceLua } from './presence.ts';
import { bindScript, type RedisClient } from './redis.ts';

/** How long a gateway node counts as alive after its last renewal, in milliseconds. */
const leaseMs = 5_000;
const sessionTtlMs = limits.sessionRetentionMs;

// `publishTaken` publishes to a session's previous node that it has lost the session (`ControlMessage` of kind `taken`), so that the socket closes now and not
// at its next heartbeat. `renew` restarts the expiry of a session and of its account's set of sessions. `readOwned` returns owner, account and node of a
// session if `owner` holds it; otherwise it removes the session from that owner's node.
const sessionLua = `
${presenceLua}
local function publishTaken(channel, account, sid, owner)
  redis.call('PUBLISH', channel, '{"kind":"taken","accountId":"'..account..'","session":"'..sid..'","owner":"'..owner..'"}')
end
local function renew(P, sid, account)
  redis.call('PEXPIRE', P..'ses:'..sid, ${sessionTtlMs})
  redis.call('SADD', P..'bot:'..account, sid)
  redis.call('PEXPIRE', P..'bot:'..account, ${sessionTtlMs * 2})
end
local function readOwned(P, sid, owner)
  local h = redis.call('HMGET', P..'ses:'..sid, 'owner', 'account', 'node')
  if h[1] == owner then return h end
  removeFromOldNode(P, owner, sid)
end
`;

// Opens a session. If the account has too many, it ends others: first those that were disconnected longest, then the oldest.
const openLua = `
${sessionLua}
local P, sid, account, node, owner, events, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7]
local set, key = P..'bot:'..account, P..'ses:'..sid
local sessions = {}
for _, other in ipairs(redis.call('SMEMBERS', set)) do
  local h = redis.call('HMGET', P..'ses:'..other, 'node', 'opened', 'left')
  if not h[2] then redis.call('SREM', set, other)
  else
    local live = h[1] ~= '' and redis.call('EXISTS', P..'node:'..h[1]) == 1
    sessions[#sessions + 1] = { other, live and 1 or 0, tonumber(live and h[2] or h[3] or h[2]), h[1] }
  end
end
table.sort(sessions, function(a, b) if a[2] ~= b[2] then return a[2] < b[2] end return a[3] < b[3] end)
for i = 1, #sessions - ${limits.gatewaySessionsPerAccount - 1} do
  redis.call('DEL', P..'ses:'..sessions[i][1])
  redis.call('SREM', set, sessions[i][1])
  removeFromNode(P, sessions[i][4], sessions[i][1])
  if sessions[i][2] == 1 then publishTaken(channel, account, sessions[i][1], '') end
end
redis.call('HSET', key, 'account', account, 'node', node, 'owner', owner, 'events', events, 'opened', redis.call('INCR', P..'opened'))
renew(P, sid, account)
addToNode(P, node, sid, account)
return 1
`;

// Takes over a session for another socket, on any node. Returns false if there is no such session of this account.
const takeOverLua = `
${sessionLua}
local P, sid, account, node, owner, channel = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local h = redis.call('HMGET', P..'ses:'..sid, 'account', 'events', 'owner', 'node', 's', 'at')
if h[1] ~= account then return false end
redis.call('HSET', P..'ses:'..sid, 'node', node, 'owner', owner, 'opened', redis.call('INCR', P..'opened'))
redis.call('HDEL', P..'ses:'..sid, 'left')
if h[4] and h[4] ~= node then removeFromNode(P, h[4], sid) end
addToNode(P, node, sid, account)
if h[3] and h[3] ~= '' and h[3] ~= owner then publishTaken(channel, account, sid, owner) end
renew(P, sid, account)
return { h[2], h[5] or '', h[6] or '' }
`;

// The owner's heartbeat: keeps the session; returns 0 if the owner has lost it. If given, it stores `s`, the last position that the client received, and `at`,
// the position up to which the client has therefore received everything.
const refreshLua = `
${sessionLua}
local P, sid, owner = ARGV[1], ARGV[2], ARGV[3]
local h = readOwned(P, sid, owner)
if not h then return 0 end
if ARGV[4] ~= '' then redis.call('HSET', P..'ses:'..sid, 's', ARGV[4], 'at', ARGV[5]) end
addToNode(P, h[3], sid, h[2])
renew(P, sid, h[2])
return 1
`;

// The owner's socket has closed. With ARGV[4] = 1 the session ends, else it waits to be resumed.
const releaseLua = `
${sessionLua}
local P, sid, owner = ARGV[1], ARGV[2], ARGV[3]
local h = readOwned(P, sid, owner)
if not h then return 0 end
removeFromNode(P, h[3], sid)
if ARGV[4] == '1' then
  redis.call('DEL', P..'ses:'..sid)
  redis.call('SREM', P..'bot:'..h[2], sid)
else
  redis.call('HSET', P..'ses:'..sid, 'node', '', 'owner', '', 'left', redis.call('INCR', P..'opened'))
end
return 1
`;

/** The socket that holds a session. `owner` is unique for each socket of each node. */
export interface SessionOwner {
  node: string;
  owner: string;
}

/**
 * The stored state of a session: the events that it asked for, and from its last heartbeat `lastPosition`, the last position that the client received, and
 * `nodePosition`, the position up to which it has therefore received everything.
 */
export interface StoredSession {
  events: string[];
  lastPosition: string;
  nodePosition: string;
}

/** What a gateway node uses to manage sessions. All methods reject while Redis is unavailable. */
export interface Sessions {
  /** Opens a session. `events` are the names of the events that it asked for. */
  open(session: { id: string; accountId: string; events: readonly string[] } & SessionOwner): Promise<void>;
  /** Takes over a session; null when this account has no such session. */
  takeOver(session: { id: string; accountId: string } & SessionOwner): Promise<StoredSession | null>;
  /** Keeps the session for another `limits.sessionRetentionMs`, and stores what its client has received; false when this socket has lost the session. */
  refresh(session: {
    id: string;
    accountId: string;
    owner: string;
    receivedPosition?: { lastPosition: string; nodePosition: string } | undefined;
  }): Promise<boolean>;
  /** Gives up the session: `end` ends it for good, `suspend` keeps it, so that it can be resumed. */
  release(session: { id: string; accountId: string; owner: string }, mode: 'end' | 'suspend'): Promise<void>;
  /** Renews the lease of `node` for 5 s. */
  renewLease(node: string): Promise<void>;
  /** Ends the lease of a node that shuts down. */
  dropLease(node: string): Promise<void>;
}

/** Binds the session scripts to `redis`. */
export function createSessions(redis: RedisClient, keys: Keys): Sessions {
  const openScript = bindScript<number>(redis, 'parlanceOpen', openLua);
  const takeOverScript = bindScript<[string, string, string] | null>(redis, 'parlanceTakeOver', takeOverLua);
  const refreshScript = bindScript<number>(redis, 'parlanceRefresh', refreshLua);
  const releaseScript = bindScript<number>(redis, 'parlanceRelease', releaseLua);
  const getLeaseKeys = (node: string): string[] =>
    Array.from({ length: keys.partitions }, (_, partition) => `${keys.partitionPrefix(partition)}node:${node}`);
  const runScript = <R>(
    script: (keys: string[], args: (string | number)[]) => Promise<R>,
    accountId: string,
    ...args: (string | number)[]
  ): Promise<R> => {
    const prefix = keys.partitionPrefix(keys.partitionOfAccount(accountId));
    return script([`${prefix}session`], [prefix, ...args]);
  };
  return {
    async open({ id, accountId, node, owner, events }) {
      await runScript(openScript, accountId, id, accountId, node, owner, ` ${events.join(' ')} `, controlChannel(keys, accountId));
    },
    async takeOver({ id, accountId, node, owner }) {
      const stored = await runScript(takeOverScript, accountId, id, accountId, node, owner, controlChannel(keys, accountId));
      return stored && { events: stored[0].trim().split(' ').filter(Boolean), lastPosition: stored[1], nodePosition: stored[2] };
    },
    async refresh({ id, accountId, owner, receivedPosition }) {
      return (
        (await runScript(
          refreshScript,
          accountId,
          id,
          owner,
          receivedPosition?.lastPosition ?? '',
          receivedPosition?.nodePosition ?? '',
        )) === 1
      );
    },
    async release({ id, accountId, owner }, mode) {
      await runScript(releaseScript, accountId, id, owner, mode === 'end' ? '1' : '0');
    },
    async renewLease(node) {
      await Promise.all(getLeaseKeys(node).map((key) => redis.set(key, '1', 'PX', leaseMs)));
    },
    async dropLease(node) {
      await Promise.all(getLeaseKeys(node).map((key) => redis.del(key)));
    },
  };
}
