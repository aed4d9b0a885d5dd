import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { claimFolder, readRunningEnv, writeRunningEnv } from '../../apps/local/data-folder.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makePerson } from '../harness/factories.ts';
import { type Run, runScript, storesOf } from '../operator/run-operator.ts';

describe('apps/local/operator.ts', () => {
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
  const writeKey = (): void => writeFileSync(join(folder, 'app.key'), `${key}\n`);

  it('uses the stores of the instance that runs from the folder, and passes on output and exit code', async () => {
    const release = await claimFolder(folder);
    const removeFile = writeRunningEnv(folder, stores);
    writeKey();
    const done = await run(['early-access', userId, '--json']);
    expect([done.exit, done.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(done.stdout)).to.include({ ok: true, id: userId, after: true });
    const refused = await run(['early-access', '1']);
    expect([refused.exit, refused.stdout]).to.deep.equal([1, '']);
    removeFile();
    release();
  });

  it('exits with 69 and says what to do if nothing runs, as an object with --json', async () => {
    const { exit, stdout, stderr } = await run(['early-access', userId]);
    expect([exit, stdout]).to.deep.equal([69, '']);
    expect(stderr).to.equal(
      `Parlance is not running from ${folder}. Start it with \`npm start\`, or set MONGODB_URL, REDIS_URL and APP_KEY.\n`,
    );
    const inJson = await run(['early-access', userId, '--json']);
    expect([inJson.exit, inJson.stderr]).to.deep.equal([69, '']);
    expect(JSON.parse(inJson.stdout)).to.deep.equal({ ok: false, error: { code: 'unavailable', message: stderr.trim() } });
  });

  it('exits with 69 if the instance crashed and left running.json behind', async () => {
    (await claimFolder(folder))();
    writeRunningEnv(folder, stores);
    expect(await run(['early-access', userId])).to.include({ exit: 69 });
  });

  it('prints help if nothing runs', async () => {
    for (const args of [['help'], ['tag', '--help']]) expect(await run(args)).to.include({ exit: 0, stderr: '' });
    expect(await run([])).to.include({ exit: 64, stdout: '' });
  });

  it('prefers the stores of the environment, also if nothing runs', async () => {
    const done = await run(['early-access', userId, '--json'], { ...stores, APP_KEY: key });
    expect([done.exit, done.stderr]).to.deep.equal([0, '']);
    const release = await claimFolder(folder);
    const removeFile = writeRunningEnv(folder, { ...stores, REDIS_URL: 'redis://127.0.0.1:1' });
    writeKey();
    expect(await run(['early-access', userId], { REDIS_URL: stores.REDIS_URL ?? '' })).to.include({ exit: 0 });
    removeFile();
    release();
  });

  it('ignores all settings of the running instance if the environment sets both stores', async () => {
    const release = await claimFolder(folder);
    const removeFile = writeRunningEnv(folder, { ...stores, LOG_PARTITIONS: 'invalid' });
    expect(await run(['early-access', userId], { ...stores, APP_KEY: key })).to.include({ exit: 0, stderr: '' });
    removeFile();
    release();
  });

  it('exits with 78 and creates no key if the instance has its APP_KEY from its environment', async () => {
    const release = await claimFolder(folder);
    const removeFile = writeRunningEnv(folder, stores);
    const { exit, stderr } = await run(['early-access', userId]);
    expect(exit).to.equal(78);
    expect(stderr).to.contain('APP_KEY is not set');
    expect(existsSync(join(folder, 'app.key'))).to.equal(false);
    removeFile();
    release();
  });

  it('backup and restore start the stores of the folder if nothing runs', async () => {
    const keyless = await run(['restore', join(folder, 'backup.tar.gz')]);
    expect([keyless.exit, keyless.stderr]).to.deep.equal([
      78,
      `${folder} has no app.key. Copy it from the data folder that was backed up, or set APP_KEY.\n`,
    ]);
    writeKey();
    const documentsOf = async (args: string[], env: Record<string, string> = {}): Promise<unknown> => {
      const { exit, stdout, stderr } = await run([...args, '--json'], env);
      expect(exit, stderr + stdout).to.equal(0);
      return (JSON.parse(stdout) as { documents: unknown }).documents;
    };
    const [backup, again] = [join(folder, 'backup.tar.gz'), join(folder, 'again.tar.gz')];
    const documents = await documentsOf(['backup', backup], stores);
    expect(await documentsOf(['restore', backup])).to.deep.equal(documents);
    expect(await documentsOf(['backup', again])).to.deep.equal(documents);
  });

  it('running.json is readable only by its owner and can be removed', async () => {
    const release = await claimFolder(folder);
    expect(await readRunningEnv(folder)).to.equal(null);
    const removeFile = writeRunningEnv(folder, stores);
    expect(statSync(join(folder, 'running.json')).mode & 0o777).to.equal(0o600);
    expect(await readRunningEnv(folder)).to.deep.equal(stores);
    removeFile();
    expect(await readRunningEnv(folder)).to.equal(null);
    expect(existsSync(join(folder, 'running.json'))).to.equal(false);
    release();
  });
});
