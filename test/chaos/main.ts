import { resolve } from 'node:path';
import { readArguments } from '../../apps/local/command-line.ts';
import { type ChaosPlan, isGood, isSmooth, runChaos, summary } from './chaos.ts';
import { startChaosStores } from './stores.ts';

const usage = `Usage: npm run chaos [-- <options>]

Kills and pauses processes and stores under load, and counts events that were lost, doubled or out of order (docs/guarantees.md).
  --minutes <n>      how long; default: 10
  --rate <n>         posts in a second; default: 200
  --bots <n>         default: 20
  --people <n>       default: 50
  --servers <n>      default: 10
  --messages <n>     messages that are stored before; default: 0
  --fault-every <s>  seconds between faults; default: 5
  --cluster          uses a Redis Cluster
  --restarts         only restarts every process
  --from <folder>    begins with the version that is built there, and upgrades
`;
const { values } = readArguments(usage, {
  options: {
    minutes: { type: 'string', default: '10' },
    rate: { type: 'string', default: '200' },
    bots: { type: 'string', default: '20' },
    people: { type: 'string', default: '50' },
    servers: { type: 'string', default: '10' },
    messages: { type: 'string', default: '0' },
    'fault-every': { type: 'string', default: '5' },
    cluster: { type: 'boolean', default: false },
    restarts: { type: 'boolean', default: false },
    from: { type: 'string' },
  },
});
const writeLine = (line: string): void => void process.stdout.write(`${line}\n`);
const stores = await startChaosStores(values.cluster, writeLine);
try {
  const plan: Omit<ChaosPlan, 'seconds' | 'faults'> = {
    postsPerSec: Number(values.rate),
    servers: Number(values.servers),
    messages: Number(values.messages),
    channelsPerServer: 3,
    bots: Number(values.bots),
    people: Number(values.people),
    serversEach: 3,
    faultEveryMs: Number(values['fault-every']) * 1000,
    report: writeLine,
  };
  const from = values.from === undefined ? undefined : `${resolve(values.from)}/`;
  const restarts = await runChaos(stores, { ...plan, seconds: 0, faults: 'restarts', from });
  writeLine(`restart of every process: ${summary(restarts)}`);
  let isPassed = isSmooth(restarts);
  if (!values.restarts) {
    const result = await runChaos(stores, { ...plan, seconds: Number(values.minutes) * 60, faults: 'all' });
    writeLine(summary(result));
    const control = await runChaos(stores, { ...plan, seconds: 15, faultEveryMs: 1_000, faults: 'gateways', broken: 'no-replay' });
    writeLine(`negative control (no replay): ${summary(control)}`);
    isPassed &&= isGood(result) && control.lost > 0;
  }
  writeLine(isPassed ? 'chaos: passed' : 'chaos: FAILED');
  process.exitCode = isPassed ? 0 : 1;
} finally {
  await stores.close();
}
