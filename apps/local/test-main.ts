import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensureChromium } from './chromium.ts';
import { showHelp } from './command-line.ts';
import { ensurePython } from './python.ts';
import { type Stores, startStores } from './stores.ts';
import { print, startProgress } from './terminal.ts';
import { runTests } from './test-run.ts';

/*
 * `npm test [-- mocha arguments]`: starts disposable stores, by the same rules as `npm start`, finds or installs a browser and Python, and runs the tests with them.
 */
showHelp(`Usage: npm test [-- <mocha arguments>]

Runs the first part of the tests on disposable stores; \`npm run test:system\` runs the others. A file that fails is run once more, alone. For example: npm test -- --no-config --import=tsx <files>
`);
const folder = mkdtempSync(join(tmpdir(), 'parlance-test-'));

let stores: Stores | undefined;
const steps = startProgress('starting the stores for the tests');
try {
  const chromium = await ensureChromium(steps.report);
  const python = await ensurePython(steps.report);
  stores = await startStores({ dataDir: folder, durable: false, report: steps.report });
  steps.stop();
  const { mongodbUrl: MONGODB_URL, redisUrl: REDIS_URL } = stores;
  // Longer store timeouts, so that tests on a busy machine are slow but do not fail. Tests of unavailable stores set their own.
  process.exitCode = await runTests(process.argv.slice(2), {
    STORE_TIMEOUT_FACTOR: '10',
    ...process.env,
    MONGODB_URL,
    REDIS_URL,
    ...(chromium && { CHROMIUM: chromium }),
    ...(python && { PYTHON: python }),
  });
} catch (error) {
  print((error as Error).message);
  process.exitCode = 1;
} finally {
  steps.stop();
  await stores?.close();
  rmSync(folder, { recursive: true, force: true });
}
process.exit();
