import { limits } from '../../../lib/base/limits.ts';
import { figure, multipleRow, percentile, type Row } from '../report.ts';
import type { Bench } from '../setting.ts';
import { bareRound, type Load, ourRound, type Reached, type Round } from './interaction-rounds.ts';
import { type InteractionSetup, openInteractionSetup } from './interaction-setup.ts';

export const applications = 20;
/** How many of them hang in the rounds with hanging endpoints: a fifth. */
const hung = 4;
/** The load to reach, and lower rates to try on a slower machine. */
const asked: Load = { perSec: 250, seconds: 20 };
const rates = [20, 30, 45, 60, 80, 100, 125, 160, 200, asked.perSec];
/** A machine sustains a rate if every use is answered, 99 of 100 within this time, in milliseconds. */
const sustainedMs = 1_000;
/** The bench's own aims, in milliseconds; the documentation defines none. */
const aims = { toEndpoint: 250, toScreen: 500 };
const expirySeenMs = 3_500;

const at = (rounds: readonly Reached[], to: keyof typeof aims, share: number): number[] =>
  rounds.map((round) => percentile(round[to], share));

/** The highest of the rates that this machine sustains. Tries them upwards, because the product recovers slowly from a higher rate. */
export async function findSustainedRate(bench: Bench, fixture: InteractionSetup): Promise<number> {
  let sustained = rates[0] as number;
  for (const perSec of rates) {
    const round = await ourRound(bench, fixture, { perSec, seconds: 5 }, 0);
    if (round.unanswered > 0 || percentile(round.toScreen, 0.99) > sustainedMs) break;
    sustained = perSec;
  }
  return sustained;
}

/** A row of a count that must meet the aim in every round. */
const countRow = (name: string, counts: readonly number[], aim: string, met: (count: number) => boolean): Row => ({
  name,
  unit: 'uses',
  ours: figure(counts),
  limit: null,
  result: counts.join(', '),
  aim,
  met: counts.every(met),
});

function latencyRows(load: Load, ours: readonly Round[], bare: readonly Reached[]): Row[] {
  const rows: Row[] = [];
  for (const [to, where] of [
    ['toEndpoint', 'endpoint'],
    ['toScreen', 'screen'],
  ] as const)
    for (const [name, share] of [
      ['p50', 0.5],
      ['p99', 0.99],
    ] as const) {
      const [mine, bound] = [figure(at(ours, to, share)), figure(at(bare, to, share))];
      rows.push({
        name: `use → ${where} at ${load.perSec}/s, ${name}`,
        unit: 'ms',
        ours: mine,
        limit: bound,
        result: `${(mine.median / bound.median).toFixed(2)} ×`,
        aim: name === 'p99' ? `≤ ${aims[to]} ms (own aim)` : '',
        met: name !== 'p99' || mine.median <= aims[to],
      });
    }
  return rows;
}

/**
 * Uses of commands of 20 applications with an Interactions Endpoint each: the time from use to endpoint and from use to the person's screen, compared with the
 * bare process, and the same while a fifth of the endpoints hang (docs/guarantees.md#p7-visible-expiry, docs/guarantees.md#p11-bounded-resources). Runs at
 * 250/s, or at the highest rate that this machine sustains; the first row shows the result of 250/s.
 */
export async function interactionRows(bench: Bench): Promise<Row[]> {
  const fixture = await openInteractionSetup(bench, applications);
  try {
    await ourRound(bench, fixture, { perSec: 20, seconds: 15 }, 0); // warm-up, which compiles the code of four processes
    const load: Load = { ...asked, perSec: await findSustainedRate(bench, fixture) };
    const [ours, bare, hanging]: [Round[], Reached[], Round[]] = [[], [], []];
    for (let i = 0; i < bench.rounds; i++) {
      ours.push(await ourRound(bench, fixture, load, 0));
      bare.push(await bareRound(bench, fixture, load));
      hanging.push(await ourRound(bench, fixture, load, hung));
    }
    const isAsked = load.perSec === asked.perSec;
    const most = isAsked ? ours : [await ourRound(bench, fixture, asked, 0)];
    const mostBare = isAsked ? bare : [await bareRound(bench, fixture, asked)];
    const rate = figure(most.map((round) => round.perSecond));
    const what = `${load.perSec}/s for ${load.seconds} s`;
    const withHanging = `${what}, ${hung} of ${applications} endpoints hanging`;
    const expiry = figure(hanging.map((round) => percentile(round.toExpiry, 0.99)));
    return [
      {
        name: `uses answered by endpoints, ${asked.perSec}/s offered for ${asked.seconds} s`,
        unit: 'uses/s',
        ours: rate,
        limit: figure(mostBare.map((round) => round.perSecond)),
        result: isAsked ? 'sustained' : `sustained up to ${load.perSec}/s`,
        aim: `≥ ${asked.perSec}/s`,
        met: most.every((round) => round.unanswered === 0),
      },
      ...latencyRows(load, ours, bare),
      countRow(
        `${what}: not answered`,
        ours.map((round) => round.unanswered),
        '0',
        (count) => count === 0,
      ),
      multipleRow(
        `${withHanging}: use → screen of the others, p99, compared with none hanging`,
        'ms',
        at(hanging, 'toScreen', 0.99),
        at(ours, 'toScreen', 0.99),
        2,
      ),
      countRow(
        `${withHanging}: others not answered`,
        hanging.map((round) => round.unanswered),
        '0',
        (count) => count === 0,
      ),
      countRow(
        `${withHanging}: expiries not received`,
        hanging.map((round) => round.unfinished),
        '0',
        (count) => count === 0,
      ),
      {
        name: `${withHanging}: use → expiry received, p99`,
        unit: 'ms',
        ours: expiry,
        limit: null,
        result: '',
        aim: `≤ ${expirySeenMs} ms`,
        met: expiry.median > 0 && expiry.median <= expirySeenMs,
      },
      countRow(
        `${withHanging}: parallel requests on one endpoint`,
        hanging.map((round) => round.maxConcurrent),
        `≤ ${limits.requestsPerApplication}`,
        (count) => count <= limits.requestsPerApplication,
      ),
    ];
  } finally {
    await fixture.close();
  }
}
