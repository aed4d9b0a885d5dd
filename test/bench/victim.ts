import { readFile } from 'node:fs/promises';
import type { Handshakes } from './bare/handshakes.ts';
import type { Load, LoadResult } from './bare/load.ts';
import { multipleRow, type Row } from './report.ts';
import type { Bench, Helper, Setting } from './setting.ts';

/** A round of requests or handshakes, whose length is not decided yet. */
type Round = Omit<Load, 'seconds'> | Omit<Handshakes, 'seconds'>;

/** What the victims do, and what may slow them down. */
export interface Attack {
  name: string;
  victim: Round;
  attack: Round;
  /** The maximum ratio of the victims' p99 under attack to their p99 without it. */
  most: number;
}

const peakMb = async (setting: Setting): Promise<number> =>
  Number(/VmHWM:\s+(\d+)/.exec(await readFile(`/proc/${setting.stack.apis[0]?.pid()}/status`, 'utf8'))?.[1] ?? 0) / 1024;

/** The victims' p99 under attack, compared with the p99 without it, in each round. Also prints the peak memory of the first API process. Linux only. */
export async function victimRow(
  bench: Bench,
  setting: Setting,
  [own, other]: readonly [own: Helper, other: Helper],
  { name, victim, attack, most }: Attack,
): Promise<Row> {
  const round = (helper: Helper, load: Round): Promise<LoadResult> => helper.ask({ ...load, seconds: bench.seconds });
  await round(own, victim);
  const [attacked, alone]: [number[], number[]] = [[], []];
  for (let i = 0; i < bench.rounds; i++) {
    const without = await round(own, victim);
    const [withAttack, attackers] = await Promise.all([round(own, victim), round(other, attack)]);
    alone.push(without.p99);
    attacked.push(withAttack.p99);
    bench.log(
      `  ${name}: p50 ${without.p50.toFixed(1)} → ${withAttack.p50.toFixed(1)} ms, p99 ${without.p99.toFixed(1)} → ${withAttack.p99.toFixed(1)} ms, ` +
        `${withAttack.failed} failed; attackers ${attackers.perSecond.toFixed(0)}/s, ${attackers.failed} refused; api's peak ${(await peakMb(setting)).toFixed(0)} MB`,
    );
  }
  return multipleRow(name, 'ms', attacked, alone, most);
}
