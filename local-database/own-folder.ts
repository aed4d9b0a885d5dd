import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Creates a folder, or takes an existing one, and sets its mode and, if given, its owner. It follows no symbolic link: mode and owner are set on the opened
 * folder. Rejects with a one-line error for a link or a folder of another user. The parent folder must exist.
 */
export async function makeOwnFolder(path: string, mode: number, owner?: { uid: number; gid: number }): Promise<void> {
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => {
    throw new Error(`${path} is not a folder that Parlance can use. Remove it, or use another DATA_DIR.`);
  });
  try {
    const { uid } = await handle.stat();
    if (uid !== process.getuid?.() && uid !== owner?.uid)
      throw new Error(`${path} belongs to another user. Remove it, or use another DATA_DIR.`);
    if (owner) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}
