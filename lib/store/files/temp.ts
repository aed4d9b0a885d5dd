import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const getErrorCode = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** Whether `error` says that a file does not exist. */
export const isMissing = (error: unknown): boolean => getErrorCode(error) === 'ENOENT';

/** Throws unless `name` is a valid name of a blob. */
export function checkBlobName(name: string): void {
  if (!/^[a-z0-9-]{1,64}$/.test(name)) throw new Error('not the name of a blob');
}

/** The blob store could not be reached, did not answer, or is full. The API answers 503. `cause` is the original error, for the log. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super('the blob store is unavailable', { cause });
    this.name = 'BlobsUnavailable';
  }
}

/** Runs `operation`, and turns every error of it into `BlobsUnavailable`. */
export async function wrapStoreErrors<T>(operation: () => Promise<T>): Promise<T> {
  try {
    return await operation();
  } catch (error) {
    throw new BlobsUnavailable(error);
  }
}

/** Does the same as `wrapStoreErrors`, then deletes the local file at `path`, even after an error. */
export const storeAndRemove = <T>(path: string, operation: () => Promise<T>): Promise<T> =>
  wrapStoreErrors(async () => {
    try {
      return await operation();
    } finally {
      await rm(path, { force: true });
    }
  });

/** The local folder for temporary files, such as uploads and fetched blobs. */
export interface TempFolder {
  newPath(): Promise<string>;
  removeOld(minAgeMs: number): Promise<void>;
}

/** Manages temporary files in `folder`, which is created on first use. */
export const createTempFolder = (folder: string): TempFolder => ({
  newPath: () =>
    wrapStoreErrors(async () => {
      await mkdir(folder, { recursive: true });
      return join(folder, randomUUID());
    }),
  async removeOld(ms) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) {
      const path = join(folder, name);
      const stats = await stat(path).catch(() => null);
      if (stats?.isFile() && Date.now() - stats.mtimeMs > ms) await rm(path, { force: true });
    }
  },
});
