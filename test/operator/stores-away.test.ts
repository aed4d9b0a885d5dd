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
import { runHere } from './run-here.ts';
import { type Run, runOperator, storesOf } from './run-operator.ts';

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

  const tag = (): string[] => ['tag', person.id, 'official'];
  const errorOf = ({ stdout }: Run): { code: string; message: string } => {
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string; message: string } };
    expect(ok).to.equal(false);
    return error;
  };

  it('exits with 69 and names the store in one line if it refuses connections or does not respond; with --json in an object', async () => {
    const ports = [await freePort(), (unresponsive.address() as { port: number }).port];
    const stores: [variable: string, name: RegExp, urlAt: (port: number) => string][] = [
      ['MONGODB_URL', /^[^\n]*database \(MONGODB_URL\)[^\n]*\n$/, (port) => `mongodb://127.0.0.1:${port}/x?directConnection=true`],
      ['REDIS_URL', /^[^\n]*Redis \(REDIS_URL\)[^\n]*\n$/, (port) => `redis://127.0.0.1:${port}`],
    ];
    const runs = stores.flatMap(([variable, name, urlAt]) =>
      ports.map(async (port) => {
        const { exit, stdout, stderr } = await runOperator(tag(), { ...env, [variable]: urlAt(port) });
        expect([exit, stdout], `${variable} at port ${port}`).to.deep.equal([69, '']);
        expect(stderr).to.match(name);
      }),
    );
    const inJson = runOperator([...tag(), '--json'], { ...env, REDIS_URL: `redis://127.0.0.1:${ports[0]}` });
    await Promise.all(runs);
    const { exit, stderr } = await inJson;
    expect([exit, stderr, errorOf(await inJson).code]).to.deep.equal([69, '', 'unavailable']);
    expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: null });
  });

  it('exits with 78 and names every missing and invalid setting; with --json in an object', async () => {
    const settings = { LOG_PARTITIONS: '0', REDIS_URL: 'bad' };
    const [inText, inJson] = await Promise.all([runOperator(tag(), settings), runOperator([...tag(), '--json'], settings)]);
    expect([inText.exit, inText.stdout, inJson.exit, inJson.stderr]).to.deep.equal([78, '', 78, '']);
    const { code, message } = errorOf(inJson);
    expect(code).to.equal('configuration');
    for (const variable of ['MONGODB_URL', 'REDIS_URL', 'APP_KEY', 'LOG_PARTITIONS'])
      for (const text of [message, inText.stderr]) expect(text).to.contain(variable);
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
    expect((await runHere(tag(), readConfig(env))).json).to.include({ ok: true, changed: false });
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
