import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createConnection, createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { connectBot } from '../harness/bot-client.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { seedServer } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { connectTo } from '../harness/tcp-proxy.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const entries = { api: 'apps/api/main', gateway: 'apps/gateway/main', worker: 'workers/main', ops: 'apps/ops/main' } as const;
type Role = keyof typeof entries;

/** Runs the roles like a deployment: compiled, with settings in the environment. */
describe('role processes', () => {
  const children: ChildProcess[] = [];
  let config: Config;
  let env: Record<string, string>;

  before(async () => {
    config = testConfig();
    await prepareDatabase(config);
    env = {
      MONGODB_URL: config.MONGODB_URL,
      REDIS_URL: config.REDIS_URL,
      REDIS_PREFIX: config.REDIS_PREFIX,
      APP_KEY: config.APP_KEY.toString('base64'),
      RATE_LIMIT: 'off',
      STORE_TIMEOUT_FACTOR: String(config.STORE_TIMEOUT_FACTOR),
    };
  });
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  const run = (role: Role, more: Record<string, string> = {}): { child: ChildProcess; output: () => string } => {
    const child = spawn(process.execPath, [`${root}dist/${entries[role]}.js`], {
      env: { PATH: process.env.PATH ?? '', ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    return { child, output: () => output };
  };
  const ready = async (role: Role, more: Record<string, string> = {}): Promise<ReturnType<typeof run>> => {
    const running = run(role, more);
    const [what] = await Promise.race([once(running.child, 'message'), once(running.child, 'exit')]);
    expect(what, running.output()).to.equal('ready');
    return running;
  };
  const ports = async (): Promise<Record<string, string>> => ({
    PORT: String(await freePort()),
    GATEWAY_PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
  });

  for (const role of Object.keys(entries) as Role[]) {
    it(`${role} logs one line per invalid setting without its value, and exits with 78`, async () => {
      const { child, output } = run(role, { APP_KEY: 'not-a-key', PORT: '99999', REDIS_URL: 'http://secret@x' });
      const [code] = await once(child, 'exit');
      expect(code).to.equal(78);
      for (const name of ['APP_KEY', 'PORT', 'REDIS_URL']) expect(output()).to.match(new RegExp(`^.*${name} `, 'm'));
      expect(output()).to.not.include('not-a-key').and.not.include('secret@x');
    });

    it(`${role} logs one line if APP_KEY is not the key of the database, and exits with 78`, async () => {
      const first = await ready('api', await ports());
      first.child.kill('SIGTERM');
      await once(first.child, 'exit');
      const { child, output } = run(role, { ...(await ports()), APP_KEY: Buffer.alloc(32).toString('base64') });
      const [code] = await once(child, 'exit');
      expect(code).to.equal(78);
      expect(output()).to.match(/^APP_KEY is not the key of this database\. [^\n]+\n$/);
    });

    it(`${role} shuts down on SIGTERM and exits with 0`, async () => {
      const { child, output } = await ready(role, await ports());
      child.kill('SIGTERM');
      const [code] = await once(child, 'exit');
      expect(code, output()).to.equal(0);
    });

    it(`${role} exits with 0 when its parent process disconnects`, async () => {
      const { child } = await ready(role, await ports());
      child.disconnect();
      const [code] = await once(child, 'exit');
      expect(code).to.equal(0);
    });
  }

  for (const [store, name] of [
    ['Redis', 'REDIS_URL'],
    ['the database', 'MONGODB_URL'],
  ] as const)
    it(`the API waits until ${store} has started`, async () => {
      const real = new URL(config[name]);
      const here = new URL(real);
      here.hostname = '127.0.0.1';
      here.port = String(await freePort());
      const early = createServer((socket) => socket.destroy()); // listens, but is not ready
      await new Promise<void>((done) => early.listen(Number(here.port), '127.0.0.1', done));
      const refused = new Promise<void>((done) => early.once('connection', () => done()));
      const starting = ready('api', { ...(await ports()), [name]: here.href });
      await refused;
      early.close();
      const proxy = createServer((socket) => {
        const upstream = connectTo(real, 0);
        socket.pipe(upstream).pipe(socket);
        for (const end of [socket, upstream]) end.on('error', () => undefined);
      });
      await new Promise<void>((done) => proxy.listen(Number(here.port), '127.0.0.1', done));
      const { child } = await starting;
      child.kill('SIGTERM');
      expect((await once(child, 'exit'))[0]).to.equal(0);
      proxy.close();
    });

  it('the API finishes current requests before it exits', async () => {
    const given = await ports();
    const platform = await openApiPlatform(config, createLog('test', 'silent'));
    const seeded = await seedServer(platform, { bots: 1, channels: 1 });
    const { child } = await ready('api', given);
    const body = JSON.stringify({ content: 'in flight' });
    const socket = createConnection(Number(given.PORT), '127.0.0.1');
    let answer = '';
    socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
    const head = `POST /api/channels/${seeded.channelIds[0]}/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bot ${seeded.bots[0]?.token}\r\n`;
    socket.write(`${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
    // The API has received the request when it has responded to a later one.
    await (await fetch(`http://127.0.0.1:${given.PORT}/api/gateway`)).arrayBuffer();
    child.kill('SIGTERM');
    socket.write(body.slice(5));
    await Promise.all([once(socket, 'close'), once(child, 'exit')]);
    expect(answer).to.match(/^HTTP\/1\.1 201 /);
    expect(answer, 'so that clients with keep-alive open another connection').to.match(/^connection: close\r$/im);
    expect(await platform.db.messages.countDocuments({ content: 'in flight' })).to.equal(1);
    await platform.close();
  });

  it('the log of the API contains no token, password or message', async () => {
    const given: Record<string, string> = { ...(await ports()), LOG_LEVEL: 'trace' };
    const { child, output } = await ready('api', given);
    const call = async (path: string, body: object, token?: string): Promise<Record<string, unknown>> => {
      const headers = { 'Content-Type': 'application/json', ...(token ? { Authorization: `Bearer ${token}` } : {}) };
      const response = await fetch(`http://127.0.0.1:${given.PORT}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
      return (await response.json()) as Record<string, unknown>;
    };
    const password = 'a-password-to-look-for';
    const { token } = await call('/api/auth/register', { username: 'logged', password });
    await call('/api/auth/login', { username: 'logged', password: `${password}-wrong` });
    const server = await call('/api/servers', { name: 'x' }, String(token));
    const [channel] = server.channels as { id: string }[];
    await call(`/api/channels/${channel?.id}/messages`, { content: 'words-to-look-for' }, String(token));
    await call(`/api/channels/${channel?.id}/messages`, { content: 5, hidden: 'words-to-look-for' }, String(token));
    const application = await call('/api/applications', { name: 'x' }, String(token));
    await fetch(`http://127.0.0.1:${given.PORT}/api/interactions/1000000000000000000/path-token-to-look-for/callback`, { method: 'POST' });
    child.kill('SIGTERM');
    await once(child, 'exit');
    expect(output()).to.include('/api/channels/{channelId}/messages');
    for (const secret of [
      token,
      password,
      'words-to-look-for',
      application.token,
      application.signingSecret,
      'path-token-to-look-for',
      config.APP_KEY.toString('base64'),
    ])
      expect(output()).to.not.include(String(secret));
  });

  it('a stopping gateway node sends op 7, and the sessions resume on another node', async () => {
    const platform = await openApiPlatform(config, createLog('test', 'silent'));
    const seeded = await seedServer(platform, { bots: 1, channels: 1 });
    const [one, two] = [await ports(), await ports()];
    const first = await ready('gateway', one);
    const second = await ready('gateway', two);
    const bot = connectBot({
      urlOf: (attempt) => `ws://127.0.0.1:${attempt === 0 ? one.GATEWAY_PORT : two.GATEWAY_PORT}/?v=1`,
      token: String(seeded.bots[0]?.token),
    });
    await bot.ready;
    first.child.kill('SIGTERM');
    const [code] = await once(first.child, 'exit');
    expect(code).to.equal(0);
    while (bot.stats.resumes === 0 && bot.stats.invalidated === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(bot.stats).to.deep.include({ resumes: 1, invalidated: 0 });
    await bot.close();
    second.child.kill('SIGTERM');
    await once(second.child, 'exit');
    await platform.close();
  });
});
