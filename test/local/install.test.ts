import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect } from 'chai';

const lockOf = (version: string): string =>
  JSON.stringify({ packages: { '': {}, 'node_modules/a': { version }, 'node_modules/b': { version: '1.0.0', optional: true } } });

/** A clone with a fake npm and a fake compiler that only record their calls. */
class Clone {
  readonly root = mkdtempSync(join(tmpdir(), 'parlance-install-'));

  constructor() {
    this.write('package.json', '{"type":"module"}');
    this.write('package-lock.json', lockOf('1.0.0'));
    this.write(
      'npm-cli.js',
      `import { appendFileSync, mkdirSync, writeFileSync } from 'node:fs';
      process.stdout.write('added 1 package\\n');
      appendFileSync('npm.log', process.argv.slice(2).join(' ') + '\\n');
      mkdirSync('node_modules/typescript/bin', { recursive: true });
      writeFileSync('node_modules/typescript/bin/tsc', "require('fs').appendFileSync('tsc.log', 'x'); process.stdout.write('an error'); process.exit(Number(process.env.TSC_CODE ?? 0));");
      writeFileSync('node_modules/typescript/package.json', '{}');
      process.exit(Number(process.env.NPM_CODE ?? 0));`,
    );
    this.write('hello.mjs', 'process.stdout.write(JSON.stringify(process.argv.slice(2))); process.exitCode = 7;');
    mkdirSync(join(this.root, 'apps/local'), { recursive: true });
    copyFileSync('apps/local/install.mjs', join(this.root, 'apps/local/install.mjs'));
  }
  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.root, path)), { recursive: true });
    writeFileSync(join(this.root, path), text);
  }
  run(args: string[], env: Record<string, string> = {}): { status: number | null; stdout: string; stderr: string } {
    const full = { ...process.env, npm_execpath: join(this.root, 'npm-cli.js'), ...env };
    return spawnSync(process.execPath, [join(this.root, 'apps/local/install.mjs'), ...args], {
      cwd: this.root,
      env: full,
      encoding: 'utf8',
    });
  }
  get compilations(): number {
    return readFileSync(join(this.root, 'tsc.log'), 'utf8').length;
  }
  get installs(): string[] {
    const log = join(this.root, 'npm.log');
    return existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [];
  }
}

describe('apps/local/install.mjs', () => {
  let clone: Clone;
  beforeEach(() => {
    clone = new Clone();
  });
  afterEach(() => rmSync(clone.root, { recursive: true, force: true }));

  it('installs the locked packages, compiles, and runs the command with its arguments and exit code', () => {
    const { status, stdout, stderr } = clone.run(['hello.mjs', 'a', '--b']);
    expect(stderr).to.contain('Installing packages');
    expect(clone.installs).to.have.length(1);
    expect(clone.installs[0]).to.match(/^ci --ignore-scripts --include=dev /);
    expect(stdout).to.equal('["a","--b"]');
    expect(stderr).to.contain('added 1 package').and.contain('an error');
    expect(status).to.equal(7);
    expect(clone.compilations).to.equal(1);
  });

  it('installs once, and again when the lock file changes; accepts what npm has installed, without packages of other platforms', () => {
    clone.run(['hello.mjs']);
    clone.run(['hello.mjs']);
    expect(clone.installs).to.have.length(1);
    rmSync(join(clone.root, 'node_modules/.installed'));
    clone.write('node_modules/.package-lock.json', JSON.stringify({ packages: { 'node_modules/a': { version: '1.0.0' } } }));
    clone.run(['hello.mjs']);
    expect(clone.installs).to.have.length(1);
    clone.write('package-lock.json', lockOf('1.0.1'));
    clone.run(['hello.mjs']);
    expect(clone.installs).to.have.length(2);
  });

  it('starts nothing when the installation fails, and tries again the next time', () => {
    const { status, stdout, stderr } = clone.run(['hello.mjs'], { NPM_CODE: '3' });
    expect([status, stdout]).to.deep.equal([3, '']);
    expect(stderr).to.contain('could not be installed');
    expect(clone.run(['hello.mjs']).status).to.equal(7);
    expect(clone.installs).to.have.length(2);
  });

  it('starts nothing when the sources do not compile, and compiles them the next time', () => {
    const { status, stdout, stderr } = clone.run(['hello.mjs'], { TSC_CODE: '2' });
    expect([status, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.contain('do not compile');
    expect(clone.run(['hello.mjs']).status).to.equal(7);
    expect(clone.compilations).to.equal(2);
  });

  it('compiles once, and again after a source was added, written, removed, or replaced by an older one', () => {
    const source = join(clone.root, 'lib/a.ts');
    const old = new Date('2020-01-01T00:00:00Z');
    const changes = [
      () => clone.write('lib/a.ts', '1'),
      () => clone.write('lib/a.ts', '2'),
      () => utimesSync(source, old, old),
      () => rmSync(source),
    ];
    clone.run(['hello.mjs']);
    for (const [at, change] of changes.entries()) {
      clone.run(['hello.mjs']);
      expect(clone.compilations).to.equal(1 + at);
      change();
      clone.run(['hello.mjs']);
      expect(clone.compilations).to.equal(2 + at);
    }
  });

  it('exits with 64 without a command', () => expect(clone.run([]).status).to.equal(64));
});
