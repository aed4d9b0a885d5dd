import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { makeOwnFolder } from './own-folder.ts';
import { PostgresConnection } from './postgres/connection.ts';
import { type RuntimeLayout, runtimeLayout } from './recipe.ts';
import { type ClusterSettings, clusterSettings } from './settings.ts';

/** A user and group by number. */
export interface ClusterOwner {
  uid: number;
  gid: number;
}

/** Parlance's settings file in the cluster, included by Postgres' own settings and rewritten at each start. */
const settingsFile = 'parlance.conf';
const initArguments = [
  '-U',
  'postgres',
  '--locale-provider=builtin',
  '--builtin-locale=C.UTF-8',
  '--locale=C',
  '-E',
  'UTF8',
  '-A',
  'trust',
  '--no-sync',
];
const extensionStatements = [
  'CREATE EXTENSION documentdb CASCADE',
  'CREATE EXTENSION documentdb_extended_rum',
  // The gateway builds indexes immediately; these jobs would start a process each second and find nothing to do.
  "SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname LIKE 'documentdb_index_build_task%'",
];

/** Increase this when anything that a template is made from changes, except the runtime. */
export const templateRevision = 2;

/**
 * Makes a stopped cluster with the extensions at `folder`, which must not exist yet. Its server listens in `socketDir` meanwhile. Root must pass an `owner`,
 * because Postgres does not run as root.
 */
export async function makeTemplate(runtime: string, folder: string, socketDir: string, owner?: ClusterOwner): Promise<void> {
  const layout = runtimeLayout(runtime);
  for (const path of [folder, socketDir]) await makeOwnFolder(path, 0o700, owner);
  await promisify(execFile)(layout.initdb, ['-D', folder, ...initArguments], {
    env: { ...process.env, TZ: 'GMT', LC_ALL: 'C' },
    cwd: folder,
    ...owner,
  });
  await appendFile(join(folder, 'postgresql.conf'), `\ninclude '${settingsFile}'\n`);
  await writeSettings(folder, { socketDir, durable: false }, owner);
  const server = spawn(layout.postgres, ['-D', folder], { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'], ...owner });
  let errorOutput = '';
  server.stderr?.on('data', (chunk: Buffer) => {
    errorOutput = (errorOutput + chunk.toString()).slice(-2000);
  });
  try {
    const connection = await connectWhenReady(socketDir, server, () => errorOutput);
    for (const [index, text] of extensionStatements.entries()) await connection.query({ name: `extension_${index}`, text }, []);
    connection.destroy();
  } finally {
    await stopServer(server);
    await rm(socketDir, { recursive: true, force: true });
  }
}

/** Copies a template to `folder`, which must not exist yet. */
export async function copyTemplate(template: string, folder: string, durable: boolean): Promise<void> {
  await promisify(execFile)('cp', ['-a', template, folder]);
  // Without the sync, a crash of the machine could lose the copy. Where `sync` cannot sync a single file system, nothing is synced.
  if (durable) await promisify(execFile)('sync', ['-f', folder]).catch(() => undefined);
}

/** How to start the server of the cluster in `folder`: run it as `owner` and stop it with SIGINT. Writes its settings file. */
export async function clusterCommand(
  runtime: string,
  folder: string,
  settings: ClusterSettings,
  owner?: ClusterOwner,
): Promise<{ command: string; args: string[]; cwd: string }> {
  const layout: RuntimeLayout = runtimeLayout(runtime);
  await makeOwnFolder(settings.socketDir, 0o700, owner);
  await writeSettings(folder, settings, owner);
  return { command: layout.postgres, args: ['-D', folder], cwd: folder };
}

/** Resolves when the server behind `socketDir` responds to a query. Rejects with `PostgresUnavailable` or the server's error. */
export async function probeCluster(socketDir: string): Promise<void> {
  const connection = await PostgresConnection.open(socketDir);
  await connection.query({ name: 'probe', text: 'SELECT 1' }, []).finally(() => connection.destroy());
}

async function writeSettings(folder: string, settings: ClusterSettings, owner?: ClusterOwner): Promise<void> {
  const path = join(folder, settingsFile);
  // Another user, the owner, controls the folder. A newly created file does not follow a link placed there.
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(clusterSettings(settings));
    if (owner) await file.chown(owner.uid, owner.gid);
  } finally {
    await file.close();
  }
}

async function connectWhenReady(socketDir: string, server: ChildProcess, errorOutput: () => string): Promise<PostgresConnection> {
  for (;;) {
    const connection = await PostgresConnection.open(socketDir).catch(() => undefined);
    if (connection) return connection;
    if (server.exitCode !== null || server.signalCode !== null) throw new Error(`Postgres did not start: ${errorOutput().trim()}`);
    await sleep(20);
  }
}

async function stopServer(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  server.kill('SIGINT');
  await once(server, 'exit');
}
