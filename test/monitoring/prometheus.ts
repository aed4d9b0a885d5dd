import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { debianRuntime, findOnPath, hasDebianTools, type Recipe } from '../../apps/local/debian.ts';
import { cacheFolder } from '../../apps/local/folders.ts';
import { freePort } from '../../apps/local/probe.ts';
import type { ProcessAddress } from '../../lib/store/redis/process-addresses.ts';

/** The folder of the configuration that operators use. */
export const monitoringFolder = resolve('deploy/monitoring');

/** Prometheus and promtool from Debian packages, without the pages. */
const recipe: Recipe = {
  id: 'prometheus-1',
  prefix: 'prometheus',
  plan: (available) => ({
    install: ['prometheus'],
    pretend: [
      'adduser',
      'fonts-glyphicons-halflings',
      'init-system-helpers',
      'libjs-bootstrap4',
      'libjs-eonasdan-bootstrap-datetimepicker',
      'libjs-jquery',
      'libjs-jquery-hotkeys',
      'libjs-moment',
      'libjs-moment-timezone',
      'libjs-mustache',
      'libjs-popper.js',
      'libjs-rickshaw',
      'systemd',
      ...available.filter((name) => name.startsWith('prometheus-')),
    ],
    keep: (path) => path === 'bin/prometheus' || path === 'bin/promtool' || /^share\/doc\/[^/]+\/copyright$/.test(path),
    programs: ['bin/prometheus', 'bin/promtool'],
  }),
};

/** The paths of the two programs: of the PATH, or of Debian's package. Null where neither is available. */
export async function findPrometheus(): Promise<{ prometheus: string; promtool: string } | null> {
  const [prometheus, promtool] = await Promise.all([findOnPath(['prometheus']), findOnPath(['promtool'])]);
  if (prometheus && promtool) return { prometheus, promtool };
  if (!(await hasDebianTools())) return null;
  const runtime = await debianRuntime(recipe, cacheFolder(), () => undefined);
  return { prometheus: join(runtime, 'bin/prometheus'), promtool: join(runtime, 'bin/promtool') };
}

/** Runs promtool in the folder of the configuration; resolves with its exit code and its output. */
export async function runPromtool(promtool: string, ...args: string[]): Promise<{ code: number; output: string }> {
  return promisify(execFile)(promtool, args, { cwd: monitoringFolder }).then(
    ({ stdout, stderr }) => ({ code: 0, output: stdout + stderr }),
    ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({ code, output: stdout + stderr }),
  );
}

interface PrometheusConfig {
  global: Record<string, string>;
  rule_files: string[];
  scrape_configs: { job_name: string; dns_sd_configs?: unknown; static_configs?: { targets: string[] }[] }[];
}

/** One series of an instant query. */
export interface QueriedSeries {
  metric: Record<string, string>;
  value: [at: number, value: string];
}

/** A running Prometheus. */
export interface Prometheus {
  /** Runs an instant query. */
  query(expression: string): Promise<QueriedSeries[]>;
  /** Calls its HTTP API; returns `data` of the answer. */
  call<T>(path: string): Promise<T>;
  close(): Promise<void>;
}

/**
 * Starts Prometheus with the configuration that operators use, scraping every second. The addresses of the processes, which Docker's DNS knows there, are those
 * of `processes` here.
 */
export async function startPrometheus(program: string, processes: readonly ProcessAddress[]): Promise<Prometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'parlance-prometheus-'));
  const config = parse(await readFile(join(monitoringFolder, 'prometheus.yml'), 'utf8')) as PrometheusConfig;
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' };
  config.rule_files = config.rule_files.map((file) => join(monitoringFolder, file));
  for (const job of config.scrape_configs) {
    const role = job.job_name.replace(/^parlance-/, '');
    delete job.dns_sd_configs;
    job.static_configs = [{ targets: processes.filter(({ name }) => name.startsWith(`${role}:`)).map(({ url }) => new URL(url).host) }];
  }
  await writeFile(join(folder, 'prometheus.yml'), stringify(config));
  const port = await freePort();
  const args = [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`];
  const child: ChildProcess = spawn(program, [...args, '--log.level=error'], { cwd: folder, stdio: 'inherit' });
  const ended = once(child, 'exit');
  const call = async <T>(path: string): Promise<T> => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/${path}`);
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
    if (status !== 'success') throw new Error(error);
    return data;
  };
  const isUp = (): Promise<boolean> =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
  while (child.exitCode === null && !(await isUp())) await pause(100);
  if (child.exitCode !== null) throw new Error(`Prometheus ended with ${child.exitCode}`);
  return {
    query: async (expression) => (await call<{ result: QueriedSeries[] }>(`query?query=${encodeURIComponent(expression)}`)).result,
    call,
    close: async () => {
      child.kill('SIGTERM');
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}
