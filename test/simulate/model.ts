import { limits } from '../../lib/base/limits.ts';
import { cacheTtlMs } from '../../lib/store/caches.ts';
import { type Action, actions, addCpu, type Costs, type Cpu, mapParts, noCpu, type Role, roles } from './costs.ts';

/** How many processes of each part there are. Each process of Parlance and each Redis master has a core of its own. */
export interface Layout extends Record<Role, number> {
  redisMasters: number;
  databaseShards: number;
  /** Cores of each shard. */
  databaseCores: number;
}

/** Servers of one size. All values are those of one server. */
export interface ServerClass {
  servers: number;
  /** Sessions that are members. */
  online: number;
  postsPerSec: number;
  /** The channels that the posts are spread over. */
  channels: number;
}

/** Sessions and what they do. Rates are those of the whole installation. */
export interface Population {
  connections: number;
  servers: readonly ServerClass[];
  /** The share of a server's sessions that may see a channel. */
  viewers: number;
  typingsPerSec: number;
  readsPerSec: number;
  marksPerSec: number;
  presencesPerSec: number;
  /** How many sessions watch an account. */
  watchers: number;
  /** Sessions that begin, and as many that end. */
  connectsPerSec: number;
  resumesPerSec: number;
  /** How many events a session missed that resumes. */
  missedPerResume: number;
  heartbeatSec: number;
}

/** How busy one part is. */
export interface PartLoad {
  name: string;
  processes: number;
  /** The share of its CPU that the busiest process uses; above 1 it cannot keep up. */
  share: number;
  /** The multiple of the load at which the part saturates. */
  saturatesAt: number;
}

/** What a layout needs for a population. */
export interface Prediction {
  /** How often each action happens in a second. */
  rates: Record<Action, number>;
  /** CPU time of all processes of a part in a second, in milliseconds. */
  cpu: Cpu;
  loads: PartLoad[];
  /** The part that saturates first. */
  first: PartLoad;
  deliveriesPerSec: number;
  /** Memory in bytes of each process: of a gateway node, and of a Redis master. */
  memory: { gateway: number; redis: number };
  /** Bytes in a second: of all gateway nodes to clients, from Redis to all gateway nodes, and into the database without indexes and journal. */
  bytesPerSec: { clients: number; redis: number; database: number };
}

const msPerSec = 1000;
const daySec = 86_400;
/** A gateway node keeps the last 128 to 256 entries of a place (docs/scaling.md#costs). */
const tailEntries = 192;
/** How long the mark of an acknowledged event is kept, and after which time without events the log of a place is dropped (docs/delivery.md#append). */
const markSec = 600;
const logSec = limits.sessionRetentionMs / msPerSec;

/** How many of `nodes` have at least one of `sessions` sessions, which are spread over them at random. */
export const nodesReached = (sessions: number, nodes: number): number => nodes * (1 - (1 - 1 / nodes) ** sessions);

/**
 * The share of the posts of a channel that find a worker which stays with it, if posts come at random times. A worker stays when it runs two jobs of the channel
 * within a second, and until no post has come for a second (docs/delivery.md#relay).
 */
export function busyShare(postsPerSec: number, workers: number): number {
  if (postsPerSec === 0) return 0;
  const again = 1 - Math.exp(-postsPerSec);
  const sameWorker = 1 - Math.exp(-postsPerSec / workers);
  return (again * sameWorker) / (1 - again + sameWorker);
}

/**
 * The share of the calls of a person that find nothing cached, if each person makes `callsPerSec` calls at random times to any of `apis` processes: an entry is
 * used until it is too old, and the next call after that makes a new one.
 */
export const uncachedShare = (callsPerSec: number, apis: number): number => 1 / (1 + (callsPerSec / apis) * (cacheTtlMs / msPerSec));

/** How many servers a session is a member of, on average. */
export const placesPerSession = ({ servers, connections }: Population): number =>
  servers.reduce((sum, one) => sum + one.servers * one.online, 0) / connections;

/** How many of a session's servers have no other session on the node that it connects to, on average. */
export const newPlacesPerSession = ({ servers, connections }: Population, nodes: number): number =>
  servers.reduce((sum, one) => sum + one.servers * one.online * (1 - 1 / nodes) ** Math.max(0, one.online - 1), 0) / connections;

/** How often each action happens in a second. */
export function countActions(layout: Layout, population: Population): Record<Action, number> {
  const { connections, viewers, typingsPerSec, marksPerSec, presencesPerSec, watchers, connectsPerSec, resumesPerSec } = population;
  const rates = Object.fromEntries(Object.keys(actions).map((action) => [action, 0])) as Record<Action, number>;
  const posts = population.servers.reduce((sum, one) => sum + one.servers * one.postsPerSec, 0);
  for (const one of population.servers) {
    const classPosts = one.servers * one.postsPerSec;
    const classTypings = posts > 0 ? (typingsPerSec * classPosts) / posts : 0;
    const busy = busyShare(one.postsPerSec / one.channels, layout.worker);
    const receivers = one.online * viewers;
    const sending = nodesReached(receivers, layout.gateway);
    rates.postBusy += classPosts * busy;
    rates.postQuiet += classPosts * (1 - busy);
    rates.entry += (classPosts + classTypings) * sending;
    rates.unsentEntry += (classPosts + classTypings) * (nodesReached(one.online, layout.gateway) - sending);
    rates.delivery += classPosts * receivers + classTypings * Math.max(0, receivers - 1); // not to who types
  }
  rates.typing = typingsPerSec;
  rates.read = population.readsPerSec;
  rates.mark = marksPerSec;
  rates.presence = presencesPerSec;
  rates.entry += marksPerSec + presencesPerSec * nodesReached(watchers, layout.gateway);
  rates.delivery += marksPerSec + presencesPerSec * watchers;
  const places = placesPerSession(population);
  rates.sync = connectsPerSec;
  const calls = posts + typingsPerSec + population.readsPerSec + marksPerSec + presencesPerSec + connectsPerSec;
  rates.uncached = calls * uncachedShare(calls / connections, layout.api);
  rates.connect = connectsPerSec;
  rates.connectPlace = connectsPerSec * places;
  rates.resume = resumesPerSec;
  rates.resumePlace = resumesPerSec * places;
  rates.replay = resumesPerSec * population.missedPerResume;
  rates.openPlace = (connectsPerSec + resumesPerSec) * newPlacesPerSession(population, layout.gateway);
  rates.heartbeat = connections / population.heartbeatSec;
  rates.sessionSecond = connections;
  return rates;
}

/** CPU time of these actions, in milliseconds. */
export const costOf = (rates: Partial<Record<Action, number>>, costs: Costs): Cpu =>
  Object.entries(rates).reduce((sum, [action, count]) => addCpu(sum, costs.actions[action as Action], count), noCpu());

/** The CPU time that a part has in a second, in milliseconds. */
export const capacityMs = (layout: Layout): Cpu => ({
  api: layout.api * msPerSec,
  gateway: layout.gateway * msPerSec,
  worker: layout.worker * msPerSec,
  redis: layout.redisMasters * msPerSec,
  database: layout.databaseShards * layout.databaseCores * msPerSec,
});

function loadsOf(layout: Layout, population: Population, costs: Costs, idle: Cpu, cpu: Cpu): PartLoad[] {
  const capacity = capacityMs(layout);
  const load = (name: string, processes: number, idleShare: number, share: number): PartLoad => {
    const own = share - idleShare;
    return { name, processes, share, saturatesAt: own > 0 ? Math.max(0, (1 - idleShare) / own) : Number.POSITIVE_INFINITY };
  };
  const even = (name: keyof Cpu, processes: number): PartLoad =>
    load(name, processes, idle[name] / capacity[name], cpu[name] / capacity[name]);
  const busiestOf = (rate: (one: ServerClass) => number): number => Math.max(0, ...population.servers.map(rate));
  const serverMs = busiestOf(
    (one) => one.postsPerSec * (costs.actions.postBusy.redis + costs.actions.entry.redis * nodesReached(one.online, layout.gateway)),
  );
  const channelMs = busiestOf((one) => (one.postsPerSec / one.channels) * costs.actions.postBusy.worker);
  return [
    even('api', layout.api),
    even('gateway', layout.gateway),
    even('worker', layout.worker),
    even('redis', layout.redisMasters),
    ...(costs.hasDatabase ? [even('database', layout.databaseShards)] : []),
    load('busiest server on its Redis master', 1, 0, serverMs / msPerSec),
    load('busiest channel on its worker', 1, 0, channelMs / msPerSec),
  ];
}

/** How many entries the log of a server has that posts at random times: it is dropped after some minutes without an event, and has a largest size. */
const logEntries = (eventsPerSec: number): number => Math.min(limits.replayEvents, Math.expm1(Math.min(eventsPerSec * logSec, 100)));

function memoryOf(layout: Layout, population: Population, { memory }: Costs): Prediction['memory'] {
  const { connections, servers, typingsPerSec } = population;
  const posts = servers.reduce((sum, one) => sum + one.servers * one.postsPerSec, 0);
  const eventsPerPost = posts > 0 ? 1 + typingsPerSec / posts : 0;
  let places = 0;
  let tails = 0;
  let entries = 0;
  for (const one of servers) {
    const perNode = (one.servers * nodesReached(one.online, layout.gateway)) / layout.gateway;
    const eventsPerSec = one.postsPerSec * eventsPerPost;
    places += perNode;
    tails += perNode * Math.min(tailEntries, eventsPerSec * daySec);
    entries += one.servers * logEntries(eventsPerSec);
  }
  const sessionBytes = memory.session + placesPerSession(population) * memory.sessionPlace;
  const marks = (posts * eventsPerPost + population.marksPerSec) * markSec;
  return {
    gateway: memory.process.gateway + (connections / layout.gateway) * sessionBytes + places * memory.place + tails * memory.redisEntry,
    redis: (connections * memory.redisSession + entries * memory.redisEntry + marks * memory.redisMark) / layout.redisMasters,
  };
}

/**
 * Computes what `layout` needs for `population`: the rate of each action times its cost, plus what processes use without load. Processes of a part share its
 * load evenly.
 */
export function simulate(layout: Layout, population: Population, costs: Costs): Prediction {
  const rates = countActions(layout, population);
  const idle = roles.reduce((sum, role) => addCpu(sum, costs.idle[role], layout[role]), noCpu());
  const work = costOf(rates, costs);
  const cpu = mapParts((part) => idle[part] + work[part]);
  const loads = loadsOf(layout, population, costs, idle, cpu);
  const { bytes, memory } = costs;
  return {
    rates,
    cpu,
    loads,
    first: loads.reduce((first, one) => (one.saturatesAt < first.saturatesAt ? one : first)),
    deliveriesPerSec: rates.delivery,
    memory: memoryOf(layout, population, costs),
    bytesPerSec: {
      clients: rates.delivery * bytes.frame + rates.heartbeat * bytes.heartbeat,
      redis: (rates.entry + rates.unsentEntry) * memory.redisEntry,
      database: (rates.postBusy + rates.postQuiet) * bytes.storedMessage,
    },
  };
}
