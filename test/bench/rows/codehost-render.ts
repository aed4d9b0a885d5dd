import { parseDelivery, renderDelivery } from '../../../lib/domain/webhooks/codehost/index.ts';
import { samples } from '../../codehost/samples.ts';
import { type Row, shareRow } from '../report.ts';
import type { Bench } from '../setting.ts';

const passes = 4_000;

/** Renders/s of one delivery of each event, from its bytes to its embed, compared with a bare `JSON.parse` of the same bytes. */
export async function codehostRenderRows(bench: Bench): Promise<Row[]> {
  const deliveries = samples.map(([event, payload]) => ({ event, text: JSON.stringify(payload) }));
  const ourOne = (event: string, text: string): number => {
    const reading = parseDelivery(event, JSON.parse(text));
    if ('ignored' in reading) throw new Error(`${event}: ${reading.ignored}`);
    return renderDelivery(reading.facts).color ?? 0;
  };
  const bare = (_event: string, text: string): number => Object.keys(JSON.parse(text) as object).length;
  const round = (one: (event: string, text: string) => number): number => {
    let sum = 0;
    const began = performance.now();
    for (let pass = 0; pass < passes; pass++) for (const { event, text } of deliveries) sum += one(event, text);
    const perSecond = (passes * deliveries.length) / ((performance.now() - began) / 1000);
    return sum === 0 ? 0 : perSecond;
  };
  const [ours, limit]: [number[], number[]] = [[], []];
  for (let i = 0; i < bench.rounds + 1; i++) {
    const [mine, other] = [round(ourOne), round(bare)];
    if (i === 0) continue; // the first round warms up
    ours.push(mine);
    limit.push(other);
  }
  return [shareRow(`code-host deliveries rendered, ${deliveries.length} kinds`, 'renders/s', ours, limit, 0.1)];
}
