import { randomBytes } from 'node:crypto';
import { cpus } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import type { BotClient } from '../harness/bot-client.ts';
import { startStack } from '../harness/stack.ts';
import { type BreakName, breakBuild } from './broken-builds.ts';
import { gatewayFaults, injectEach, injectFaults, roleFaults } from './faults.ts';
import { createLedger, type Ledger, type Verdict } from './ledger.ts';
import { makePopulation, type Sizes } from './population.ts';
import { postInto } from './posting.ts';
import { connectReader } from './reading.ts';
import { computePeak, type Drain, restartInTurn } from './restarts.ts';
import type { ChaosStores } from './stores.ts';

/** A fault run. */
export interface ChaosPlan extends Sizes {
  /** How long it goes on at least. */
  seconds: number;
  postsPerSec: number;
  /** Average time between two faults, in milliseconds. */
  faultEveryMs: number;
  /**
   * `each`: one fault of each kind, and the run ends. `gateways`: only gateways are killed, and subscriptions cut. `restarts`: each process is restarted once,
   * one after another, and the run ends.
   */
  faults: 'all' | 'each' | 'gateways' | 'restarts';
  /** The folder of the version whose processes are there first; default: this version. */
  from?: string | undefined;
  /** What the build breaks, for a negative control. */
  broken?: BreakName;
  report: (line: string) => void;
}

/** The result of a run: the ledger's `Verdict`, and the cost of the run. */
export interface ChaosResult extends Verdict {
  resumes: number;
  invalidated: number;
  faults: number;
  /** The most reconnects within a second while a gateway drained, as a multiple of their average over the 20 s of a drain. The highest of all drains. */
  reconnectPeak: number;
  /** The share of one core that this process used, the busy share of all cores, and the peak memory of this process in MiB. */
  driverCpu: number;
  machineCpu: number;
  driverMiB: number;
}

const progressMs = 10_000;
/** How long nothing may arrive before a run is judged, in milliseconds. */
const stillMs = { run: 30_000, control: 3_000 };

/** Starts measuring CPU and memory; the returned function reports them. */
function startMeter(): () => Pick<ChaosResult, 'driverCpu' | 'machineCpu' | 'driverMiB'> {
  const all = (): number[] =>
    cpus().reduce(
      ([busy = 0, sum = 0], { times: { idle, ...rest } }) => {
        const work = Object.values(rest).reduce((part, ms) => part + ms, 0);
        return [busy + work, sum + work + idle];
      },
      [0, 0] as number[],
    );
  const [began, own, [busy = 0, sum = 0]] = [performance.now(), process.cpuUsage(), all()];
  return () => {
    const { user, system } = process.cpuUsage(own);
    const [busyNow = 0, sumNow = 0] = all();
    return {
      driverCpu: (user + system) / 1000 / (performance.now() - began),
      machineCpu: (busyNow - busy) / (sumNow - sum),
      driverMiB: process.resourceUsage().maxRSS / 1024,
    };
  };
}

/** Waits until every reader has every post, or nothing new has arrived for `patienceMs`. */
async function waitForDeliveries(ledger: Ledger, patienceMs: number): Promise<void> {
  for (let last = -1, still = performance.now(); !ledger.isComplete() && performance.now() - still < patienceMs; ) {
    if (ledger.count() !== last) {
      last = ledger.count();
      still = performance.now();
    }
    await sleep(50);
  }
}

const sumOf = (readers: readonly BotClient[], name: 'resumes' | 'invalidated'): number =>
  readers.reduce((sum, { stats }) => sum + stats[name], 0);

/** Runs real processes on `stores` under load and faults, and judges what every reader received. */
export async function runChaos(stores: ChaosStores, plan: ChaosPlan): Promise<ChaosResult> {
  const mongo = new URL(stores.mongodbUrl);
  const name = `chaos${randomBytes(4).toString('hex')}`;
  mongo.pathname = `/${name}`;
  const env = {
    MONGODB_URL: mongo.href,
    REDIS_URL: stores.redisUrl,
    REDIS_PREFIX: name,
    APP_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'off',
    LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
    HEARTBEAT_INTERVAL_MS: '2000',
    // Without a fault of a store, a slow answer of it on a busy machine is not what is measured.
    ...(plan.faults === 'restarts' && { STORE_TIMEOUT_FACTOR: '10' }),
  };
  const began = performance.now();
  const report = (line: string): void => plan.report(`${((performance.now() - began) / 1000).toFixed(1)} s: ${line}`);
  const build = await breakBuild(plan.broken);
  const others = plan.faults === 'gateways' ? 1 : 2;
  const counts = { api: others, gateway: 2, worker: others, ops: plan.faults === 'restarts' ? 1 : 0 };
  const stack = await startStack(counts, env, build.folder ?? plan.from);
  const platform = await openApiPlatform(readConfig({ ...env, LOG_LEVEL: 'silent' }), createLog('chaos', 'silent'));
  const clients: BotClient[] = [];
  let progress: NodeJS.Timeout | undefined;
  try {
    const population = await makePopulation(platform, plan);
    const { channels, readers } = population;
    const ledger = createLedger(
      readers.map((reader) => reader.channels),
      channels.length,
      plan.broken ? () => undefined : report,
    );
    const reconnectedAt: number[] = [];
    const onReconnect = (): void => void reconnectedAt.push(performance.now());
    readers.forEach((_, reader) => void clients.push(connectReader(stack, population, reader, ledger, onReconnect)));
    await Promise.all(clients.map(({ ready }) => ready));
    report(`${readers.length} sessions are ready`);
    const meter = startMeter();
    progress = setInterval(() => {
      const { posted, delivered, silentHoles } = ledger.judge();
      report(`${posted} posted, ${delivered} delivered, ${silentHoles} not yet, ${sumOf(clients, 'resumes')} resumes`);
    }, progressMs);
    const endsAt = performance.now() + plan.seconds * 1000;
    let isFaulty = true;
    const isOver = (): boolean => performance.now() >= endsAt;
    const gapMs = (1000 * channels.length) / plan.postsPerSec;
    const posting = { stack, ledger, gapMs, isOver: () => !isFaulty && isOver(), report };
    const faults = gatewayFaults(stack, stores.redisFaults);
    if (plan.faults !== 'gateways') faults.push(...roleFaults(stack), ...stores.redisFaults.kills, ...stores.databaseFaults);
    const drains: Drain[] = [];
    const inject = (): Promise<number> => {
      if (plan.faults === 'restarts') return restartInTurn(stack, env, drains, report);
      if (plan.faults === 'each') return injectEach(faults, plan.faultEveryMs, report);
      return injectFaults(faults, plan.faultEveryMs, isOver, report);
    };
    const injecting = inject().finally(() => {
      isFaulty = false;
    });
    const [count] = await Promise.all([injecting, ...channels.map((channel, at) => postInto(channel, at, posting))]);
    report('everything is posted');
    const cost = meter();
    await waitForDeliveries(ledger, plan.broken ? stillMs.control : stillMs.run);
    if (!plan.broken) ledger.missing().slice(0, 20).forEach(report);
    const reconnectPeak = Math.max(0, ...drains.map((drain) => computePeak(reconnectedAt, drain)));
    return {
      ...ledger.judge(),
      ...cost,
      faults: count,
      reconnectPeak,
      resumes: sumOf(clients, 'resumes'),
      invalidated: sumOf(clients, 'invalidated'),
    };
  } finally {
    clearInterval(progress);
    await Promise.all(clients.map((client) => client.close()));
    await stack.close();
    await build.remove();
    await platform.close();
  }
}

/** The result in one line. */
export const summary = (result: ChaosResult): string =>
  `lost=${result.lost} doubled=${result.doubled} outOfOrder=${result.outOfOrder} silentHoles=${result.silentHoles} ` +
  `p50=${result.p50.toFixed(0)}ms p99=${result.p99.toFixed(0)}ms posted=${result.posted} delivered=${result.delivered} fetched=${result.fetched} ` +
  `resumes=${result.resumes} op9=${result.invalidated} faults=${result.faults} 5xx=${result.serverErrors} ` +
  `peak of reconnects=${result.reconnectPeak.toFixed(2)} × average ` +
  `driver=${(result.driverCpu * 100).toFixed(0)}% of a core, ${result.driverMiB.toFixed(0)} MiB machine=${(result.machineCpu * 100).toFixed(0)}% busy`;

/** Whether a run had no fault that a reader would notice. */
export const isGood = ({ lost, doubled, outOfOrder, silentHoles }: Verdict): boolean => lost + doubled + outOfOrder + silentHoles === 0;

/** Whether a run of restarts passed: also no answer was an error of the server, and the reconnects were spread. */
export const isSmooth = (result: ChaosResult): boolean => isGood(result) && result.serverErrors === 0 && result.reconnectPeak <= 2;
