import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createConnection, createServer } from 'node:net';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform } from '../../lib/store/platform.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { seedServer } from '../harness/seed.ts';
import { isReady, type RoleName, rolePath } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';
import { connectTo } from '../harness/tcp-proxy.ts';
import { storesOf } from '../operator/run-operator.ts';

const roles: readonly RoleName[] = ['api', 'gateway', 'worker', 'ops'];

/** A role that was started, what it has written, and its exit code and signal when it has ended. */
interface Running {
  child: ChildProcess;
  output: () => string;
  ended: Promise<unknown[] | undefined>;
}

/** Runs the roles like a deployment: compiled, with settings in the environment. */
describe('role processes', () => {
  const children: ChildProcess[] = [];
  let config: Config;
  let env: Record<string, string>;

  before(async () => {
    config = testConfig();
    await prepareDatabase(config);
    env = { ...storesOf(config), RATE_LIMIT: 'off', STORE_TIMEOUT_FACTOR: String(config.STORE_TIMEOUT_FACTOR) };
  });
  after(() => {
    for (const child of children) child.kill('SIGKILL');
  });

  const run = (role: RoleName, more: Record<string, string> = {}): Running => {
    const child = spawn(process.execPath, [rolePath(role)], {
      env: { PATH: process.env.PATH ?? '', ...env, ...more },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    children.push(child);
    let output = '';
    const streams = [child.stdout, child.stderr].filter((stream) => stream !== null);
    for (const stream of streams) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    // The event `close` of a child does not come after a disconnect.
    const ended = Promise.all([once(child, 'exit'), ...streams.map((stream) => once(stream, 'close'))]).then(([exit]) => exit);
    return { child, output: () => output, ended };
  };
  const ready = async (role: RoleName, more: Record<string, string> = {}): Promise<Running> => {
    const running = run(role, more);
    await isReady(running.child).catch((error: Error) => expect.fail(`${error.message}: ${running.output()}`));
    return running;
  };
  /** The exit codes and outputs of all roles, which `start` starts at once. */
  const endsOf = (start: (role: RoleName) => Running | Promise<Running>): Promise<{ role: RoleName; code: unknown; output: string }[]> =>
    Promise.all(
      roles.map(async (role) => {
        const { ended, output } = await start(role);
        const [code] = (await ended) ?? [];
        return { role, code, output: output() };
      }),
    );
  const ports = async (): Promise<Record<string, string>> => ({
    PORT: String(await freePort()),
    GATEWAY_PORT: String(await freePort()),
    OPS_PORT: String(await freePort()),
  });

  it('every role logs one line per invalid setting without its value, and exits with 78', async () => {
    const invalid = { APP_KEY: 'not-a-key', PORT: '99999', REDIS_URL: 'http://secret@x' };
    for (const { role, code, output } of await endsOf((name) => run(name, invalid))) {
      expect(code, role).to.equal(78);
      for (const name of Object.keys(invalid)) expect(output, role).to.match(new RegExp(`^.*${name} `, 'm'));
      expect(output, role).to.not.include('not-a-key').and.not.include('secret@x');
    }
  });

  it('every role exits with 0 when its parent process disconnects', async () => {
    const ends = await endsOf(async (role) => {
      const running = await ready(role, await ports());
      running.child.disconnect();
      return running;
    });
    expect(ends.map(({ role, code }) => [role, code])).to.deep.equal(roles.map((role) => [role, 0]));
  });

  it('every role logs one line if APP_KEY is not the key of the database, and exits with 78', async () => {
    const APP_KEY = Buffer.alloc(32).toString('base64');
    for (const { role, code, output } of await endsOf(async (name) => run(name, { ...(await ports()), APP_KEY }))) {
      expect(code, role).to.equal(78);
      expect(output, role).to.match(/^APP_KEY is not the key of this database\. [^\n]+\n$/);
    }
  });

  /** An address at which `real` answers after `start`. Until then it refuses connections; `refused` resolves with the first one. */
  const lateStore = async (real: URL) => {
    let isStarted = false;
    let wasRefused = (): void => undefined;
    const refused = new Promise<void>((done) => {
      wasRefused = done;
    });
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (isStarted) {
        const upstream = connectTo(real, 0).on('error', () => undefined);
        socket.pipe(upstream).pipe(socket);
      } else {
        socket.destroy();
        wasRefused();
      }
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { href } = Object.assign(new URL(real), { hostname: '127.0.0.1', port: String((server.address() as AddressInfo).port) });
    const start = (): void => {
      isStarted = true;
    };
    return { href, refused, start, close: () => server.close() };
  };

  it('the API waits until Redis, and then until the database has started', async () => {
    const [redis, database] = [await lateStore(new URL(config.REDIS_URL)), await lateStore(new URL(config.MONGODB_URL))];
    const starting = ready('api', { ...(await ports()), REDIS_URL: redis.href, MONGODB_URL: database.href });
    for (const store of [redis, database]) {
      await Promise.race([store.refused, starting]);
      store.start();
    }
    const { child } = await starting;
    child.kill('SIGTERM');
    expect((await once(child, 'exit'))[0]).to.equal(0);
    for (const store of [redis, database]) store.close();
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
});
