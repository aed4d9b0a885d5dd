import { readdirSync } from 'node:fs';
import { expect } from 'chai';
import { readMetrics } from '../../apps/ops/measures/reading.ts';
import type { Overview } from '../../apps/ops/page/rows.ts';
import { startOps } from '../../apps/ops/start.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { queues } from '../../lib/contract/jobs.ts';
import { startMonitoring } from '../../lib/store/monitoring.ts';
import { type OpsPlatform, openOpsPlatform, openWorkerPlatform } from '../../lib/store/platform.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('the operators’ overview', () => {
  const config = testConfig();
  const worker = use(() => openWorkerPlatform(config, createLog('worker', 'silent')));
  const platform = use(() => openOpsPlatform(config, createLog('ops', 'silent')));
  const ops = use(() => startOps(platform, { collectIntervalMs: 20 }));
  const get = (path: string, init?: RequestInit) => fetch(`http://127.0.0.1:${ops.port}${path}`, init);

  /** Reads the overview until `isWanted` is true of it. */
  async function readUntil(isWanted: (overview: Overview) => boolean): Promise<Overview> {
    for (;;) {
      const overview = (await (await get('/overview.json')).json()) as Overview;
      if (isWanted(overview)) return overview;
    }
  }

  it('GET / explains every queue, without inline script or style, and has a policy that allows only its own files', async () => {
    const response = await get('/');
    const { status, headers } = response;
    expect(status).to.equal(200);
    expect(headers.get('content-type')).to.match(/^text\/html/);
    expect(headers.get('content-security-policy')?.split('; ')).to.deep.equal([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'self'",
      "frame-ancestors 'none'",
      "require-trusted-types-for 'script'",
    ]);
    expect(headers.get('x-content-type-options')).to.equal('nosniff');
    const text = await response.text();
    expect(text).not.to.match(/<style|\sstyle=|\son\w+=|<script(?![^>]*\bsrc=)|https?:\/\//);
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

  it('GET /page/… answers 404 for everything else, and to other methods than GET and HEAD', async () => {
    for (const path of ['', 'nothing.js', 'tsconfig.json', '..%2fmain.js', '%2e%2e/main.js', 'main.js/', 'main.js%00'])
      expect((await get(`/page/${path}`)).status, path).to.equal(404);
    expect((await get('/page/main.js', { method: 'POST' })).status).to.equal(404);
  });

  it('GET /overview.json has the values of all processes, so that no measure is unknown', async () => {
    const roles = ['api', 'gateway', 'worker'].map((role) => ({ role, metrics: createMetrics(role) }));
    const running = await Promise.all(roles.map(({ role, metrics }) => startMonitoring(platform, role, metrics.registry)));
    try {
      await worker.shares.recordHeartbeat();
      roles.find(({ role }) => role === 'gateway')?.metrics.sockets.inc({ kind: 'bot' }, 3);
      // The values of a new process are counted from its second reading on.
      await readUntil(({ groups }) => groups.stores.some(({ now }) => now === '3 of 3 answer'));
      const { groups } = await readUntil((overview) => {
        for (const { metrics } of roles) {
          metrics.events.inc({ event: 'MESSAGE_CREATE' });
          metrics.deliveryLatency.observe(0.01);
          metrics.http.observe({ method: 'GET', route: '/api/gateway', status: '200' }, 0.01);
          metrics.jobs.observe({ job: 'relay-channel', outcome: 'done' }, 0.01);
          metrics.endpoints.record('7', 10, true);
        }
        const rows = Object.values(overview.groups);
        return rows.every((group) => group.length > 0 && group.every(({ assessment }) => assessment.state !== 'unknown'));
      });
      for (const { name, now } of Object.values(groups).flat()) expect(now, name).not.to.equal('unknown');
      expect(groups.queues.map(({ name }) => name)).to.have.members(Object.keys(queues));
      expect(groups.sockets.map(({ now }) => now)).to.include('3 sockets on 1 node');
      expect(groups.slowest.map(({ now }) => now).join()).to.match(/p50 \d+ ms, p95 \d+ ms, p99 \d+ ms, \d+ requests?/);
      expect(groups.queues[0]?.lastHour.at(-1)).to.equal(0);
    } finally {
      await Promise.all(running.map((one) => one.close()));
    }
    await readUntil((overview) => overview.groups.stores.some(({ now }) => now === '0 of 0 answer'));
  });

  it('asks the processes that it knows while Redis is away, and names those that do not answer', async () => {
    const { port, ...process } = await startMonitoring(platform, 'gateway', createMetrics('gateway').registry);
    let isAway = false;
    const listProcesses = (): ReturnType<OpsPlatform['listProcesses']> =>
      isAway
        ? Promise.reject(new Error('unavailable'))
        : Promise.resolve([
            { name: 'gateway:a', url: `http://127.0.0.1:${port}` },
            { name: 'worker:b', url: 'http://127.0.0.1:1' },
          ]);
    const other = await startOps({ ...platform, listProcesses }, { collectIntervalMs: 20 });
    const readProcesses = async (): Promise<string | undefined> => {
      const { groups } = (await (await fetch(`http://127.0.0.1:${other.port}/overview.json`)).json()) as Overview;
      return groups.stores.find(({ name }) => name === 'Processes')?.now;
    };
    try {
      expect(await readProcesses()).to.equal('no answer from worker:b at http://127.0.0.1:1');
      isAway = true;
      await process.close();
      const both = 'no answer from gateway:a at http://127.0.0.1:';
      while (!(await readProcesses())?.startsWith(both));
    } finally {
      await process.close().catch(() => undefined);
      await other.close();
    }
  });

  it('every metric that the overview reads is one of a process or of the stores, with its labels', async () => {
    const { registry, ...metrics } = createMetrics('api');
    metrics.events.inc({ event: 'X' });
    metrics.sockets.inc({ kind: 'bot' });
    metrics.http.observe({ method: 'GET', route: '/', status: '200' }, 1);
    metrics.jobs.observe({ job: 'x', outcome: 'done' }, 1);
    metrics.endpoints.record('7', 10, true);
    await worker.shares.recordHeartbeat();
    const process = await startMonitoring(platform, 'api', registry);
    const missing = (text: string): string[] =>
      Object.entries(readMetrics).flatMap(([name, labels]) => {
        const lines = text.split('\n').filter((line) => line.startsWith(name) && /^(_bucket)?[ {]/.test(line.slice(name.length)));
        // Ops adds the label `process`.
        const isLabelled = labels.every((label) => label === 'process' || lines.some((line) => line.includes(`${label}="`)));
        return lines.length > 0 && isLabelled ? [] : [name];
      });
    try {
      let text = '';
      // On a busy machine Redis may respond too late once; its metrics are left out then.
      for (let tries = 0; tries < 10 && (tries === 0 || missing(text).length > 0); tries++)
        text = (await (await get('/metrics')).text()) + (await (await fetch(`http://127.0.0.1:${process.port}/metrics`)).text());
      expect(missing(text)).to.deep.equal([]);
    } finally {
      await process.close();
    }
  });

  it('/metrics has the age of the oldest job', async () => {
    const now = platform.now;
    for (const id of ['1', '2', '3']) await worker.jobs.enqueue('post-interaction', { interactionId: `100000000000000000${id}` });
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
