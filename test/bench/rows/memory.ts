import { readFile } from 'node:fs/promises';
import { makeWorld } from '../../harness/world.ts';
import { multipleRow, type Row } from '../report.ts';
import { type Bench, openSetting, openSide } from '../setting.ts';

const bots = 2_000;

/** Resident memory of a process, in kB. */
const residentKb = async (pid: number): Promise<number> =>
  Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);

/** Memory of an idle connected bot: what 2,000 of them add to a gateway, beside as many bare sockets. Linux only. */
export async function memoryRow(bench: Bench): Promise<Row[]> {
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < Math.min(3, bench.rounds); i++) {
    const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 0 });
    const [swarm, plain, idle] = await Promise.all([openSide('swarm', {}), openSide('swarm', {}), openSide('idle', {})]);
    try {
      const world = await makeWorld(setting.platform, { bots, channels: 1 });
      const pid = setting.stack.gateways[0]?.pid() as number;
      const before = await residentKb(pid);
      await swarm.ask({ kind: 'connect', urls: [setting.stack.gatewayUrl()], tokens: world.bots.map((bot) => bot.token) });
      ours.push(((await residentKb(pid)) - before) / bots);
      const idlePid = idle.child.pid as number;
      const idleBefore = await residentKb(idlePid);
      await plain.ask({ kind: 'connectPlain', url: `ws://127.0.0.1:${idle.port}`, count: bots });
      limit.push(((await residentKb(idlePid)) - idleBefore) / bots);
    } finally {
      await Promise.all([swarm.close(), plain.close(), idle.close()]);
      await setting.close();
    }
  }
  return [multipleRow('memory of an idle connected bot, 2,000 bots', 'kB', ours, limit, 2)];
}
