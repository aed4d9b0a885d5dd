import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Writable } from 'node:stream';
import { BackupError } from '../../lib/domain/backup/contents.ts';
import type { BackupSource } from '../../lib/domain/backup/restore.ts';
import { syncToDisk } from '../../lib/store/files/folder.ts';

/** Where a backup is written to. */
export interface BackupDestination {
  output: Writable;
  /** The path of the backup; `-` for stdout. */
  path: string;
  /** Gives the complete backup its name, durably. Then deletes the oldest backups of the folder beyond `--keep`, and returns their names. */
  complete: () => Promise<string[]>;
  /** Deletes what was written. */
  discard: () => Promise<void>;
}

/** The names of backups in a folder sort by their age. */
const backupName = /^parlance-[\dTZ-]+\.tar\.gz$/;
/** The end of the name of a file that is being written. */
const partEnd = '.parlance-part';
/** When a file that is not written to belongs to a process that died, in milliseconds. */
const abandonedAfterMs = 3_600_000;

const findStats = (path: string) => stat(path).catch(() => null);

/** Deletes what backups left behind whose process died. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => one.endsWith(partEnd))) {
    const path = join(folder, name);
    if (Date.now() - ((await findStats(path))?.mtimeMs ?? Date.now()) > abandonedAfterMs) await rm(path, { force: true });
  }
}

/** Deletes the oldest backups of a folder beyond `keep`. Returns their names. */
async function removeOld(folder: string, keep: number): Promise<string[]> {
  const backups = (await readdir(folder)).filter((name) => backupName.test(name)).sort();
  const old = backups.slice(0, Math.max(0, backups.length - keep));
  for (const name of old) await rm(join(folder, name), { force: true });
  return old;
}

/**
 * Opens the destination of a backup: a new file, a folder, or `-` for stdout. A file is written under another name, so a file with its final name is complete.
 * Throws `BackupError` if the file exists, its folder does not, or `keep` is given without a folder.
 */
export async function openDestination(to: string, keep: number | undefined): Promise<BackupDestination> {
  const isInFolder = to !== '-' && ((await findStats(to))?.isDirectory() ?? false);
  if (keep !== undefined && !isInFolder) throw new BackupError(`--keep needs an existing folder, and ${to} is none.`);
  if (to === '-') return { output: process.stdout, path: to, complete: async () => [], discard: async () => undefined };
  const name = `parlance-${new Date().toISOString().replace(/[:.]/g, '-')}.tar.gz`;
  const path = resolve(isInFolder ? join(to, name) : to);
  const folder = dirname(path);
  if (!(await findStats(folder))?.isDirectory()) throw new BackupError(`The folder ${folder} does not exist.`);
  if (existsSync(path)) throw new BackupError(`${path} exists already. Choose another name.`);
  await removeAbandoned(folder);
  const part = join(folder, `.${basename(path)}.${randomUUID()}${partEnd}`);
  return {
    output: createWriteStream(part, { mode: 0o600, flush: true }),
    path,
    async complete() {
      await rename(part, path);
      await syncToDisk(folder);
      return keep === undefined ? [] : removeOld(folder, keep);
    },
    discard: () => rm(part, { force: true }),
  };
}

/** A backup that is read from a file, or from stdin if `from` is `-`. */
export async function openSource(from: string): Promise<BackupSource> {
  if (from === '-') return { open: () => process.stdin, isRepeatable: false };
  return { open: () => createReadStream(from), isRepeatable: (await findStats(from))?.isFile() ?? false };
}
