import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import mocha from 'mocha';

const { Base, Spec } = mocha.reporters;

/** How many files are shown. */
const longest = 10;

/** The files that took longest, a line for each; none if their times were not noted. */
function describeLongest(timesFile) {
  if (!timesFile || !existsSync(timesFile)) return [];
  const times = readFileSync(timesFile, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  return times
    .sort((one, other) => other.seconds - one.seconds)
    .slice(0, longest)
    .map(({ file, seconds, cpuSeconds }) => `${Math.round(seconds)} s, ${Math.round(cpuSeconds)} s of CPU time: ${file}`);
}

/**
 * Mocha's `spec`, ending with the files that took longest (test/file-times.ts) and one plain line: `N passed, N failed`. With TEST_RESULTS set, the counts are
 * also written to that file, as `TestResults` of apps/local/test-run.ts.
 */
// oxlint-disable-next-line import/no-default-export -- mocha loads a reporter by its default export
export default class Reporter extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    const failedFiles = {};
    runner.on('pass', () => counts.passed++);
    // Hooks that fail are counted too: their tests never ran.
    runner.on('fail', ({ file }) => {
      counts.failed++;
      const path = file ? relative('.', file) : '';
      failedFiles[path] = (failedFiles[path] ?? 0) + 1;
    });
    runner.on('pending', () => counts.skipped++);
    runner.once('end', () => {
      for (const line of describeLongest(process.env.TEST_TIMES)) Base.consoleLog(line);
      const skipped = counts.skipped ? `${counts.skipped} skipped\n` : '';
      Base.consoleLog(`${skipped}${counts.passed} passed, ${counts.failed} failed`);
      if (process.env.TEST_RESULTS) writeFileSync(process.env.TEST_RESULTS, JSON.stringify({ ...counts, failedFiles }));
    });
  }
}
