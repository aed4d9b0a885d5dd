import { readArguments } from '../../../apps/local/command-line.ts';
import { breakNames, faultsOf, partitionsOf } from '../broken-builds.ts';
import { startChaosStores } from '../stores.ts';
import { runOrder } from './order.ts';

const usage = `Usage: npm run order [-- <options>]

Changes servers at random while clients come and go, and compares what they received with the answers of the API (docs/delivery.md).
  --seconds <n>      how long each run takes; default: 120
  --seeds <n>        the number of runs; default: 1
  --seed <n>         the first seed; default: a random one
  --partitions <n>   partitions of the log; default: 1, or what --broken needs
  --faults <which>   drains of gateways, cuts of subscriptions, pauses of workers, or all: every role and store is killed, paused and restarted;
                     default: none, or those that show what --broken breaks
  --fault-every <s>  seconds between faults; default: 5, or 2 with --broken
  --cluster          uses a Redis Cluster
  --broken <name>    runs a build in which a rule is broken, as a negative control: ${breakNames.join(', ')}
  --verbose          prints every change
`;
const { values } = readArguments(usage, {
  options: {
    seconds: { type: 'string', default: '120' },
    seeds: { type: 'string', default: '1' },
    seed: { type: 'string' },
    partitions: { type: 'string' },
    faults: { type: 'string' },
    'fault-every': { type: 'string' },
    cluster: { type: 'boolean', default: false },
    broken: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
/** The value of an option, which must be one of `choices`. */
function readChoice<T extends string>(option: 'faults' | 'broken', choices: readonly T[]): T | undefined {
  const found = choices.find((one) => one === values[option]);
  if (found !== values[option]) throw new Error(`--${option} must be one of: ${choices.join(', ')}`);
  return found;
}
const writeLine = (line: string): void => void process.stdout.write(`${line}\n`);
const broken = readChoice('broken', breakNames);
const firstSeed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const stores = await startChaosStores(values.cluster, writeLine);
try {
  for (let seed = firstSeed; seed < firstSeed + Number(values.seeds); seed++) {
    const result = await runOrder(stores, {
      seed,
      seconds: Number(values.seconds),
      partitions: Number(values.partitions ?? (broken === undefined ? 1 : partitionsOf(broken))),
      people: 5,
      bots: 3,
      servers: 3,
      faults: readChoice('faults', ['none', 'drains', 'cuts', 'pauses', 'all']) ?? (broken === undefined ? 'none' : faultsOf(broken)),
      faultEveryMs: Number(values['fault-every'] ?? (broken === undefined ? 5 : 2)) * 1000,
      broken,
      report: (line) => {
        if (values.verbose || /FAULT|late:|compared|recovered/.test(line)) writeLine(line);
      },
    });
    const { faults, story, resumes, invalidated, messages } = result;
    writeLine(`seed ${seed}: ${faults.length} faults, ${messages} messages, ${resumes} resumes, ${invalidated} op 9`);
    if (faults.length === 0) continue;
    writeLine('The first fault:');
    story.forEach(writeLine);
    process.exitCode = 1;
    break;
  }
} finally {
  await stores.close();
}
