import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { sniffImage } from '../../base/magic.ts';
import type { Picture } from '../../contract/shared.ts';
import { isUnavailable } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { EnqueuePlatform, FilesPlatform } from '../../store/platform.ts';
import { ownApplication } from '../applications/applications-owned.ts';
import { alsoOwes, owes, requireRoom, withRoom } from '../events/pending-events.ts';
import { type Actor, inServer } from '../members/access.ts';
import { manageServer } from '../members/managing.ts';
import { fileUrl } from '../messages/message-view.ts';
import { writeAudit } from '../servers/audit.ts';
import { converted, newFileKey, type ReceivedFile, storeBlobs } from './attachments.ts';
import { decideFiles, dropLateBlobs } from './files.ts';
import { keyOfPicture } from './shown-pictures.ts';

/** A database field that holds the URL of a picture. */
interface Spot {
  /** The current URL; undefined when the account, server or application does not exist. */
  read(): Promise<string | null | undefined>;
  /** Replaces `from` with `to`; false when the field no longer holds `from`. */
  write(from: string | null, to: string | null): Promise<boolean>;
}

/** The avatar of an account. A change puts USER_UPDATE into the account's outbox. */
const avatarOf = (platform: EnqueuePlatform, _id: string): Spot => ({
  read: async () => (await platform.db.accounts.findOne({ _id }, { avatarUrl: 1 }).lean())?.avatarUrl,
  async write(avatarUrl, to) {
    const accounts = platform.db.accounts.collection;
    const set = { avatarUrl: { $literal: to }, ...alsoOwes(platform, { name: 'USER_UPDATE' }) };
    const { matchedCount } = await platform.versions.changing({ accounts: [_id] }, () =>
      accounts.updateOne({ _id: _id as never, avatarUrl }, [{ $set: set }]),
    );
    if (matchedCount === 1) platform.nudge('relay-account', { accountId: _id });
    return matchedCount === 1;
  },
});

/** The icon of an application. */
const applicationIconOf = ({ db }: EnqueuePlatform, _id: string): Spot => ({
  read: async () => (await db.applications.findOne({ _id }, { iconUrl: 1 }).lean())?.iconUrl,
  write: async (iconUrl, to) => (await db.applications.updateOne({ _id, iconUrl }, { $set: { iconUrl: to } })).matchedCount === 1,
});

/** The icon of a server. A change puts SERVER_UPDATE into the server's outbox. */
const serverIconOf = (platform: EnqueuePlatform, _id: string): Spot => ({
  async read() {
    const found = await platform.db.servers.findOne({ _id }, { iconUrl: 1, ob: 1 }).lean();
    requireRoom(found?.ob?.length ?? 0);
    return found?.iconUrl;
  },
  async write(iconUrl, to) {
    const servers = platform.db.servers.collection;
    const owed = owes(platform, { name: 'SERVER_UPDATE' });
    const { matchedCount } = await platform.versions.changing({ servers: [_id] }, () =>
      servers.updateOne({ _id: _id as never, iconUrl, ...withRoom }, { $set: { iconUrl: to }, ...owed }),
    );
    if (matchedCount === 1) platform.nudge('relay-server', { serverId: _id });
    return matchedCount === 1;
  },
});

/**
 * Sets the field to `to` and deletes the file that it showed before. Returns the previous URL, or undefined when the account, server or application does not
 * exist. The previous file gets `openAt` before the field changes: if a process dies in between, the sweep decides whether the file stays. Of concurrent calls,
 * each deletes the file that it replaced.
 */
async function swap(platform: FilesPlatform, spot: Spot, to: string | null): Promise<string | null | undefined> {
  for (;;) {
    const from = await spot.read();
    if (from === undefined || from === to) return from;
    const key = keyOfPicture(from);
    const openAt = new Date(platform.now());
    const { files } = platform.db;
    const old = key === null ? null : await files.findOneAndUpdate({ key }, { $set: { openAt } }, { returnDocument: 'after' }).lean();
    failpoint(platform.config, 'after-picture-open');
    const written = await spot.write(from, to);
    if (written) failpoint(platform.config, 'after-picture-shown');
    if (old) await decideFiles(platform, [old]); // also when another call was faster; a file that is still shown stays
    if (written) return from;
  }
}

/** The document of a picture that was just received. It waits for its conversion, and `openAt` says that it is not decided yet whether the picture stays. */
function documentOf(platform: FilesPlatform, accountId: string, subjectId: string, filename: string, file: ReceivedFile): FileDoc {
  const { contentType, size, megapixels } = file;
  const now = new Date(platform.now());
  return {
    _id: platform.ids.next(),
    key: newFileKey(),
    blob: newFileKey(),
    original: newFileKey(),
    messageId: subjectId,
    channelId: subjectId,
    accountId,
    megapixels,
    picture: true,
    filename,
    contentType: 'image/webp',
    uploadedAs: { filename, contentType },
    size,
    width: null,
    height: null,
    state: 'waiting',
    openAt: now,
    createdAt: now,
  };
}

/** Stores a picture as a square WebP and passes its URL to `show`. If this fails, the picture is deleted. */
async function keepPicture(
  platform: FilesPlatform,
  actor: Actor,
  subjectId: string,
  filename: string,
  file: ReceivedFile,
  show: (url: string) => Promise<void>,
): Promise<Picture> {
  if (file.contentType !== `image/${sniffImage(file.head)}`)
    refuse('invalid_request', { reason: 'the body is not an image of the declared content type' });
  const doc = documentOf(platform, actor.id, subjectId, filename, file);
  const url = fileUrl(platform.config.baseUrl, doc);
  try {
    await storeBlobs(platform, [doc], [file]);
    const [ready = doc] = await converted(platform, [doc]);
    // The account, server or application was deleted meanwhile, and its files with it.
    if (ready.state === 'freed') refuse('not_found', { what: 'account, server or application' });
    if (ready.state === 'waiting') refuse('unavailable', undefined, { retryAfter: limits.imageWaitMs / 1000 });
    if (ready.contentType !== 'image/webp') refuse('invalid_request', { reason: 'the image cannot be decoded' });
    await show(url);
  } catch (error) {
    // While the database is unavailable it is not known whether the picture is shown. The sweep decides later.
    const unsure = isUnavailable(error) && (error as Error).name !== 'BlobsUnavailable';
    if (!unsure) await discard(platform, doc);
    throw error;
  }
  await platform.db.files.updateOne({ _id: doc._id, openAt: doc.createdAt }, { $unset: { openAt: 1 } });
  return { url };
}

/** Deletes a picture unless it is shown. */
const discard = (platform: FilesPlatform, doc: FileDoc): Promise<void> =>
  dropLateBlobs(platform, [doc])
    .then(() => decideFiles(platform, [doc]))
    .catch((error: unknown) => platform.log.warn({ err: error }, 'a picture could not be removed; the sweep will remove it'));

/**
 * Sets the caller's avatar. Refuses 400 if the file is not an image of the declared type or cannot be decoded, and `unavailable` if no worker converts it in 10
 * s.
 */
export const setAvatar = (platform: FilesPlatform, actor: Actor, file: ReceivedFile): Promise<Picture> =>
  keepPicture(platform, actor, actor.id, 'avatar.webp', file, async (url) => {
    if ((await swap(platform, avatarOf(platform, actor.id), url)) === undefined) refuse('not_found', { what: 'account' });
  });

/** Removes the caller's avatar, if there is one. */
export async function clearAvatar(platform: FilesPlatform, actor: Actor): Promise<void> {
  await swap(platform, avatarOf(platform, actor.id), null);
}

/** Sets the icon of a server to `url`, null for none, and writes an audit entry if that changes it. */
async function showServerIcon(platform: FilesPlatform, actor: Actor, serverId: string, url: string | null): Promise<void> {
  const from = await swap(platform, serverIconOf(platform, serverId), url);
  if (from === undefined) return refuse('not_found', { what: 'server' });
  if (from !== url)
    await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes: { iconUrl: { from, to: url } } });
}

/** Checks that the caller may change the icon of a server. Needs Manage Server. */
export const admitServerIcon = (platform: FilesPlatform, actor: Actor, serverId: string): Promise<unknown> =>
  inServer(platform, actor, serverId, 'Manage Server');

/** Sets the icon of a server. Needs Manage Server. Refuses as `setAvatar`. */
export async function setServerIcon(platform: FilesPlatform, actor: Actor, serverId: string, file: ReceivedFile): Promise<Picture> {
  await admitServerIcon(platform, actor, serverId);
  return keepPicture(platform, actor, serverId, 'icon.webp', file, (url) =>
    manageServer(platform, actor, serverId, async (now) => {
      await admitServerIcon(platform, now, serverId);
      await showServerIcon(platform, now, serverId, url);
    }),
  );
}

/** Removes the icon of a server. Needs Manage Server. */
export async function clearServerIcon(platform: FilesPlatform, actor: Actor, serverId: string): Promise<void> {
  await admitServerIcon(platform, actor, serverId);
  await showServerIcon(platform, actor, serverId, null);
}

/**
 * Sets the icon of an application and the avatar of its bot to `url`. If the icon changes meanwhile, sets the avatar again, so that both show the last icon.
 */
async function showApplicationIcon(platform: FilesPlatform, id: string, botId: string, url: string | null): Promise<void> {
  const icon = applicationIconOf(platform, id);
  if ((await swap(platform, icon, url)) === undefined) refuse('not_found', { what: 'application' });
  for (let shown: string | null | undefined = url; shown !== undefined; ) {
    await swap(platform, avatarOf(platform, botId), shown);
    const now = await icon.read();
    shown = now === shown ? undefined : now;
  }
}

/** Sets the icon of an application, which is also its bot's avatar. Owner only. Refuses as `setAvatar`. */
export async function setApplicationIcon(platform: FilesPlatform, actor: Actor, id: string, file: ReceivedFile): Promise<Picture> {
  const { _id, botId } = await ownApplication(platform, actor, id);
  return keepPicture(platform, actor, _id, 'icon.webp', file, (url) => showApplicationIcon(platform, _id, botId, url));
}

/** Removes the icon of an application and its bot's avatar. Owner only. */
export async function clearApplicationIcon(platform: FilesPlatform, actor: Actor, id: string): Promise<void> {
  const { _id, botId } = await ownApplication(platform, actor, id);
  await showApplicationIcon(platform, _id, botId, null);
}
