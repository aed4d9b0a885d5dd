import { figure, percentile, type Row } from '../report.ts';
import type { Bench } from '../setting.ts';
import { ourRound, type Round } from './interaction-rounds.ts';
import { openInteractionSetup } from './interaction-setup.ts';
import { applications, findSustainedRate } from './interactions.ts';

/** How much more than the sustained rate is offered, and for how long, in seconds. */
const overload = { times: 5, seconds: 15 } as const;
/** After the overload: uses at half of the sustained rate, in parts of this many seconds, until a part is normal. */
const part = { seconds: 1, most: 10 } as const;
/** In a normal part every use is answered, half of them within this multiple of the time before the overload. */
const normalTimes = 2;
/** The aims: the share of the sustained rate, the time of a refusal in milliseconds, and the time to normal in seconds. */
const aims = { share: 0.9, refusalMs: 100, normalSecs: 5 } as const;

/** Commands over HTTPS at 5 times the rate that this machine sustains, and after that (docs/operations.md#under-too-much-load). */
export async function overloadRows(bench: Bench): Promise<Row[]> {
  const fixture = await openInteractionSetup(bench, applications);
  try {
    await ourRound(bench, fixture, { perSec: 20, seconds: 15 }, 0); // warm-up
    const perSec = await findSustainedRate(bench, fixture);
    const half = { perSec: Math.ceil(perSec / 2), seconds: part.seconds };
    const [sustained, overloaded, normalSecs]: [Round[], Round[], number[]] = [[], [], []];
    for (let i = 0; i < bench.rounds; i++) {
      sustained.push(await ourRound(bench, fixture, { perSec, seconds: overload.seconds }, 0));
      const before = percentile((await ourRound(bench, fixture, { ...half, seconds: 5 }, 0)).toScreen, 0.5);
      overloaded.push(await ourRound(bench, fixture, { perSec: perSec * overload.times, seconds: overload.seconds }, 0));
      const began = performance.now();
      for (let n = 0; n < part.most; n++) {
        const round = await ourRound(bench, fixture, half, 0);
        if (round.unanswered === 0 && percentile(round.toScreen, 0.5) <= normalTimes * before) break;
      }
      normalSecs.push((performance.now() - began) / 1000 - part.seconds);
    }
    const name = `commands over HTTPS, ${overload.times} × ${perSec}/s offered for ${overload.seconds} s`;
    const row = (what: string, unit: string, values: readonly number[], aim: string, met: (median: number) => boolean): Row => {
      const ours = figure(values);
      return { name: `${name}: ${what}`, unit, ours, limit: null, result: '', aim, met: met(ours.median) };
    };
    const done = figure(overloaded.map((round) => round.perSecond));
    const limit = figure(sustained.map((round) => round.perSecond));
    const share = done.median / limit.median;
    return [
      {
        name: `${name}: done, compared with the sustained rate`,
        unit: 'uses/s',
        ours: done,
        limit,
        result: `${Math.round(share * 100)} %`,
        aim: `≥ ${aims.share * 100} %`,
        met: share >= aims.share,
      },
      row(
        'use → refusal, p99',
        'ms',
        overloaded.map((round) => percentile(round.toRefusal, 0.99)),
        `≤ ${aims.refusalMs} ms`,
        (median) => median <= aims.refusalMs,
      ),
      row(
        'accepted and not answered',
        'uses',
        overloaded.map((round) => round.lost),
        '0',
        (median) => median === 0,
      ),
      row('until normal', 's', normalSecs, `≤ ${aims.normalSecs} s`, (median) => median <= aims.normalSecs),
    ];
  } finally {
    await fixture.close();
  }
}
