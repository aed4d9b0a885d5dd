/** One measurement in several rounds. */
export interface Figure {
  median: number;
  /** Lowest and highest round. */
  spread: [number, number];
}

/** One row of the bench: the product compared with the limit measured in the same run. */
export interface Row {
  name: string;
  unit: string;
  ours: Figure;
  limit: Figure | null;
  /** The value that is compared with the aim, such as `63 %` of the limit. */
  result: string;
  aim: string;
  met: boolean;
}

/** Median and spread of the rounds. */
export function figure(rounds: readonly number[]): Figure {
  const sorted = [...rounds].sort((a, b) => a - b);
  const middle = sorted[Math.floor(sorted.length / 2)] ?? 0;
  return { median: middle, spread: [sorted[0] ?? 0, sorted.at(-1) ?? 0] };
}

/** The percentile: `share` of the values are below it. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/** A row whose aim is at least a share of the limit; more is better. */
export function shareRow(name: string, unit: string, ours: readonly number[], limit: readonly number[], least: number): Row {
  const [mine, bound] = [figure(ours), figure(limit)];
  const share = mine.median / bound.median;
  return { name, unit, ours: mine, limit: bound, result: `${(share * 100).toFixed(0)} %`, aim: `≥ ${least * 100} %`, met: share >= least };
}

/** A row whose aim is at most a multiple of the limit; less is better. */
export function multipleRow(name: string, unit: string, ours: readonly number[], limit: readonly number[], most: number): Row {
  const [mine, bound] = [figure(ours), figure(limit)];
  const multiple = mine.median / bound.median;
  return { name, unit, ours: mine, limit: bound, result: `${multiple.toFixed(2)} ×`, aim: `≤ ${most} ×`, met: multiple <= most };
}

/** A row whose aim is at most `most` above the limit, or at most `most` in total if there is no limit. */
export function aboveRow(name: string, unit: string, ours: readonly number[], limit: readonly number[] | null, most: number): Row {
  const mine = figure(ours);
  const bound = limit && figure(limit);
  const above = mine.median - (bound?.median ?? 0);
  return {
    name,
    unit,
    ours: mine,
    limit: bound,
    result: `${above.toFixed(1)} ${unit}${bound ? ' above' : ''}`,
    aim: `≤ ${most} ${unit}${bound ? ' above' : ''}`,
    met: above <= most,
  };
}

const show = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toFixed(2));
const showFigure = (one: Figure | null): string => (one ? `${show(one.median)} (${show(one.spread[0])}–${show(one.spread[1])})` : '—');

/** The rows as a Markdown table. */
export function table(rows: readonly Row[]): string {
  const lines = rows.map(
    (row) =>
      `| ${row.name} | ${row.unit} | ${showFigure(row.ours)} | ${showFigure(row.limit)} | ${row.result} | ${row.aim} | ${row.met ? 'yes' : 'no'} |`,
  );
  return [
    '| Row | Unit | Ours: median (spread) | Limit: median (spread) | Result | Aim | Met |',
    '|---|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}
