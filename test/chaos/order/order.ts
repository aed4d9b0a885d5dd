import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createDice } from '../../gateway/model-fixture.ts';
import { startStack } from '../../harness/stack.ts';
import { gatewayFaults, injectFaults, roleFaults } from '../faults.ts';
import type { ChaosStores } from '../stores.ts';
import { changeServer, createServer, join, post } from './actions.ts';
import { OrderClient } from './client.ts';
import { Oracle } from './oracle.ts';
import { call } from './requests.ts';
import type { Account, World } from './world.ts';

/** A run of random changes, posts and clients. */
export interface OrderPlan {
  seed: number;
  seconds: number;
  partitions: number;
  people: number;
  bots: number;
  servers: number;
  /** Average time between two faults of processes and stores, in milliseconds; none without it. */
  faultEveryMs?: number | undefined;
  /** FAILPOINTS of all roles, for a negative control. */
  failpoints?: string | undefined;
  report: (line: string) => void;
}

/** The result of a run. */
export interface OrderResult {
  faults: string[];
  resumes: number;
  invalidated: number;
  messages: number;
}

/** How long actions go on before everything is compared, in milliseconds. */
const phaseMs = 12_000;
/** All stands still when no client has received anything for this long; and how long that may take, in milliseconds. */
const quietMs = 2_500;
const settleMs = 60_000;

async function makeAccount(world: Pick<World, 'addresses'>, name: string): Promise<Account> {
  const url = `${world.addresses.api()}/api/auth/register`;
  const { body } = await call<{ token: string; user: { id: string } }>(url, 'POST', null, { username: name, password: 'correct horse 1' });
  return { id: body.user.id, token: body.token, as: `Bearer ${body.token}`, applicationId: null };
}

async function makeBot({ addresses, owner }: Pick<World, 'addresses' | 'owner'>, name: string): Promise<Account> {
  const { body } = await call<{ id: string; token: string; bot: { id: string } }>(`${addresses.api()}/api/applications`, 'POST', owner, {
    name,
  });
  return { id: body.bot.id, token: body.token, as: `Bot ${body.token}`, applicationId: body.id };
}

/** Waits until all clients are connected and nothing has come for a while. */
async function waitUntilQuiet(clients: readonly OrderClient[], oracle: Oracle): Promise<void> {
  const from = performance.now();
  for (;;) {
    await sleep(100);
    const now = performance.now();
    const lastAtMs = Math.max(from, ...clients.map(({ lastFrameAtMs }) => lastFrameAtMs));
    if (clients.every(({ isReady }) => isReady) && now - lastAtMs > quietMs) return;
    if (now - from > settleMs) {
      for (const client of clients) if (!client.isReady) oracle.fault(client, 'is not connected after a minute');
      return;
    }
  }
}

/** Runs real processes on `stores`, and judges what every client receives and has by the answers of requests. */
export async function runOrder(stores: ChaosStores, plan: OrderPlan): Promise<OrderResult> {
  const mongo = new URL(stores.mongodbUrl);
  const name = `order${randomBytes(4).toString('hex')}`;
  mongo.pathname = `/${name}`;
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
      FAILPOINTS: plan.failpoints ?? '',
    },
  );
  const began = performance.now();
  const report = (line: string): void => plan.report(`${((performance.now() - began) / 1000).toFixed(2)} s: ${line}`);
  const dice = createDice(plan.seed);
  const addresses = { api: () => stack.apiUrl(dice(2)), gateway: () => stack.gatewayUrl(dice(2)), pick: dice };
  const oracle = new Oracle(report);
  const clients: OrderClient[] = [];
  let messages = 0;
  try {
    const owner = await makeAccount({ addresses }, 'owner');
    const world: World = { addresses, oracle, owner, accounts: [owner], servers: [], invites: new Map(), report };
    for (let at = 0; at < plan.people; at++) world.accounts.push(await makeAccount(world, `person${at}`));
    for (let at = 0; at < plan.bots; at++) world.accounts.push(await makeBot(world, `Bot ${at}`));
    for (let at = 0; at < plan.servers; at++) await createServer(world);
    for (const server of world.servers) for (const one of world.accounts.slice(1)) if (dice(3) > 0) await join(world, server, one);
    for (const [at, one] of world.accounts.entries()) clients.push(new OrderClient(`client ${at}`, one, addresses, oracle));
    let isOver = false;
    const faulting = plan.faultEveryMs
      ? injectFaults(
          [
            ...gatewayFaults(stack, stores.redisFaults),
            ...roleFaults(stack),
            ...stores.redisFaults.kills.slice(0, 1),
            ...stores.databaseFaults,
          ],
          plan.faultEveryMs,
          () => isOver,
          report,
        )
      : Promise.resolve(0);
    oracle.isLossy = plan.faultEveryMs !== undefined;
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
        ...Array.from({ length: plan.servers }, (_, at) =>
          repeat(() => changeServer(world, world.servers[at % world.servers.length] as World['servers'][number]), 200),
        ),
        ...Array.from({ length: 3 }, () =>
          repeat(() => post(world, world.servers[dice(world.servers.length)] as World['servers'][number]), 60),
        ),
        repeat(() => clients[dice(clients.length)]?.disturb(), 500),
      ]);
      await waitUntilQuiet(clients, oracle);
      messages += clients.reduce((sum, { received }) => sum + received.length, 0);
      oracle.check(clients);
      for (const client of clients) for (const problem of await client.compare()) oracle.fault(client, problem);
      report(`compared: ${oracle.faults.length} faults, ${clients.reduce((sum, { resumes }) => sum + resumes, 0)} resumes`);
      if (oracle.faults.length > 0) break;
    }
    isOver = true;
    await faulting;
    return {
      faults: oracle.faults,
      resumes: clients.reduce((sum, one) => sum + one.resumes, 0),
      invalidated: clients.reduce((sum, one) => sum + one.invalidated, 0),
      messages,
    };
  } finally {
    for (const client of clients) client.close();
    await stack.close();
  }
}
