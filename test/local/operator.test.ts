import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { claim, noteRunning, runningEnv } from '../../apps/local/data-folder.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makePerson } from '../harness/factories.ts';
import { type Run, runScript, storesOf } from '../operator/run-operator.ts';

describe('apps/local/operator.ts', function () {
  this.timeout(180_000); // two processes, each of which takes a second to start
  let api: TestApi;
  let stores: Record<string, string>;
  let key: string;
  let userId: string;
  let folder: string;
  before(async () => {
    api = await startTestApi();
    const { APP_KEY, ...rest } = storesOf(api.platform.config);
    stores = rest;
    key = APP_KEY ?? '';
    userId = (await makePerson(api)).id;
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parlance-operator-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  after(() => api.close());

  const run = (args: string[], env: Record<string, string> = {}): Promise<Run> =>
    runScript('apps/local/operator.js', args, { DATA_DIR: folder, ...env });
  const keepKey = (): void => writeFileSync(join(folder, 'app.key'), `${key}\n`);

  it('finds the stores of what runs from the folder; output and exit code are the command line’s own', async () => {
    const release = await claim(folder);
    const forget = noteRunning(folder, stores);
    keepKey();
    const done = await run(['early-access', userId, '--json']);
    expect([done.exit, done.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(done.stdout)).to.include({ ok: true, id: userId, after: true });
    const refused = await run(['early-access', '1']);
    expect([refused.exit, refused.stdout]).to.deep.equal([1, '']);
    forget();
    release();
  });

  it('69 with one line that says what to do when nothing runs, and as an object with --json', async () => {
    const { exit, stdout, stderr } = await run(['early-access', userId]);
    expect([exit, stdout]).to.deep.equal([69, '']);
    expect(stderr).to.equal(
      `Parlance is not running from ${folder}. Start it with \`npm start\`, or set MONGODB_URL, REDIS_URL and APP_KEY.\n`,
    );
    const inJson = await run(['early-access', userId, '--json']);
    expect([inJson.exit, inJson.stderr]).to.deep.equal([69, '']);
    expect(JSON.parse(inJson.stdout)).to.deep.equal({ ok: false, error: { code: 'unavailable', message: stderr.trim() } });
  });

  it('69 when what ran has died and left its note behind', async () => {
    (await claim(folder))();
    noteRunning(folder, stores);
    expect(await run(['early-access', userId])).to.include({ exit: 69 });
  });

  it('helps also when nothing runs', async () => {
    for (const args of [['help'], ['tag', '--help']]) expect(await run(args)).to.include({ exit: 0, stderr: '' });
    expect(await run([])).to.include({ exit: 64, stdout: '' });
  });

  it('the environment comes first, and needs nothing that runs', async () => {
    const done = await run(['early-access', userId, '--json'], { ...stores, APP_KEY: key });
    expect([done.exit, done.stderr]).to.deep.equal([0, '']);
    const release = await claim(folder);
    const forget = noteRunning(folder, { ...stores, REDIS_URL: 'redis://127.0.0.1:1' });
    keepKey();
    expect(await run(['early-access', userId], { REDIS_URL: stores.REDIS_URL ?? '' })).to.include({ exit: 0 });
    forget();
    release();
  });

  it('of what runs nothing counts when the environment names both stores', async () => {
    const release = await claim(folder);
    const forget = noteRunning(folder, { ...stores, LOG_PARTITIONS: 'of what runs' });
    expect(await run(['early-access', userId], { ...stores, APP_KEY: key })).to.include({ exit: 0, stderr: '' });
    forget();
    release();
  });

  it('makes no key: 78 where what runs was given one by its environment', async () => {
    const release = await claim(folder);
    const forget = noteRunning(folder, stores);
    const { exit, stderr } = await run(['early-access', userId]);
    expect(exit).to.equal(78);
    expect(stderr).to.contain('APP_KEY is missing');
    expect(existsSync(join(folder, 'app.key'))).to.equal(false);
    forget();
    release();
  });

  it('the note is its owner’s alone, and goes when it is taken away', async () => {
    const release = await claim(folder);
    expect(await runningEnv(folder)).to.equal(null);
    const forget = noteRunning(folder, stores);
    expect(statSync(join(folder, 'running.json')).mode & 0o777).to.equal(0o600);
    expect(await runningEnv(folder)).to.deep.equal(stores);
    forget();
    expect(await runningEnv(folder)).to.equal(null);
    expect(existsSync(join(folder, 'running.json'))).to.equal(false);
    release();
  });
});
