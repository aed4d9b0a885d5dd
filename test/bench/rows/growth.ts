import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startStores } from '../../../apps/local/stores.ts';
import { timeConnect } from '../connect.ts';
import { type Consumer, type CpuRound, cpuOfOne, startCpuMeter } from '../cpu.ts';
import { multipleRow, percentile, type Row } from '../report.ts';
import type { Bench } from '../setting.ts';
import { foundMembers, type Installation, openInstallation, type Size } from './growth-setup.ts';

const small: Size = { messages: 10_000, channels: 100, members: 1_000 };
const large: Size = { messages: 1_000_000, channels: 10_000, members: 100_000 };

/** The maximum ratio of a cost on the large installation to the same cost on the small one. */
const most = 1.3;

/** Something that is done again and again, by one client. */
interface Operation {
  name: string;
  /** The role whose CPU time is measured, besides the database. */
  role: Consumer;
  /** Does it for the `n`th time and returns how long it took, in milliseconds. */
  run(installation: Installation, n: number): Promise<number>;
}

/** Sends a request, and returns when it began and ended. */
async function send({ setting, bot }: Installation, path: string, body?: object): Promise<{ began: number; ended: number }> {
  const began = performance.now();
  const answer = await fetch(`${setting.stack.apiUrl()}/api${path}`, {
    method: body ? 'POST' : 'GET',
    headers: { Authorization: `Bot ${bot.token}`, ...(body ? { 'Content-Type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${text}`);
  return { began, ended: performance.now() };
}

const timeRequest = async (installation: Installation, path: string, body?: object): Promise<number> => {
  const { began, ended } = await send(installation, path, body);
  return ended - began;
};

const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T;

/** Posts in a channel, and waits until the bot receives the message. */
async function postAndReceive(installation: Installation, channelId: string, n: number): Promise<number> {
  const content = `message ${n} that is waited for`;
  const received = installation.waitForMessage(content);
  const { began } = await send(installation, `/channels/${channelId}/messages`, { content });
  return (await received) - began;
}

/** Makes every process forget what it has cached of the server and of the bot. */
const clearCaches = ({ setting: { platform }, serverId, bot }: Installation): Promise<unknown> =>
  platform.accessVersions.runChange({ servers: [serverId], members: [[serverId, bot.id]] }, () => Promise.resolve());

const operations: readonly Operation[] = [
  {
    name: 'POST message',
    role: 'api',
    run: (one, n) => timeRequest(one, `/channels/${one.mainChannelId}/messages`, { content: `message ${n} of a usual length` }),
  },
  {
    name: 'from post to event, busy channel',
    role: 'worker',
    run: (one, n) => postAndReceive(one, one.mainChannelId, n),
  },
  {
    name: 'from post to event, quiet channels',
    role: 'worker',
    run: (one, n) => postAndReceive(one, pick(one.otherChannelIds, n), n),
  },
  {
    name: 'newest messages',
    role: 'api',
    run: (one) => timeRequest(one, `/channels/${one.mainChannelId}/messages`),
  },
  {
    name: 'messages from the middle',
    role: 'api',
    run: (one, n) => timeRequest(one, `/channels/${one.mainChannelId}/messages?before=${pick(one.middleIds, n)}`),
  },
  {
    name: 'first 100 members',
    role: 'api',
    run: async (one) => {
      await clearCaches(one);
      return timeRequest(one, `/servers/${one.serverId}/members?limit=100`);
    },
  },
  {
    name: 'search for members',
    role: 'api',
    run: (one) => timeRequest(one, `/servers/${one.serverId}/members?query=${foundMembers.name}`),
  },
  {
    name: 'permission check, cold caches',
    role: 'api',
    run: async (one, n) => {
      await clearCaches(one);
      return timeRequest(one, `/channels/${pick(one.otherChannelIds, n)}`);
    },
  },
  {
    name: 'permission check, warm caches',
    role: 'api',
    run: (one, n) => timeRequest(one, `/channels/${pick(one.otherChannelIds, n)}`),
  },
  {
    name: 'connect of a session',
    role: 'gateway',
    run: ({ setting, memberTokens }, n) => timeConnect(setting.stack.gatewayUrl(), pick(memberTokens, n)),
  },
];

/** One round of an operation on one installation. Times in milliseconds. */
interface Measured {
  latencies: number[];
  /** The CPU time of this installation, in the time that the round took for both. */
  used: CpuRound;
}

/** How often a round does an operation at least, also on a busy machine. */
const minTimes = 50;

/** What the processes use while nothing is done. It is subtracted from the CPU time of every operation. */
const doNothing: Operation = { name: 'idle', role: 'worker', run: () => sleep(100, 0) };

let count = 0;

/** Runs an operation on both installations in turn. */
async function measure(bench: Bench, installations: readonly Installation[], { run }: Operation): Promise<Measured[]> {
  const meters = await Promise.all(installations.map(({ setting, stores }) => startCpuMeter(setting.stack, stores)));
  const latencies = installations.map((): number[] => []);
  const began = performance.now();
  while (performance.now() - began < 2 * bench.seconds * 1000 || (latencies[0]?.length ?? 0) < minTimes) {
    const order = count % 2 === 0 ? [0, 1] : [1, 0];
    for (const at of order) latencies[at]?.push(await run(installations[at] as Installation, count));
    count++;
  }
  return Promise.all(meters.map(async (readMeter, at) => ({ latencies: latencies[at] ?? [], used: await readMeter() })));
}

/**
 * The costs of operations on a large installation, compared with the same operations on a small one: latency of one client, CPU time of the role that does the
 * work, and CPU time of the database. Each installation has its own stores, so that CPU time can be told apart. They take turns after every operation, so that
 * other load of the machine affects both alike.
 */
export async function growthRows(bench: Bench): Promise<Row[]> {
  const scaled = (size: number): number => Math.round(size * bench.scale);
  const sizes = [small, { messages: scaled(large.messages), channels: scaled(large.channels), members: scaled(large.members) }];
  const dataDir = await mkdtemp(join(tmpdir(), 'parlance-bench-growth-'));
  const stores = await startStores({ dataDir, durable: true, report: bench.log });
  const installations: Installation[] = [];
  try {
    for (const [at, size] of sizes.entries()) installations.push(await openInstallation(at === 0 ? bench : { ...bench, stores }, size));
    const idle: Measured[][] = [];
    const rounds = operations.map((): Measured[][] => []);
    for (let i = 0; i < bench.rounds + 1; i++) {
      const isWarmUp = i === 0; // the first round
      for (const [o, operation] of [doNothing, ...operations].entries()) {
        const round = await measure(isWarmUp ? { ...bench, seconds: 0.5 } : bench, installations, operation);
        if (isWarmUp) continue;
        (o === 0 ? idle : rounds[o - 1])?.push(round);
        const [p50Small = 0, p50Large = 0] = round.map(({ latencies }) => percentile(latencies, 0.5));
        if (o > 0) bench.log(`  growth: ${operation.name}: p50 ${p50Small.toFixed(1)} → ${p50Large.toFixed(1)} ms`);
      }
    }
    return [...toIdleRows(idle), ...operations.flatMap((operation, o) => toRows(operation, rounds[o] ?? [], idle))];
  } finally {
    for (const one of installations) await one.close();
    await stores.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}

/** A row of both installations. Each round has the small one first. */
function toRow(name: string, unit: string, rounds: readonly Measured[][], value: (one: Measured, at: number) => number): Row {
  const of = (at: number): number[] => rounds.map((round) => value(round[at] as Measured, at));
  return multipleRow(`growth: ${name}`, unit, of(1), of(0), most);
}

/** The rows of idle installations: what sweeps cost. */
const toIdleRows = (idle: readonly Measured[][]): Row[] =>
  (['worker', 'database'] as const).map((consumer) =>
    toRow(`idle, CPU of ${consumer} in a second`, 'ms', idle, ({ used: { cpu, ms } }) => (cpu[consumer] / ms) * 1000),
  );

/** The rows of an operation: latency, and CPU time without what idle installations use. */
function toRows({ name, role }: Operation, rounds: readonly Measured[][], idle: readonly Measured[][]): Row[] {
  const idleOf = (at: number): CpuRound[] => idle.map((round) => (round[at] as Measured).used);
  const cpuRow = (consumer: Consumer): Row =>
    toRow(`${name}, CPU of ${consumer}`, 'ms', rounds, ({ used, latencies }, at) => cpuOfOne(used, latencies.length, idleOf(at), consumer));
  const latencies = (at: number): number[] => rounds.flatMap((round) => (round[at] as Measured).latencies);
  return [
    multipleRow(`growth: ${name}, latency of all requests`, 'ms', latencies(1), latencies(0), most),
    cpuRow(role),
    cpuRow('database'),
  ];
}
