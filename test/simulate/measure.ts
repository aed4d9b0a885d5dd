import { percentile } from '../bench/report.ts';
import type { Bench } from '../bench/setting.ts';
import type { Call } from './calls.ts';
import { type Action, actions, addCpu, type Costs, type Cpu, mapParts, noCpu, scaleCpu } from './costs.ts';
import { type Course, setCost } from './course.ts';
import { type Lab, openLab, warmCalls } from './lab.ts';
import { few, many, measureEvents } from './measure-events.ts';
import { measureHeartbeats, measureIdle, measureSessions } from './measure-sessions.ts';
import { measureMemory, measureSizes, prepareMemory } from './measure-sizes.ts';
import { callsIn, firstChannel, makePeople, makeWorlds, presenceCalls, syncCalls, type World } from './world.ts';

/**
 * Rates of calls, in a second: the difference of two rates is what is measured, so that what happens anyway does not count. Those of posts are as far apart as
 * one channel and `channelsBusy`, so that each channel is equally busy at both.
 */
const callRates: readonly [low: number, high: number] = [4, 24];
const postRates: readonly [low: number, high: number] = [4, 16];
const channelsBusy = 4;
/** So many that at the higher rate several seconds pass between two posts in one channel. */
const channelsQuiet = 400;
const posters = 10;
/** People who each make one call in a channel of their own, so that nothing is cached for it. More than the rates of calls need. */
const strangers = channelsQuiet;
const connectsPerSec = 50;

/** The CPU time of one call, from the difference of two rates, in several rounds of both. At the lower rate `lowCalls` are sent. All are sent in turn. */
async function costOfCall({ bench, lab }: Course, calls: Call[], [low, high] = callRates, lowCalls = calls): Promise<Cpu> {
  let sentBefore = 0;
  const at = async (perSec: number, all: Call[]): Promise<{ cpu: Cpu; count: number; seconds: number }> => {
    const first = sentBefore % all.length;
    const sent = [...all.slice(first), ...all.slice(0, first)];
    const acts = [{ kind: 'calls' as const, name: 'call', perSec, calls: sent, order: 'turn' as const }];
    const { cpu, seconds, result } = await lab.sample(() => lab.act(acts, bench.seconds));
    const count = result.done.call ?? 0;
    sentBefore += count;
    return { cpu, count, seconds };
  };
  let [more, count]: [Cpu, number] = [noCpu(), 0];
  for (let round = 0; round < bench.rounds; round++) {
    const less = await at(low, lowCalls);
    const much = await at(high, calls);
    const scale = much.seconds / less.seconds;
    more = addCpu(more, addCpu(much.cpu, less.cpu, -scale));
    count += much.count - less.count * scale;
  }
  return mapParts((part) => more[part] / count);
}

/** The CPU time of a post in the busy channels of a server. */
const costOfBusyPost = (course: Course, world: World): Promise<Cpu> => {
  const post = (one: World): Call[] => callsIn(course.lab.setting.stack.apiUrl(), 'post', [one], course.people.posters);
  return costOfCall(course, post(world), postRates, post(firstChannel(world)));
};

async function measureCalls(course: Course): Promise<void> {
  const { lab, people, worlds } = course;
  const api = lab.setting.stack.apiUrl();
  const calls: [Action, Call[]][] = [
    ['postQuiet', callsIn(api, 'post', [worlds.quiet], people.posters.slice(0, 1))],
    ['typing', callsIn(api, 'typing', [worlds.busy], people.posters)],
    ['read', callsIn(api, 'read', [worlds.busy], people.posters)],
    ['mark', callsIn(api, 'mark', [worlds.busy], people.posters)],
    ['sync', syncCalls(api, people.audience)],
  ];
  setCost(course, 'postBusy', await costOfBusyPost(course, worlds.busy));
  for (const [action, list] of calls) setCost(course, action, await costOfCall(course, list));
  const [channels, cached] = [worlds.quiet.channelIds, course.costs.actions.read];
  const once = people.strangers.flatMap((one, at) =>
    callsIn(api, 'read', [{ ...worlds.quiet, channelIds: channels.slice(at, at + 1) }], [one]),
  );
  setCost(course, 'uncached', addCpu(await costOfCall(course, once), cached, -1));
}

/** Runs everything often, so that the code is compiled and caches are filled. */
async function warmUp({ lab, people, worlds }: Course): Promise<void> {
  const api = lab.setting.stack.apiUrl();
  const kinds = ['post', 'typing', 'read', 'mark'] as const;
  const calls = kinds.map((kind) => callsIn(api, kind, Object.values(worlds), people.posters));
  await lab.ask({
    kind: 'warm',
    calls: [...calls, presenceCalls(api, people.audience), syncCalls(api, people.audience)],
    count: warmCalls,
  });
}

async function prepare(bench: Bench, lab: Lab): Promise<Course> {
  const { platform } = lab.setting;
  const [all, others] = [await makePeople(platform, posters + many), await makePeople(platform, strangers)];
  const people = { posters: all.slice(0, posters), audience: all.slice(posters), strangers: others };
  const [quiet, busy, hidden, small, large] = await makeWorlds(platform, [
    { members: [...people.posters, ...others], channels: channelsQuiet, hasMessages: true },
    { members: people.posters, channels: channelsBusy, hasMessages: true },
    { members: all, channels: channelsBusy, only: people.posters },
    { members: all.slice(0, posters + few), channels: channelsBusy },
    { members: all, channels: channelsBusy },
  ]);
  if (!quiet || !busy || !hidden || !small || !large) throw new Error('a server was not made');
  const costs: Costs = {
    hasDatabase: lab.hasDatabase,
    referenceMs: 1,
    idle: { api: noCpu(), gateway: noCpu(), worker: noCpu() },
    actions: Object.fromEntries(Object.keys(actions).map((action) => [action, noCpu()])) as Record<Action, Cpu>,
    memory: {
      process: { api: 0, gateway: 0, worker: 0 },
      session: 0,
      sessionPlace: 0,
      place: 0,
      redisSession: 0,
      redisEntry: 0,
      redisMark: 0,
    },
    bytes: { frame: 0, storedMessage: 0, heartbeat: 0 },
  };
  return { bench, lab, people, worlds: { quiet, busy, hidden, small, large }, costs };
}

/** Costs in milliseconds, at the speed that the machine had in the median sample. */
function toMilliseconds(costs: Costs, references: readonly number[]): Costs {
  const referenceMs = percentile(references, 0.5);
  const scaled = <K extends string>(all: Record<K, Cpu>): Record<K, Cpu> =>
    Object.fromEntries(Object.entries<Cpu>(all).map(([name, cpu]) => [name, scaleCpu(cpu, referenceMs)])) as Record<K, Cpu>;
  return { ...costs, referenceMs, idle: scaled(costs.idle), actions: scaled(costs.actions) };
}

/** Measures what everything costs, on a stack of one process of each role. Takes some minutes. */
export async function measureCosts(bench: Bench): Promise<Costs> {
  const lab = await openLab(bench, { api: 1, gateway: 1, worker: 1 });
  try {
    const course = await prepare(bench, lab);
    const tokens = course.people.audience.map(({ token }) => token);
    const audience = { kind: 'connect' as const, group: 'audience', urls: lab.gatewayUrls(), tokens, perSec: connectsPerSec };
    bench.log('  warming up');
    await lab.ask(audience);
    await warmUp(course);
    bench.log('  requests');
    await measureCalls(course);
    bench.log('  events that sessions receive');
    setCost(course, 'presence', await costOfCall(course, presenceCalls(lab.setting.stack.apiUrl(), course.people.audience)));
    await measureSizes(course);
    await measureEvents(course);
    bench.log('  sessions');
    await measureHeartbeats(course);
    await measureSessions(course);
    const groups = await prepareMemory(course);
    bench.log('  processes without load');
    await measureIdle(course);
    bench.log('  memory');
    await measureMemory(course, groups);
    return toMilliseconds(course.costs, lab.references);
  } finally {
    await lab.close();
  }
}
