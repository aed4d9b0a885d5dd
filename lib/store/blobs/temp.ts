import { randomUUID } from 'node:crypto';
import { mkdir, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

const codeOf = (error: unknown): unknown => (error as { code?: unknown } | null)?.code;

/** Whether `error` says that there is no such file. */
export const isMissing = (error: unknown): boolean => codeOf(error) === 'ENOENT';

/** Throws unless `name` can be the name of a blob. */
export function checkName(name: string): void {
  if (!/^[a-z0-9-]{1,64}$/.test(name)) throw new Error('not the name of a blob');
}

/** The blob store could not be reached, did not answer, or is full: answered as 503. The cause stands in `cause`, for the log. */
export class BlobsUnavailable extends Error {
  constructor(cause: unknown) {
    super('the blob store is unavailable', { cause });
    this.name = 'BlobsUnavailable';
  }
}

/** Runs `act`; whatever it throws becomes `BlobsUnavailable`. */
export async function reaching<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    throw new BlobsUnavailable(error);
  }
}

/** As `reaching`; the local file at `path` is gone afterwards, whatever came of it. */
export const taking = <T>(path: string, act: () => Promise<T>): Promise<T> =>
  reaching(async () => {
    try {
      return await act();
    } finally {
      await rm(path, { force: true });
    }
  });

/** The local folder of files that are on their way in or out. */
export interface Temp {
  path(): Promise<string>;
  sweep(ms: number): Promise<void>;
}

/** Local files in `folder`, which is made when it is first needed. */
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
