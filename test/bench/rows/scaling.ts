import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { forEachLimit } from '../../../lib/base/for-each-limit.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import type { LoadResult } from '../bare/load.ts';
import { timeConnect } from '../connect.ts';
import { type Consumer, type CpuRound, cpuOfOne, startCpuMeter } from '../cpu.ts';
import { figure, multipleRow, type Row } from '../report.ts';
import { type Bench, type Helper, openSetting, type Setting, startHelper } from '../setting.ts';
import { insertPendingMessages } from './fan-out.ts';
import { paced } from './latency.ts';

/** How many processes of each role the sides have. There are two sides of each, because equal processes differ in what they cost. */
const counts = [1, 2, 2, 1] as const;
/** What there is, and what happens in a second, for each process of a role: both sides load each process alike. */
const channelsEach = 8;
const sessionsEach = 60;
const postsPerSecEach = 40;
const connectsPerSecEach = 20;
/** How many posts and connects each process handles before the first measurement, so that its code is compiled. */
const warmUps = 1_000;
/** How long to wait before the processes count as idle, in milliseconds. Workers stay with busy channels, and publish presences, for some seconds. */
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

/** The product with `count` processes of each role, and sessions on its gateway nodes. */
interface Side {
  count: number;
  setting: Setting;
  seeded: SeededServer;
  swarm: Helper;
}

/** What is measured at a fixed rate, and the role whose CPU time it takes. */
const costs = {
  post: 'api',
  event: 'worker',
  delivery: 'gateway',
  session: 'gateway',
} as const satisfies Record<string, Consumer>;
type Cost = keyof typeof costs;

/** One round at a fixed rate: idle, posts with their events and deliveries, and connects. */
interface CostRound {
  idle: CpuRound;
  posting: CpuRound;
  connecting: CpuRound;
}

/** Throughputs per second. */
type Rates = Record<'posts' | 'deliveries' | 'sessions', number>;

/** The URLs that post in each channel at each api process. */
const messageUrls = ({ setting: { stack }, seeded }: Side): string[] =>
  seeded.channelIds.flatMap((id) => stack.apis.map((_, at) => `${stack.apiUrl(at)}/api/channels/${id}/messages`));

const closeSide = async ({ setting, swarm }: Pick<Side, 'setting' | 'swarm'>): Promise<void> => {
  await swarm.close();
  await setting.close();
};

/** Starts the product with `count` processes of each role. */
async function openSide(bench: Bench, count: number): Promise<Side> {
  const setting = await openSetting(bench, { api: count, gateway: count, worker: count }, { STORE_TIMEOUT_FACTOR: '10' });
  const swarm = await startHelper('swarm', {});
  try {
    const seeded = await seedServer(setting.platform, { bots: count * sessionsEach, people: 50, channels: count * channelsEach });
    const urls = setting.stack.gateways.map((_, at) => setting.stack.gatewayUrl(at));
    await swarm.ask({ kind: 'connect', urls, tokens: seeded.bots.map(({ token }) => token) });
    return { count, setting, seeded, swarm };
  } catch (error) {
    await closeSide({ setting, swarm });
    throw error;
  }
}

async function measureCpu({ stores }: Bench, { setting }: Side, work: () => Promise<unknown>): Promise<CpuRound> {
  const readMeter = await startCpuMeter(setting.stack, stores);
  await work();
  return readMeter();
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

async function post(url: string, { bots }: SeededServer): Promise<void> {
  const headers = { 'Content-Type': 'application/json', Authorization: `Bot ${bots[0]?.token}` };
  const answer = await fetch(url, { method: 'POST', headers, body: '{"content":"a message of a usual length, as people write them"}' });
  if (!answer.ok) throw new Error(`post answered ${answer.status}: ${await answer.text()}`);
  await answer.arrayBuffer();
}

/** Posts for the `n`th time; all api processes in turn. */
const postTo = (side: Side, n: number): Promise<void> => post(pick(messageUrls(side), n), side.seeded);

/** Connects a session for the `n`th time, to all gateway nodes in turn, and ends it after READY. */
const connectTo = ({ setting, seeded }: Side, n: number): Promise<number> =>
  timeConnect(setting.stack.gatewayUrl(n), pick(seeded.people, n).token);

/** Posts at a fixed rate for `seconds`, until all sessions have received all messages. */
async function postPaced(side: Side, seconds: number): Promise<void> {
  const perSec = side.count * postsPerSecEach;
  await side.swarm.ask({ kind: 'expect', events: perSec * seconds * side.seeded.bots.length });
  const arrived = side.swarm.next();
  await Promise.all([arrived, runPaced(perSec * seconds, perSec, (n) => postTo(side, n))]);
}

/** Connects at a fixed rate for `seconds`. */
const connectPaced = (side: Side, seconds: number): Promise<void> => {
  const perSec = side.count * connectsPerSecEach;
  return runPaced(perSec * seconds, perSec, (n) => connectTo(side, n));
};

async function warmUp(side: Side): Promise<void> {
  const turns = Array.from({ length: warmUps * side.count }, (_, n) => n);
  await side.swarm.ask({ kind: 'expect', events: turns.length * side.seeded.bots.length });
  const arrived = side.swarm.next();
  await Promise.all([arrived, forEachLimit(turns, 8, (n) => postTo(side, n))]);
  await forEachLimit(turns, 8, (n) => connectTo(side, n));
}

/** The highest rates that `side` reaches. */
async function measureRates(bench: Bench, side: Side, load: Helper): Promise<Rates> {
  const { setting, seeded, swarm } = side;
  const authorization = `Bot ${seeded.bots[0]?.token}`;
  const flood = { method: 'POST', urls: messageUrls(side), authorization, body: '{"content":"flood"}', clients, seconds: bench.seconds };
  const { perSecond, failed } = await load.ask<LoadResult>(flood);
  if (failed) throw new Error(`${failed} posts failed`);
  while (await setting.platform.db.messages.findOne({ outboxAt: { $exists: true } })) await sleep(50);
  await swarm.ask({ kind: 'expect', events: burst * seeded.bots.length });
  const arrived = swarm.next<{ at: number }>();
  const burstAt = now();
  await insertPendingMessages(setting, seeded, burst);
  const deliveries = (burst * seeded.bots.length) / (((await arrived).at - burstAt) / 1000);
  await swarm.ask({ kind: 'expect', events: Number.MAX_SAFE_INTEGER });
  const connectAt = performance.now();
  await Promise.all(seeded.people.map(({ token }, n) => timeConnect(setting.stack.gatewayUrl(n), token)));
  return { posts: perSecond, deliveries, sessions: seeded.people.length / ((performance.now() - connectAt) / 1000) };
}

async function measureCosts(bench: Bench, side: Side): Promise<CostRound> {
  const seconds = measureTimes * bench.seconds;
  await sleep(quietMs);
  const idle = await measureCpu(bench, side, () => sleep(seconds * 1000));
  await postPaced(side, warmUpSec); // workers begin to stay with the channels
  const posting = await measureCpu(bench, side, () => postPaced(side, seconds));
  await connectPaced(side, warmUpSec);
  return { idle, posting, connecting: await measureCpu(bench, side, () => connectPaced(side, seconds)) };
}

/** The CPU time of a side in each round for one post, event, delivery or session, in microseconds. */
function costsOf(bench: Bench, { count, seeded }: Side, rounds: readonly CostRound[], cost: Cost): number[] {
  const seconds = measureTimes * bench.seconds;
  const posts = count * postsPerSecEach * seconds;
  const counted = { post: posts, event: posts, delivery: posts * seeded.bots.length, session: count * connectsPerSecEach * seconds }[cost];
  const idle = rounds.map((round) => round.idle);
  return rounds.map(({ posting, connecting }) => cpuOfOne(cost === 'session' ? connecting : posting, counted, idle, costs[cost]) * 1000);
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
 * what idle processes use; and the throughput.
 */
export async function scalingRows(bench: Bench): Promise<Row[]> {
  const load = await startHelper('load', {});
  const sides: Side[] = [];
  try {
    for (const count of counts) sides.push(await openSide(bench, count));
    for (const side of sides) await warmUp(side);
    const measured = sides.map((): CostRound[] => []);
    const rates = sides.map((): Rates[] => []);
    for (let i = 0; i < bench.rounds; i++) {
      // In turn: processes that compete for a core use more CPU time, and sides that run at once do so unequally.
      for (const [at, side] of sides.entries()) measured[at]?.push(await measureCosts(bench, side));
      for (const [at, side] of sides.entries()) rates[at]?.push(await measureRates(bench, side, load));
      bench.log(`  scaling: round ${i + 1} of ${bench.rounds}`);
    }
    const nameOf = (what: string): string => `scaling: ${what}, two processes compared with one`;
    /** The mean of the sides with `count` processes in each round. */
    const meansOf = (count: number, valuesOf: (side: Side, at: number) => readonly number[]): number[] => {
      const alike = sides.flatMap((side, at) => (side.count === count ? [valuesOf(side, at)] : []));
      return Array.from(
        { length: bench.rounds },
        (_, round) => alike.reduce((sum, values) => sum + (values[round] ?? 0), 0) / alike.length,
      );
    };
    const costRow = (cost: Cost): Row => {
      const of = (count: number): number[] => meansOf(count, (side, at) => costsOf(bench, side, measured[at] ?? [], cost));
      return multipleRow(nameOf(`CPU of ${costs[cost]} for each ${cost}`), 'µs', of(2), of(1), mostCpu);
    };
    const rateRow = (what: string, key: keyof Rates): Row => {
      const of = (count: number): number[] => meansOf(count, (_, at) => (rates[at] ?? []).map((round) => round[key]));
      return throughputRow(nameOf(what), of(2), of(1));
    };
    return [
      ...(Object.keys(costs) as Cost[]).map(costRow),
      rateRow('posts', 'posts'),
      rateRow('deliveries', 'deliveries'),
      rateRow('sessions connected', 'sessions'),
    ];
  } finally {
    for (const side of sides) await closeSide(side);
    await load.close();
  }
}
