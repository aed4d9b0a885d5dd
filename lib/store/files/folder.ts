import { constants } from 'node:fs';
import { copyFile, mkdir, open, opendir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Blobs } from './store.ts';
import { checkBlobName, createTempFolder, isMissing, storeAndRemove, wrapStoreErrors } from './temp.ts';

/** Flushes the contents of a file, or the entries of a folder, to disk, so that they survive a power failure. */
export async function syncToDisk(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a file to `target` atomically, also from another file system; it is then copied to a path of `newCopyPath` first. */
async function moveInto(path: string, target: string, newCopyPath: () => Promise<string>): Promise<void> {
  try {
    return await rename(path, target);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EXDEV') throw error;
  }
  const copy = await newCopyPath();
  await copyFile(path, copy);
  await syncToDisk(copy);
  await rename(copy, target);
  await unlink(path);
}

/** Stores blobs as files in `root/blobs`, in folders named after the first two characters of their names. Temporary files are in `root/incoming`. */
export function openFolderBlobs(root: string): Blobs {
  const base = resolve(root);
  const temp = createTempFolder(join(base, 'incoming'));
  const getPath = (name: string): string => {
    checkBlobName(name);
    return join(base, 'blobs', name.slice(0, 2), name);
  };
  return {
    newTempPath: () => temp.newPath(),
    put: (name, path) => {
      const target = getPath(name);
      return storeAndRemove(path, async () => {
        await syncToDisk(path);
        const shard = dirname(target);
        const firstCreated = await mkdir(shard, { recursive: true });
        await moveInto(path, target, () => temp.newPath());
        await syncToDisk(shard);
        // New folders are entries of their parents, so flush those too.
        for (let parent = dirname(shard); firstCreated && parent.length >= dirname(firstCreated).length; parent = dirname(parent))
          await syncToDisk(parent);
      });
    },
    open: (name, range) => {
      const path = getPath(name);
      return wrapStoreErrors(async () => {
        const handle = await open(path, 'r').catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));
        if (!handle) return null;
        const { size } = await handle.stat();
        return { stream: handle.createReadStream(range ?? {}), size: range ? range.end - range.start + 1 : size };
      });
    },
    fetch: (name) => {
      const path = getPath(name);
      return wrapStoreErrors(async () => {
        const copy = await temp.newPath();
        try {
          await copyFile(path, copy, constants.COPYFILE_FICLONE);
        } catch (error) {
          if (isMissing(error)) return null;
          await rm(copy, { force: true });
          throw error;
        }
        return copy;
      });
    },
    delete: (name) => {
      const path = getPath(name);
      return wrapStoreErrors(async () => {
        try {
          await unlink(path);
        } catch (error) {
          if (isMissing(error)) return;
          throw error;
        }
        await syncToDisk(dirname(path));
      });
    },
    isEmpty: () =>
      wrapStoreErrors(async () => {
        const folder = await opendir(join(base, 'blobs'), { recursive: true }).catch((error: unknown) =>
          isMissing(error) ? null : Promise.reject(error),
        );
        for await (const entry of folder ?? []) if (entry.isFile()) return false;
        return true;
      }),
    removeOldTemp: (minAgeMs) => temp.removeOld(minAgeMs),
    close: () => undefined,
  };
}
