import { constants } from 'node:fs';
import { copyFile, mkdir, open, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Blobs } from './store.ts';
import { checkName, createTemp, isMissing, reaching, taking } from './temp.ts';

/** Flushes the contents of a file, or the entries of a folder, to disk, so that they survive a power failure. */
async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Moves a file to `target` atomically, also from another file system; it is then copied to a path of `draft` first. */
async function moveInto(path: string, target: string, draft: () => Promise<string>): Promise<void> {
  try {
    return await rename(path, target);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'EXDEV') throw error;
  }
  const copy = await draft();
  await copyFile(path, copy);
  await sync(copy);
  await rename(copy, target);
  await unlink(path);
}

/** Stores blobs as files in `root/blobs`, in folders named after the first two characters of their names. Temporary files are in `root/incoming`. */
export function openFolderBlobs(root: string): Blobs {
  const base = resolve(root);
  const temp = createTemp(join(base, 'incoming'));
  const pathOf = (name: string): string => {
    checkName(name);
    return join(base, 'blobs', name.slice(0, 2), name);
  };
  return {
    tempPath: () => temp.path(),
    put: (name, path) => {
      const target = pathOf(name);
      return taking(path, async () => {
        await sync(path);
        const shard = dirname(target);
        const made = await mkdir(shard, { recursive: true });
        await moveInto(path, target, () => temp.path());
        await sync(shard);
        // New folders are entries of their parents, so flush those too.
        for (let above = dirname(shard); made && above.length >= dirname(made).length; above = dirname(above)) await sync(above);
      });
    },
    open: (name, range) => {
      const path = pathOf(name);
      return reaching(async () => {
        const handle = await open(path, 'r').catch((error: unknown) => (isMissing(error) ? null : Promise.reject(error)));
        if (!handle) return null;
        const { size } = await handle.stat();
        return { stream: handle.createReadStream(range ?? {}), size: range ? range.end - range.start + 1 : size };
      });
    },
    fetch: (name) => {
      const path = pathOf(name);
      return reaching(async () => {
        const copy = await temp.path();
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
      const path = pathOf(name);
      return reaching(async () => {
        try {
          await unlink(path);
        } catch (error) {
          if (isMissing(error)) return;
          throw error;
        }
        await sync(dirname(path));
      });
    },
    sweepTemp: (ms) => temp.sweep(ms),
    close: () => undefined,
  };
}
