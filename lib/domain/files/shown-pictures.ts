import { trusted } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { Platform } from '../../store/platform.ts';

/** The key of the file in the URL of an uploaded picture; null for other URLs and for null. */
export const keyOfPicture = (url: string | null): string | null => /\/files\/([0-9a-f]{32})\/[^/]*$/.exec(url ?? '')?.[1] ?? null;

/**
 * The ids of those among `files` that are shown as an avatar or icon now. `messageId` of a picture is the id of the account, server or application that may
 * show it. An application and its bot have the same id, and may show the same file.
 */
export async function shownPictures({ db }: Platform, files: readonly FileDoc[]): Promise<string[]> {
  const pictures = files.filter(({ picture }) => picture);
  if (pictures.length === 0) return [];
  const these = { _id: trusted({ $in: [...new Set(pictures.map(({ messageId }) => messageId))] }) };
  const [accounts, servers, applications] = await Promise.all([
    db.accounts.find(these, { avatarUrl: 1 }).lean(),
    db.servers.find(these, { iconUrl: 1 }).lean(),
    db.applications.find(these, { iconUrl: 1 }).lean(),
  ]);
  const urls = [...accounts.map(({ avatarUrl }) => avatarUrl), ...[...servers, ...applications].map(({ iconUrl }) => iconUrl)];
  const keys = new Set(urls.map(keyOfPicture));
  return pictures.filter(({ key }) => keys.has(key)).map(({ _id }) => _id);
}
