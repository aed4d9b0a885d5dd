import { readArguments } from '../../../apps/local/command-line.ts';
import { startChaosStores } from '../stores.ts';
import { runOrder } from './order.ts';

const usage = `Usage: npm run order [-- <options>]

Changes servers at random while clients come and go, and compares what they received with the answers of the API (docs/delivery.md).
  --seconds <n>      how long each run takes; default: 120
  --seeds <n>        the number of runs; default: 1
  --seed <n>         the first seed; default: a random one
  --partitions <n>   partitions of the log; default: 1
  --fault-every <s>  seconds between faults; default: no faults
  --cluster          uses a Redis Cluster
  --failpoints <names>  for a negative control
  --verbose          prints every change
`;
const { values } = readArguments(usage, {
  options: {
    seconds: { type: 'string', default: '120' },
    seeds: { type: 'string', default: '1' },
    seed: { type: 'string' },
    partitions: { type: 'string', default: '1' },
    'fault-every': { type: 'string' },
    cluster: { type: 'boolean', default: false },
    failpoints: { type: 'string' },
    verbose: { type: 'boolean', default: false },
  },
});
const writeLine = (line: string): void => void process.stdout.write(`${line}\n`);
const firstSeed = values.seed === undefined ? Math.floor(Math.random() * 1_000_000) : Number(values.seed);
const stores = await startChaosStores(values.cluster, writeLine);
try {
  for (let seed = firstSeed; seed < firstSeed + Number(values.seeds); seed++) {
    const lines: string[] = [];
    const result = await runOrder(stores, {
      seed,
      seconds: Number(values.seconds),
      partitions: Number(values.partitions),
      people: 5,
      bots: 3,
      servers: 3,
      faultEveryMs: values['fault-every'] === undefined ? undefined : Number(values['fault-every']) * 1000,
      failpoints: values.failpoints,
      report: (line) => {
        lines.push(line);
        if (values.verbose || /FAULT|compared|recovered/.test(line)) writeLine(line);
      },
    });
    const { faults, resumes, invalidated, messages } = result;
    writeLine(`seed ${seed}: ${faults.length} faults, ${messages} messages, ${resumes} resumes, ${invalidated} op 9`);
    if (faults.length === 0) continue;
    if (!values.verbose) lines.slice(-60).forEach(writeLine);
    process.exitCode = 1;
    break;
  }
} finally {
  await stores.close();
}
