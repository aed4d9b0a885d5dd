import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { Platform } from '../../store/platform.ts';

/** The key of the file in the URL of an uploaded picture; null for other URLs and for null. */
export const parsePictureKey = (url: string | null): string | null => /\/files\/([0-9a-f]{32})\/[^/]*$/.exec(url ?? '')?.[1] ?? null;

/**
 * The ids of those among `files` that are shown as an avatar or icon now. `messageId` of a picture is the id of the account, server or application that may
 * show it. An application and its bot have the same id, and may show the same file.
 */
export async function findShownPictures({ db }: Platform, files: readonly FileDoc[]): Promise<string[]> {
  const pictures = files.filter(({ picture }) => picture);
  if (pictures.length === 0) return [];
  const idFilter = { _id: { $in: [...new Set(pictures.map(({ messageId }) => messageId))] } };
  const [accounts, servers, applications] = await Promise.all([
    db.accounts.find(idFilter, { projection: { avatarUrl: 1 } }).toArray(),
    db.servers.find(idFilter, { projection: { iconUrl: 1 } }).toArray(),
    db.applications.find(idFilter, { projection: { iconUrl: 1 } }).toArray(),
  ]);
  const urls = [...accounts.map(({ avatarUrl }) => avatarUrl), ...[...servers, ...applications].map(({ iconUrl }) => iconUrl)];
  const keys = new Set(urls.map(parsePictureKey));
  return pictures.filter(({ key }) => keys.has(key)).map(({ _id }) => _id);
}
