import { type Comparison, tolerance } from './check.ts';
import { type Action, actions, type Costs, parts, roles } from './costs.ts';
import type { Failure } from './failures.ts';
import type { Layout, Population, Prediction } from './model.ts';
import type { Assumptions } from './plan.ts';

const percent = (share: number): string => (Number.isFinite(share) ? `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %` : 'never');
const units = ['', 'k', 'M', 'G', 'T'];
/** A number with three digits and a unit, such as `12.3k`. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return '∞';
  const at = value < 1_000 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3));
  const scaled = value / 1_000 ** at;
  return `${scaled.toFixed(scaled >= 100 || (at === 0 && Number.isInteger(value)) ? 0 : scaled >= 10 ? 1 : 2)}${units[at]}`;
}
const bytes = (value: number): string => `${short(value)}B`;
const tableOf = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');

/** The costs as Markdown tables: CPU time of one occurrence in microseconds, of processes without load, and sizes. */
export function showCosts({ actions: cost, idle, memory, bytes: sizes, hasDatabase }: Costs): string {
  const shown = parts.filter((part) => part !== 'database' || hasDatabase);
  const inMicroseconds = (ms: number): string => (ms === 0 ? '' : (ms * 1_000).toFixed(ms < 0.01 ? 1 : 0));
  const costRows = (Object.keys(actions) as Action[]).map((action) => [
    actions[action].about,
    ...shown.map((part) => inMicroseconds(cost[action][part])),
  ]);
  const idleRows = roles.map((role) => [`one ${role} without load, each second`, ...shown.map((part) => inMicroseconds(idle[role][part]))]);
  const sizeRows = [
    ...roles.map((role) => [`one ${role} without load`, bytes(memory.process[role])]),
    ['a session on a gateway node', bytes(memory.session)],
    ['… each of its servers', bytes(memory.sessionPlace)],
    ['a server on a gateway node', bytes(memory.place)],
    ['a session in Redis', bytes(memory.redisSession)],
    ['an event in a log in Redis', bytes(memory.redisEntry)],
    ['the mark of an event in Redis', bytes(memory.redisMark)],
    ['a message in the database, without indexes', bytes(sizes.storedMessage)],
    ['a message on the way to a session', bytes(sizes.frame)],
  ];
  return `${tableOf(['CPU time in µs', ...shown], [...costRows, ...idleRows])}\n\n${tableOf(['Size', ''], sizeRows)}`;
}

/** The comparisons as a Markdown table. */
export const showCheck = (comparisons: readonly Comparison[]): string =>
  tableOf(
    ['Size', 'Part', 'Predicted, % of a core', 'Measured', 'Difference', `Within ${percent(tolerance)}`],
    comparisons.map(({ size, part, predicted, measured, error, isMeasurable }) => [
      size,
      part,
      percent(predicted / 1_000),
      percent(measured / 1_000),
      `${error >= 0 ? '+' : ''}${(error * 100).toFixed(0)} %`,
      isMeasurable ? (Math.abs(error) <= tolerance ? 'yes' : 'no') : 'too small to tell',
    ]),
  );

/** One column of the sheet. */
export interface Sheet {
  assumed: Assumptions;
  population: Population;
  layout: Layout;
  prediction: Prediction;
  failures: Failure[];
}

function failureRows(sheets: readonly Sheet[]): string[][] {
  const kinds: Failure['lost'][] = ['gateway', 'worker', 'api', 'Redis master'];
  return kinds.map((kind) => [
    `loss of one ${kind}`,
    ...sheets.map(({ failures }) => {
      const one = failures.find(({ lost }) => lost === kind);
      if (!one) return 'an outage: it is the only one';
      const facts = [
        one.cpu &&
          `${short(one.sessions)} sessions resume: ${short(one.cpu.gateway / 1_000)} s CPU of gateways, back in ${short(one.seconds)} s`,
        !one.cpu && one.sessions > 0 && `${short(one.sessions)} sessions catch up`,
        one.postsDelayed > 0 && `${short(one.postsDelayed)} messages late by up to ${short(one.seconds)} s`,
        `${kind === 'Redis master' ? 'its replica' : 'the others'} at ${percent(one.shareAfter)}`,
      ];
      return facts.filter(Boolean).join('; ');
    }),
  ]);
}

/** The sheet as a Markdown table with a column for each number of connections. */
export function showSheet(sheets: readonly Sheet[]): string {
  const row = (name: string, value: (sheet: Sheet) => string): string[] => [name, ...sheets.map(value)];
  const sum = ({ servers }: Population, each: (one: Population['servers'][number]) => number): number =>
    servers.reduce((total, one) => total + one.servers * each(one), 0);
  const shareOf = ({ prediction }: Sheet, name: string): string => percent(prediction.loads.find((one) => one.name === name)?.share ?? 0);
  const layoutRow = (name: string, count: (layout: Layout) => number, part: string): string[] =>
    row(name, (sheet) => `${count(sheet.layout)} at ${shareOf(sheet, part)}`);
  return tableOf(
    ['', ...sheets.map(({ assumed }) => `${short(assumed.connections)} connections`)],
    [
      row(
        'servers; largest',
        ({ population }) =>
          `${short(sum(population, () => 1))}; ${short(Math.max(...population.servers.map(({ online }) => online)))} sessions`,
      ),
      row('messages', ({ population }) => `${short(sum(population, (one) => one.postsPerSec))}/s`),
      row('events sent to sessions', ({ prediction }) => `${short(prediction.deliveriesPerSec)}/s`),
      layoutRow('api processes', ({ api }) => api, 'api'),
      layoutRow('gateway processes', ({ gateway }) => gateway, 'gateway'),
      layoutRow('worker processes', ({ worker }) => worker, 'worker'),
      layoutRow('Redis masters', ({ redisMasters }) => redisMasters, 'redis'),
      ...(sheets.some(({ prediction }) => prediction.loads.some(({ name }) => name === 'database'))
        ? [
            row(
              'database shards',
              (sheet) => `${sheet.layout.databaseShards} with ${sheet.layout.databaseCores} cores at ${shareOf(sheet, 'database')}`,
            ),
          ]
        : []),
      row('memory of a gateway process', ({ prediction }) => bytes(prediction.memory.gateway)),
      row('memory of a Redis master', ({ prediction }) => bytes(prediction.memory.redis)),
      row('network to clients', ({ prediction }) => `${bytes(prediction.bytesPerSec.clients)}/s`),
      row('network from Redis to gateways', ({ prediction }) => `${bytes(prediction.bytesPerSec.redis)}/s`),
      row('growth of the database', ({ prediction }) => `${bytes(prediction.bytesPerSec.database * 86_400)} a day`),
      row('saturates first', ({ prediction: { first } }) => `${first.name}, at ${short(first.saturatesAt)} times the load`),
      ...failureRows(sheets),
    ],
  );
}
