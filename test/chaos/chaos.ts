import { randomBytes, randomUUID } from 'node:crypto';
import { Agent, request } from 'node:http';
import type { Stores } from '../../apps/local/stores.ts';
import { readConfig } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { type BotClient, connectBot } from '../harness/bot-client.ts';
import { type RoleProcess, type Stack, startStack } from '../harness/stack.ts';
import { makeWorld, type World } from '../harness/world.ts';
import { createLedger, type Ledger, type Verdict } from './ledger.ts';

/** A fault run. */
export interface ChaosPlan {
  seconds: number;
  postsPerSec: number;
  bots: number;
  channels: number;
  /** A gateway and a worker are killed so often, in milliseconds. */
  killEveryMs: number;
  /** The run goes on past its time until so many were killed: on a slow machine processes take long to come back. Default 0. */
  leastKills?: number;
  /** Whether Redis and the database are killed once in the run as well. */
  killStores: boolean;
  /** false: the negative control, gateways neither replay nor fill gaps. */
  replay: boolean;
  report: (line: string) => void;
}

/** What came of it: the ledger's verdict, and how the sessions fared. */
export interface ChaosResult extends Verdict {
  resumes: number;
  invalidated: number;
  kills: number;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** What takes so long is reported, in milliseconds. */
const stuckMs = 10_000;
const seconds = (since: number): string => `${((performance.now() - since) / 1000).toFixed(1)} s`;
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

/** One POST; the status, or 0 when no answer came. */
function post(url: string, token: string, body: object, key: string): Promise<number> {
  return new Promise((resolve) => {
    const sent = request(
      url,
      {
        method: 'POST',
        agent,
        timeout: 10_000,
        headers: { 'Content-Type': 'application/json', Authorization: `Bot ${token}`, 'Idempotency-Key': key },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
        response.on('error', () => resolve(0));
      },
    );
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(0));
    sent.end(JSON.stringify(body));
  });
}

/** Posts into one channel, one message after another at its pace; what was not acknowledged is repeated under its Idempotency-Key until it is. */
async function postAll(stack: Stack, world: World, channel: number, plan: ChaosPlan, ledger: Ledger, over: () => boolean): Promise<void> {
  const gapMs = (1000 * plan.channels) / plan.postsPerSec;
  const token = (world.bots[channel % world.bots.length] as World['bots'][number]).token;
  for (let n = 0, next = performance.now(); !over(); n++) {
    const key = randomUUID();
    const path = `/api/channels/${world.channelIds[channel]}/messages`;
    const began = performance.now();
    for (let status = 0, toldAt = began; status !== 201; ) {
      status = await post(stack.apiUrl(channel) + path, token, { content: `${channel} ${n}` }, key);
      if (status !== 201) await wait(100);
      if (performance.now() - toldAt < stuckMs) continue;
      toldAt = performance.now();
      plan.report(`channel ${channel} post ${n}: status ${status} after ${seconds(began)}`);
    }
    ledger.posted(channel, n);
    next += gapMs;
    await wait(Math.max(0, next - performance.now()));
  }
}

async function killAndRestart(role: RoleProcess, plan: ChaosPlan): Promise<void> {
  await role.stop('SIGKILL');
  const began = performance.now();
  await role.start();
  plan.report(`${role.name} is back after ${seconds(began)}`);
}

async function injectFaults(stack: Stack, stores: Stores, plan: ChaosPlan, until: number): Promise<number> {
  let kills = 0;
  const storeKills: [number, keyof Stores['processes']][] = plan.killStores
    ? [
        [0.3, 'redis'],
        [0.55, stores.processes.mongod ? 'mongod' : 'postgres'],
        ...(stores.processes.gateway ? [[0.75, 'gateway'] as [number, 'gateway']] : []),
      ]
    : [];
  const began = performance.now();
  for (let round = 0; kills < (plan.leastKills ?? 0) || performance.now() < until - plan.killEveryMs; round++) {
    await wait(plan.killEveryMs);
    const due = storeKills[0];
    if (due && performance.now() - began > due[0] * (until - began)) {
      storeKills.shift();
      const pid = stores.processes[due[1]];
      if (pid === undefined) throw new Error(`no process of ours for ${due[1]}`);
      plan.report(`SIGKILL ${due[1]}`);
      process.kill(pid, 'SIGKILL');
      kills++;
      continue;
    }
    const victims = [stack.gateways[round % stack.gateways.length], stack.workers[round % stack.workers.length]] as RoleProcess[];
    plan.report(`SIGKILL ${victims.map((one) => one.name).join(' and ')} ${round % 2}`);
    kills += victims.length;
    await Promise.all(victims.map((victim) => killAndRestart(victim, plan)));
  }
  return kills;
}

/** Waits until every bot has everything, or nothing new has come for 30 s (3 s without replay). */
async function settle(ledger: Ledger, plan: ChaosPlan): Promise<void> {
  const patienceMs = plan.replay ? 30_000 : 3_000;
  for (let last = -1, still = performance.now(); !ledger.complete() && performance.now() - still < patienceMs; ) {
    if (ledger.count() !== last) {
      last = ledger.count();
      still = performance.now();
    }
    await wait(50);
  }
}

/** Runs real processes on `stores` under load and faults, and judges what every bot has seen. */
export async function runChaos(stores: Stores, plan: ChaosPlan): Promise<ChaosResult> {
  const mongo = new URL(stores.mongodbUrl);
  const name = `chaos${randomBytes(4).toString('hex')}`;
  mongo.pathname = `/${name}`;
  const env = {
    MONGODB_URL: mongo.href,
    REDIS_URL: stores.redisUrl,
    REDIS_PREFIX: name,
    APP_KEY: randomBytes(32).toString('base64'),
    RATE_LIMIT: 'off',
    LOG_LEVEL: 'error',
    HEARTBEAT_INTERVAL_MS: '2000',
    ...(plan.replay ? {} : { FAILPOINTS: 'no-replay' }),
  };
  const began = performance.now();
  const report = (line: string): void => plan.report(`${seconds(began)}: ${line}`);
  const told = { ...plan, report };
  const stack = await startStack({ api: 2, gateway: 2, worker: 2 }, env);
  const config = readConfig({ ...env, LOG_LEVEL: 'silent' });
  const platform = await openApiPlatform(config, createLog('chaos', 'silent'));
  const bots: BotClient[] = [];
  try {
    const world = await makeWorld(platform, { bots: plan.bots, channels: plan.channels });
    const ledger = createLedger(plan.bots, plan.channels);
    bots.push(
      ...world.bots.map(({ token }, bot) =>
        connectBot({
          urlOf: (attempt) => stack.gatewayUrl(bot + attempt),
          token,
          onEvent: ({ t, d }) => {
            if (t !== 'MESSAGE_CREATE') return;
            const [channel, n] = String(d.content).split(' ').map(Number);
            ledger.seen(bot, channel as number, n as number);
          },
        }),
      ),
    );
    report('processes are up');
    await Promise.all(bots.map((bot) => bot.ready));
    report('sessions are ready');
    const until = performance.now() + plan.seconds * 1000;
    let under = true;
    const over = (): boolean => !under && performance.now() >= until;
    const posting = world.channelIds.map((_, channel) => postAll(stack, world, channel, told, ledger, over));
    const faults = injectFaults(stack, stores, told, until).finally(() => {
      under = false;
    });
    const [kills] = await Promise.all([faults, ...posting]);
    report('all is posted');
    await settle(ledger, plan);
    report('all is settled');
    const sum = (pick: (bot: BotClient) => number): number => bots.reduce((total, bot) => total + pick(bot), 0);
    return { ...ledger.judge(), resumes: sum((bot) => bot.stats.resumes), invalidated: sum((bot) => bot.stats.invalidated), kills };
  } finally {
    await Promise.all(bots.map((bot) => bot.close()));
    await stack.close();
    await platform.close();
    report('all is closed');
  }
}

/** The run in one line. */
export const summary = (result: ChaosResult): string =>
  `lost=${result.lost} dup=${result.dup} ooo=${result.ooo} p50=${result.p50.toFixed(0)}ms p99=${result.p99.toFixed(0)}ms ` +
  `posted=${result.posted} delivered=${result.delivered} resumes=${result.resumes} invalidated=${result.invalidated} kills=${result.kills}`;
