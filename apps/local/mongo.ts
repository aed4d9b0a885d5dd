import { createHash } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DryMongoBinary, MongoBinary } from 'mongodb-memory-server-core';
import { MongoBinaryDownloadUrl } from 'mongodb-memory-server-core/lib/util/MongoBinaryDownloadUrl.js';
import { clusterCommand, copyTemplate, makeTemplate, probeCluster, templateRevision } from '../../local-database/cluster.ts';
import { makeOwnFolder } from '../../local-database/own-folder.ts';
import { probeGateway } from '../../local-database/probe.ts';
import { documentdbRecipe, runtimeLayout } from '../../local-database/recipe.ts';
import { gatewayUrl } from '../../local-database/server.ts';
import { isOlder, readVersion, readWriters, recognizeDatabase, unreadableDataError, type Writer } from './data-writers.ts';
import { debianRuntime, debianRuntimeFolder, findOnPath, hasDebianTools, type Report } from './debian.ts';
import { cacheFolder, reachableFolder, replacementFolder, socketFolder, unprivilegedOwner } from './folders.ts';
import { withLock } from './lock.ts';
import { probe } from './probe.ts';
import { type Owner, type SupervisedProcess, startProcess } from './supervised-process.ts';

/** A MongoDB to use; without processes if it was not started here. */
export interface MongoStore {
  /** The URL without a database name. */
  url: string;
  mongod?: SupervisedProcess;
  postgres?: SupervisedProcess;
  gateway?: SupervisedProcess;
  /** The program that writes the data; absent if it was not started here. */
  writer?: Writer;
}

/** How to start a database. */
export interface MongoOptions {
  /** Its files are stored in `mongod` or `documentdb` in this folder. */
  dataDir: string;
  /** If false, writes are faster, but a crash of the process may lose them; for disposable data. */
  durable: boolean;
  supervise: boolean;
  /** If true, starts a database even if `MONGODB_URL` is set. */
  own?: boolean;
  report: Report;
}

const choices = ['mongod', 'download', 'documentdb'] as const;
const downloadProbeMs = 3000;
const sharedCache = '/var/cache/parlance';
const sharedData = '/var/lib/parlance';

/**
 * Finds or starts a MongoDB, in this order: `MONGODB_URL`; a `mongod` on the PATH; one that mongodb-memory-server has or can download; DocumentDB from Debian
 * packages. `PARLANCE_MONGO=mongod|download|documentdb` forces one of the last three. Existing data is only used by the program that wrote it, never in an
 * older version. Throws one error that says what to do.
 */
export async function openMongo(options: MongoOptions): Promise<MongoStore> {
  const forced = process.env.PARLANCE_MONGO;
  if (forced && !choices.some((choice) => choice === forced))
    throw new Error(`PARLANCE_MONGO must be one of ${choices.join(', ')}, not ${forced}.`);
  if (process.env.MONGODB_URL && !forced && !options.own) return { url: process.env.MONGODB_URL };
  const writer = await writerOf(options.dataDir, forced);
  const reasons: string[] = [];
  const attempt = async (choice: (typeof choices)[number], start: () => Promise<MongoStore>) => {
    if (forced && forced !== choice) return undefined;
    if (writer && (writer.program === 'documentdb') !== (choice === 'documentdb')) return undefined;
    return start().catch((error: Error) => void reasons.push(error.message));
  };
  const store =
    (await attempt('mongod', () => startFromPath(options, writer))) ??
    (await attempt('download', () => startDownloaded(options, writer))) ??
    (await attempt('documentdb', () => startDocumentdb(options, writer)));
  if (store) return store;
  if (writer)
    throw unreadableDataError(options.dataDir, writer, reasons.length > 0 ? reasons : [`PARLANCE_MONGO is ${forced}`], 'MONGODB_URL');
  throw new Error(`No MongoDB was found: ${reasons.join('; ')}. Set MONGODB_URL, run "docker compose up", or install mongod.`);
}

/** The recorded writer of a data folder's database, else the one its files show; undefined without data. If there are two databases, `forced` decides. */
async function writerOf(dataDir: string, forced: string | undefined): Promise<Writer | undefined> {
  const { mongo } = await readWriters(dataDir);
  if (mongo) return mongo;
  const homes = [join(dataDir, 'documentdb'), join(replacementFolder(dataDir, sharedData), 'documentdb')];
  const found = await recognizeDatabase(join(dataDir, 'mongod'), homes);
  if (found !== 'both') return found;
  if (forced) return undefined;
  throw new Error(
    `${dataDir} contains data of both mongod and DocumentDB. Start once with PARLANCE_MONGO set to the one to use (mongod or documentdb), or use another DATA_DIR.`,
  );
}

async function startFromPath(options: MongoOptions, writer: Writer | undefined): Promise<MongoStore> {
  const program = await findOnPath(['mongod']);
  if (!program) throw new Error('no mongod on the PATH');
  return startMongod(program, options, writer);
}

async function startDownloaded(options: MongoOptions, writer: Writer | undefined): Promise<MongoStore> {
  const binary = await DryMongoBinary.generateOptions({ downloadDir: join(cacheFolder(), 'mongod') });
  const cached = await DryMongoBinary.locateBinary(binary);
  if (cached) return startMongod(cached, options, writer);
  // If data or programs of an earlier DocumentDB start exist, use those instead of asking the network.
  const isForced = process.env.PARLANCE_MONGO === 'download';
  if (!isForced && (await isDocumentdbPrepared(options))) throw new Error('mongod was not downloaded');
  const url = await new MongoBinaryDownloadUrl(binary).getDownloadUrl();
  const response = await fetch(url, { method: 'HEAD', signal: AbortSignal.timeout(downloadProbeMs) }).catch(() => undefined);
  if (!response?.ok) throw new Error('mongod could not be downloaded');
  options.report(`downloading mongod ${binary.version}`);
  return startMongod(await MongoBinary.getPath(binary), options, writer);
}

async function isDocumentdbPrepared({ dataDir }: MongoOptions): Promise<boolean> {
  const folders = [join(dataDir, 'documentdb'), debianRuntimeFolder(documentdbRecipe, cacheFolder())];
  return (await Promise.all(folders.map(exists))).some(Boolean);
}

/** Starts a standalone mongod. It acknowledges `w: majority, j: true` once the write is in its journal. */
async function startMongod(command: string, options: MongoOptions, writer: Writer | undefined): Promise<MongoStore> {
  const { version } = await readVersion(command);
  if (version && writer?.version && isOlder(version, writer.version)) throw new Error(`${command} is version ${version}`);
  const folder = join(options.dataDir, 'mongod');
  await makeOwnFolder(folder, 0o700);
  // The database has no password. Anyone who can enter the folder of the socket can use it, so only this user may.
  const socketDir = socketFolder(options.dataDir, 'mongod-run');
  await makeOwnFolder(socketDir, 0o700);
  const socket = join(socketDir, 'mongod.sock');
  const mongod = await startProcess({
    name: 'mongod',
    command,
    args: ['--dbpath', folder, '--bind_ip', socket, '--nounixsocket', '--filePermissions', '0700'],
    supervise: options.supervise,
    ready: () => probe(socket),
  });
  return { url: `mongodb://${encodeURIComponent(socket)}/?directConnection=true`, mongod, writer: { program: 'mongod', version } };
}

async function startDocumentdb(options: MongoOptions, writer: Writer | undefined): Promise<MongoStore> {
  const { report, durable, supervise } = options;
  if (!(await hasDebianTools())) throw new Error('Debian packages cannot be used here (this needs apt-get and dpkg-deb)');
  const owner = await unprivilegedOwner();
  const cache = await reachableFolder(cacheFolder(), sharedCache, owner, report);
  const runtime = await debianRuntime(documentdbRecipe, cache, (line) => report(`documentdb: ${line}`));
  const { major } = runtimeLayout(runtime);
  if (writer?.version && writer.version !== major) throw new Error(`only PostgreSQL ${major} is available`);
  const home = join(await reachableFolder(options.dataDir, sharedData, owner, report), 'documentdb');
  await makeOwnFolder(home, 0o711);
  const folder = join(home, 'data');
  if (!(await exists(folder))) {
    const template = await templateFolder(runtime, owner, report);
    const partial = `${folder}.new`;
    await rm(partial, { recursive: true, force: true });
    await copyTemplate(join(template, 'data'), partial, durable);
    await rename(partial, folder);
  }
  const socketDir = socketFolder(home);
  const postgres = await startProcess({
    name: 'postgres',
    ...(await clusterCommand(runtime, folder, { socketDir, durable }, owner)),
    ...(owner && { owner }),
    stopSignal: 'SIGINT',
    stopMs: 20_000,
    supervise,
    ready: () => probeCluster(socketDir),
  });
  try {
    const gatewayDir = socketFolder(home, 'gateway');
    await makeOwnFolder(gatewayDir, 0o700);
    const socket = join(gatewayDir, 'gateway.sock');
    const gateway = await startProcess({
      ...gatewayCommand(socketDir, socket),
      name: 'gateway',
      supervise,
      ready: () => probeGateway(socket),
    });
    return { url: gatewayUrl(socket), postgres, gateway, writer: { program: 'documentdb', version: major } };
  } catch (error) {
    await postgres.stop();
    throw error;
  }
}

/** The command that starts the gateway. Run from source, it needs the TypeScript loader. */
function gatewayCommand(socketDir: string, path: string): { command: string; args: string[]; cwd: string } {
  const here = fileURLToPath(import.meta.url);
  const isSource = here.endsWith('.ts');
  const main = join(dirname(here), '../../local-database', isSource ? 'main.ts' : 'main.js');
  return { command: process.execPath, args: [...(isSource ? ['--import', 'tsx'] : []), main, socketDir, path], cwd: dirname(here) };
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
