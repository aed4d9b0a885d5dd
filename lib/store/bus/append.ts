import type { Redis } from 'ioredis';
import { limits } from '../../base/limits.ts';
import type { Metrics } from '../../base/metrics.ts';
import type { Overwrite } from '../../base/permissions.ts';
import type { EventName } from '../../contract/events.ts';
import { bindScript } from '../redis.ts';
import { type Before, type Hearers, openHead } from './envelope.ts';
import type { Generation } from './generation.ts';
import type { Keys } from './keys.ts';

/** An event to hand to the gateway. */
export interface Append {
  eventId: string;
  name: EventName;
  /** The payload as JSON. Secrets never stand in it: the gateway adds an interaction's token. */
  payload: string;
  /** Bots that may hear it. */
  bots: readonly string[];
  /** `all` their sessions, or only the `newest` connected one (an interaction). */
  reach: 'all' | 'newest';
  /** Pub/Sub topics that nodes and people's sessions hear it on. */
  topics: readonly string[];
  /** The server whose access data the audience was computed with, and that data's version. */
  server?: { id: string; version: string };
  channelId?: string;
  /** For a channel that is gone: the overwrites that say who could view it. */
  overwrites?: readonly Overwrite[];
  /** For a change of who may view the channel: what stood before. */
  before?: Before;
  /** The account that it is not sent back to. */
  except?: string;
  /** Told to people by where they are: the members of these servers, each with its version, and these accounts; each person once. */
  hearers?: Hearers;
  /** The event of the same batch that must have been appended before this one. */
  after?: string;
}

/**
 * What became of an append: `appended` now or by an earlier try; `stale`: the audience must be computed again; `early`: the event before it is
 * missing; `offline`: no connected session (reach newest only, nothing was appended).
 */
export type Appended = 'appended' | 'stale' | 'early' | 'offline';

// One event into the sessions of one shard, atomically: mark, sequence, stream, publication. The mark comes last and holds who got it.
const lua = `
local P, event, name, version, serverId, after, reach, head, payload, run, others, topics, bots =
  ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6], ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], tonumber(ARGV[12]), nil
if redis.call('GET', P..'run') ~= run then return {'boot'} end
local mark = redis.call('GET', P..'mark:'..event)
if mark then return {'appended', mark, redis.call('GET', P..'count') or '0'} end
if after ~= '' and redis.call('EXISTS', P..'mark:'..after) == 0 then return {'early'} end
if serverId ~= '' and (redis.call('GET', P..'v:'..serverId) or '0') ~= version then return {'stale'} end
local to = {}
local function deliver(sid)
  local s = redis.call('HINCRBY', P..'ses:'..sid, 's', 1)
  redis.call('XADD', P..'str:'..sid, 'MAXLEN', '~', ${limits.replayEvents}, s..'-0', 'e', event)
  to[#to + 1] = '["'..sid..'",'..s..']'
end
local newest, newestAt = nil, -1
for i = 13 + topics, #ARGV do
  local set = P..'bot:'..ARGV[i]
  for _, sid in ipairs(redis.call('SMEMBERS', set)) do
    local h = redis.call('HMGET', P..'ses:'..sid, 'events', 'node', 'opened')
    if not h[1] then redis.call('SREM', set, sid)
    elseif string.find(h[1], ' '..name..' ', 1, true) then
      if reach == 'all' then deliver(sid)
      elseif h[2] ~= '' and tonumber(h[3]) > newestAt and redis.call('EXISTS', P..'node:'..h[2]) == 1 then newest, newestAt = sid, tonumber(h[3]) end
    end
  end
end
if reach == 'newest' then
  if not newest then return {'offline'} end
  deliver(newest)
end
local count = redis.call('INCR', P..'count')
local pairs_ = table.concat(to, ',')
local all = pairs_
if others ~= '' then if all == '' then all = others else all = all..','..others end end
local message = head..',"n":'..count..',"r":"'..run..'","to":['..all..']}\\n'..payload
if pairs_ ~= '' then redis.call('SET', P..'pay:'..event, message, 'PX', ${limits.sessionKeptMs}) end
for i = 1, topics do redis.call('PUBLISH', ARGV[12 + i], message) end
redis.call('SET', P..'mark:'..event, pairs_)
return {'appended', pairs_, tostring(count)}
`;

type Reply = ['boot' | 'stale' | 'early' | 'offline'] | ['appended', string, string];

/** How long a settled event's mark stays, in milliseconds: a paused process that comes back later finds its batch too old (quality 2). */
const markKeptMs = 10 * 60_000;

const forgetLua = `for i = 2, #ARGV do redis.call('PEXPIRE', ARGV[1]..'mark:'..ARGV[i], ${markKeptMs}) end`;

/** The worker's power over the bus. */
export interface Appender {
  /** Hands one event over, once however often it is called. Calls made one after another without waiting reach Redis in that order. Rejects while Redis is away. */
  append(event: Append): Promise<Appended>;
  /** Lets the marks of events that are pulled from their documents expire. Never rejects. */
  forget(eventIds: readonly string[]): Promise<void>;
}

/** Binds the append script to `redis`. What is appended is counted in `events`. */
export function createAppender(redis: Redis, keys: Keys, generation: Generation, events: Metrics['events']): Appender {
  const script = bindScript<Reply>(redis, 'parlanceAppend', lua);
  const forgetScript = bindScript<null>(redis, 'parlanceForget', forgetLua);

  const appendToShard = async (shard: number, event: Append, bots: readonly string[], others: string): Promise<Reply> => {
    const { server } = event;
    const topics = shard === 0 ? event.topics.map((topic) => keys.topic(topic)) : [];
    const head = openHead({
      e: event.eventId,
      t: event.name,
      ...(server ? { srv: server.id, v: server.version } : {}),
      ...(event.channelId ? { ch: event.channelId } : {}),
      ...(event.overwrites ? { ow: event.overwrites } : {}),
      ...(event.before ? { was: event.before } : {}),
      ...(event.except ? { no: event.except } : {}),
      ...(event.hearers ? { hear: event.hearers } : {}),
    });
    const prefix = keys.shard(shard);
    const run = generation.run(shard);
    const reply = await script(
      [`${prefix}count`],
      [
        prefix,
        event.eventId,
        event.name,
        server?.version ?? '',
        server?.id ?? '',
        event.after ?? '',
        event.reach,
        head,
        event.payload,
        run,
        others,
        topics.length,
        ...topics,
        ...bots,
      ],
    );
    if (reply[0] === 'appended') generation.acknowledge(shard, Number(reply[2]), run);
    return reply;
  };

  /** Shard 0 goes last and publishes, so that the publication names the numbers given in every shard. */
  const appendOnce = async (event: Append): Promise<Reply[0]> => {
    if (keys.shards === 1) return (await appendToShard(0, event, event.bots, ''))[0];
    const others: string[] = [];
    const botsOf = (shard: number): string[] => event.bots.filter((bot) => keys.shardOf(bot) === shard);
    for (let shard = keys.shards - 1; shard >= 0; shard--) {
      const bots = botsOf(shard);
      if (shard > 0 && bots.length === 0) continue;
      // An interaction has one bot: without a connected session in its shard nothing is published.
      if (shard === 0 && event.reach === 'newest' && bots.length === 0) event = { ...event, reach: 'all' };
      const reply = await appendToShard(shard, event, bots, others.join(','));
      if (reply[0] !== 'appended') return reply[0];
      if (reply[1]) others.push(reply[1]);
    }
    return 'appended';
  };

  return {
    async append(event) {
      let outcome = await appendOnce(event);
      if (outcome === 'boot') {
        await generation.boot();
        outcome = await appendOnce(event);
      }
      if (outcome === 'boot') throw new Error('redis restarted again while an event was appended');
      if (outcome === 'appended') events.inc({ event: event.name });
      return outcome;
    },
    async forget(eventIds) {
      for (let shard = 0; shard < keys.shards; shard++)
        await forgetScript([`${keys.shard(shard)}mark`], [keys.shard(shard), ...eventIds]).catch(() => undefined);
    },
  };
}
