import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { startStores } from '../../apps/local/stores.ts';
import { runChaos, summary } from './chaos.ts';

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '120' },
    posts: { type: 'string', default: '100' },
    bots: { type: 'string', default: '10' },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const dataDir = await mkdtemp(join(tmpdir(), 'parlance-chaos-'));
const stores = await startStores({ dataDir, durable: true, own: true, report: say });
try {
  const plan = { postsPerSec: Number(values.posts), bots: Number(values.bots), channels: 10, killEveryMs: 3_000, report: say };
  const result = await runChaos(stores, { ...plan, seconds: Number(values.seconds), killStores: true, replay: true });
  say(summary(result));
  const control = await runChaos(stores, { ...plan, seconds: 15, killStores: false, replay: false });
  say(`negative control (replay off): ${summary(control)}`);
  const good = result.lost + result.dup + result.ooo + result.invalidated === 0 && control.lost > 0;
  say(good ? 'chaos: passed' : 'chaos: FAILED');
  process.exitCode = good ? 0 : 1;
} finally {
  await stores.close();
  await rm(dataDir, { recursive: true, force: true });
}
