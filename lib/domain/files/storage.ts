import { refuse } from '../../base/errors.ts';
import { bytesPerMib } from '../../base/limits.ts';
import type { FileDoc, StorageCharge } from '../../store/mongo/models/file.ts';
import type { FilesPlatform } from '../../store/platform.ts';

/** Adds `bytes` to the storage that an account or server uses, in one conditional write; false when that would exceed `limitMib`. 0 is no limit. */
async function addStoredBytes(
  { db }: FilesPlatform,
  owner: 'accounts' | 'servers',
  _id: string,
  bytes: number,
  limitMib: number,
): Promise<boolean> {
  const maxBefore = limitMib === 0 ? Number.MAX_SAFE_INTEGER : limitMib * bytesPerMib - bytes;
  if (maxBefore < 0) return false;
  const roomFilter = { $or: [{ storedBytes: { $exists: false } }, { storedBytes: { $lte: maxBefore } }] };
  const { matchedCount } = await db[owner].updateOne({ _id, ...roomFilter }, { $inc: { storedBytes: bytes } });
  return matchedCount === 1;
}

const subtractStoredBytes = async ({ db }: FilesPlatform, owner: 'accounts' | 'servers', _id: string, bytes: number): Promise<void> => {
  await db[owner].updateOne({ _id }, { $inc: { storedBytes: -bytes } });
};

/**
 * Adds the files of one upload, by their uploaded size, to the storage that their account and their server use. Refuses `storage_full` when that would exceed
 * STORAGE_PER_ACCOUNT_MIB or STORAGE_PER_SERVER_MIB. Called before the files' documents are inserted; deleting the files gives the bytes back.
 */
export async function chargeStorage(platform: FilesPlatform, docs: readonly FileDoc[]): Promise<void> {
  const [charge] = docs.flatMap((doc) => doc.charge ?? []);
  if (!charge) return;
  const { STORAGE_PER_ACCOUNT_MIB: perAccount, STORAGE_PER_SERVER_MIB: perServer } = platform.config;
  const bytes = docs.reduce((sum, doc) => sum + (doc.charge?.bytes ?? 0), 0);
  const { accountId, serverId } = charge;
  if (!(await addStoredBytes(platform, 'accounts', accountId, bytes, perAccount)))
    refuse('storage_full', { owner: 'your account', limit: perAccount });
  if (serverId === null || (await addStoredBytes(platform, 'servers', serverId, bytes, perServer))) return;
  await subtractStoredBytes(platform, 'accounts', accountId, bytes);
  refuse('storage_full', { owner: 'this server', limit: perServer });
}

/**
 * Releases the storage of a file that has given up its blob: another file that uses the blob takes over the charge. If there is none, the account and the
 * server get the bytes back. One write takes the charge off the file, so concurrent deletions give it back once.
 */
export async function releaseStorage(platform: FilesPlatform, file: FileDoc): Promise<void> {
  if (!file.charge) return;
  const { files } = platform.db;
  const chargedFilter = { _id: file._id, key: file.key, state: 'freed' as const, charge: { $exists: true } };
  const before: FileDoc | null = await files.findOneAndUpdate(chargedFilter, { $unset: { charge: 1 } });
  const charge: StorageCharge | undefined = before?.charge;
  if (!charge) return;
  const blobs = [file.blob, ...(file.original ? [file.original] : [])];
  const copyFilter = { blob: { $in: blobs }, state: { $ne: 'freed' as const }, charge: { $exists: false } };
  if ((await files.updateOne(copyFilter, { $set: { charge } })).matchedCount === 1) return;
  await subtractStoredBytes(platform, 'accounts', charge.accountId, charge.bytes);
  if (charge.serverId !== null) await subtractStoredBytes(platform, 'servers', charge.serverId, charge.bytes);
}
