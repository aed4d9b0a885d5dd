import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** Whether `error` says that a file does not exist. */
export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** Throws unless `name` is a valid name of a blob. */
export function checkName(name: string): void {
  if (!/^[a-z0-9-]{1,64}$/.test(name)) throw new Error('not the name of a blob');
}

/** The blob store could not be reached, did not answer, or is full. The API answers 503. `cause` is the original error, for the log. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super('the blob store is unavailable', { cause });
    this.name = 'BlobsUnavailable';
  }
}

/** Runs `act`, and turns every error of it into `BlobsUnavailable`. */
export async function reaching<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new BlobsUnavailable(error);
  }
}

/** Does the same as `reaching`, then deletes the local file at `path`, even after an error. */
export const taking = <T>(path: string, act: () => Promise<T>): Promise<T> =>
  reaching(async () => {
    try {
      return await act();
    } finally {
      await rm(path, { force: true });
    }
  });

/** The local folder for temporary files, such as uploads and fetched blobs. */
export interface Temp {
  path(): Promise<string>;
  sweep(ms: number): Promise<void>;
}

/** Manages temporary files in `folder`, which is created on first use. */
export const createTemp = (folder: string): Temp => ({
  path: () =>
    reaching(async () => {
      await mkdir(folder, { recursive: true });
      return join(folder, randomUUID());
    }),
  async sweep(ms) {
    const names = await readdir(folder).catch(() => []);
    for (const name of names) {
      const path = join(folder, name);
      const found = await stat(path).catch(() => null);
      if (found?.isFile() && Date.now() - found.mtimeMs > ms) await rm(path, { force: true });
    }
  },
});
