import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { groupsOf } from '../../apps/ops/page/groups.ts';
import { createReader, readMetrics } from '../../apps/ops/page/reading.ts';
import { startOps } from '../../apps/ops/start.ts';
import type { Listening } from '../../lib/base/http-server.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { queues } from '../../lib/contract/jobs.ts';
import { type OpsPlatform, openOpsPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startMetricsFeed } from '../../lib/store/redis/metrics-feed.ts';
import { testConfig } from '../harness/stores.ts';

describe('the operators’ overview', () => {
  const config = testConfig();
  let worker: WorkerPlatform;
  let platform: OpsPlatform;
  let ops: Listening;
  const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${ops.port}${path}`, init);

  before(async () => {
    [worker, platform] = await Promise.all([
      openWorkerPlatform(config, createLog('worker', 'silent')),
      openOpsPlatform(config, createLog('ops', 'silent')),
    ]);
    ops = await startOps(platform);
  });
  after(async () => {
    await ops.close();
    await Promise.all([platform.close(), worker.close()]);
  });

  it('GET / is HTML with a policy that allows only its own files', async () => {
    const { status, headers } = await get('/');
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.match(/^text\/html/);
    expect(headers.get('content-security-policy')?.split('; ')).to.deep.equal([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]);
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
  });

  it('GET / contains no inline script or style and no other origin', async () => {
    const text = await (await get('/')).text();
    expect(text).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)|https?:\/\//);
  });

  it('GET / explains every queue: what it does, what is normal, what to do', async () => {
    const text = await (await get('/')).text();
    for (const [name, { description, normal, whenGrowing }] of Object.entries(queues)) {
      expect(text).to.contain(`id="queue-${name}"`);
      for (const part of [description, normal, whenGrowing]) expect(text, name).to.contain(part);
    }
  });

  it('GET /page/… serves every script of the page, its style sheet and its icon, with the right type', async () => {
    const sources = readdirSync('apps/ops/page').filter((name) => name.endsWith('.ts'));
    const files = [...sources.map((name) => name.replace(/ts$/, 'js')), 'style.css', 'icon.svg'];
    const types = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', svg: 'image/svg+xml' };
    for (const file of files) {
      const { status, headers } = await get(`/page/${file}`);
      expect([status, headers.get('content-type')], file).to.deep.equal([200, types[file.split('.').at(-1) as keyof typeof types]]);
    }
    expect((await get('/page/main.js', { method: 'HEAD' })).status).to.equal(200);
  });

  for (const path of [
    '/page/',
    '/page/nothing.js',
    '/page/tsconfig.json',
    '/page/..%2fmain.js',
    '/page/%2e%2e/main.js',
    '/page/main.js/',
    '/page/main.js%00',
  ])
    it(`GET ${path} answers 404`, async () => expect((await get(path)).status).to.equal(404));

  it('answers 404 to other methods than GET and HEAD', async () =>
    expect((await get('/page/main.js', { method: 'POST' })).status).to.equal(404));

  it('/metrics has every metric that the page reads, with its labels, so that no measure is unknown', async () => {
    const roles = ['api', 'gateway', 'worker'].map((role) => ({ role, metrics: createMetrics(role) }));
    const read = createReader();
    const feed = async (): Promise<string> => {
      const feeds = roles.map(({ role, metrics }) => startMetricsFeed(platform, role, metrics.registry));
      await Promise.all(feeds.map((one) => one.close()));
      return (await get('/metrics')).text();
    };
    await worker.recordHeartbeat();
    for (const { metrics } of roles) {
      metrics.events.inc({ event: 'MESSAGE_CREATE' });
      metrics.deliveryLatency.observe(0.01);
      metrics.sockets.inc({ kind: 'bot' });
      metrics.http.observe({ method: 'GET', route: '/api/gateway', status: '200' }, 0.01);
      metrics.jobs.observe({ job: 'relay-channel', outcome: 'done' }, 0.01);
      metrics.endpoints.record('7', 10, true);
    }
    const missing = (text: string): string[] =>
      Object.entries(readMetrics).flatMap(([name, labels]) => {
        const lines = text.split('\n').filter((line) => line.startsWith(name) && /^(_bucket)?[ {]/.test(line.slice(name.length)));
        const isExported = text.includes(`# HELP ${name} `) && lines.length > 0;
        return isExported && labels.every((label) => lines.some((line) => line.includes(`${label}="`))) ? [] : [name];
      });
    // On a busy machine Redis may respond too late once; its metrics are left out then.
    let text = await feed();
    for (let tries = 1; tries < 10 && missing(text).length > 0; tries++) text = await feed();
    expect(missing(text)).to.deep.equal([]);
    const groups = groupsOf([read(text, 1_000_000), read(text, 1_005_000)]);
    for (const [group, rows] of Object.entries(groups)) {
      expect(rows, group).not.to.deep.equal([]);
      for (const { name, now, assessment } of rows) expect([assessment.state, now], name).not.to.include('unknown');
    }
    expect(groups.queues.map(({ name }) => name)).to.have.members(Object.keys(queues));
  });

  it('/metrics has the age of the oldest job even if a queue takes the newest first', async () => {
    const now = platform.now;
    for (const id of ['1', '2', '3']) await worker.enqueue('post-interaction', { interactionId: `100000000000000000${id}` });
    const oldest = Math.min(
      ...((await platform.queues.find(({ name }) => name === 'endpoints')?.getWaiting()) ?? []).map(({ timestamp }) => timestamp),
    );
    const later = await startOps({ ...platform, now: () => oldest + 60_000 });
    const text = await (await fetch(`http://127.0.0.1:${later.port}/metrics`)).text();
    await later.close();
    expect(now()).to.be.at.least(oldest);
    expect(text).to.contain('parlance_queue_oldest_waiting_seconds{queue="endpoints"} 60\n');
  });
});
