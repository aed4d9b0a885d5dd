import type { Redis } from 'ioredis';
import { limits } from '../../base/limits.ts';
import { bindScript } from '../redis.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import type { Keys } from './keys.ts';
import { markLua } from './presence.ts';

/** How long a gateway node counts as alive after its last renewal, in milliseconds (quality 2, Liveness). */
const leaseMs = 5_000;
const keptMs = limits.sessionKeptMs;

// Tells the node that held a session that it has lost it (Control, kind taken), so that its socket closes now and not at its next heartbeat.
const tellLua = `
local function tell(topic, sid, owner)
  redis.call('PUBLISH', topic, '{"kind":"taken","session":"'..sid..'","owner":"'..owner..'"}')
end
`;

// Opens a session and makes room for it: at most so many of an account, the longest disconnected goes first, then the oldest.
const openLua = `
${tellLua}${markLua}
local P, sid, account, node, owner, events, kind, topic = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8]
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
for i = 1, #sessions - ${limits.sessionsPerBot - 1} do
  redis.call('DEL', P..'ses:'..sessions[i][1], P..'str:'..sessions[i][1])
  redis.call('SREM', set, sessions[i][1])
  go(P, sessions[i][4], sessions[i][1])
  if sessions[i][2] == 1 then tell(topic, sessions[i][1], '') end
end
redis.call('HSET', key, 'account', account, 'node', node, 'owner', owner, 'events', events, 's', 0, 'opened', redis.call('INCR', P..'opened'),
  'gen', redis.call('GET', P..'gen') or '')
redis.call('PEXPIRE', key, ${keptMs})
redis.call('SADD', set, sid)
redis.call('PEXPIRE', set, ${keptMs * 2})
arrive(P, node, sid, account)
if kind == 'bot' then
  redis.call('XADD', P..'str:'..sid, '0-1', 'e', '')
  redis.call('PEXPIRE', P..'str:'..sid, ${keptMs})
end
return 1
`;

// Takes a session over for another socket, on any node. Refuses one that is gone, another account's, of an older generation, or behind the client.
const takeLua = `
${tellLua}${markLua}
local P, sid, account, seq, node, owner, topic = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4]), ARGV[5], ARGV[6], ARGV[7]
local h = redis.call('HMGET', P..'ses:'..sid, 'account', 's', 'gen', 'events', 'owner', 'node')
if h[1] ~= account or h[3] ~= (redis.call('GET', P..'gen') or '') or seq > tonumber(h[2]) or redis.call('EXISTS', P..'str:'..sid) == 0 then return {-1, ''} end
redis.call('HSET', P..'ses:'..sid, 'node', node, 'owner', owner, 'opened', redis.call('INCR', P..'opened'))
redis.call('HDEL', P..'ses:'..sid, 'left')
if h[6] and h[6] ~= node then go(P, h[6], sid) end
arrive(P, node, sid, account)
if h[5] and h[5] ~= '' and h[5] ~= owner then tell(topic, sid, owner) end
redis.call('PEXPIRE', P..'ses:'..sid, ${keptMs})
redis.call('PEXPIRE', P..'str:'..sid, ${keptMs})
redis.call('SADD', P..'bot:'..account, sid)
redis.call('PEXPIRE', P..'bot:'..account, ${keptMs * 2})
return {tonumber(h[2]), h[4]}
`;

// The owner's heartbeat: keeps the session and tells where its sequence stands; -1 when it is lost.
const refreshLua = `
${markLua}
local P, sid, owner = ARGV[1], ARGV[2], ARGV[3]
local h = redis.call('HMGET', P..'ses:'..sid, 'owner', 's', 'account', 'gen', 'node')
if h[1] ~= owner or h[4] ~= (redis.call('GET', P..'gen') or '') then
  gone(P, owner, sid)
  return -1
end
arrive(P, h[5], sid, h[3])
redis.call('PEXPIRE', P..'ses:'..sid, ${keptMs})
redis.call('PEXPIRE', P..'str:'..sid, ${keptMs})
redis.call('SADD', P..'bot:'..h[3], sid)
redis.call('PEXPIRE', P..'bot:'..h[3], ${keptMs * 2})
return tonumber(h[2])
`;

// The owner's socket is gone. ARGV[4] = 1 ends the session, else it waits to be resumed.
const leaveLua = `
${markLua}
local P, sid, owner = ARGV[1], ARGV[2], ARGV[3]
local h = redis.call('HMGET', P..'ses:'..sid, 'owner', 'account', 'node')
if h[1] ~= owner then
  gone(P, owner, sid)
  return 0
end
go(P, h[3], sid)
if ARGV[4] == '1' then
  redis.call('DEL', P..'ses:'..sid, P..'str:'..sid)
  redis.call('SREM', P..'bot:'..h[2], sid)
else
  redis.call('HSET', P..'ses:'..sid, 'node', '', 'owner', '', 'left', redis.call('INCR', P..'opened'))
end
return 1
`;

// The next events of a session after position ARGV[3], at most ARGV[4]: [s, message or false] each. Entries are `<s>-0`; the one that opens a stream
// is 0-1, and reading from `-1` on leaves it out. A page ends with the event that makes it too large.
const readLua = `
local P, out, bytes = ARGV[1], {}, 0
for _, entry in ipairs(redis.call('XRANGE', P..'str:'..ARGV[2], '('..ARGV[3]..'-1', '+', 'COUNT', ARGV[4])) do
  local s = string.match(entry[1], '^(%d+)-0$')
  if s then
    local message = redis.call('GET', P..'pay:'..entry[2][2])
    bytes = bytes + (message and #message or 0)
    out[#out + 1] = { tonumber(s), message }
    if bytes > ${limits.replayPageBytes} then break end
  end
end
return out
`;

/** Which socket holds a session. `owner` is unique for each socket of each node. */
export interface Owner {
  node: string;
  owner: string;
}

/** A stored event of a session: its number, and the event, or null when its payload is gone. */
export interface Stored {
  s: number;
  event: Envelope | null;
}

/** A gateway node's power over sessions. Everything rejects while Redis is away. */
export interface Sessions {
  /** Opens a session at position 0. `events` are the names it asked for; a person's session has no stream and only counts as a connection. */
  open(session: { id: string; accountId: string; events: readonly string[]; kind: 'bot' | 'person' } & Owner): Promise<void>;
  /** Takes a session over at `seq`; null when it cannot be resumed. Answers where its sequence stands and the events it asked for. */
  take(session: { id: string; accountId: string; seq: number } & Owner): Promise<{ s: number; events: string[] } | null>;
  /** Keeps the session alive for 6 minutes and answers where its sequence stands; null when this socket has lost it. */
  refresh(session: { id: string; accountId: string; owner: string }): Promise<number | null>;
  /** Gives the session up: ended for good, or left to be resumed. */
  leave(session: { id: string; accountId: string; owner: string }, how: 'end' | 'wait'): Promise<void>;
  /** Stored events after `after`, oldest first, at most `count` and about 1 MiB; empty only when there is none. */
  read(session: { id: string; accountId: string }, after: number, count: number): Promise<Stored[]>;
  /** Says that `node` lives, for 5 s. */
  renewLease(node: string): Promise<void>;
  /** Ends the lease of a node that stops in good order. */
  dropLease(node: string): Promise<void>;
}

/** Binds the session scripts to `redis`. */
export function createSessions(redis: Redis, keys: Keys): Sessions {
  const open = bindScript<number>(redis, 'parlanceOpen', openLua);
  const take = bindScript<[number, string]>(redis, 'parlanceTake', takeLua);
  const refresh = bindScript<number>(redis, 'parlanceRefresh', refreshLua);
  const leave = bindScript<number>(redis, 'parlanceLeave', leaveLua);
  const read = bindScript<[number, Buffer | null][]>(redis, 'parlanceRead', readLua, 'bytes');
  const prefixOf = (accountId: string): string => keys.shard(keys.shardOf(accountId));
  const topicOf = ({ accountId }: { accountId: string }): string => keys.topic(`user:${accountId}`);
  const call = <R>(
    script: (keys: string[], args: (string | number)[]) => Promise<R>,
    accountId: string,
    ...args: (string | number)[]
  ): Promise<R> => {
    const prefix = prefixOf(accountId);
    return script([`${prefix}session`], [prefix, ...args]);
  };
  return {
    async open(session) {
      const events = ` ${session.events.join(' ')} `;
      await call(
        open,
        session.accountId,
        session.id,
        session.accountId,
        session.node,
        session.owner,
        events,
        session.kind,
        topicOf(session),
      );
    },
    async take(session) {
      const { id, accountId, seq, node, owner } = session;
      const [s, events] = await call(take, accountId, id, accountId, seq, node, owner, topicOf(session));
      return s < 0 ? null : { s, events: events.trim().split(' ').filter(Boolean) };
    },
    async refresh(session) {
      const s = await call(refresh, session.accountId, session.id, session.owner);
      return s < 0 ? null : s;
    },
    async leave(session, how) {
      await call(leave, session.accountId, session.id, session.owner, how === 'end' ? '1' : '0');
    },
    async read(session, after, count) {
      const rows = await call(read, session.accountId, session.id, after, count);
      return rows.map(([s, message]) => ({ s, event: message ? readEnvelope(message) : null }));
    },
    async renewLease(node) {
      const pipeline = redis.pipeline();
      for (let shard = 0; shard < keys.shards; shard++) pipeline.set(`${keys.shard(shard)}node:${node}`, '1', 'PX', leaseMs);
      for (const [error] of (await pipeline.exec()) ?? []) if (error) throw error;
    },
    async dropLease(node) {
      const pipeline = redis.pipeline();
      for (let shard = 0; shard < keys.shards; shard++) pipeline.del(`${keys.shard(shard)}node:${node}`);
      await pipeline.exec();
    },
  };
}
