import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect } from 'chai';
import { startOps } from '../../apps/ops/start.ts';
import { createLog } from '../../lib/base/log.ts';
import { queues as queueTable } from '../../lib/contract/jobs.ts';
import { type OpsPlatform, openOpsPlatform, openWorkerPlatform } from '../../lib/store/platform.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

/** A request besides its path: `auth` is `user:password`, `host` the `Host` header, `address` where it is sent to. */
interface Sent {
  auth?: string | undefined;
  method?: string;
  host?: string;
  address?: string;
}

/** Sends a request and returns the whole response. */
function get(port: number, path: string, { auth, method = 'GET', host, address = '127.0.0.1' }: Sent = {}) {
  return new Promise<{ status: number; headers: Record<string, unknown>; text: string }>((resolve, reject) => {
    const more = { ...(auth ? { auth } : {}), ...(host ? { headers: { host } } : {}) };
    const sent = request({ host: address, port, path, method, timeout: 5_000, ...more }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject).end();
  });
}

const unavailable = () => Promise.reject(new Error('unavailable'));

/** Sends a GET to pages that run on this platform. */
async function getFrom(platform: OpsPlatform, path: string) {
  const ops = await startOps(platform);
  try {
    return await get(ops.port, path);
  } finally {
    await ops.close();
  }
}

describe('operators’ pages', () => {
  const config = testConfig();
  const worker = use(() => openWorkerPlatform(config, createLog('worker', 'silent')));
  const platform = use(async () => {
    await prepareDatabase(config);
    return openOpsPlatform(config, createLog('ops', 'silent'));
  });
  const ops = use(() => startOps(platform));

  it('GET / links to every page', async () => {
    const { status, text } = await get(ops.port, '/');
    expect(status).to.equal(200);
    for (const path of ['/people', '/servers', '/audit', '/readyz', '/metrics', '/queues', '/healthz'])
      expect(text).to.contain(`href="${path}"`);
  });

  for (const path of ['/', '/overview.json', '/metrics', '/readyz', '/queues', '/healthz'])
    it(`GET ${path} answers 421 without a password if the Host header is not a local name with the right port`, async () => {
      for (const host of ['attacker.example', `attacker.example:${ops.port}`, `localhost.attacker.example:${ops.port}`, 'localhost:1'])
        expect((await get(ops.port, path, { host })).status, host).to.equal(421);
      for (const host of ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]'])
        expect((await get(ops.port, path, { host: `${host}:${ops.port}` })).status, host).to.not.equal(421);
    });

  it('GET /healthz answers 200, and an unknown path 404', async () => {
    expect([(await get(ops.port, '/healthz')).status, (await get(ops.port, '/nothing')).status]).to.deep.equal([200, 404]);
  });

  it('GET /readyz answers 503 without a worker and says what to do', async () => {
    const { status, text } = await get(ops.port, '/readyz');
    expect(status).to.equal(503);
    const { ready, checks } = JSON.parse(text);
    expect(ready).to.equal(false);
    expect(checks.database.ok).to.equal(true);
    expect(checks.redis.ok).to.equal(true);
    expect(checks.worker).to.include({ ok: false, reason: 'no worker sent a heartbeat in the last minute' });
    expect(checks.worker.todo).to.contain('npm run worker');
  });

  it('GET /readyz answers 200 with a worker, and the duration of each check; 503 if its last heartbeat is older than 10 s', async () => {
    await worker.shares.recordHeartbeat();
    const { status, text } = await get(ops.port, '/readyz');
    expect(status).to.equal(200);
    const { checks } = JSON.parse(text);
    for (const name of ['database', 'redis', 'worker']) expect(checks[name].ms).to.be.a('number');
    await worker.shares.recordHeartbeat();
    const late = await getFrom({ ...platform, now: () => platform.now() + 10_500 }, '/readyz');
    expect(late.status).to.equal(503);
    expect(JSON.parse(late.text).checks.worker.reason).to.match(/1[01] s old/);
  });

  it('GET /readyz answers 503 if the database does not respond', async () => {
    const { status, text } = await getFrom(
      { ...platform, db: { ...platform.db, checkWritable: () => new Promise(() => undefined) } },
      '/readyz',
    );
    expect(status).to.equal(503);
    expect(JSON.parse(text).checks.database.todo).to.contain('MONGODB_URL');
  });

  it('GET /metrics has the metrics of ops, queues, undelivered events and Redis', async () => {
    await worker.jobs.enqueue('finish-removal', { removalId: '1000000000000000001' });
    const channelId = '1000000000000000001';
    await worker.db.messages.insertOne({ _id: '1', channelId, outboxAt: new Date(Date.now() - 5_000) } as never);
    const { status, headers, text } = await get(ops.port, '/metrics');
    expect(status).to.equal(200);
    expect(headers['content-type']).to.match(/^text\/plain; version=0\.0\.4/);
    const lines = text.split('\n');
    const values = (start: string): number[] =>
      lines.filter((line) => line.startsWith(start)).map((line) => Number(line.split(' ').at(-1)));
    expect(values('parlance_queue_jobs{queue="upkeep",state="waiting"}')).to.deep.equal([1]);
    expect(values('parlance_queue_oldest_waiting_seconds{queue="upkeep"}')[0]).to.be.greaterThan(0);
    expect(values('parlance_outbox_age_seconds')[0]).to.be.within(5, 60);
    for (const name of ['parlance_redis_noeviction', 'parlance_redis_aof', 'parlance_redis_memory_max_bytes'])
      expect(values(name), name).to.have.length(1);
    expect(values('parlance_redis_memory_used_bytes')[0]).to.be.greaterThan(0);
    expect(values('parlance_up{store="redis"}')).to.deep.equal([1]);
    const types = lines.filter((line) => line.startsWith('# TYPE '));
    expect(types.length, 'each metric once').to.equal(new Set(types).size);
  });

  it('GET /metrics leaves out the metrics of an unavailable store and reports it in parlance_up', async () => {
    const { status, text } = await getFrom({ ...platform, readRedisInfo: unavailable, listProcesses: unavailable }, '/metrics');
    expect(status).to.equal(200);
    expect(text).to.contain('parlance_up{store="redis"} 0').and.contain('parlance_up{store="database"} 1');
    expect(text).not.to.contain('parlance_redis_aof');
  });

  it('GET /queues loads nothing from other hosts and describes each queue', async () => {
    const { status, headers, text } = await get(ops.port, '/queues');
    expect(status).to.equal(200);
    expect(headers['content-security-policy']).to.contain("default-src 'self'").and.contain("script-src 'self';");
    expect(text).not.to.match(/(?:src|href)="(?:https?:)?\/\//);
    const base = /<base href="([^"]+)"/.exec(text)?.[1];
    const files = [...text.matchAll(/(?:src|href)="(static\/[^"]+)"/g)].map(([, file]) => `${base}${file}`);
    expect(files.length).to.be.greaterThan(3);
    for (const file of files) expect((await get(ops.port, file)).status, file).to.equal(200);
    const { queues } = JSON.parse((await get(ops.port, '/queues/api/queues')).text);
    expect(queues.map((queue: { name: string }) => queue.name)).to.have.members(Object.keys(queueTable));
    for (const queue of queues) {
      expect(queue.description).to.be.a('string').and.have.length.greaterThan(10);
      expect(queue.readOnlyMode).to.equal(true);
    }
  });

  for (const [method, path] of [
    ['PUT', '/queues/api/queues/relay/pause'],
    ['PUT', '/queues/api/queues/relay/obliterate'],
    ['POST', '/queues/api/queues/relay/add'],
  ] as const)
    it(`${method} ${path} answers 405 and changes nothing`, async () => {
      const counts = await platform.queues[0]?.getJobCounts();
      expect((await get(ops.port, path, { method })).status).to.equal(405);
      expect(await platform.queues[0]?.getJobCounts()).to.deep.equal(counts);
      expect(await platform.queues[0]?.isPaused()).to.equal(false);
    });

  it('listens on loopback only without a password', async () => {
    const outside = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    for (const { address } of outside.filter((one) => one.family === 'IPv4' && !one.internal)) {
      const error = await get(ops.port, '/healthz', { address }).catch((reason: unknown) => reason);
      expect(error, address).to.be.instanceOf(Error);
    }
  });

  describe('with OPS_PASSWORD', () => {
    const locked = use(() => startOps({ ...platform, config: { ...config, OPS_PASSWORD: 'pässword:1' } }));

    for (const path of ['/', '/readyz', '/metrics', '/queues', '/queues/api/queues', '/queues/static/favicon-32x32.png', '/nothing'])
      it(`GET ${path} answers 401 without credentials and for a wrong password, a wrong user and an empty password`, async () => {
        for (const auth of [undefined, 'ops:password', 'admin:pässword:1', 'ops:']) {
          const { status, headers } = await get(locked.port, path, { auth });
          expect(status, auth).to.equal(401);
          expect(headers['www-authenticate']).to.match(/^Basic realm=/);
        }
      });

    it('answers 401 for other schemes and invalid base64', async () => {
      for (const authorization of ['Bearer abc', 'Basic', 'Basic %%%'])
        expect((await fetch(`http://127.0.0.1:${locked.port}/`, { headers: { authorization } })).status).to.equal(401);
    });

    it('answers 200 for user ops with the password in either Unicode form, and 400 for bytes that are not UTF-8', async () => {
      const statusOf = async (credentials: Buffer): Promise<number> => {
        const authorization = `Basic ${credentials.toString('base64')}`;
        return (await fetch(`http://127.0.0.1:${locked.port}/metrics`, { headers: { authorization } })).status;
      };
      for (const form of ['NFC', 'NFD']) expect(await statusOf(Buffer.from('ops:pässword:1'.normalize(form))), form).to.equal(200);
      for (const byte of [0xe4, 0xff])
        expect(await statusOf(Buffer.from(`ops:p${String.fromCharCode(byte)}ssword:1`, 'latin1'))).to.equal(400);
    });

    it('GET /healthz needs no password, and accepts any Host header', async () =>
      expect((await get(locked.port, '/healthz', { host: 'ops.example' })).status).to.equal(200));
  });
});
