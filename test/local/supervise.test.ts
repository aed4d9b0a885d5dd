import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { appKey, claim, writeSecret } from '../../apps/local/data-folder.ts';
import { isAlive } from '../../apps/local/lock.ts';
import { checkPorts } from '../../apps/local/ports.ts';
import { briefLine } from '../../apps/local/role-log.ts';
import { startRole } from '../../apps/local/supervise.ts';

const main = new URL('./fixtures/role.mjs', import.meta.url);
const pause = (ms: number): Promise<void> => new Promise((done) => setTimeout(done, ms));
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await pause(20);
};
const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (fault: Error) => fault.message,
  );

describe('apps/local', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parlance-local-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  describe('startRole', () => {
    it('runs a role, starts it again when it dies, and stops it', async () => {
      const role = await startRole({ name: 'api', main, env: { ...process.env }, folder });
      const first = role.pid ?? 0;
      expect(isAlive(first)).to.equal(true);
      process.kill(first, 'SIGKILL');
      await until(() => role.pid !== undefined && role.pid !== first);
      await pause(200);
      await role.stop();
      expect(role.pid).to.equal(undefined);
      expect(readFileSync(join(folder, 'logs/api.log'), 'utf8')).to.contain('quiet');
    });

    it('starts another process on restart', async () => {
      const role = await startRole({ name: 'api', main, env: { ...process.env }, folder });
      const first = role.pid ?? 0;
      await role.restart();
      expect(role.pid).to.not.equal(first);
      expect(isAlive(first)).to.equal(false);
      await role.stop();
    });

    it('says what a role says of its settings, and nothing else', async () => {
      const fault = await faultOf(startRole({ name: 'api', main, env: { ...process.env, BEHAVIOUR: 'refuse' }, folder }));
      expect(fault).to.equal('PORT must be a whole number');
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

    it('names the port and the variable, one line', async () => {
      const fault = await faultOf(checkPorts([{ variable: 'GATEWAY_PORT', port }]));
      expect(fault).to.match(new RegExp(`^Port ${port} is in use\\. Choose another: GATEWAY_PORT=\\d+ npm start$`));
    });
    it('sees two roles on one port', async () => {
      server.close();
      await once(server, 'close');
      expect(
        await faultOf(
          checkPorts([
            { variable: 'PORT', port },
            { variable: 'OPS_PORT', port },
          ]),
        ),
      ).to.contain('is in use');
      expect(await faultOf(checkPorts([{ variable: 'PORT', port }]))).to.equal('none');
    });
  });

  describe('the data folder', () => {
    it('is claimed by one process at a time, and free again after it', async () => {
      const release = await claim(folder);
      expect(await faultOf(claim(folder))).to.contain('already runs from');
      release();
      (await claim(folder))();
    });
    it('is not held by a socket that a dead process left', async () => {
      writeSecret(join(folder, 'running.sock'), 'left');
      (await claim(folder))();
    });
    it('keeps one key, for its owner only', () => {
      const before = process.env.APP_KEY;
      delete process.env.APP_KEY;
      const key = appKey(folder);
      expect(appKey(folder)).to.equal(key);
      expect(Buffer.from(key, 'base64').length).to.equal(32);
      expect(statSync(join(folder, 'app.key')).mode & 0o777).to.equal(0o600);
      if (before !== undefined) process.env.APP_KEY = before;
    });
  });

  describe('what the terminal shows of a log', () => {
    const rows: [line: string, shown: string | undefined][] = [
      ['{"level":30,"msg":"listening"}', undefined],
      ['{"level":40,"msg":"slow"}', '[api] warning: slow'],
      ['{"level":50,"msg":"failed","err":{"message":"no"}}', '[api] error: failed: no'],
      ['(node:1) Warning: x', '[api] (node:1) Warning: x'],
      ['{broken', '[api] {broken'],
      ['', undefined],
    ];
    for (const [line, shown] of rows) it(JSON.stringify(line), () => expect(briefLine('api', line)).to.equal(shown));
  });
});
