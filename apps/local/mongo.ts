import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DryMongoBinary, MongoBinary } from 'mongodb-memory-server-core';
import { MongoBinaryDownloadUrl } from 'mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js';
import { type Child, type Owner, startChild } from './child.ts';
import { debianRuntime, debianRuntimeFolder, findOnPath, hasDebianTools, type Report } from './debian.ts';
import { clusterCommand, copyTemplate, makeTemplate, probeCluster, templateRevision } from './documentdb/cluster.ts';
import { probeGateway } from './documentdb/probe.ts';
import { documentdbRecipe } from './documentdb/recipe.ts';
import { gatewayUrl } from './documentdb/server.ts';
import { cacheFolder, reachableFolder, socketFolder, unprivilegedOwner } from './folders.ts';
import { withLock } from './lock.ts';
import { freePort, probePort } from './probe.ts';

/** A MongoDB to use; the processes are absent when they are not ours. */
export interface MongoStore {
  /** Without a database name. */
  url: string;
  mongod?: Child;
  postgres?: Child;
  gateway?: Child;
}

/** How to start a database of ours. */
export interface MongoOptions {
  /** Its files go to `mongod` or `documentdb` in it. */
  dataDir: string;
  /** False: quicker writes that may be lost with the process, for throw-away data. */
  durable: boolean;
  supervise: boolean;
  /** Leaves a database that `MONGODB_URL` names alone. */
  own?: boolean;
  report: Report;
}

const choices = ['mongod', 'download', 'documentdb'] as const;
const downloadProbeMs = 3000;
const sharedCache = '/var/cache/parlance';
const sharedData = '/var/lib/parlance';

/**
 * Finds or starts a MongoDB: `MONGODB_URL`; a `mongod` on the PATH; one that mongodb-memory-server has or can download; DocumentDB out of
 * Debian's packages. `PARLANCE_MONGO=mongod|download|documentdb` forces one of the latter three. Throws one error that names the choices.
 */
export async function openMongo(options: MongoOptions): Promise<MongoStore> {
  const forced = process.env.PARLANCE_MONGO;
  if (forced && !choices.some((choice) => choice === forced))
    throw new Error(`PARLANCE_MONGO is one of ${choices.join(', ')}, not ${forced}.`);
  if (process.env.MONGODB_URL && !forced && !options.own) return { url: process.env.MONGODB_URL };
  const reasons: string[] = [];
  const attempt = async (choice: (typeof choices)[number], start: () => Promise<MongoStore>) => {
    if (forced && forced !== choice) return undefined;
    return start().catch((error: Error) => void reasons.push(error.message));
  };
  const store =
    (await attempt('mongod', () => startFromPath(options))) ??
    (await attempt('download', () => startDownloaded(options))) ??
    (await attempt('documentdb', () => startDocumentdb(options)));
  if (store) return store;
  throw new Error(`No MongoDB: ${reasons.join('; ')}. Set MONGODB_URL, run "docker compose up", or install mongod.`);
}

async function startFromPath(options: MongoOptions): Promise<MongoStore> {
  const program = await findOnPath(['mongod']);
  if (!program) throw new Error('no mongod on the PATH');
  return startMongod(program, options);
}

async function startDownloaded(options: MongoOptions): Promise<MongoStore> {
  const binary = await DryMongoBinary.generateOptions({ downloadDir: join(cacheFolder(), 'mongod') });
  const cached = await DryMongoBinary.locateBinary(binary);
  if (cached) return startMongod(cached, options);
  // Data and programs of an earlier start are used again, without asking the network first.
  const isForced = process.env.PARLANCE_MONGO === 'download';
  if (!isForced && (await isDocumentdbPrepared(options))) throw new Error('no mongod downloaded');
  const url = await new MongoBinaryDownloadUrl(binary).getDownloadUrl();
  const answer = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(downloadProbeMs) }).catch(() => undefined);
  if (!answer?.ok) throw new Error('no mongod to download');
  options.report(`downloading mongod ${binary.version}`);
  return startMongod(await MongoBinary.getPath(binary), options);
}

async function isDocumentdbPrepared({ dataDir }: MongoOptions): Promise<boolean> {
  const folders = [join(dataDir, 'documentdb'), debianRuntimeFolder(documentdbRecipe, cacheFolder())];
  return (await Promise.all(folders.map(exists))).some(Boolean);
}

/** A standalone mongod acknowledges `w: majority, j: true` once the write is in its journal. */
async function startMongod(command: string, options: MongoOptions): Promise<MongoStore> {
  const folder = join(options.dataDir, 'mongod');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const port = await freePort();
  const mongod = await startChild({
    name: 'mongod',
    command,
    args: ['--dbpath', folder, '--port', String(port), '--bind_ip', '127.0.0.1', '--nounixsocket'],
    supervise: options.supervise,
    ready: () => probePort(port),
  });
  return { url: `mongodb://127.0.0.1:${port}/?directConnection=true`, mongod };
}

async function startDocumentdb(options: MongoOptions): Promise<MongoStore> {
  const { report, durable, supervise } = options;
  if (!(await hasDebianTools())) throw new Error('no Debian packages here (apt-get and dpkg-deb)');
  const owner = await unprivilegedOwner();
  const cache = await reachableFolder(cacheFolder(), sharedCache, owner, report);
  const runtime = await debianRuntime(documentdbRecipe, cache, (line) => report(`documentdb: ${line}`));
  const home = join(await reachableFolder(options.dataDir, sharedData, owner, report), 'documentdb');
  await mkdir(home, { recursive: true, mode: 0o711 });
  const folder = join(home, 'data');
  if (!(await exists(folder))) {
    const template = await templateFolder(runtime, owner, report);
    const partial = `${folder}.new`;
    await rm(partial, { recursive: true, force: true });
    await copyTemplate(join(template, 'data'), partial, durable);
    await rename(partial, folder);
  }
  const socketDir = socketFolder(home);
  const postgres = await startChild({
    name: 'postgres',
    ...(await clusterCommand(runtime, folder, { socketDir, durable }, owner)),
    ...(owner && { owner }),
    stopSignal: 'SIGINT',
    stopMs: 20_000,
    supervise,
    ready: () => probeCluster(socketDir),
  });
  try {
    const port = await freePort();
    const gateway = await startChild({ ...gatewayCommand(socketDir, port), name: 'gateway', supervise, ready: () => probeGateway(port) });
    return { url: gatewayUrl('127.0.0.1', port), postgres, gateway };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** From source the gateway needs the loader of TypeScript, compiled it needs none. */
function gatewayCommand(socketDir: string, port: number): { command: string; args: string[]; cwd: string } {
  const here = fileURLToPath(import.meta.url);
  const isSource = here.endsWith('.ts');
  const main = join(dirname(here), 'documentdb', isSource ? 'main.ts' : 'main.js');
  return { command: process.execPath, args: [...(isSource ? ['--import', 'tsx'] : []), main, socketDir, String(port)], cwd: dirname(here) };
}

async function templateFolder(runtime: string, owner: Owner | undefined, report: Report): Promise<string> {
  const user = owner ? 'nobody' : 'own';
  const digest = createHash('sha256')
    .update(`${templateRevision} ${basename(runtime)} ${user}`)
    .digest('hex')
    .slice(0, 8);
  const target = `${runtime}-template-${digest}`;
  if (await exists(target)) return target;
  return withLock(`${target}.lock`, async () => {
    if (await exists(target)) return target;
    report('documentdb: preparing an empty database');
    const partial = `${target}.new`;
    await rm(partial, { recursive: true, force: true });
    await mkdir(partial, { mode: 0o755 });
    await makeTemplate(runtime, join(partial, 'data'), socketFolder(partial), owner);
    await rename(partial, target);
    return target;
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
