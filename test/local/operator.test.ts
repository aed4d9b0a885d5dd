import { existsSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { claimFolder, readRunningEnv, writeRunningEnv } from '../../apps/local/data-folder.ts';
import { startTestApi } from '../harness/api.ts';
import { makePerson } from '../harness/factories.ts';
import { makeFolder } from '../harness/folder.ts';
import { make, use } from '../harness/use.ts';
import { type Run, runScript, storesOf } from '../operator/run-operator.ts';

describe('apps/local/operator.ts', () => {
  const api = use(() => startTestApi());
  const person = make(() => makePerson(api));
  const folder = use(makeFolder, { each: true });
  let stores: Record<string, string>;
  let APP_KEY: string;
  before(() => {
    ({ APP_KEY = '', ...stores } = storesOf(api.platform.config));
  });

  const run = (args: string[], env: Record<string, string> = {}): Promise<Run> =>
    runScript('apps/local/operator.js', args, { DATA_DIR: folder.path, ...env });
  const grant = (...options: string[]): string[] => ['early-access', person.id, ...options];
  const writeKey = (): void => writeFileSync(join(folder.path, 'app.key'), `${APP_KEY}\n`);
  /** Runs `act` while an instance with these settings runs from the folder. */
  const whileRunning = async (settings: Record<string, string>, act: () => Promise<void>): Promise<void> => {
    const release = await claimFolder(folder.path);
    const removeFile = writeRunningEnv(folder.path, settings);
    await act();
    removeFile();
    release();
  };

  it('uses the stores of the instance that runs from the folder, and passes on output and exit code', async () => {
    writeKey();
    await whileRunning(stores, async () => {
      const done = await run(grant('--json'));
      expect([done.exit, done.stderr]).to.deep.equal([0, '']);
      expect(JSON.parse(done.stdout)).to.include({ ok: true, id: person.id, after: true });
      expect(await run(['early-access', '1'])).to.include({ exit: 1, stdout: '' });
    });
  });

  it('exits with 69 and says what to do if nothing runs, as an object with --json, also after a crash that left running.json behind', async () => {
    const { exit, stdout, stderr } = await run(grant());
    expect([exit, stdout]).to.deep.equal([69, '']);
    expect(stderr).to.equal(
      `Parlance is not running from ${folder.path}. Start it with \`npm start\`, or set MONGODB_URL, REDIS_URL and APP_KEY.\n`,
    );
    (await claimFolder(folder.path))();
    writeRunningEnv(folder.path, stores);
    const inJson = await run(grant('--json'));
    expect([inJson.exit, inJson.stderr]).to.deep.equal([69, '']);
    expect(JSON.parse(inJson.stdout)).to.deep.equal({ ok: false, error: { code: 'unavailable', message: stderr.trim() } });
  });

  it('prints help if nothing runs', async () => {
    expect(await run(['tag', '--help'])).to.include({ exit: 0, stderr: '' });
    expect(await run([])).to.include({ exit: 64, stdout: '' });
  });

  it('prefers the stores of the environment, and ignores all settings of the instance if the environment sets both', async () => {
    expect(await run(grant(), { ...stores, APP_KEY }), 'nothing runs').to.include({ exit: 0, stderr: '' });
    writeKey();
    await whileRunning(
      { ...stores, REDIS_URL: 'redis://127.0.0.1:1' },
      async () => void expect(await run(grant(), { REDIS_URL: stores.REDIS_URL ?? '' })).to.include({ exit: 0 }),
    );
    await whileRunning(
      { ...stores, LOG_PARTITIONS: 'invalid' },
      async () => void expect(await run(grant(), { ...stores, APP_KEY })).to.include({ exit: 0, stderr: '' }),
    );
  });

  it('exits with 78 and creates no key if the instance has its APP_KEY from its environment', () =>
    whileRunning(stores, async () => {
      const { exit, stderr } = await run(grant());
      expect(exit).to.equal(78);
      expect(stderr).to.contain('APP_KEY is not set');
      expect(existsSync(join(folder.path, 'app.key'))).to.equal(false);
    }));

  it('backup and restore start the stores of the folder if nothing runs', async () => {
    const keyless = await run(['restore', join(folder.path, 'backup.tar.gz')]);
    expect([keyless.exit, keyless.stderr]).to.deep.equal([
      78,
      `${folder.path} has no app.key. Copy it from the data folder that was backed up, or set APP_KEY.\n`,
    ]);
    writeKey();
    const documentsOf = async (args: string[], env: Record<string, string> = {}): Promise<unknown> => {
      const { exit, stdout, stderr } = await run([...args, '--json'], env);
      expect(exit, stderr + stdout).to.equal(0);
      return (JSON.parse(stdout) as { documents: unknown }).documents;
    };
    const [backup, again] = [join(folder.path, 'backup.tar.gz'), join(folder.path, 'again.tar.gz')];
    const documents = await documentsOf(['backup', backup], stores);
    expect(await documentsOf(['restore', backup])).to.deep.equal(documents);
    expect(await documentsOf(['backup', again])).to.deep.equal(documents);
  });

  it('running.json is readable only by its owner and can be removed', async () => {
    expect(await readRunningEnv(folder.path)).to.equal(null);
    await whileRunning(stores, async () => {
      expect(statSync(join(folder.path, 'running.json')).mode & 0o777).to.equal(0o600);
      expect(await readRunningEnv(folder.path)).to.deep.equal(stores);
    });
    expect(await readRunningEnv(folder.path)).to.equal(null);
    expect(existsSync(join(folder.path, 'running.json'))).to.equal(false);
  });
});
