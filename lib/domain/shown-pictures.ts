import { trusted } from '../store/database.ts';
import type { FileDoc } from '../store/models/file.ts';
import type { Platform } from '../store/platform.ts';

/** The key of the file that the address of a picture of ours names; null for another address, and for none. */
export const keyOfPicture = (url: string | null): string | null => /\/files\/([0-9a-f]{32})\/[^/]*$/.exec(url ?? '')?.[1] ?? null;

/**
 * The ids of those among `files` that are shown as an avatar or icon now. The account, server or application that shows one has the id that
 * the file names; an application and its bot share theirs, and may share the file.
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
