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

  /** What clients make of each value of an environment variable: the address or the token, or the error. */
  async function readClients(variable: string, field: 'url' | '_http.token', values: readonly string[]): Promise<string[]> {
    const code = `import json, os, sys, parlance
for os.environ["${variable}"] in json.loads(sys.argv[1]):
    try:
        print(json.dumps(str(parlance.Client().${field})))
    except ValueError as error:
        print(json.dumps(f"refused: {error}"))`;
    const { stdout } = await run(python, ['-c', code, JSON.stringify(values)], { env: { PYTHONPATH: kitFolder } });
    return stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as string);
  }

  const settings: [variable: string, field: 'url' | '_http.token', rows: [set: string, used: string | RegExp][]][] = [
    [
      'PARLANCE_URL',
      'url',
      [
        ['https://chat.example/', 'https://chat.example'],
        ['', 'http://localhost:8080'],
        ['http://localhost:8080/api', 'http://localhost:8080'],
        ['https://chat.example/api/', 'https://chat.example'],
        ['  https://chat.example\n', 'https://chat.example'],
        ['https://größe.example', 'https://xn--gre-6ka8i.example'],
        ['chat.example', /^refused: PARLANCE_URL/],
        ['localhost:8080', /^refused: PARLANCE_URL/],
        ['ws://chat.example', /^refused: PARLANCE_URL/],
        ['https://', /^refused: PARLANCE_URL/],
        ['https://chat.example:port', /^refused: PARLANCE_URL/],
        ['https://chat.example/?a=1', /^refused: PARLANCE_URL/],
        ['https://ada:secret@chat.example', /^refused: PARLANCE_URL(?!.*secret)/],
      ],
    ],
    [
      'PARLANCE_TOKEN',
      '_http.token',
      [
        ['secret\n', 'secret'],
        [' Bot secret\r\n', 'secret'],
        ['\n', 'None'],
        ['sec\nret', /^refused: PARLANCE_TOKEN(?!.*sec)/],
        ['sec ret', /^refused: PARLANCE_TOKEN(?!.*sec)/],
        ['secrét', /^refused: PARLANCE_TOKEN(?!.*sec)/],
      ],
    ],
  ];
  for (const [variable, field, rows] of settings)
    it(`uses or refuses values of ${variable}`, async () => {
      const values = rows.map(([set]) => set);
      const found = await readClients(variable, field, values);
      expect(found).to.have.length(rows.length);
      for (const [at, [set, used]] of rows.entries())
        if (typeof used === 'string') expect(found[at], JSON.stringify(set)).to.equal(used);
        else expect(found[at], JSON.stringify(set)).to.match(used);
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
