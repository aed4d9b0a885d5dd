import type { LoadResult } from './bare/load.ts';
import { type Row, shareRow } from './report.ts';
import type { Bench, Helper } from './setting.ts';

/** A read route of the product, and the bare query that it is compared with. */
export interface Read {
  name: string;
  /** Requests use these URLs in turn. */
  urls: string[];
  authorization: string;
  /** One bare query for the data that one request returns. */
  bare: () => Promise<unknown>;
  clients: number;
  /** The least share of the bare query's rate that the route must reach. */
  least: number;
}

/** Requests/s of a read by `load`, compared with its bare query at the same number of clients. Each is warmed up for a second. */
export async function readRow(bench: Bench, load: Helper, { name, urls, authorization, bare, clients, least }: Read): Promise<Row> {
  const ourRound = (seconds: number): Promise<LoadResult> => load.ask({ method: 'GET', urls, authorization, clients, seconds });
  const bareRound = async (seconds: number): Promise<number> => {
    const began = performance.now();
    let found = 0;
    const client = async (): Promise<void> => {
      for (; performance.now() - began < seconds * 1000; found++) await bare();
    };
    await Promise.all(Array.from({ length: clients }, client));
    return found / ((performance.now() - began) / 1000);
  };
  await ourRound(1);
  await bareRound(1);
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < bench.rounds; i++) {
    const mine = await ourRound(bench.seconds);
    if (mine.failed) throw new Error(`${mine.failed} of "${name}" failed`);
    ours.push(mine.perSecond);
    limit.push(await bareRound(bench.seconds));
    bench.log(`  ${name}, ${clients} client(s): p50 ${mine.p50.toFixed(1)} ms, p99 ${mine.p99.toFixed(1)} ms`);
  }
  return shareRow(`${name}, ${clients} client${clients > 1 ? 's' : ''}`, 'requests/s', ours, limit, least);
}
