import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { makeFolder } from '../harness/folder.ts';
import { use } from '../harness/use.ts';

const program = `
import { runTests } from './apps/local/test-run.ts';
process.exitCode = await runTests(process.argv.slice(1), process.env);
`;

describe('runTests', () => {
  const folder = use(makeFolder);
  /** Writes test files by their names, with the bodies of their only tests, runs them in parallel, and returns the exit code and the last lines. */
  const run = (bodies: Record<string, string>): Promise<{ code: unknown; lines: string[] }> => {
    const files = Object.entries(bodies).map(([name, body]) => {
      const file = join(folder.path, `${name}.test.mjs`);
      writeFileSync(
        file,
        `import { existsSync, writeFileSync } from 'node:fs';\ndescribe('${name}', () => it('works', () => { ${body} }));\n`,
      );
      return file;
    });
    const args = ['--import=tsx', '--input-type=module', '--eval', program, '--', '--no-config', '--parallel', '--jobs=2', ...files];
    return new Promise((done) => {
      execFile(process.execPath, args, (error, output) =>
        done({ code: error?.code ?? 0, lines: output.split('\n').filter((line) => /^(flaky: |\d+ (flaky|passed))/.test(line)) }),
      );
    });
  };
  /** Fails when it runs first. */
  const onceBroken = (): string => {
    const mark = JSON.stringify(join(folder.path, 'mark'));
    return `if (!existsSync(${mark})) { writeFileSync(${mark}, ''); throw new Error('not yet'); }`;
  };

  it('runs a file that fails once more, alone, and reports it as flaky if it passes then', async () => {
    const { code, lines } = await run({ flaky: onceBroken(), sound: '' });
    expect(code).to.equal(0);
    expect(lines.map((line) => line.replace(/ \S+\//, ' '))).to.deep.equal([
      '1 passed, 1 failed',
      '1 passed, 0 failed',
      'flaky: flaky.test.mjs failed among the others and passed alone',
      '1 flaky',
      '2 passed, 0 failed',
    ]);
  });

  it('counts a file as failed that fails again', async () => {
    const { code, lines } = await run({ broken: "throw new Error('never')", sound: '' });
    expect(code).to.equal(1);
    expect(lines).to.deep.equal(['1 passed, 1 failed', '0 passed, 1 failed', '0 flaky', '1 passed, 1 failed']);
  });

  it('runs nothing again if all tests pass', async () => {
    expect(await run({ sound: '' })).to.deep.equal({ code: 0, lines: ['1 passed, 0 failed'] });
  });
});
