import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { parse } from 'yaml';
import { createLog } from '../../lib/base/log.ts';
import { openOpsPlatform } from '../../lib/store/platform.ts';
import type { ProcessAddress } from '../../lib/store/redis/process-addresses.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { testConfig } from '../harness/stores.ts';
import { storesOf } from '../operator/run-operator.ts';
import { findMetricNames } from './metric-names.ts';
import { findPrometheus, monitoringFolder, type Prometheus, startPrometheus } from './prometheus.ts';

interface Rule {
  name: string;
  query: string;
  health: string;
  lastError?: string;
  alerts: { labels: Record<string, string>; state: string }[];
}

describe('Prometheus that scrapes a whole installation', function () {
  const config = testConfig();
  const roles = ['api', 'gateway', 'ops', 'worker'];
  let stack: Stack;
  let prometheus: Prometheus;
  let processes: ProcessAddress[];

  /** Sends a request to the API; returns the body of its response. */
  async function call<T>(method: string, path: string, body: unknown, token?: string): Promise<T> {
    const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) };
    const response = await fetch(stack.apiUrl() + path, { method, headers, body: JSON.stringify(body) });
    expect(response.status, path).to.equal(201);
    return (await response.json()) as T;
  }

  before(async function () {
    this.timeout(600_000);
    const found = await findPrometheus();
    if (!found) return this.skip();
    const env = { ...storesOf(config), FILES_DIR: config.FILES_DIR, RATE_LIMIT: 'off', LOG_LEVEL: 'warn', STORE_TIMEOUT_FACTOR: '10' };
    stack = await startStack({ api: 1, gateway: 1, worker: 1, ops: 1 }, env);
    const platform = await openOpsPlatform(config, createLog('ops', 'silent'));
    processes = await platform.listProcesses();
    await platform.close();
    const account = { username: 'ada', displayName: 'Ada', password: 'a good password' };
    const ada = await call<{ token: string }>('POST', '/api/auth/register', account);
    // Its event makes a job for the worker.
    await call('POST', '/api/servers', { name: 'Analytical Engine' }, ada.token);
    prometheus = await startPrometheus(found.prometheus, processes);
  });
  after(async () => {
    await prometheus?.close();
    await stack?.close();
  });

  /** Runs `find` until it returns true. */
  const until = async (find: () => Promise<boolean>): Promise<void> => {
    while (!(await find())) await pause(200);
  };
  const listRules = async (): Promise<Rule[]> =>
    (await prometheus.call<{ groups: { rules: Rule[] }[] }>('rules')).groups.flatMap(({ rules }) => rules);

  it('finds every role through its registered address, and scrapes it', async () => {
    expect(processes.map(({ name }) => name.split(':')[0])).to.deep.equal(roles);
    await until(async () => (await prometheus.query('up == 1')).length === roles.length);
    const up = await prometheus.query('up');
    expect(up.map(({ metric }) => metric.job)).to.have.members(roles.map((role) => `parlance-${role}`));
  });

  it('each process serves its own health check', async () => {
    for (const { name, url } of processes) {
      const response = await fetch(`${url}/healthz`);
      expect([response.status, await response.json()], name).to.deep.equal([200, { ok: true }]);
    }
  });

  it('has every series that the rules and the dashboard use', async () => {
    const texts = ['rules.yml', 'grafana-dashboard.json'].map((file) => readFileSync(join(monitoringFolder, file), 'utf8'));
    for (const name of findMetricNames(texts.join())) {
      // These exist once a bot uses an endpoint, or a socket opens or closes.
      if (/^parlance_(endpoint_|sockets|socket_closes)/.test(name)) continue;
      await until(async () => (await prometheus.query(`{__name__=~"${name}(_count)?"}`)).length > 0);
    }
    for (const query of [
      'parlance_job_seconds_count{exported_job!=""}',
      'parlance_http_seconds_count{status="201"}',
      'parlance_invalid_sessions_total{reason="events_lost"} == 0',
    ])
      await until(async () => (await prometheus.query(query)).length > 0);
  });

  it('evaluates every rule without an error, and no alert of a fault fires', async () => {
    const { groups } = parse(readFileSync(join(monitoringFolder, 'rules.yml'), 'utf8')) as { groups: { rules: { alert: string }[] }[] };
    const expected = groups.flatMap(({ rules }) => rules.map(({ alert }) => alert));
    await until(async () => (await listRules()).every(({ health }) => health !== 'unknown'));
    const rules = await listRules();
    expect(rules.map(({ name }) => name)).to.deep.equal(expected);
    for (const { name, health, lastError } of rules) expect([health, lastError ?? ''], name).to.deep.equal(['ok', '']);
    // The Redis of the tests keeps nothing on disk, and the disk of the machine is what it is.
    const firing = rules.filter(({ alerts }) => alerts.length > 0).map(({ name }) => name);
    expect(firing.filter((name) => !/Misconfigured|Disk/.test(name))).to.deep.equal([]);
  });

  it('sees that a worker was killed: ParlanceProcessDown and ParlanceNoWorker become pending', async () => {
    await stack.workers[0]?.stop('SIGKILL');
    for (const [name, job] of [
      ['ParlanceProcessDown', 'parlance-worker'],
      ['ParlanceNoWorker', 'parlance-ops'],
    ])
      await until(async () =>
        (await listRules()).some((rule) => rule.name === name && rule.alerts.some(({ labels }) => labels.job === job)),
      );
  });
});
