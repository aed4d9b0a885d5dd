import { createHash } from 'node:crypto';
import { chmod, mkdir, readFile, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { Report } from './debian.ts';
import type { Owner } from './supervised-process.ts';

/** A unix socket path has at most 107 bytes; the socket's own name takes up to 20. */
const maxSocketDirBytes = 86;

/** The folder for runtimes: `PARLANCE_CACHE`, else `runtime` in `DATA_DIR`, else in `.data`. */
export function cacheFolder(): string {
  return resolve(process.env.PARLANCE_CACHE ?? join(process.env.DATA_DIR ?? '.data', 'runtime'));
}

/** The user to run Postgres as if this process is root, because Postgres refuses to run as root; undefined otherwise. */
export async function unprivilegedOwner(): Promise<Owner | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '');
  const match = /^nobody:[^:]*:(\d+):(\d+):/m.exec(users);
  return { uid: Number(match?.[1] ?? 65_534), gid: Number(match?.[2] ?? 65_534) };
}

/**
 * Returns `folder` if `owner` can reach it. Otherwise (such as below root's home) it returns a folder below `elsewhere`, named by a digest of the path so that
 * the next start finds it again, and reports it.
 */
export async function reachableFolder(folder: string, elsewhere: string, owner: Owner | undefined, report: Report): Promise<string> {
  const wanted = resolve(folder);
  await mkdir(wanted, { recursive: true });
  if (!owner) return wanted;
  if (await isSearchable(dirname(wanted))) {
    const { mode } = await stat(wanted);
    if ((mode & 0o001) === 0) await chmod(wanted, (mode & 0o777) | 0o011);
    return wanted;
  }
  const other = replacementFolder(wanted, elsewhere);
  await mkdir(other, { recursive: true, mode: 0o711 });
  if (!(await isSearchable(other)))
    throw new Error(
      `PostgreSQL cannot run as root, and other users cannot access ${wanted}. Set DATA_DIR to a folder that all users can access.`,
    );
  report(`only root can access ${wanted}, so the database is stored in ${other}`);
  return other;
}

/** The folder below `elsewhere` that replaces `folder`. */
export const replacementFolder = (folder: string, elsewhere: string): string => join(elsewhere, digest(resolve(folder)));

/** A folder for a unix socket: `name` in `folder`, or a folder with a short path in the temporary folder if that path is too long. */
export function socketFolder(folder: string, name = 'run'): string {
  const near = join(folder, name);
  return Buffer.byteLength(near) <= maxSocketDirBytes ? near : join(tmpdir(), `parlance-${digest(near)}`);
}

async function isSearchable(folder: string): Promise<boolean> {
  for (let path = folder; ; path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) === 0) return false;
    if (path === dirname(path)) return true;
  }
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
