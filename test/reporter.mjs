import { writeFileSync } from 'node:fs';
import { relative } from 'node:path';
import mocha from 'mocha';

const { Base, Spec } = mocha.reporters;

/**
 * Mocha's `spec`, ending with one plain line: `N passed, N failed`. With TEST_RESULTS set, the counts are also written to that file, as `TestResults` of
 * apps/local/test-run.ts.
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
      const skipped = counts.skipped ? `${counts.skipped} skipped\n` : '';
      Base.consoleLog(`${skipped}${counts.passed} passed, ${counts.failed} failed`);
      if (process.env.TEST_RESULTS) writeFileSync(process.env.TEST_RESULTS, JSON.stringify({ ...counts, failedFiles }));
    });
  }
}
