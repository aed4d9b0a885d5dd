import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect } from 'chai';
import { readConfig, settings } from '../../config/index.ts';
import type { Listening } from '../../lib/base/http-server.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { type MonitoringOptions, startMonitoring } from '../../lib/store/monitoring.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('the internal port of a process', () => {
  const config = testConfig();
  const running: Listening[] = [];
  const platform = use(() => openOpsPlatform(config, createLog('ops', 'silent')));
  afterEach(async () => {
    for (const one of running.splice(0)) await one.close();
  });

  /** Starts it with these settings; returns its URL. */
  async function start(options: MonitoringOptions = {}, changed: Partial<typeof config> = {}, role = 'api'): Promise<string> {
    const { registry } = createMetrics(role);
    const one = await startMonitoring({ ...platform, config: { ...config, ...changed } }, role, registry, options);
    running.push(one);
    return `http://127.0.0.1:${one.port}`;
  }
  const read = async (url: string) => {
    const response = await fetch(url);
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() };
  };

  it('logs where it serves them, which no rule of the log hides', async () => {
    const logged: unknown[] = [];
    const log = Object.assign(createLog('api', 'silent'), { info: (...line: unknown[]) => void logged.push(line) });
    const one = await startMonitoring({ ...platform, log }, 'api', createMetrics('api').registry);
    running.push(one);
    expect(logged).to.deep.equal([[{ host: '127.0.0.1', port: one.port }, 'serving metrics']]);
  });

  it('serves the metrics of its own process only, with the label role', async () => {
    const { status, type, text } = await read(`${await start({}, {}, 'worker')}/metrics`);
    expect([status, type]).to.deep.equal([200, 'text/plain; version=0.0.4; charset=utf-8']);
    expect(text)
      .to.match(/^process_resident_memory_bytes\{role="worker"\} \d+$/m)
      .and.match(/^nodejs_eventloop_lag_p99_seconds/m);
    expect(text).not.to.contain('parlance_files_disk').and.not.to.contain('parlance_up');
  });

  it('has the free space of FILES_DIR in processes that store files, and leaves it out if the folder cannot be read', async () => {
    const url = await start({ storesFiles: true }, { FILES_DIR: '/tmp/a folder that/does not exist yet' });
    const value = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name}\\{.*\\} (\\S+)$`, 'm').exec((await read(`${url}/metrics`)).text)?.[1]);
    expect(await value('parlance_files_disk_size_bytes')).to.be.above(0);
    expect(await value('parlance_files_disk_free_bytes')).to.be.within(0, await value('parlance_files_disk_size_bytes'));
    const missing = await start({ storesFiles: true }, { FILES_DIR: '/etc/passwd/files' });
    expect((await read(`${missing}/metrics`)).text).not.to.match(/^parlance_files_disk/m);
  });

  it('GET /healthz answers 200, and 503 with the fault if there is one', async () => {
    let fault: string | null = null;
    const url = await start({ findFault: () => fault });
    expect(await read(`${url}/healthz`)).to.deep.equal({ status: 200, type: 'application/json', text: '{"ok":true}' });
    fault = 'the sweeps are stuck';
    expect(await read(`${url}/healthz`)).to.include({ status: 503, text: '{"ok":false,"fault":"the sweeps are stuck"}' });
  });

  for (const [method, path, status] of [
    ['GET', '/', 404],
    ['GET', '/metrics/', 404],
    ['POST', '/metrics', 405],
    ['HEAD', '/healthz', 200],
  ] as const)
    it(`${method} ${path} answers ${status}`, async () =>
      expect((await fetch(`${await start()}${path}`, { method })).status).to.equal(status));

  it('registers its address while it runs, and serves although Redis is unavailable', async () => {
    const url = await start({}, {}, 'gateway');
    expect(await platform.listProcesses()).to.deep.include.members([{ name: (await platform.listProcesses())[0]?.name, url }]);
    expect((await platform.listProcesses())[0]?.name).to.match(/^gateway:[0-9a-f]{12}$/);
    await running.pop()?.close();
    expect(await platform.listProcesses()).to.deep.equal([]);
    const unavailable = () => Promise.reject(new Error('unavailable'));
    const { registry } = createMetrics('api');
    const alone = await startMonitoring({ ...platform, registerProcess: unavailable, unregisterProcess: unavailable }, 'api', registry);
    running.push(alone);
    expect((await read(`http://127.0.0.1:${alone.port}/healthz`)).status).to.equal(200);
  });

  it('listens on loopback only by default; with METRICS_HOST=0.0.0.0 it registers an address that other machines reach', async () => {
    expect([settings.METRICS_HOST.defaultText, settings.METRICS_PORT.defaultText]).to.deep.equal(['127.0.0.1', '0']);
    const [outside] = Object.values(networkInterfaces()).flatMap(
      (list) => list?.filter((one) => one.family === 'IPv4' && !one.internal) ?? [],
    );
    if (!outside) return;
    const local = new URL(await start());
    const error = await new Promise((resolve) => request({ host: outside.address, port: local.port }, resolve).on('error', resolve).end());
    expect(error).to.be.instanceOf(Error);
    await start({}, { METRICS_HOST: '0.0.0.0' }, 'worker');
    const address = (await platform.listProcesses()).find(({ name }) => name.startsWith('worker:'));
    expect(new URL(address?.url ?? '').hostname).to.equal(outside.address);
  });

  it('refuses a METRICS_HOST that is not an IP address', () => {
    const env = { MONGODB_URL: 'mongodb://x/x', REDIS_URL: 'redis://x', APP_KEY: config.APP_KEY.toString('base64') };
    for (const METRICS_HOST of ['', 'localhost', '10.0.0.1:80'])
      expect(() => readConfig({ ...env, METRICS_HOST })).to.throw('METRICS_HOST must be an IP address');
    expect(readConfig({ ...env, METRICS_HOST: '::1' }).METRICS_HOST).to.equal('::1');
  });
});
