import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { makeOwnFolder } from '../../local-database/own-folder.ts';
import { writeSecret } from './data-folder.ts';
import { isOlder, readVersion, readWriters, unreadableDataError, type Writer } from './data-writers.ts';
import { debianRuntime, findOnPath, hasDebianTools, type Recipe, type Report } from './debian.ts';
import { cacheFolder } from './folders.ts';
import { isAlive } from './lock.ts';
import { freePort, probe } from './probe.ts';
import { type SupervisedProcess, startProcess } from './supervised-process.ts';

const formerStopMs = 5000;

/** A Redis to use; `child` is absent if it was not started here. */
export interface RedisStore {
  url: string;
  child?: SupervisedProcess;
  /** The program that writes the data; absent if it was not started here. */
  writer?: Writer;
}

/** How to start a Redis. */
export interface RedisOptions {
  /** Its files are stored in `redis` in this folder. */
  dataDir: string;
  /** If false, nothing is written to disk. */
  durable: boolean;
  supervise: boolean;
  /** If true, starts a Redis even if `REDIS_URL` is set. */
  own?: boolean;
  report: Report;
}

/** Redis from Debian packages. */
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

/** The oldest Redis version that Parlance works with. Every Valkey version is newer. */
const oldestVersion = '7.0';

/** A `redis-server` or `valkey-server` that can be started here. */
export interface RedisProgram {
  command: string;
  /** The program and version to record as the writer of the data. */
  writer: Writer;
}

/**
 * Finds a program to start: a `redis-server` or `valkey-server` on the PATH, or Debian's `redis-server` package. `PARLANCE_REDIS=path|package` forces one of
 * them. Skips a program older than 7.0, and one that is older than or different from `former`, which wrote the data. Returns the reasons if there is none.
 */
export async function findRedisProgram(report: Report, former?: Writer): Promise<RedisProgram | { reasons: string[] }> {
  const forced = process.env.PARLANCE_REDIS;
  const reasons: string[] = [];
  const programs = [
    ...(forced === 'package' ? [] : await onPath(reasons)),
    ...(forced === 'path' ? [] : [() => fromPackage(report, reasons)]),
  ];
  for (const find of programs) {
    const command = await find();
    if (!command) continue;
    const writer = await writerOf(command);
    const problem = problemOf(writer, former);
    if (problem === undefined) return { command, writer };
    reasons.push(`${command} is ${problem}`);
  }
  return { reasons };
}

/** Finds or starts a Redis: the one at `REDIS_URL`, or a program from `findRedisProgram`. Throws one error that says what to do. */
export async function openRedis(options: RedisOptions): Promise<RedisStore> {
  if (process.env.REDIS_URL && !process.env.PARLANCE_REDIS && !options.own) return { url: process.env.REDIS_URL };
  const { redis: former } = await readWriters(options.dataDir);
  const found = await findRedisProgram(options.report, former);
  if ('command' in found) return { ...(await startRedis(found.command, options)), writer: found.writer };
  if (former) throw unreadableDataError(options.dataDir, former, found.reasons, 'REDIS_URL');
  throw new Error(
    `No Redis was found: ${found.reasons.join('; ')}. Set REDIS_URL, run "docker compose up", or install redis-server ${oldestVersion} or newer.`,
  );
}

async function onPath(reasons: string[]): Promise<(() => Promise<string>)[]> {
  const found = await Promise.all(['redis-server', 'valkey-server'].map((name) => findOnPath([name])));
  const programs = found.filter((program) => program !== undefined);
  if (programs.length === 0) reasons.push('no redis-server on the PATH');
  return programs.map((program) => async () => program);
}

async function fromPackage(report: Report, reasons: string[]): Promise<string | undefined> {
  if (!(await hasDebianTools())) return void reasons.push('Debian packages cannot be used here (this needs apt-get and dpkg-deb)');
  const runtime = await debianRuntime(redisRecipe, cacheFolder(), (line) => report(`redis: ${line}`)).catch(
    (error: Error) => void reasons.push(error.message),
  );
  return runtime && join(runtime, 'bin/redis-server');
}

/** Determines the program and version of a command. A command named redis-server may be Valkey. */
async function writerOf(command: string): Promise<Writer> {
  const { text, version } = await readVersion(command);
  return { program: /valkey/i.test(text) ? 'valkey' : 'redis', version };
}

/** Why a program must not use the data; undefined if it may. */
function problemOf({ program, version }: Writer, writer: Writer | undefined): string | undefined {
  if (version !== null && isOlder(version, oldestVersion)) return `version ${version}, but ${oldestVersion} or newer is required`;
  if (!writer) return undefined;
  if (program !== writer.program) return `${program} ${version ?? ''}`.trim();
  return version !== null && writer.version !== null && isOlder(version, writer.version) ? `version ${version}` : undefined;
}

async function startRedis(command: string, options: RedisOptions): Promise<RedisStore> {
  const folder = join(options.dataDir, 'redis');
  await makeOwnFolder(folder, 0o700);
  const pidFile = join(folder, 'redis.pid');
  await waitForFormer(pidFile);
  const port = await freePort();
  const password = randomBytes(24).toString('base64url');
  // The password is in a file because every user of the machine can see the arguments of a process.
  const settingsFile = join(folder, 'redis.conf');
  writeSecret(settingsFile, `requirepass ${password}\n`);
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
  const child = await startProcess({
    name: 'redis',
    command,
    args: [settingsFile, ...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])],
    cwd: folder,
    supervise: options.supervise,
    ready: () => probe(port, `AUTH ${password}\r\nPING\r\n`, '+OK\r\n+PONG'),
  });
  return { url: `redis://:${password}@127.0.0.1:${port}`, child };
}

/** Waits up to 5 s for a former Redis. After its parent was killed it still shuts down gracefully, and two processes must not write one append-only file. */
async function waitForFormer(pidFile: string): Promise<void> {
  const pid = Number(await readFile(pidFile, 'utf8').catch(() => '0'));
  for (const giveUpAt = Date.now() + formerStopMs; pid > 0 && isAlive(pid) && Date.now() < giveUpAt; ) await sleep(20);
}
