import { connectBot } from '../../harness/bot-client.ts';
import { reply, startEndpoint } from '../../harness/endpoint.ts';
import { seedServer } from '../../harness/seed.ts';
import { openCounted, type StoreCost } from '../counted.ts';
import { type Consumer, type CpuRound, cpuOfOne, startCpuMeter } from '../cpu.ts';
import { aboveRow, figure, type Row } from '../report.ts';
import type { Bench } from '../setting.ts';
import { type Load, ourRound } from './interaction-rounds.ts';
import { openInteractionSetup, saveCommand } from './interaction-setup.ts';
import { applications } from './interactions.ts';

const uses = 20;

/** What one command costs the stores, from its use to the answer of its endpoint on the screen, for each round. Uses follow each other. */
async function costsOf(bench: Bench): Promise<StoreCost[]> {
  const endpoint = await startEndpoint((received, response) =>
    reply(200, { type: 'message', content: received.json.id })(received, response),
  );
  const { platform, apiUrl, gatewayUrl, costOf, close } = await openCounted(bench, { OUTBOUND_ALLOW: endpoint.site.pair });
  const seeded = await seedServer(platform, { bots: 1, channels: 1 });
  const [bot, channelId] = [seeded.bots[0], seeded.channelIds[0] ?? ''];
  let shown = (): void => undefined;
  const person = connectBot({
    urlOf: () => gatewayUrl,
    token: seeded.ownerToken,
    onEvent: ({ t, d }) => void (t === 'INTERACTION_UPDATE' && d.state === 'answered' && shown()),
  });
  try {
    await person.ready;
    if (!bot) throw new Error('no bot was made');
    const path = await saveCommand({ platform, apiUrl }, bot, { endpointUrl: endpoint.url, channelId, name: 'hello' });
    const useOnce = async (): Promise<void> => {
      const answered = new Promise<void>((resolve) => {
        shown = resolve;
      });
      const headers = { Authorization: `Bearer ${seeded.ownerToken}`, 'Content-Type': 'application/json' };
      const used = await fetch(path, { method: 'POST', headers, body: '{}' });
      if (used.status !== 202) throw new Error(`a use answered ${used.status}: ${await used.text()}`);
      await answered;
    };
    const costs: StoreCost[] = [];
    for (let round = 0; round <= bench.rounds; round++) {
      const cost = await costOf(uses, async () => {
        for (let n = 0; n < uses; n++) await useOnce();
      });
      if (round > 0) costs.push(cost); // the first round warms up
    }
    return costs;
  } finally {
    await person.close();
    await close();
    await endpoint.close();
  }
}

/** The CPU time of one use at a low rate: of all processes together, and of each role. */
async function cpuRows(bench: Bench): Promise<Row[]> {
  const fixture = await openInteractionSetup(bench, applications);
  const load: Load = { perSec: 30, seconds: 10 };
  const measure = async (run: () => Promise<unknown>): Promise<CpuRound> => {
    const read = await startCpuMeter(fixture.setting.stack, bench.stores);
    await run();
    return read();
  };
  const rounds: Record<Consumer, number>[] = [];
  await ourRound(bench, fixture, { perSec: 20, seconds: 15 }, 0); // warm-up, which compiles the code of four processes
  for (let n = 0; n < bench.rounds; n++) {
    const used = await measure(() => ourRound(bench, fixture, load, 0));
    const idle = await measure(() => new Promise((resolve) => setTimeout(resolve, load.seconds * 1000)));
    const one = (consumer: Consumer): number => cpuOfOne(used, load.perSec * load.seconds, [idle], consumer);
    rounds.push({ api: one('api'), worker: one('worker'), gateway: one('gateway'), database: one('database') });
  }
  await fixture.close();
  const name = `one command over HTTPS at ${load.perSec}/s: CPU`;
  const consumers = ['api', 'worker', 'gateway', 'database'] as const;
  const toRow = (what: string, values: readonly number[]): Row => {
    return { name: `${name}${what}`, unit: 'ms', ours: figure(values), limit: null, result: '', aim: '', met: true };
  };
  const all = rounds.map((round) => consumers.reduce((sum, consumer) => sum + round[consumer], 0));
  return [
    toRow('', all),
    ...consumers.map((consumer) =>
      toRow(
        ` of ${consumer}`,
        rounds.map((round) => round[consumer]),
      ),
    ),
  ];
}

/** What one command over HTTPS costs (docs/architecture.md#interaction). */
export async function useCostRows(bench: Bench): Promise<Row[]> {
  const costs = await costsOf(bench);
  const row = (what: keyof StoreCost, unit: string, most: number): Row =>
    aboveRow(
      `one command over HTTPS: ${unit}`,
      unit,
      costs.map((cost) => cost[what]),
      null,
      most,
    );
  return [
    row('reads', 'reads of the database', 4),
    row('writes', 'writes of the database', 6),
    row('commands', 'commands of Redis', 60),
    ...(await cpuRows(bench)),
  ];
}
