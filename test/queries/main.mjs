/**
 * `npm run queries [-- test files]`: runs the tests, records the queries that the product makes, and writes the catalogue and the tables of docs/scaling.md from
 * them (docs/scaling.md#queries). With test files it adds the queries of these to the catalogue.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

if (process.argv.includes('--help') || process.argv.includes('-h')) {
  process.stdout.write(`Usage: npm run queries [-- <test files>]

Runs the tests, records the queries that the product makes, and writes the catalogue of them (docs/scaling.md#queries). With files it adds the queries of these.
`);
  process.exit(0);
}
const folder = mkdtempSync(join(tmpdir(), 'parlance-queries-'));
const recorded = join(folder, 'recorded.jsonl');
writeFileSync(recorded, '');
const files = process.argv.slice(2);

/** Runs tests with `env`; returns their exit code. */
const test = (args, env) =>
  spawnSync(process.execPath, ['apps/local/install.mjs', 'test', ...args], { stdio: 'inherit', env: { ...process.env, ...env } }).status;

/** The tests of the catalogue itself. */
const unrelated = ['--ignore=test/{house,queries}/**'];
const runs =
  files.length > 0
    ? [['--no-config', '--import=tsx', '--require=./test/queries/recorder.ts', '--timeout=180000', '--exit', ...files]]
    : [unrelated, ['--config', 'test/system.mocharc.cjs', ...unrelated]];
const failed = runs.filter((args) => test(args, { QUERIES_FILE: recorded }) !== 0);
if (failed.length > 0) process.stderr.write('Some tests failed, so queries that only they make may be missing in the catalogue.\n');
const update = ['--no-config', '--import=tsx', '--timeout=600000', '--exit', 'test/queries/explain.test.ts'];
process.exitCode = test(update, { QUERIES_UPDATE: recorded, ...(files.length > 0 && { QUERIES_ADD: 'yes' }) });
rmSync(folder, { recursive: true });
