import { randomBytes } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join, relative, resolve } from 'node:path';
import { Plain } from './say.ts';

/** The folder that everything local is kept in: `DATA_DIR`, else `.data` of this clone. Made when it is missing. */
export function dataFolder(): string {
  const folder = resolve(process.env.DATA_DIR || '.data');
  mkdirSync(folder, { recursive: true });
  return folder;
}

/** Writes a file that only its owner may read, whole or not at all. */
export function writeSecret(path: string, text: string): void {
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, text, { mode: 0o600 });
  chmodSync(draft, 0o600);
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

/**
 * Claims the folder for this process; throws `Plain` when a running one has it. A socket tells the living from the dead better than a
 * process id, which another program may have by now.
 */
export async function claim(folder: string): Promise<() => void> {
  const path = relative('.', join(folder, 'running.sock'));
  if (process.platform === 'win32' || path.length > 100) return () => undefined;
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
