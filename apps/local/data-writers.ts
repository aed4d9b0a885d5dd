import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { writeSecret } from './data-folder.ts';

/** The program that wrote the data of one store, and its version, such as `7.0.15`; the version is null if it is unknown. */
export interface Writer {
  program: 'mongod' | 'documentdb' | 'redis' | 'valkey';
  version: string | null;
}

/** The programs that wrote the stores of a data folder; absent for a store that has no data yet. */
export interface Writers {
  mongo?: Writer;
  redis?: Writer;
}

const names = { mongod: 'mongod', documentdb: 'DocumentDB on PostgreSQL', redis: 'Redis', valkey: 'Valkey' } as const;
const pathOf = (dataDir: string): string => join(dataDir, 'stores.json');
const read = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').then(
    (text) => text.trim(),
    (error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
      throw error;
    },
  );

/** The programs recorded in a data folder. Rejects with a one-line error if the record cannot be read. */
export async function readWriters(dataDir: string): Promise<Writers> {
  const text = await read(pathOf(dataDir));
  if (text === null) return {};
  try {
    return JSON.parse(text) as Writers;
  } catch {
    throw new Error(`${pathOf(dataDir)} is damaged. Restore it from a backup, or delete it.`);
  }
}

/** Records the programs that now write the stores of a data folder. */
export async function recordWriters(dataDir: string, writers: Writers): Promise<void> {
  const before = await readWriters(dataDir);
  const after = { ...before, ...writers };
  if (JSON.stringify(after) !== JSON.stringify(before)) writeSecret(pathOf(dataDir), `${JSON.stringify(after, null, 2)}\n`);
}

/** Detects from the files which database wrote the folders, for data older than the record. Undefined for empty folders; 'both' if both databases exist. */
export async function recognizeDatabase(mongodFolder: string, documentdbFolders: readonly string[]): Promise<Writer | 'both' | undefined> {
  const mongod = await read(join(mongodFolder, 'WiredTiger'));
  const versions = await Promise.all(documentdbFolders.map((folder) => read(join(folder, 'data', 'PG_VERSION'))));
  const documentdb = versions.find((version) => version !== null);
  if (mongod !== null && documentdb) return 'both';
  if (documentdb) return { program: 'documentdb', version: documentdb };
  return mongod === null ? undefined : { program: 'mongod', version: null };
}

/** The output of a program's `--version`, and the first version in it, such as `v7.0.15` or `v=7.0.15`; null if it has none or does not run. */
export async function readVersion(program: string): Promise<{ text: string; version: string | null }> {
  const { stdout } = await promisify(execFile)(program, ['--version'], { timeout: 5000 }).catch(() => ({ stdout: '' }));
  return { text: stdout, version: /\bv=?(\d+(?:\.\d+)+)/.exec(stdout)?.[1] ?? null };
}

/** Whether one version is lower than another, compared number by number. */
export function isOlder(version: string, than: string): boolean {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number)) as [number[], number[]];
  const at = b.findIndex((number, index) => number !== (a[index] ?? 0));
  return at >= 0 && (a[at] ?? 0) < (b[at] ?? 0);
}

/** A one-line error for data that no program here can read: which program wrote it, why it is not available, and what to do. */
export function unreadableDataError(dataDir: string, { program, version }: Writer, reasons: readonly string[], variable: string): Error {
  const writer = version === null ? names[program] : `${names[program]} ${version}`;
  return new Error(
    `${dataDir} was written by ${writer}, which is not available here (${reasons.join('; ')}). Install it, set ${variable}, or use another DATA_DIR.`,
  );
}
