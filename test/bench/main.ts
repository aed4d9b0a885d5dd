import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { readArguments } from '../../apps/local/command-line.ts';
import { startStores } from '../../apps/local/stores.ts';
import { type Row, table } from './report.ts';
import { appendRows } from './rows/append.ts';
import { attackRows } from './rows/attacks.ts';
import { crosspostRows } from './rows/crosspost.ts';
import { fairImageRows } from './rows/fair-images.ts';
import { fairOutboundRows } from './rows/fair-outbound.ts';
import { fanOutRows } from './rows/fan-out.ts';
import { gatewayFloodRow } from './rows/gateway-flood.ts';
import { growthRows } from './rows/growth.ts';
import { herdRows } from './rows/herd.ts';
import { interactionRows } from './rows/interactions.ts';
import { joinRows } from './rows/join.ts';
import { latencyRows } from './rows/latency.ts';
import { listRows } from './rows/list.ts';
import { memoryRow } from './rows/memory.ts';
import { overloadRows } from './rows/overload.ts';
import { permissionRows } from './rows/permissions.ts';
import { postRows } from './rows/post.ts';
import { presenceRow } from './rows/presence.ts';
import { resumeRows } from './rows/resume.ts';
import { roleChangeRows } from './rows/role-change.ts';
import { scalingRows } from './rows/scaling.ts';
import { slowBodyRows } from './rows/slow-bodies.ts';
import { useCostRows } from './rows/use-cost.ts';
import type { Bench } from './setting.ts';

const suites: Record<string, (bench: Bench) => Promise<Row[]>> = {
  append: appendRows,
  post: postRows,
  latency: latencyRows,
  interactions: interactionRows,
  'use-cost': useCostRows,
  overload: overloadRows,
  'fan-out': fanOutRows,
  'gateway-flood': gatewayFloodRow,
  resume: resumeRows,
  herd: herdRows,
  list: listRows,
  crosspost: crosspostRows,
  memory: memoryRow,
  'slow-bodies': slowBodyRows,
  'fair-images': fairImageRows,
  'fair-outbound': fairOutboundRows,
  join: joinRows,
  presence: presenceRow,
  permissions: permissionRows,
  'role-change': roleChangeRows,
  attacks: attackRows,
  growth: growthRows,
  scaling: scalingRows,
};

const usage = `Usage: npm run bench [-- <rows …> <options>]

Measures Parlance beside the least that could do the same work, in the same run (docs/scaling.md). Without rows it runs all:
  ${Object.keys(suites).join(' ')}

  --rounds <n>    how often each row is measured; default: 3
  --seconds <n>   how long a measurement takes; default: 2
  --scale <n>     multiplies the sizes of what is measured; default: 1
  --json <file>   also writes the rows to a file
`;
const { values, positionals } = readArguments(usage, {
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    scale: { type: 'string', default: '1' },
    json: { type: 'string' },
  },
});
const log = (line: string): void => void process.stdout.write(`${line}\n`);
const dataDir = await mkdtemp(join(tmpdir(), 'parlance-bench-'));
const stores = await startStores({ dataDir, durable: true, report: log });
const bench: Bench = {
  stores,
  rounds: Number(values.rounds),
  seconds: Number(values.seconds),
  scale: Number(values.scale),
  log,
};
const rows: Row[] = [];
try {
  for (const [name, suite] of Object.entries(suites)) {
    if (positionals.length && !positionals.includes(name)) continue;
    log(`${name} …`);
    rows.push(...(await suite(bench)));
  }
  log(
    `\n${table(rows)}\n\n${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${bench.rounds} rounds of ${bench.seconds} s`,
  );
  if (values.json) await writeFile(values.json, `${JSON.stringify(rows, null, 2)}\n`);
} finally {
  await stores.close();
  await rm(dataDir, { recursive: true, force: true });
}
