import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { executeCommand } from '../../apps/operator/execute.ts';
import { exitCodes } from '../../apps/operator/result.ts';
import { runWithPlatform } from '../../apps/operator/run.ts';
import { readConfig } from '../../config/index.ts';
import { grantTag } from '../../lib/domain/servers/grants.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makePerson } from '../harness/factories.ts';
import { type Caller, send } from '../harness/requests.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { runOperator, storesOf } from './run-operator.ts';

describe('npm run operator without its stores or settings', () => {
  let api: TestApi;
  let env: Record<string, string>;
  let person: Caller;
  let unresponsive: Server;
  const sockets = new Set<Socket>();
  before(async () => {
    api = await startTestApi();
    env = { ...storesOf(api.platform.config), STORE_TIMEOUT_FACTOR: '1' };
    person = await makePerson(api);
    unresponsive = createServer((socket) => void sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(unresponsive, 'listening');
  });
  let proxy: TcpProxy | undefined;
  afterEach(async () => {
    await proxy?.close();
    proxy = undefined;
  });
  after(async () => {
    unresponsive.close();
    for (const socket of sockets) socket.destroy();
    await api.close();
  });

  const stores: [variable: string, name: RegExp, urlAt: (port: number) => string][] = [
    ['MONGODB_URL', /database \(MONGODB_URL\)/, (port) => `mongodb://127.0.0.1:${port}/x?directConnection=true`],
    ['REDIS_URL', /Redis \(REDIS_URL\)/, (port) => `redis://127.0.0.1:${port}`],
  ];
  const unresponsivePort = (): number => (unresponsive.address() as { port: number }).port;
  for (const [variable, names, urlAt] of stores)
    for (const [how, port] of [
      ['refuses connections', freePort],
      ['does not respond', unresponsivePort],
    ] as const)
      it(`exits with 69 and names the store in one line if the store of ${variable} ${how}`, async () => {
        const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official'], { ...env, [variable]: urlAt(await port()) });
        expect([exit, stdout]).to.deep.equal([69, '']);
        expect(stderr)
          .to.match(names)
          .and.match(/^[^\n]+\n$/);
        expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: null });
      });

  it('exits with 69 and prints a JSON object with --json if Redis is unavailable', async () => {
    const withoutRedis = { ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official', '--json'], withoutRedis);
    expect([exit, stderr]).to.deep.equal([69, '']);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string } };
    expect([ok, error.code]).to.deep.equal([false, 'unavailable']);
  });

  for (const variable of ['MONGODB_URL', 'REDIS_URL', 'APP_KEY'])
    it(`exits with 78 if ${variable} is missing or invalid`, async () => {
      for (const given of [{}, { [variable]: 'bad' }]) {
        const { [variable]: _, ...rest } = env;
        const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official'], { ...rest, ...given });
        expect([exit, stdout]).to.deep.equal([78, '']);
        expect(stderr).to.contain(variable);
      }
    });

  it('exits with 78 and names every invalid setting with --json', async () => {
    const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official', '--json'], { LOG_PARTITIONS: '0' });
    expect([exit, stderr]).to.deep.equal([78, '']);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string; message: string } };
    expect([ok, error.code]).to.deep.equal([false, 'configuration']);
    for (const variable of ['MONGODB_URL', 'REDIS_URL', 'APP_KEY', 'LOG_PARTITIONS']) expect(error.message).to.contain(variable);
  });

  it('exits with 69 if Redis fails after the write; the change is stored, and a repeated command announces it', async () => {
    const redisProxy = await startTcpProxy(env.REDIS_URL ?? '', 6379);
    proxy = redisProxy;
    const read = () => send<{ tag: string | null }>(api, 200, person, 'GET', '/api/auth/me');
    await read();
    const { exitCode, text } = await runWithPlatform(readConfig({ ...env, REDIS_URL: redisProxy.url }), async (platform) => {
      // Like a grant, but the connection to Redis is cut between the write and its announcement.
      await platform.accessVersions.runChange({ accounts: [person.id] }, async () => {
        await platform.db.accounts.updateOne({ _id: person.id }, { $set: { tag: 'official' } });
        redisProxy.cut();
      });
      return { exitCode: exitCodes.done, json: { ok: true }, text: '' };
    });
    expect(exitCode).to.equal(exitCodes.unavailable);
    expect(text).to.match(/^The change is stored, but Redis/);
    const repeat = await runOperator(['tag', person.id, 'official', '--json'], env);
    expect(JSON.parse(repeat.stdout)).to.include({ ok: true, changed: false });
    expect((await read()).tag).to.equal('official');
    await grantTag(api.platform, person.id, 'none');
  });

  it('exits with 69 if the database fails during a command', async () => {
    const databaseProxy = await startTcpProxy(env.MONGODB_URL ?? '', 27017);
    proxy = databaseProxy;
    const config = readConfig({ ...env, MONGODB_URL: databaseProxy.url });
    const { exitCode, text } = await runWithPlatform(config, (platform) => {
      databaseProxy.cut();
      return executeCommand(platform, { command: 'tag', userId: person.id, tag: 'official' }, { operator: 'test' });
    });
    expect([exitCode, text.slice(0, 26)]).to.deep.equal([exitCodes.unavailable, 'The database (MONGODB_URL)']);
  });

  it('exits with 69 after 4 s without a response, and with 70 for an internal error', async () => {
    const config = readConfig(env);
    let release: () => void = () => undefined;
    const pending = new Promise<never>((_, fail) => {
      release = () => fail(new Error('too late'));
    });
    const timedOut = await runWithPlatform(config, () => pending);
    release(); // so that the stores are closed; in production the process would have ended
    expect([timedOut.exitCode, timedOut.text]).to.deep.equal([
      exitCodes.unavailable,
      'The database (MONGODB_URL) or Redis (REDIS_URL) cannot be reached: no response within 4 s. Try again when it is available.',
    ]);
    const failed = await runWithPlatform(config, () => Promise.reject(new TypeError('oops')));
    expect([failed.exitCode, failed.text]).to.deep.equal([exitCodes.internal, 'Internal error: TypeError: oops']);
  });
});
