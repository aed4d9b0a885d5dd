import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { aptConfig, aptSources, parseLines, parseStanzas } from '../../apps/local/debian-apt.ts';
import { reachableFolder, socketFolder } from '../../apps/local/folders.ts';
import { withLock } from '../../apps/local/lock.ts';

describe('Debian mirrors of the machine', () => {
  let etc: string;
  beforeEach(async () => {
    etc = await mkdtemp(join(tmpdir(), 'parlance-etc-'));
    await mkdir(join(etc, 'apt/sources.list.d'), { recursive: true });
    await writeFile(join(etc, 'os-release'), 'ID=debian\nVERSION_CODENAME=bookworm\n');
  });
  afterEach(() => rm(etc, { recursive: true, force: true }));

  it('reads stanzas with several values, comments, folded lines, disabled entries and sources', () => {
    const text = `# head\nTypes: deb deb-src\n# http://old.example\nURIs: http://one.example/debian\n  http://two.example/debian\nSuites: bookworm bookworm-updates\nComponents: main contrib\nSigned-By: /keys/a.gpg\n\nTypes: deb\nEnabled: no\nURIs: http://off.example\nSuites: x\nComponents: main\n\nTypes: deb-src\nURIs: http://src.example\nSuites: x\nComponents: main\n`;
    const common = { suites: ['bookworm', 'bookworm-updates'], components: ['main', 'contrib'], signedBy: '/keys/a.gpg' };
    expect(parseStanzas(text)).to.deep.equal([
      { uri: 'http://one.example/debian', ...common },
      { uri: 'http://two.example/debian', ...common },
    ]);
  });

  it('reads lines with options, comments and sources', () => {
    const text = `# deb http://no.example x main\ndeb [arch=amd64 signed-by=/keys/b.gpg] https://a.example/debian bookworm main contrib # why\ndeb-src https://a.example/debian bookworm main\ndeb http://b.example/debian bookworm-updates main\n`;
    expect(parseLines(text)).to.deep.equal([
      { uri: 'https://a.example/debian', suites: ['bookworm'], components: ['main', 'contrib'], signedBy: '/keys/b.gpg' },
      { uri: 'http://b.example/debian', suites: ['bookworm-updates'], components: ['main'] },
    ]);
  });

  it('tries the newer suite on the machine’s mirror first, then its own, and ignores other archives', async () => {
    await writeFile(
      join(etc, 'apt/sources.list'),
      'deb http://a.example/debian bookworm main\ndeb http://a.example/debian-security bookworm-security main\n',
    );
    await writeFile(join(etc, 'apt/sources.list.d/other.list'), 'deb http://node.example/node_20.x nodistro main\n');
    const lines = await aptSources(etc);
    expect(lines.map((line) => line.replace(/\[.*?\] /, ''))).to.deep.equal([
      'deb http://a.example/debian forky main',
      'deb http://a.example/debian bookworm main',
    ]);
  });

  it('names a key file only if it exists', async () => {
    const key = join(etc, 'key.gpg');
    await writeFile(join(etc, 'apt/sources.list'), `deb [signed-by=${key}] http://a.example/debian bookworm main\n`);
    expect((await aptSources(etc)).join()).not.to.include(key);
    await writeFile(key, '');
    expect((await aptSources(etc)).join()).to.include(`[signed-by=${key}]`);
  });

  it('finds no mirror without APT sources', async () => expect(await aptSources(etc)).to.deep.equal([]));

  it('writes nothing outside its folder', async () => {
    const config = await aptConfig('/private', 'amd64');
    for (const name of ['Dir::State', 'Dir::State::lists', 'Dir::State::status', 'Dir::Cache', 'Dir::Log', 'Dir::Etc::sourcelist'])
      expect(config).to.match(new RegExp(`^${name} "/private`, 'm'));
    expect(config).not.to.match(/Post-Invoke/);
  });
});

describe('withLock', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parlance-lock-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('runs one function at a time, and deletes the lock file', async () => {
    let inside = 0;
    const work = () =>
      withLock(join(folder, 'lock'), async () => {
        expect(++inside).to.equal(1);
        await new Promise((done) => setTimeout(done, 20));
        inside--;
      });
    await Promise.all([work(), work(), work(), work()]);
    await withLock(join(folder, 'lock'), () => Promise.reject(new Error('failed'))).catch(() => undefined);
    expect(await readdir(folder)).to.deep.equal([]);
  });

  it('takes over the lock of a dead process', async () => {
    const { pid } = spawnSync('true');
    await writeFile(join(folder, 'lock'), String(pid));
    expect(await withLock(join(folder, 'lock'), () => Promise.resolve('in'))).to.equal('in');
    // A reused process id: this process, but with another start time.
    await writeFile(join(folder, 'lock'), `${process.pid} 1`);
    expect(await withLock(join(folder, 'lock'), () => Promise.resolve('in'))).to.equal('in');
  });
});

describe('folders', () => {
  it('replaces a folder that cannot be opened by the same other folder each time, and logs it', async () => {
    const closed = await mkdtemp(join(tmpdir(), 'parlance-closed-'));
    const lines: string[] = [];
    const elsewhere = join(tmpdir(), 'parlance-elsewhere');
    const find = () => reachableFolder(join(closed, 'data'), elsewhere, { uid: 65_534, gid: 65_534 }, (line) => lines.push(line));
    const first = await find();
    expect(first.startsWith(elsewhere)).to.equal(true);
    expect(await find()).to.equal(first);
    expect(lines[0]).to.include(first);
    expect(await reachableFolder(join(closed, 'data'), elsewhere, undefined, () => expect.fail())).to.equal(join(closed, 'data'));
    for (const path of [closed, elsewhere]) await rm(path, { recursive: true, force: true });
  });

  it('chooses a socket folder whose path fits into a socket address', () => {
    expect(socketFolder('/short/documentdb')).to.equal('/short/documentdb/run');
    const long = `/${'long/'.repeat(30)}`;
    expect(socketFolder(long)).to.equal(socketFolder(long));
    expect(Buffer.byteLength(socketFolder(long))).to.be.lessThan(87);
  });
});
