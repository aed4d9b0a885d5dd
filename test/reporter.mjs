import mocha from 'mocha';

const { Base, Spec } = mocha.reporters;

/** Mocha's `spec`, ending with one plain line: `N passed, N failed`. */
// oxlint-disable-next-line import/no-default-export -- mocha loads a reporter by its default export
export default class Reporter extends Spec {
  constructor(runner, options) {
    super(runner, options);
    const counts = { passed: 0, failed: 0, skipped: 0 };
    runner.on('pass', () => counts.passed++);
    // Hooks that fail are counted too: their tests never ran.
    runner.on('fail', () => counts.failed++);
    runner.on('pending', () => counts.skipped++);
    runner.once('end', () => {
      const skipped = counts.skipped ? `${counts.skipped} skipped\n` : '';
      Base.consoleLog(`${skipped}${counts.passed} passed, ${counts.failed} failed`);
    });
  }
}
