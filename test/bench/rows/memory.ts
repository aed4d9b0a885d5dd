import { readFile } from 'node:fs/promises';
import { makeWorld } from '../../harness/world.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting, openSide } from '../setting.ts';

const bots = 2_000;
/** How long the sockets idle, heartbeats apart, before they are weighed: what the handshakes left behind is collected by then. */
const idleMs = 45_000;
const idle = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, idleMs));

/** Resident memory of a process, in kB. */
const residentKb = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** Memory of an idle connected bot: what 2,000 of them add to a gateway, beside as many bare sockets. Linux only. */
export async function memoryRow(bench: Bench): Promise<Row[]> {
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < Math.min(2, bench.rounds); i++) {
    const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 0 }, { HEARTBEAT_INTERVAL_MS: '10000' });
    const [swarm, plain, bare] = await Promise.all([openSide('swarm', {}), openSide('swarm', {}), openSide('idle', {})]);
    try {
      const world = await makeWorld(setting.platform, { bots, channels: 1 });
      const [ourPid, barePid] = [setting.stack.gateways[0]?.pid(), bare.child.pid] as [number, number];
      const [ourBefore, bareBefore] = [await residentKb(ourPid), await residentKb(barePid)];
      await swarm.ask({ kind: 'connect', urls: [setting.stack.gatewayUrl()], tokens: world.bots.map((bot) => bot.token) });
      await plain.ask({ kind: 'connectPlain', url: `ws://127.0.0.1:${bare.port}`, count: bots });
      await idle();
      // A process shrinks when it collects what its start left behind: at the least the sockets cost nothing.
      ours.push(Math.max(0, (await residentKb(ourPid)) - ourBefore) / bots);
      limit.push(Math.max(0, (await residentKb(barePid)) - bareBefore) / bots);
    } finally {
      await Promise.all([swarm.close(), plain.close(), bare.close()]);
      await setting.close();
    }
  }
  return [multipleRow('memory of an idle connected bot, 2,000 bots, after 45 s', 'kB', ours, limit, 2)];
}
