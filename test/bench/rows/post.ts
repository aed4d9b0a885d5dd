import { seedServer } from '../../harness/seed.ts';
import type { LoadResult } from '../bare/load.ts';
import { figure, type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, startHelper } from '../setting.ts';

/** POST message at 1 and 32 clients with a worker and 20 bots running, compared with the bare stack: one insert and one PUBLISH. */
export async function postRows(bench: Bench): Promise<Row[]> {
  const setting = await openSetting(bench, { api: 1, gateway: 1, worker: 1 });
  const seeded = await seedServer(setting.platform, { bots: 20, channels: 8 });
  const [bare, load, swarm] = await Promise.all([startHelper('post', setting.env), startHelper('load', {}), startHelper('swarm', {})]);
  const rows: Row[] = [];
  try {
    await swarm.ask({ kind: 'connect', urls: [setting.stack.gatewayUrl()], tokens: seeded.bots.map((bot) => bot.token) });
    const urls = (base: string, clients: number): string[] =>
      seeded.channelIds.slice(0, clients).map((id) => `${base}/api/channels/${id}/messages`);
    const bodies = {
      method: 'POST',
      authorization: `Bot ${seeded.bots[0]?.token}`,
      body: JSON.stringify({ content: 'a message of a usual length, as people write them' }),
    };
    const round = (base: string, clients: number, seconds: number): Promise<LoadResult> =>
      load.ask({ ...bodies, urls: urls(base, clients), clients, seconds });
    const [ours, limit] = [setting.stack.apiUrl(), `http://127.0.0.1:${bare.port}`];
    for (const clients of [1, 32]) {
      await round(ours, clients, 1);
      await round(limit, clients, 1);
      const [mine, bound]: [LoadResult[], LoadResult[]] = [[], []];
      for (let i = 0; i < bench.rounds; i++) {
        mine.push(await round(ours, clients, bench.seconds));
        bound.push(await round(limit, clients, bench.seconds));
      }
      const failed = mine.reduce((sum, one) => sum + one.failed, 0);
      if (failed) throw new Error(`${failed} posts failed`);
      const of = (results: LoadResult[], pick: (one: LoadResult) => number): number[] => results.map(pick);
      rows.push(
        shareRow(
          `POST message, ${clients} client${clients > 1 ? 's' : ''}`,
          'requests/s',
          of(mine, (one) => one.perSecond),
          of(bound, (one) => one.perSecond),
          clients === 1 ? 0.6 : 0.45,
        ),
      );
      for (const [name, pick] of [
        ['p50', (one: LoadResult) => one.p50],
        ['p99', (one: LoadResult) => one.p99],
      ] as const)
        rows.push({
          name: `POST message, ${clients} client${clients > 1 ? 's' : ''}, ${name}`,
          unit: 'ms',
          ours: figure(of(mine, pick)),
          limit: figure(of(bound, pick)),
          result: '',
          aim: name === 'p99' ? '< 150 ms' : '',
          met: name !== 'p99' || figure(of(mine, pick)).median < 150,
        });
    }
    return rows;
  } finally {
    await Promise.all([bare.close(), load.close(), swarm.close()]);
    await setting.close();
  }
}
