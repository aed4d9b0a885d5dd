import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Child, startChild } from './child.ts';
import { debianRuntime, findOnPath, hasDebianTools, type Recipe, type Report } from './debian.ts';
import { cacheFolder } from './folders.ts';
import { isAlive } from './lock.ts';
import { freePort, probePort } from './probe.ts';

const formerMs = 5000;

/** A Redis to use; `child` is absent when it is not ours. */
export interface RedisStore {
  url: string;
  child?: Child;
}

/** How to start a Redis of ours. */
export interface RedisOptions {
  /** Its files go to `redis` in it. */
  dataDir: string;
  /** False: nothing is written to disk. */
  durable: boolean;
  supervise: boolean;
  /** Leaves a Redis that `REDIS_URL` names alone. */
  own?: boolean;
  report: Report;
}

/** Redis out of Debian packages. */
const redisRecipe: Recipe = {
  id: 'redis-1',
  prefix: 'redis-server',
  plan: () => ({
    install: ['redis-server'],
    pretend: [
      'systemd',
      'systemd-standalone-sysusers',
      'adduser',
      'sysvinit-utils',
      'lsb-base',
      'procps',
      'libc-bin',
      'debconf',
      'perl-base',
    ],
    keep: (path) => path === 'bin/redis-server' || /^share\/doc\/[^/]+\/copyright$/.test(path),
    programs: ['bin/redis-server'],
  }),
};

/**
 * Finds or starts a Redis: `REDIS_URL`, a `redis-server` or `valkey-server` on the PATH, or one of Debian's packages. `PARLANCE_REDIS=path|package`
 * forces one of the latter two. Throws one error that names the choices.
 */
export async function openRedis(options: RedisOptions): Promise<RedisStore> {
  const forced = process.env.PARLANCE_REDIS;
  if (process.env.REDIS_URL && !forced && !options.own) return { url: process.env.REDIS_URL };
  const reasons: string[] = [];
  if (forced !== 'package') {
    const program = await findOnPath(['redis-server', 'valkey-server']);
    if (program) return startRedis(program, options);
    reasons.push('no redis-server on the PATH');
  }
  if (forced !== 'path') {
    const runtime = (await hasDebianTools())
      ? await debianRuntime(redisRecipe, cacheFolder(), (line) => options.report(`redis: ${line}`)).catch(
          (error: Error) => void reasons.push(error.message),
        )
      : void reasons.push('no Debian packages here (apt-get and dpkg-deb)');
    if (runtime) return startRedis(join(runtime, 'bin/redis-server'), options);
  }
  throw new Error(`No Redis: ${reasons.join('; ')}. Set REDIS_URL, run "docker compose up", or install redis-server.`);
}

async function startRedis(command: string, options: RedisOptions): Promise<RedisStore> {
  const folder = join(options.dataDir, 'redis');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pidFile = join(folder, 'redis.pid');
  await formerGone(pidFile);
  const port = await freePort();
  const settings: Record<string, string> = {
    bind: '127.0.0.1',
    port: String(port),
    dir: folder,
    save: '',
    appendonly: options.durable ? 'yes' : 'no',
    appendfsync: 'everysec',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    pidfile: pidFile,
  };
  const child = await startChild({
    name: 'redis',
    command,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    cwd: folder,
    supervise: options.supervise,
    ready: () => probePort(port, 'PING\r\n', '+PONG'),
  });
  return { url: `redis://127.0.0.1:${port}`, child };
}

/** After its parent was killed a Redis still ends in order; two must not write one log. */
async function formerGone(pidFile: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => '0'));
  for (const giveUpAt = Date.now() + formerMs; pid > 0 && isAlive(pid) && Date.now() < giveUpAt; ) await sleep(20);
}
