import { spawnSync } from 'node:child_process';
import { expect } from 'chai';

/** The compiled script of each command with arguments of its own, and what its help says of it. */
const commands: Record<string, readonly [script: string, text: string]> = {
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
};

describe('commands: --help', () => {
  const run = (script: string, ...args: string[]) => spawnSync(process.execPath, [`dist/${script}`, ...args], { encoding: 'utf8' });

  for (const [name, [script, text]] of Object.entries(commands))
    it(`npm run ${name} explains itself and does nothing`, () => {
      for (const option of ['--help', '-h']) {
        const { status, stdout, stderr } = run(script, option);
        expect([status, stderr]).to.deep.equal([0, '']);
        expect(stdout)
          .to.match(/^Usage: /)
          .and.to.include(text);
      }
    });

  for (const name of ['start', 'dev', 'stores', 'link', 'bench', 'chaos'] as const)
    it(`npm run ${name} refuses an argument that it does not know, with its usage and no stack trace`, () => {
      const { status, stdout, stderr } = run(commands[name]?.[0] ?? '', '--nothing');
      expect([status, stdout]).to.deep.equal([64, '']);
      expect(stderr).to.match(/^Unknown option '--nothing'\nUsage: npm /);
    });
});
