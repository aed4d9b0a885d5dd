import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { UserFacingError } from './terminal.ts';

/** The folder for all local data: `DATA_DIR`, else `.data` in the current folder. Created if it is missing. */
export function dataFolder(): string {
  const folder = resolve(process.env.DATA_DIR || '.data');
  mkdirSync(folder, { recursive: true, mode: 0o711 });
  return folder;
}

/** Writes a file atomically that only its owner may read. */
export function writeSecret(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  // `wx` creates a new file, so a link at this path is not followed.
  rmSync(draft, { force: true });
  writeFileSync(draft, text, { mode: 0o600, flag: 'wx' });
  renameSync(draft, path);
}

/** The APP_KEY of the environment, else the one stored in the folder, else a new one, which is then stored in the folder. */
export function appKey(folder: string): string {
  if (process.env.APP_KEY) return process.env.APP_KEY;
  const path = join(folder, 'app.key');
  if (existsSync(path)) return readFileSync(path, 'utf8').trim();
  const key = randomBytes(32).toString('base64');
  writeSecret(path, `${key}\n`);
  return key;
}

/** The path of the socket that claims a folder; null on Windows and if the path is too long. */
function socketOf(folder: string): string | null {
  const path = relative('.', join(folder, 'running.sock'));
  return process.platform === 'win32' || path.length > 100 ? null : path;
}

/**
 * Claims the folder for this process and returns a function that releases it. Throws `UserFacingError` if a running process holds it. A socket shows whether
 * its process still runs; a process id may belong to another program by now.
 */
export async function claimFolder(folder: string): Promise<() => void> {
  const path = socketOf(folder);
  if (path === null) return () => undefined;
  for (let tries = 0; tries < 2; tries++) {
    const server = await listen(path);
    if (server)
      return () => {
        server.close();
      };
    if (await isServed(path)) break;
    rmSync(path, { force: true });
  }
  throw new UserFacingError(`Parlance is already running from ${folder}. Stop it first, or set DATA_DIR to another folder.`);
}

/** The settings with which other commands on this machine connect to the instance that runs from a folder. */
export type RunningEnv = Readonly<Record<string, string>>;

const runningFile = (folder: string): string => join(folder, 'running.json');

/**
 * Stores the settings of the instance that runs from `folder`. Only the owner can read them, as they may contain passwords. Returns a function that deletes
 * the file.
 */
export function writeRunningEnv(folder: string, env: RunningEnv): () => void {
  writeSecret(runningFile(folder), `${JSON.stringify(env, null, 2)}\n`);
  return () => rmSync(runningFile(folder), { force: true });
}

/** The stored settings of the instance that runs from `folder`. Null if none runs, even if a crashed one left its file behind. */
export async function readRunningEnv(folder: string): Promise<RunningEnv | null> {
  const path = socketOf(folder);
  if (!existsSync(runningFile(folder)) || (path !== null && !(await isServed(path)))) return null;
  return JSON.parse(readFileSync(runningFile(folder), 'utf8')) as RunningEnv;
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((done, fail) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => (error.code === 'EADDRINUSE' ? done(undefined) : fail(error)));
    server.listen(path, () => done(server.unref()));
  });
}

/** Whether a process listens on the socket `path`. */
function isServed(path: string): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(path, () => {
      socket.destroy();
      done(true);
    });
    socket.once('error', () => done(false));
  });
}
