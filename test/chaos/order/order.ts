import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDice } from '../../gateway/model-fixture.ts';
import { startStack } from '../../harness/stack.ts';
import { type BreakName, breakBuild, type OrderFaults } from '../broken-builds.ts';
import { type Fault, gatewayFaults, injectFaults, pauseRole, restartRole, roleFaults, shuffled } from '../faults.ts';
import { call } from '../requests.ts';
import type { ChaosStores } from '../stores.ts';
import { changeServer, createServer, join } from './actions.ts';
import { OrderClient } from './client.ts';
import { type Line, Oracle, type Wrong } from './oracle.ts';
import { post } from './posts.ts';
import { type Account, pickFrom, type World } from './world.ts';

/** A run of random changes, posts and clients. */
export interface OrderPlan {
  seed: number;
  seconds: number;
  partitions: number;
  people: number;
  bots: number;
  servers: number;
  /** Which faults there are, and the average time between two, in milliseconds. */
  faults?: OrderFaults;
  faultEveryMs?: number;
  /** What the build breaks, for a negative control. */
  broken?: BreakName | undefined;
  report: (line: string) => void;
}

/** The result of a run. */
export interface OrderResult {
  faults: string[];
  /** What the first fault is about (`shrink`). */
  story: string[];
  resumes: number;
  invalidated: number;
  messages: number;
}

/**
 * The longest pause between two changes of a server, and between two interruptions of clients, in milliseconds. With a control build, which only has to show its
 * fault soon, there are more of both.
 */
const pauses = { usual: { changeMs: 200, interruptionMs: 500 }, ofControl: { changeMs: 60, interruptionMs: 150 } };
/** How long actions go on before everything is compared, in milliseconds. */
const phaseMs = 12_000;
/**
 * All stands still when no client has received anything for this long, in milliseconds; after faults, what a process has left undone is found by a sweep. And how
 * long that may take.
 */
const quietMs = 2_500;
const quietAfterFaultsMs = 8_000;
const settleMs = 60_000;

async function makeAccount(world: Pick<World, 'addresses'>, name: string): Promise<Account> {
  const url = `${world.addresses.api()}/api/auth/register`;
  const { body } = await call<{ token: string; user: { id: string } }>('POST', url, null, { username: name, password: 'correct horse 1' });
  return { id: body.user.id, token: body.token, as: `Bearer ${body.token}`, applicationId: null };
}

async function makeBot({ addresses, owner }: Pick<World, 'addresses' | 'owner'>, name: string): Promise<Account> {
  const { body } = await call<{ id: string; token: string; bot: { id: string } }>('POST', `${addresses.api()}/api/applications`, owner.as, {
    name,
  });
  const path = `${addresses.api()}/api/applications/${body.id}/commands`;
  const commands = await call<{ id: string }[]>('PUT', path, owner.as, [{ name: 'answer', description: 'Answers for you only.' }]);
  const commandId = commands.body[0]?.id ?? '';
  return { id: body.bot.id, token: body.token, as: `Bot ${body.token}`, applicationId: body.id, commandId };
}

/** Waits until all clients are connected and nothing has come for a while. */
async function waitUntilQuiet(clients: readonly OrderClient[], oracle: Oracle, forMs: number): Promise<void> {
  const from = performance.now();
  for (;;) {
    await sleep(100);
    const now = performance.now();
    const lastAtMs = Math.max(from, ...clients.map(({ lastFrameAtMs }) => lastFrameAtMs));
    if (clients.every(({ isReady }) => isReady) && now - lastAtMs > forMs) return;
    if (now - from > settleMs) {
      for (const client of clients) if (!client.isReady) oracle.fault(client, 'is not connected after a minute');
      return;
    }
  }
}

/** How long messages are waited for that are missing after faults, in milliseconds. */
const lateMs = 30_000;

/** After faults, a message may be relayed late. Waits for those that clients lack, and reports how late they came, or that they did not. */
async function waitForLate(clients: readonly OrderClient[], oracle: Oracle, report: (text: string) => void): Promise<void> {
  const ids = new Set(oracle.findLacking(clients).map(({ id }) => id));
  if (ids.size === 0) return;
  const from = performance.now();
  const isOver = (): boolean => oracle.findLacking(clients).length === 0;
  while (!isOver() && performance.now() - from < lateMs) await sleep(100);
  const seconds = ((performance.now() - from) / 1000).toFixed(1);
  report(`late: the messages ${[...ids].join(', ')} ${isOver() ? 'came' : 'have not all come'} ${seconds} s after all stood still`);
}

/** How many lines a story has at most. */
const storyLines = 40;

/** The lines that a fault is about: the changes of its server, and what the client did and received of the server, in the order of time; the last of them. */
function shrink(lines: readonly Line[], { name, what, serverId }: Wrong): Line[] {
  const ids = what.match(/\d{17,}/g) ?? [];
  const isAbout = ({ text }: Line): boolean => {
    const isOfServer = serverId !== null && text.includes(serverId);
    if (text.startsWith('FAULT') || text.startsWith('server ')) return isOfServer || text.includes(what);
    if (!text.startsWith(`${name}: `)) return text.includes('recovered');
    const isStructural = isOfServer && !/: (MESSAGE|REACTION|PINS)_/.test(text);
    return isStructural || !/: [A-Z]+_[A-Z]+ /.test(text) || ids.some((id) => text.includes(id));
  };
  return lines
    .filter(isAbout)
    .toSorted((one, other) => one.atMs - other.atMs)
    .slice(-storyLines);
}

/** Runs real processes on `stores`, and judges what every client receives and has by the answers of requests. */
export async function runOrder(stores: ChaosStores, plan: OrderPlan): Promise<OrderResult> {
  const mongo = new URL(stores.mongodbUrl);
  const name = `order${randomBytes(4).toString('hex')}`;
  mongo.pathname = `/${name}`;
  const build = await breakBuild(plan.broken);
  const stack = await startStack(
    { api: 2, gateway: 2, worker: 2 },
    {
      MONGODB_URL: mongo.href,
      REDIS_URL: stores.redisUrl,
      REDIS_PREFIX: name,
      LOG_PARTITIONS: String(plan.partitions),
      APP_KEY: randomBytes(32).toString('base64'),
      RATE_LIMIT: 'off',
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'silent',
      HEARTBEAT_INTERVAL_MS: '2000',
    },
    build.folder,
  );
  const began = performance.now();
  const lines: Line[] = [];
  const format = ({ text, atMs }: Line): string => `${((atMs - began) / 1000).toFixed(2)} s: ${text}`;
  const report = (text: string, atMs = performance.now()): void => {
    lines.push({ text, atMs });
    plan.report(format({ text, atMs }));
  };
  const dice = createDice(plan.seed);
  const addresses = { api: () => stack.apiUrl(dice(2)), gateway: () => stack.gatewayUrl(dice(2)), pick: dice };
  const oracle = new Oracle(report);
  const clients: OrderClient[] = [];
  let messages = 0;
  try {
    const owner = await makeAccount({ addresses }, 'owner');
    const world: World = {
      addresses,
      oracle,
      owner,
      accounts: [owner],
      servers: oracle.servers,
      invites: new Map(),
      news: new Map(),
      report,
    };
    for (let at = 0; at < plan.people; at++) world.accounts.push(await makeAccount(world, `person${at}`));
    for (let at = 0; at < plan.bots; at++) world.accounts.push(await makeBot(world, `Bot ${at}`));
    for (let at = 0; at < plan.servers; at++) await createServer(world);
    for (const server of world.servers) for (const one of world.accounts.slice(1)) if (dice(3) > 0) await join(world, server, one);
    for (const [at, one] of world.accounts.entries()) clients.push(new OrderClient(`client ${at}`, one, addresses, oracle));
    /** Each makes a change of its own server, so that one server has no other changes meanwhile. A server that is gone is replaced. */
    const changers = Array.from({ length: plan.servers }, (_, at) => {
      let server = world.servers[at] ?? null;
      return async (): Promise<void> => {
        if (server && world.servers.includes(server)) await changeServer(world, server);
        else server = await createServer(world);
      };
    });
    const postSomewhere = async (): Promise<void> => {
      const server = pickFrom(world, world.servers);
      if (server) await post(world, server);
    };
    const { faults: kind = 'none', faultEveryMs = 5_000 } = plan;
    const { changeMs, interruptionMs } = plan.broken === undefined ? pauses.usual : pauses.ofControl;
    const { cut, kills } = stores.redisFaults;
    const faultsOf: Record<OrderFaults, () => readonly Fault[]> = {
      none: () => [],
      drains: () => stack.gateways.map(restartRole),
      cuts: () => [cut],
      pauses: () => stack.workers.map(pauseRole),
      all: () => [
        ...[stack.gateways, stack.workers, stack.apis].flatMap((roles) => roles.map(restartRole)),
        ...gatewayFaults(stack, stores.redisFaults),
        ...roleFaults(stack),
        ...kills.slice(0, 1),
        ...stores.databaseFaults,
      ],
    };
    const faults = faultsOf[kind]();
    oracle.isLossy = kind === 'all';
    for (const endsAt = performance.now() + plan.seconds * 1000; performance.now() < endsAt; ) {
      const phaseEndsAt = Math.min(endsAt, performance.now() + phaseMs);
      const isRunning = (): boolean => performance.now() < phaseEndsAt;
      const repeat = async (run: () => Promise<void> | void, pauseMs: number): Promise<void> => {
        while (isRunning()) {
          await run();
          await sleep(dice(pauseMs));
        }
      };
      await Promise.all([
        ...changers.map((changeOne) => repeat(changeOne, changeMs)),
        ...Array.from({ length: 3 }, () => repeat(postSomewhere, 60)),
        repeat(() => clients[dice(clients.length)]?.disturb(), interruptionMs),
        // It ends when everything works again.
        faults.length > 0 && injectFaults(shuffled(faults), faultEveryMs, () => !isRunning(), report),
      ]);
      await waitUntilQuiet(clients, oracle, kind === 'none' ? quietMs : quietAfterFaultsMs);
      if (kind === 'all') await waitForLate(clients, oracle, report);
      messages += clients.reduce((sum, { received }) => sum + received.length, 0);
      oracle.check(clients);
      for (const client of clients) for (const problem of await client.compare()) oracle.fault(client, ...problem);
      report(`compared: ${oracle.faults.length} faults, ${clients.reduce((sum, { resumes }) => sum + resumes, 0)} resumes`);
      if (oracle.faults.length > 0) break;
    }
    return {
      faults: oracle.faults.map((one) => `${one.name}: ${one.what}`),
      story: oracle.faults[0] ? shrink(lines, oracle.faults[0]).map(format) : [],
      resumes: clients.reduce((sum, one) => sum + one.resumes, 0),
      invalidated: clients.reduce((sum, one) => sum + one.invalidated, 0),
      messages,
    };
  } finally {
    for (const client of clients) client.close();
    await stack.close();
    await build.remove();
  }
}
