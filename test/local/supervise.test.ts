import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { appKey, claimFolder, writeSecret } from '../../apps/local/data-folder.ts';
import { isAlive } from '../../apps/local/lock.ts';
import { checkPorts } from '../../apps/local/ports.ts';
import { briefLine } from '../../apps/local/role-log.ts';
import { startRole } from '../../apps/local/roles.ts';
import { startProcess } from '../../apps/local/supervised-process.ts';

const main = new URL('./fixtures/role.mjs', import.meta.url);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await pause(20);
};
const errorOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: Error) => error.message,
  );

describe('apps/local', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parlance-local-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  describe('startRole', () => {
    it('starts a role, starts it again after it was killed and for a restart, and stops it', async () => {
      const role = await startRole({ name: 'api', main, env: { ...process.env }, folder });
      const first = role.pid ?? 0;
      expect(isAlive(first)).to.equal(true);
      process.kill(first, 'SIGKILL');
      await until(() => role.pid !== undefined && role.pid !== first);
      await pause(200);
      const second = role.pid ?? 0;
      await role.restart();
      expect(role.pid).to.not.equal(second);
      expect(isAlive(second)).to.equal(false);
      await role.stop();
      expect(role.pid).to.equal(undefined);
      expect(readFileSync(join(folder, 'logs/api.log'), 'utf8')).to.contain('quiet');
    });

    it('fails with the message of the role if its settings are invalid', async () => {
      const error = await errorOf(startRole({ name: 'api', main, env: { ...process.env, BEHAVIOR: 'refuse' }, folder }));
      expect(error).to.equal('PORT must be a whole number');
    });
  });

  describe('startProcess', () => {
    it('repeats a failed start until the process is ready', async () => {
      const script = 'if [ -e failed ]; then touch ready; exec sleep 60; fi; touch failed; exit 1';
      const ready = () => access(join(folder, 'ready'));
      const started = await startProcess({ name: 'slow', command: '/bin/sh', args: ['-c', script], cwd: folder, ready });
      expect(isAlive(started.pid ?? 0)).to.equal(true);
      await started.stop();
      expect(started.pid).to.equal(undefined);
    });

    it('kills a process that does not stop in time', async () => {
      const script = `process.on('SIGTERM', () => {}); process.send('ready'); setInterval(() => {}, 1000);`;
      let killed = 0;
      const onKill = (): void => void killed++;
      const program = { name: 'busy', command: process.execPath, args: ['-e', script] };
      const started = await startProcess({ ...program, ready: 'message', stopMs: 50, onKill });
      await started.stop();
      expect([started.pid, killed]).to.deep.equal([undefined, 1]);
    });
  });

  describe('checkPorts', () => {
    let server: Server;
    let port: number;
    beforeEach(async () => {
      server = createServer().listen(0, '127.0.0.1');
      await once(server, 'listening');
      port = (server.address() as { port: number }).port;
    });
    afterEach(() => server.close());

    it('names a used port and its variable in one line', async () => {
      const error = await errorOf(checkPorts([{ variable: 'GATEWAY_PORT', port }]));
      expect(error).to.match(new RegExp(`^Port ${port} is in use\\. Choose another: GATEWAY_PORT=\\d+ npm start$`));
    });
    it('detects two roles on one port', async () => {
      server.close();
      await once(server, 'close');
      const both = ['PORT', 'OPS_PORT'].map((variable) => ({ variable, port }));
      expect(await errorOf(checkPorts(both))).to.contain('is in use');
      expect(await errorOf(checkPorts([{ variable: 'PORT', port }]))).to.equal('none');
    });
  });

  describe('the data folder', () => {
    it('can be claimed by one process at a time', async () => {
      const release = await claimFolder(folder);
      expect(await errorOf(claimFolder(folder))).to.contain('is already running from');
      release();
      (await claimFolder(folder))();
    });
    it('can be claimed after a crashed process left its socket behind', async () => {
      writeSecret(join(folder, 'running.sock'), 'left');
      (await claimFolder(folder))();
    });
    it('stores one key, readable only by its owner', () => {
      const before = process.env.APP_KEY;
      delete process.env.APP_KEY;
      const key = appKey(folder);
      expect(appKey(folder)).to.equal(key);
      expect(Buffer.from(key, 'base64').length).to.equal(32);
      expect(statSync(join(folder, 'app.key')).mode & 0o777).to.equal(0o600);
      if (before !== undefined) process.env.APP_KEY = before;
    });
  });

  describe('briefLine', () => {
    const rows: [line: string, shown: string | undefined][] = [
      ['{"level":30,"msg":"listening"}', undefined],
      ['{"level":40,"msg":"slow"}', '[api] warning: slow'],
      ['{"level":50,"msg":"failed","err":{"message":"no"}}', '[api] error: failed: no'],
      ['(node:1) Warning: x', '[api] (node:1) Warning: x'],
      ['{broken', '[api] {broken'],
      ['', undefined],
    ];
    for (const [line, shown] of rows)
      it(`${shown === undefined ? 'hides' : 'shows'} ${JSON.stringify(line)}`, () => expect(briefLine('api', line)).to.equal(shown));
  });
});
