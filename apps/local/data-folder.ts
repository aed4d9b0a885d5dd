import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { Plain } from './say.ts';

/** The folder that everything local is kept in: `DATA_DIR`, else `.data` of this clone. Made when it is missing. */
export function dataFolder(): string {
  const folder = resolve(process.env.DATA_DIR || '.data');
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return folder;
}

/** Writes a file that only its owner may read, whole or not at all. */
export function writeSecret(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  // A new file, so that no link which lies there is followed.
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** The APP_KEY of the environment, else the one kept in the folder, else a new one that is kept from now on. */
export function appKey(folder: string): string {
  if (process.env.APP_KEY) return process.env.APP_KEY;
  const path = join(folder, 'app.key');
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const key = randomBytes(32).toString('base64');
  writeSecret(path, `${key}\n`);
  return key;
}

/** The socket by which a folder is claimed; null where there can be none: on Windows, and where its path is too long. */
function socketOf(folder: string): string | null {
  const path = relative('.', join(folder, 'running.sock'));
  return process.platform === 'win32' || path.length > 100 ? null : path;
}

/**
 * Claims the folder for this process; throws `Plain` when a running one has it. A socket tells the living from the dead better than a
 * process id, which another program may have by now.
 */
export async function claim(folder: string): Promise<() => void> {
  const path = socketOf(folder);
  if (path === null) return () => undefined;
  for (let tries = 0; tries < 2; tries++) {
    const server = await listen(path);
    if (server)
      return () => {
        server.close();
      };
    if (await answers(path)) break;
    rmSync(path, { force: true });
  }
  throw new Plain(`Parlance already runs from ${folder}. Stop it first, or set DATA_DIR to another folder.`);
}

/** How other commands on this machine reach what runs from a folder: settings, by name. */
export type RunningEnv = Readonly<Record<string, string>>;

const runningFile = (folder: string): string => join(folder, 'running.json');

/** Notes the settings that what now runs from `folder` was started with, readable by the owner only; they may hold passwords. Answers what takes the note away. */
export function noteRunning(folder: string, env: RunningEnv): () => void {
  writeSecret(runningFile(folder), `${JSON.stringify(env, null, 2)}\n`);
  return () => rmSync(runningFile(folder), { force: true });
}

/** The settings noted for what runs from `folder`; null when nothing does, also when it died and left its note behind. */
export async function runningEnv(folder: string): Promise<RunningEnv | null> {
  const path = socketOf(folder);
  if (!existsSync(runningFile(folder)) || (path !== null && !(await answers(path)))) return null;
  return JSON.parse(readFileSync(runningFile(folder), 'utf8')) as RunningEnv;
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (fault: NodeJS.ErrnoException) => (fault.code === 'EADDRINUSE' ? done(undefined) : fail(fault)));
    server.listen(path, () => done(server.unref()));
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path, () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
