import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { makeFolder } from '../../harness/folder.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { use } from '../../harness/use.ts';
import { kitFolder, python, skipWithoutPython, startProgram, usePythonKit } from './python-fixture.ts';

const run = promisify(execFile);
const wheelScript = resolve('sdk/python/wheel.mjs');
const readme = readFileSync('sdk/python/README.md', 'utf8');
const snippets = [...readme.matchAll(/```python\n(.*?)```/gs)].map(([, code]) => code ?? '');

/** Packs the wheel into `folder`; returns its path. */
async function pack(folder: string, env: Record<string, string> = {}): Promise<string> {
  await run(process.execPath, [wheelScript, folder], { env: { ...process.env, ...env } });
  const [wheel = ''] = readdirSync(folder).filter((file) => file.endsWith('.whl'));
  return join(folder, wheel);
}

describe('sdk/python: the package', () => {
  const folder = use(makeFolder);
  skipWithoutPython();

  it('is typed without gaps, like its snippets and the programs of its tests', async () => {
    const programs = join(folder.path, 'snippets');
    mkdirSync(programs);
    const files = snippets.map((code, at) => {
      const file = join(programs, `snippet_${at}.py`);
      writeFileSync(file, code);
      return file;
    });
    expect(files).to.have.length.above(8);
    const env = { ...process.env, MYPYPATH: kitFolder, MYPY_CACHE_DIR: join(folder.path, 'mypy') };
    const tested = readdirSync('test/sdk/python/programs').filter((file) => file.endsWith('.py'));
    const checked = ['-p', 'parlance'];
    const targets = [checked, ...[...files, ...tested.map((file) => resolve('test/sdk/python/programs', file))].map((file) => [file])];
    for (const target of targets)
      await run(python, ['-m', 'mypy', '--strict', ...target], { env, cwd: programs }).catch((error: { stdout: string }) =>
        expect.fail(`${target.join(' ')}: ${error.stdout}`),
      );
  });

  for (const [set, address] of [
    ['https://chat.example/', 'https://chat.example'],
    ['', 'http://localhost:8080'],
  ] as const)
    it(`uses the address ${address} with PARLANCE_URL=${set}`, async () => {
      const env = { PYTHONPATH: kitFolder, PARLANCE_URL: set };
      const { stdout } = await run(python, ['-c', 'import parlance; print(parlance.Client().url)'], { env });
      expect(stdout.trim()).to.equal(address);
    });

  it('is packed to the same bytes each time, in every time zone', async () => {
    const [one, other] = [join(folder.path, 'one'), join(folder.path, 'other')];
    expect(readFileSync(await pack(one)).equals(readFileSync(await pack(other, { TZ: 'Asia/Tokyo' })))).to.equal(true);
  });

  describe('installed into an empty project', () => {
    const kit = usePythonKit();

    it('runs the first bot of its README', async () => {
      const project = join(folder.path, 'project');
      mkdirSync(project);
      await run(python, ['-m', 'venv', '--system-site-packages', 'env'], { cwd: project });
      const own = join(project, 'env/bin/python');
      await run(own, ['-m', 'pip', 'install', '--no-index', '--no-deps', await pack(join(folder.path, 'wheel'))], { cwd: project });
      writeFileSync(join(project, 'bot.py'), snippets[0] ?? '');
      const bot = startProgram(own, ['bot.py'], { ...kit.env(), PYTHONPATH: '' }, project);
      try {
        await waitUntil(() => bot.log().includes('connected to the gateway'), 'the session');
        await kit.invoke('hello');
        await kit.person.waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && String(d.content).startsWith('Hello, '));
        const { stdout } = await run(own, ['-c', 'import parlance; print(parlance.__file__)'], { cwd: project });
        expect(stdout).to.match(/^.*\/project\/env\/.*site-packages/);
        expect(await bot.stop()).to.equal(0);
      } finally {
        await bot.stop('SIGKILL');
      }
    });
  });
});
