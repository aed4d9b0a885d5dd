import { setTimeout as sleep } from 'node:timers/promises';
import { seedServer } from '../../harness/seed.ts';
import { collectEnv, measureMemory } from '../memory.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, type Helper, openSetting, startHelper } from '../setting.ts';

const sessions = 2_000;
/** How many clients are connected before the first measurement. */
const warmUpClients = 500;
/** How long the sockets idle before a measurement, in milliseconds: one or two heartbeats. */
const idleMs = 8_000;

/**
 * The memory that one more connection costs a process, in kB. `connect` connects the clients numbered `from` to `to`; `close` closes all. All clients connect
 * once before the first measurement, because the code that is compiled for them takes half as much memory as they do.
 */
async function costOf(
  dir: string,
  pid: number,
  connect: (from: number, to: number) => Promise<unknown>,
  close: () => Promise<unknown>,
): Promise<number> {
  await connect(0, warmUpClients + sessions);
  await sleep(idleMs);
  await close();
  await connect(0, warmUpClients);
  await sleep(idleMs);
  const first = await measureMemory(dir, pid);
  await connect(warmUpClients, warmUpClients + sessions);
  await sleep(idleMs);
  return ((await measureMemory(dir, pid)) - first) / sessions / 1024;
}

/** Memory of an idle session of a bot or person: what V8 keeps for each of 2,000 on a gateway, compared with the same number of bare sockets. */
export async function memoryRow(bench: Bench): Promise<Row[]> {
  const { dir, env: collecting, close } = await collectEnv();
  const costs: [bots: number[], people: number[], bare: number[]] = [[], [], []];
  try {
    for (let i = 0; i < bench.rounds; i++) {
      const setting = await openSetting(bench, { api: 1, gateway: 2, worker: 0 }, { HEARTBEAT_INTERVAL_MS: '5000', ...collecting });
      const helpers = await Promise.all([
        startHelper('swarm', {}),
        startHelper('swarm', {}),
        startHelper('swarm', {}),
        startHelper('idle', collecting),
      ]);
      const [bots, people, plain, bare] = helpers;
      try {
        const seeded = await seedServer(setting.platform, {
          bots: warmUpClients + sessions,
          people: warmUpClients + sessions,
          channels: 1,
        });
        const identify = (swarm: Helper, node: number, all: readonly { token: string }[]): Promise<number> =>
          costOf(
            dir,
            setting.stack.gateways[node]?.pid() as number,
            (from, to) =>
              swarm.ask({ kind: 'connect', urls: [setting.stack.gatewayUrl(node)], tokens: all.slice(from, to).map(({ token }) => token) }),
            () => swarm.ask({ kind: 'close' }),
          );
        const url = `ws://127.0.0.1:${bare.port}`;
        const round = await Promise.all([
          identify(bots, 0, seeded.bots),
          identify(people, 1, seeded.people),
          costOf(
            dir,
            bare.child.pid as number,
            (from, to) => plain.ask({ kind: 'connectPlain', url, count: to - from }),
            () => plain.ask({ kind: 'close' }),
          ),
        ]);
        for (const [at, cost] of round.entries()) costs[at]?.push(cost);
        bench.log(`  memory: bots, people, bare: ${round.map((cost) => cost.toFixed(1)).join(', ')} kB`);
      } finally {
        await Promise.all(helpers.map((helper) => helper.close()));
        await setting.close();
      }
    }
  } finally {
    await close();
  }
  const row = (kind: string, ours: number[]): Row => multipleRow(`memory of an idle session, 2,000 ${kind}`, 'kB', ours, costs[2], 2);
  return [row('bots', costs[0]), row('people', costs[1])];
}
