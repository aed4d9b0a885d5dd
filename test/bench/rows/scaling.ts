import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEachLimit } from '../../../lib/base/for-each-limit.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import type { LoadResult } from '../bare/load.ts';
import { timeConnect } from '../connect.ts';
import { type Consumer, type CpuRound, cpuOfOne, startCpuMeter } from '../cpu.ts';
import { figure, multipleRow, type Row } from '../report.ts';
import { type Bench, type Helper, openSetting, type Setting, startHelper } from '../setting.ts';
import { insertPendingMessages } from './fan-out.ts';
import { paced } from './latency.ts';

/** What there is, and what happens in a second, for each process of a role: one process and two have the same load each. */
const channelsEach = 8;
const sessionsEach = 60;
const postsPerSecEach = 40;
const connectsPerSecEach = 20;
/** How many posts and connects new processes handle before they are measured, so that their code is compiled. */
const warmUps = 1_000;
/** How long to wait before the processes count as idle, in milliseconds. Workers publish presences for some seconds. */
const quietMs = 5_000;
/** A measurement takes this many times as long as one round of a bench, and begins after this many seconds at the same rate. */
const measureTimes = 2;
const warmUpSec = 2;
const burst = 100;
const clients = 32;
/** The maximum ratio of the CPU time with two processes to that with one. */
const mostCpu = 1.1;
/** The minimum ratio of the throughputs, and how many cores it needs: one for each process, the load and the stores. */
const [leastThroughput, coresNeeded] = [1.6, 10];
const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;
const now = (): number => performance.timeOrigin + performance.now();

/** One process of each role, and the sockets of the sessions on its gateway node. */
interface Unit {
  stack: Stack;
  swarm: Helper;
}

/** One or two units, and the channels in which they have posts. */
interface Side {
  setting: Setting;
  seeded: SeededServer;
  units: readonly Unit[];
  channelIds: readonly string[];
}

/** What is measured at a fixed rate, and the role whose CPU time it takes. */
const costs = {
  post: 'api',
  event: 'worker',
  delivery: 'gateway',
  session: 'gateway',
} as const satisfies Record<string, Consumer>;
type Cost = keyof typeof costs;

/** What was measured of a side: CPU time for each post, event, delivery and session, in microseconds, and throughputs per second. */
type Measured = Record<Cost | 'posts' | 'deliveries' | 'sessions', number>;

/** The URLs that post in each channel at each api process. */
const messageUrls = ({ units, channelIds }: Side): string[] =>
  channelIds.flatMap((id) => units.map(({ stack }) => `${stack.apiUrl()}/api/channels/${id}/messages`));

/** All processes of a side. */
const processesOf = ({ units }: Side): Pick<Stack, 'apis' | 'gateways' | 'workers'> => ({
  apis: units.flatMap(({ stack }) => stack.apis),
  gateways: units.flatMap(({ stack }) => stack.gateways),
  workers: units.flatMap(({ stack }) => stack.workers),
});

/** Connects the sessions of the unit `at` to its gateway node. */
async function openUnit(stack: Stack, { bots }: SeededServer, at: number): Promise<Unit> {
  const swarm = await startHelper('swarm', {});
  const tokens = bots.slice(at * sessionsEach, (at + 1) * sessionsEach).map(({ token }) => token);
  await swarm.ask({ kind: 'connect', urls: [stack.gatewayUrl()], tokens });
  return { stack, swarm };
}

/** Ends the sessions of a unit. */
async function endSessions({ swarm }: Unit): Promise<void> {
  await swarm.ask({ kind: 'close' });
  await swarm.close();
}

/** Runs `work`, and waits until all sessions have received `messages` messages. Returns when the last one came, in milliseconds. */
async function receive({ units }: Side, messages: number, work: () => Promise<unknown>): Promise<number> {
  await Promise.all(units.map(({ swarm }) => swarm.ask({ kind: 'expect', events: messages * sessionsEach })));
  const arrived = Promise.all(units.map(({ swarm }) => swarm.next<{ at: number }>()));
  arrived.catch(() => undefined); // thrown below
  await work();
  return Math.max(...(await arrived).map(({ at }) => at));
}

/** Starts `count` actions at a fixed rate, each at a random time of its turn, and resolves when all have ended. */
async function runPaced(count: number, perSec: number, act: (n: number) => Promise<unknown>): Promise<void> {
  const running: Promise<unknown>[] = [];
  await paced(count, perSec, (n) => {
    const action = sleep((Math.random() * 1000) / perSec).then(() => act(n));
    action.catch(() => undefined); // thrown below
    running.push(action);
  });
  await Promise.all(running);
}

/** Posts for the `n`th time; in all channels and at all api processes in turn. */
async function post(side: Side, n: number): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bot ${side.seeded.bots[0]?.token}` };
  const body = '{"content":"a message of a usual length, as people write them"}';
  const answer = await fetch(pick(messageUrls(side), n), { method: 'POST', headers, body });
  if (!answer.ok) throw new Error(`post answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Connects a session for the `n`th time, to all gateway nodes in turn, and ends it after READY. */
const connect = ({ units, seeded }: Side, n: number): Promise<number> =>
  timeConnect(pick(units, n).stack.gatewayUrl(), pick(seeded.people, n).token);

async function warmUp(side: Side): Promise<void> {
  const turns = Array.from({ length: warmUps * side.units.length }, (_, n) => n);
  await receive(side, turns.length, () => forEachLimit(turns, 8, (n) => post(side, n)));
  await forEachLimit(turns, 8, (n) => connect(side, n));
}

/** The CPU time of a side for each post, event, delivery and session at a fixed rate, without what its processes use when they are idle. */
async function measureCosts(bench: Bench, side: Side): Promise<Record<Cost, number>> {
  const seconds = measureTimes * bench.seconds;
  const count = side.units.length;
  const measure = async (work: () => Promise<unknown>): Promise<CpuRound> => {
    const readMeter = await startCpuMeter(processesOf(side), bench.stores);
    await work();
    return readMeter();
  };
  const postFor = (sec: number): Promise<unknown> => {
    const posts = count * postsPerSecEach * sec;
    return receive(side, posts, () => runPaced(posts, count * postsPerSecEach, (n) => post(side, n)));
  };
  const connectFor = (sec: number): Promise<void> =>
    runPaced(count * connectsPerSecEach * sec, count * connectsPerSecEach, (n) => connect(side, n));
  await sleep(quietMs);
  const idle = await measure(() => sleep(seconds * 1000));
  await postFor(warmUpSec); // the owners of the channels read them once
  const posting = await measure(() => postFor(seconds));
  await connectFor(warmUpSec);
  const connecting = await measure(() => connectFor(seconds));
  const posts = count * postsPerSecEach * seconds;
  const costOf = (round: CpuRound, times: number, cost: Cost): number => cpuOfOne(round, times, [idle], costs[cost]) * 1000;
  return {
    post: costOf(posting, posts, 'post'),
    event: costOf(posting, posts, 'event'),
    delivery: costOf(posting, posts * count * sessionsEach, 'delivery'),
    session: costOf(connecting, count * connectsPerSecEach * seconds, 'session'),
  };
}

/** The highest rates that a side reaches. */
async function measureRates(bench: Bench, side: Side, load: Helper): Promise<Omit<Measured, Cost>> {
  const { setting, seeded, units, channelIds } = side;
  const authorization = `Bot ${seeded.bots[0]?.token}`;
  const flood = { method: 'POST', urls: messageUrls(side), authorization, body: '{"content":"flood"}', clients, seconds: bench.seconds };
  const { perSecond, failed } = await load.ask<LoadResult>(flood);
  if (failed) throw new Error(`${failed} posts failed`);
  while (await setting.platform.db.messages.findOne({ outboxAt: { $exists: true } })) await sleep(50);
  const burstAt = now();
  const lastAt = await receive(side, burst, () => insertPendingMessages(setting, { ...seeded, channelIds: [...channelIds] }, burst));
  const connectAt = now();
  await Promise.all(seeded.people.map((_person, n) => connect(side, n)));
  return {
    posts: perSecond,
    deliveries: (burst * units.length * sessionsEach) / ((lastAt - burstAt) / 1000),
    sessions: seeded.people.length / ((now() - connectAt) / 1000),
  };
}

/** A row of throughputs. Its aim applies only where each process can have a core. */
function throughputRow(name: string, two: readonly number[], one: readonly number[]): Row {
  const [ours, limit] = [figure(two), figure(one)];
  const ratio = ours.median / limit.median;
  const hasCores = cpus().length >= coresNeeded;
  return {
    name,
    unit: 'per second',
    ours,
    limit,
    result: `${ratio.toFixed(2)} ×${hasCores ? '' : ` on ${cpus().length} cores`}`,
    aim: `≥ ${leastThroughput} × on ${coresNeeded} cores`,
    met: !hasCores || ratio >= leastThroughput,
  };
}

/**
 * What two processes of each role cost and reach, compared with one: CPU time for each post, event and session when each process has the same load, without
 * what idle processes use; and the throughput. The second process of each role is started again in each round, and joins the same first one, because equal
 * processes differ by 15 % and more in what they cost.
 */
export async function scalingRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 }, { STORE_TIMEOUT_FACTOR: '10' });
  const load = await startHelper('load', {});
  const units: Unit[] = [];
  const found: Record<'one' | 'two', Measured[]> = { one: [], two: [] };
  try {
    const seeded = await seedServer(setting.platform, { bots: 2 * sessionsEach, people: 50, channels: 2 * channelsEach });
    const side = (): Side => ({ setting, seeded, units, channelIds: seeded.channelIds.slice(0, units.length * channelsEach) });
    const measure = async (): Promise<Measured> => ({
      ...(await measureCosts(bench, side())),
      ...(await measureRates(bench, side(), load)),
    });
    units.push(await openUnit(setting.stack, seeded, 0));
    await warmUp(side());
    for (let i = 0; i < bench.rounds; i++) {
      found.one.push(await measure());
      const added = await startStack({ api: 1, gateway: 1, worker: 1 }, setting.env);
      try {
        units.push(await openUnit(added, seeded, 1));
        await warmUp(side());
        found.two.push(await measure());
      } finally {
        for (const unit of units.splice(1)) await endSessions(unit);
        await added.close();
      }
      bench.log(`  scaling: round ${i + 1} of ${bench.rounds}`);
    }
  } finally {
    for (const { swarm } of units) await swarm.close();
    await setting.close();
    await load.close();
  }
  const nameOf = (what: string): string => `scaling: ${what}, two processes compared with one`;
  const of = (side: 'one' | 'two', key: keyof Measured): number[] => found[side].map((round) => round[key]);
  const costRow = (cost: Cost): Row =>
    multipleRow(nameOf(`CPU of ${costs[cost]} for each ${cost}`), 'µs', of('two', cost), of('one', cost), mostCpu);
  const rateRow = (what: string, key: Exclude<keyof Measured, Cost>): Row => throughputRow(nameOf(what), of('two', key), of('one', key));
  return [
    ...(Object.keys(costs) as Cost[]).map(costRow),
    rateRow('posts', 'posts'),
    rateRow('deliveries', 'deliveries'),
    rateRow('sessions connected', 'sessions'),
  ];
}
