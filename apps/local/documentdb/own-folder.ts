import { constants } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;

/**
 * Makes a folder, or takes one that is there, and sets its mode and, when given, its owner. Follows no symbolic link: mode and owner are set on the folder that
 * was opened. Rejects with one line for a link, and for a folder of somebody else. The folder it lies in must exist.
 */
export async function makeOwnFolder(path: string, mode: number, owner?: { uid: number; gid: number }): Promise<void> {
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error;
  });
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => {
    throw new Error(`${path} is no folder that Parlance may use: remove it, or use another DATA_DIR.`);
  });
  try {
    const { uid } = await handle.stat();
    if (uid !== process.getuid?.() && uid !== owner?.uid)
      throw new Error(`${path} belongs to another user: remove it, or use another DATA_DIR.`);
    if (owner) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(mode);
  } finally {
    await handle.close();
  }
}
