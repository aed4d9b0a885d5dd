import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../../apps/local/command-line.ts';
import { startStores } from '../../apps/local/stores.ts';
import type { Bench } from '../bench/setting.ts';
import { checkModel, isGood } from './check.ts';
import type { Costs } from './costs.ts';
import { failuresOf } from './failures.ts';
import { measureCosts } from './measure.ts';
import { simulate } from './model.ts';
import { type Assumptions, defaultAssumptions, planLayout, populationOf } from './plan.ts';
import { type Sheet, showCheck, showCosts, showSheet } from './report.ts';

/** The columns of the sheet if no number of connections is given. */
const sheetConnections = [1_000, 100_000, 1_000_000];

const names = Object.keys(defaultAssumptions) as (keyof Assumptions)[];
const toOption = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const usage = `Usage: npm run simulate [-- <options>]

Computes what an installation needs, from costs that it measures first (docs/scaling.md#capacity).
  --costs <file>           uses costs that an earlier run wrote by --json
  --json <file>            writes the measured costs to a file
  --no-check               does not check the model against a measurement
  --rounds, --seconds <n>  of a measurement; default: 2 rounds of 5 s
  --share <n>              the part of a process that may be used; default: 0.6
  --database-cores <n>     default: 8
  --spread <s>             seconds over which clients reconnect; default: 10

What is assumed, with its default:
${names.map((name) => `  --${toOption(name)} <n>`.padEnd(27) + defaultAssumptions[name]).join('\n')}
`;
const { values } = readArguments(usage, {
  options: {
    ...Object.fromEntries(names.map((name) => [toOption(name), { type: 'string' as const }])),
    costs: { type: 'string' },
    json: { type: 'string' },
    'no-check': { type: 'boolean', default: false },
    rounds: { type: 'string', default: '2' },
    seconds: { type: 'string', default: '5' },
    share: { type: 'string', default: '0.6' },
    'database-cores': { type: 'string', default: '8' },
    spread: { type: 'string', default: '10' },
  },
});
const given = values as Record<string, string | boolean | undefined>;
const log = (line: string): void => void process.stdout.write(`${line}\n`);
const { costs: costsFile, json: costsOutput } = values;

function sheetOf(connections: number, costs: Costs): Sheet {
  const assumed = { ...defaultAssumptions };
  for (const name of names) assumed[name] = Number(given[toOption(name)] ?? assumed[name]);
  assumed.connections = connections;
  const population = populationOf(assumed);
  const layout = planLayout(population, costs, { share: Number(values.share), databaseCores: Number(values['database-cores']) });
  const failures = failuresOf(layout, population, costs, Number(values.spread));
  return { assumed, population, layout, prediction: simulate(layout, population, costs), failures };
}

/** Measures what is not given, checks the model, and prints the sheet. False if a prediction is off by too much. */
async function run(): Promise<boolean> {
  let costs = costsFile === undefined ? null : (JSON.parse(await readFile(costsFile, 'utf8')) as Costs);
  let good = true;
  if (!costs || !values['no-check']) {
    const dataDir = await mkdtemp(join(tmpdir(), 'parlance-simulate-'));
    const stores = await startStores({ dataDir, durable: true, report: log });
    try {
      const bench: Bench = { stores, rounds: Number(values.rounds), seconds: Number(values.seconds), scale: 1, log };
      if (!costs) {
        log('measuring costs …');
        costs = await measureCosts(bench);
        if (costsOutput !== undefined) await writeFile(costsOutput, `${JSON.stringify(costs, null, 2)}\n`);
      }
      log(`\n${showCosts(costs)}\n`);
      if (!values['no-check']) {
        log('checking the model …');
        const comparisons = await checkModel(bench, costs);
        log(`\n${showCheck(comparisons)}\n`);
        good = isGood(comparisons);
      }
    } finally {
      await stores.close();
      await rm(dataDir, { recursive: true, force: true });
    }
  }
  const columns = given.connections === undefined ? sheetConnections : [Number(given.connections)];
  const sheets = columns.map((connections) => sheetOf(connections, costs));
  log(`${showSheet(sheets)}\n`);
  const { connections: _connections, ...activity } = sheets[0]?.assumed ?? defaultAssumptions;
  log(
    `Assumptions, rates of one session in an hour: ${Object.entries(activity)
      .map(([name, value]) => `${toOption(name)} ${value}`)
      .join(', ')}.`,
  );
  if (!costs.hasDatabase) log('The CPU time of the database could not be measured: it does not run on this machine.');
  log(`${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`);
  return good;
}

process.exitCode = (await run()) ? 0 : 1;
