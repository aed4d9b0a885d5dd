import { execFile } from 'node:child_process';
import { expect } from 'chai';
import pMap from 'p-map';

/** The compiled script of each command with arguments of its own, and what its help says of it. */
const commands = {
  start: ['apps/local/main.js', 'PORT'],
  dev: ['apps/local/dev.js', 'rebuilds the pages'],
  stores: ['apps/local/stores-main.js', 'DATA_DIR'],
  link: ['apps/local/link.js', 'npm run link'],
  listen: ['apps/local/listen.js', '<bot token or login token>'],
  forward: ['apps/local/forward.js', '--to'],
  test: ['apps/local/test-main.js', 'npm run test:system'],
  operator: ['apps/local/operator.js', '--json'],
  bench: ['test/bench/main.js', '--rounds'],
  chaos: ['test/chaos/main.js', '--minutes'],
  queries: ['../test/queries/main.mjs', 'catalogue'],
} satisfies Record<string, [script: string, text: string]>;

/** How many processes run at once. */
const concurrency = 3;

describe('commands: --help', () => {
  const run = (script: string, ...args: string[]): Promise<{ code: unknown; stdout: string; stderr: string }> =>
    new Promise((done) => {
      execFile(process.execPath, [`dist/${script}`, ...args], (error, stdout, stderr) => done({ code: error?.code ?? 0, stdout, stderr }));
    });

  it('every command explains itself and does nothing', async () => {
    const rows = [...Object.values(commands).map((row) => [...row, '--help'] as const), [...commands.start, '-h'] as const];
    await pMap(
      rows,
      async ([script, text, option]) => {
        const { code, stdout, stderr } = await run(script, option);
        expect([code, stderr], script).to.deep.equal([0, '']);
        expect(stdout)
          .to.match(/^Usage: /)
          .and.to.include(text);
      },
      { concurrency },
    );
  });

  it('a command refuses an argument that it does not know, with its usage and no stack trace', async () => {
    await pMap(
      ['start', 'dev', 'stores', 'link', 'bench', 'chaos'] as const,
      async (name) => {
        const { code, stdout, stderr } = await run(commands[name][0], '--nothing');
        expect([code, stdout], name).to.deep.equal([64, '']);
        expect(stderr).to.match(/^Unknown option '--nothing'\nUsage: npm /);
      },
      { concurrency },
    );
  });
});
