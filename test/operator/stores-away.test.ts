import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import { carryOut } from '../../apps/operator/carry-out.ts';
import { exits } from '../../apps/operator/ending.ts';
import { obey } from '../../apps/operator/obey.ts';
import { readConfig } from '../../config/index.ts';
import { grantTag } from '../../lib/domain/servers/grants.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Caller, makePerson, send } from '../harness/factories.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { runOperator, storesOf } from './run-operator.ts';

describe('npm run operator, when it cannot', function () {
  this.timeout(180_000); // each process takes a second of its own to start
  let api: TestApi;
  let env: Record<string, string>;
  let person: Caller;
  let silent: Server;
  const sockets = new Set<Socket>();
  before(async () => {
    api = await startTestApi();
    env = { ...storesOf(api.platform.config), STORE_PATIENCE: '1' };
    person = await makePerson(api);
    silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined))).listen(0, '127.0.0.1');
    await once(silent, 'listening');
  });
  let proxy: TcpProxy | undefined;
  afterEach(async () => {
    await proxy?.close();
    proxy = undefined;
  });
  after(async () => {
    silent.close();
    for (const socket of sockets) socket.destroy();
    await api.close();
  });

  const stores: [variable: string, name: RegExp, urlAt: (port: number) => string][] = [
    ['MONGODB_URL', /database \(MONGODB_URL\)/, (port) => `mongodb://127.0.0.1:${port}/x?directConnection=true`],
    ['REDIS_URL', /Redis \(REDIS_URL\)/, (port) => `redis://127.0.0.1:${port}`],
  ];
  const silentPort = (): number => (silent.address() as { port: number }).port;
  for (const [variable, names, urlAt] of stores)
    for (const [how, port] of [
      ['refuses connections', freePort],
      ['answers nothing', silentPort],
    ] as const)
      it(`69 where the store of ${variable} ${how}; it is named, in one line`, async () => {
        const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official'], { ...env, [variable]: urlAt(await port()) });
        expect([exit, stdout]).to.deep.equal([69, '']);
        expect(stderr)
          .to.match(names)
          .and.match(/^[^\n]+\n$/);
        expect(await send(api, 200, person, 'GET', '/api/auth/me')).to.include({ tag: null });
      });

  it('69 with --json is an object too', async () => {
    const gone = { ...env, REDIS_URL: `redis://127.0.0.1:${await freePort()}` };
    const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official', '--json'], gone);
    expect([exit, stderr]).to.deep.equal([69, '']);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string } };
    expect([ok, error.code]).to.deep.equal([false, 'unavailable']);
  });

  for (const variable of ['MONGODB_URL', 'REDIS_URL', 'APP_KEY'])
    it(`78 without ${variable}, and when it is bad`, async () => {
      for (const given of [{}, { [variable]: 'bad' }]) {
        const { [variable]: _, ...rest } = env;
        const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official'], { ...rest, ...given });
        expect([exit, stdout]).to.deep.equal([78, '']);
        expect(stderr).to.contain(variable);
      }
    });

  it('78 names every bad setting, with --json too', async () => {
    const { exit, stdout, stderr } = await runOperator(['tag', person.id, 'official', '--json'], { LOG_PARTITIONS: '0' });
    expect([exit, stderr]).to.deep.equal([78, '']);
    const { ok, error } = JSON.parse(stdout) as { ok: boolean; error: { code: string; message: string } };
    expect([ok, error.code]).to.deep.equal([false, 'configuration']);
    for (const variable of ['MONGODB_URL', 'REDIS_URL', 'APP_KEY', 'LOG_PARTITIONS']) expect(error.message).to.contain(variable);
  });

  it('69 when Redis goes after the write: it is stored, and a repeat lets everybody know', async () => {
    const between = await startTcpProxy(env.REDIS_URL ?? '', 6379);
    proxy = between;
    const read = () => send<{ tag: string | null }>(api, 200, person, 'GET', '/api/auth/me');
    await read();
    const { exit, text } = await obey(readConfig({ ...env, REDIS_URL: between.url }), async (platform) => {
      // As a grant does it, but Redis goes between the write and the news of it.
      await platform.versions.changing({ accounts: [person.id] }, async () => {
        await platform.db.accounts.updateOne({ _id: person.id }, { $set: { tag: 'official' } });
        between.cut();
      });
      return { exit: exits.done, json: { ok: true }, text: '' };
    });
    expect(exit).to.equal(exits.away);
    expect(text).to.match(/^The change is stored, but Redis/);
    const repeat = await runOperator(['tag', person.id, 'official', '--json'], env);
    expect(JSON.parse(repeat.stdout)).to.include({ ok: true, changed: false });
    expect((await read()).tag).to.equal('official');
    await grantTag(api.platform, person.id, 'none');
  });

  it('69 when the database goes in the middle', async () => {
    const between = await startTcpProxy(env.MONGODB_URL ?? '', 27017);
    proxy = between;
    const config = readConfig({ ...env, MONGODB_URL: between.url });
    const { exit, text } = await obey(config, (platform) => {
      between.cut();
      return carryOut(platform, { command: 'tag', userId: person.id, tag: 'official' });
    });
    expect([exit, text.slice(0, 26)]).to.deep.equal([exits.away, 'The database (MONGODB_URL)']);
  });

  it('69 when nothing answers in time, and 70 for a fault of ours', async () => {
    const config = readConfig(env);
    let release: () => void = () => undefined;
    const held = new Promise<never>((_, fail) => {
      release = () => fail(new Error('too late'));
    });
    const never = await obey(config, () => held);
    release(); // so that it closes what it opened: the process would have ended
    expect([never.exit, never.text]).to.deep.equal([
      exits.away,
      'The database (MONGODB_URL) or Redis (REDIS_URL) cannot be reached: no response within 4 s. Try again when it is available.',
    ]);
    const broken = await obey(config, () => Promise.reject(new TypeError('oops')));
    expect([broken.exit, broken.text]).to.deep.equal([exits.fault, 'TypeError: oops']);
  });
});
