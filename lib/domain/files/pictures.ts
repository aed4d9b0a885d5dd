import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { limits } from '../../base/limits.ts';
import { sniffImage } from '../../base/magic.ts';
import type { Picture } from '../../contract/shared.ts';
import { isUnavailable } from '../../store/mongo/database.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import type { EnqueuePlatform, FilesPlatform } from '../../store/platform.ts';
import { requireOwnApplication } from '../access/application-ownership.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requireServer } from '../access/checks.ts';
import { runManagementWrite } from '../access/management-writes.ts';
import { addEvent, addEventInPipeline, outboxHasRoom, requireOutboxRoom } from '../events/pending.ts';
import { fileUrl } from '../views/messages.ts';
import { newFileKey, type ReceivedFile, storeFiles, waitForConversions } from './attachments.ts';
import { decideFiles, deleteLateBlobs } from './files.ts';
import { parsePictureKey } from './shown-pictures.ts';

/** A database field that holds the URL of a picture. */
interface PictureField {
  /** The current URL; undefined when the account, server or application does not exist. */
  read(): Promise<string | null | undefined>;
  /** Replaces `from` with `to`; false when the field no longer holds `from`. */
  write(from: string | null, to: string | null): Promise<boolean>;
}

/** The avatar of an account. A change puts USER_UPDATE into the account's outbox. */
const createAvatarField = (platform: EnqueuePlatform, _id: string): PictureField => ({
  read: async () => (await platform.db.accounts.findOne({ _id }, { projection: { avatarUrl: 1 } }))?.avatarUrl,
  async write(avatarUrl, to) {
    const accounts = platform.db.accounts;
    const set = { avatarUrl: { $literal: to }, ...addEventInPipeline(platform, { name: 'USER_UPDATE' }) };
    const { matchedCount } = await platform.accessVersions.runChange({ accounts: [_id] }, () =>
      accounts.updateOne({ _id, avatarUrl }, [{ $set: set }]),
    );
    if (matchedCount === 1) platform.wake('relay-account', { accountId: _id });
    return matchedCount === 1;
  },
});

/** The icon of an application. */
const createApplicationIconField = ({ db }: EnqueuePlatform, _id: string): PictureField => ({
  read: async () => (await db.applications.findOne({ _id }, { projection: { iconUrl: 1 } }))?.iconUrl,
  write: async (iconUrl, to) => (await db.applications.updateOne({ _id, iconUrl }, { $set: { iconUrl: to } })).matchedCount === 1,
});

/** The icon of a server. A change puts SERVER_UPDATE into the server's outbox. */
const createServerIconField = (platform: EnqueuePlatform, _id: string): PictureField => ({
  async read() {
    const found = await platform.db.servers.findOne({ _id }, { projection: { iconUrl: 1, outbox: 1 } });
    requireOutboxRoom(found?.outbox);
    return found?.iconUrl;
  },
  async write(iconUrl, to) {
    const servers = platform.db.servers;
    const { matchedCount } = await platform.accessVersions.runChange({ servers: [_id] }, () =>
      servers.updateOne({ _id, iconUrl, ...outboxHasRoom }, { $set: { iconUrl: to }, ...addEvent(platform, { name: 'SERVER_UPDATE' }) }),
    );
    if (matchedCount === 1) platform.wake('relay-server', { serverId: _id });
    return matchedCount === 1;
  },
});

/**
 * Sets the field to `to` and deletes the file that it showed before. Returns the previous URL, or undefined when the account, server or application does not
 * exist. The previous file gets `openAt` before the field changes: if a process dies in between, the sweep decides whether the file stays. Of concurrent calls,
 * each deletes the file that it replaced.
 */
async function replacePicture(platform: FilesPlatform, field: PictureField, to: string | null): Promise<string | null | undefined> {
  for (;;) {
    const from = await field.read();
    if (from === undefined || from === to) return from;
    const key = parsePictureKey(from);
    const openAt = new Date(platform.now());
    const { files } = platform.db;
    const previousFile = key === null ? null : await files.findOneAndUpdate({ key }, { $set: { openAt } }, { returnDocument: 'after' });
    failpoint(platform.config, 'after-picture-open');
    const isWritten = await field.write(from, to);
    if (isWritten) failpoint(platform.config, 'after-picture-shown');
    if (previousFile) await decideFiles(platform, [previousFile]); // also when another call was faster; a file that is still shown stays
    if (isWritten) return from;
  }
}

/** The document of a picture that was just received. It waits for its conversion, and `openAt` says that it is not decided yet whether the picture stays. */
function newPictureDoc(platform: FilesPlatform, accountId: string, subjectId: string, filename: string, file: ReceivedFile): FileDoc {
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

/** Stores a picture as a square WebP and passes its URL to `apply`. If this fails, the picture is deleted. */
async function storePicture(
  platform: FilesPlatform,
  actor: Actor,
  subjectId: string,
  filename: string,
  file: ReceivedFile,
  apply: (url: string) => Promise<void>,
): Promise<Picture> {
  if (file.contentType !== `image/${sniffImage(file.head)}`)
    refuse('invalid_request', { reason: 'the body is not an image of the declared content type' });
  const doc = newPictureDoc(platform, actor.id, subjectId, filename, file);
  const url = fileUrl(platform.config.baseUrl, doc);
  try {
    await storeFiles(platform, [doc], [file]);
    const [converted = doc] = await waitForConversions(platform, [doc]);
    // The account, server or application was deleted meanwhile, and its files with it.
    if (converted.state === 'freed') refuse('not_found', { what: 'account, server or application' });
    if (converted.state === 'waiting') refuse('unavailable', undefined, { retryAfter: limits.imageWaitMs / 1000 });
    if (converted.contentType !== 'image/webp') refuse('invalid_request', { reason: 'the image cannot be decoded' });
    await apply(url);
  } catch (error) {
    // While the database is unavailable it is not known whether the picture is shown. The sweep decides later.
    if (!isUnavailable(error)) await discardPicture(platform, doc);
    throw error;
  }
  await platform.db.files.updateOne({ _id: doc._id, key: doc.key, openAt: doc.createdAt }, { $unset: { openAt: 1 } });
  return { url };
}

/** Deletes a picture unless it is shown. */
const discardPicture = (platform: FilesPlatform, doc: FileDoc): Promise<void> =>
  deleteLateBlobs(platform, [doc])
    .then(() => decideFiles(platform, [doc]))
    .catch((error: unknown) => platform.log.warn({ err: error }, 'a picture could not be removed; the sweep will remove it'));

/**
 * Sets the caller's avatar. Refuses 400 if the file is not an image of the declared type or cannot be decoded, and `unavailable` if no worker converts it in 10
 * s.
 */
export const setAvatar = (platform: FilesPlatform, actor: Actor, file: ReceivedFile): Promise<Picture> =>
  storePicture(platform, actor, actor.id, 'avatar.webp', file, async (url) => {
    if ((await replacePicture(platform, createAvatarField(platform, actor.id), url)) === undefined)
      refuse('not_found', { what: 'account' });
  });

/** Removes the caller's avatar, if there is one. */
export async function clearAvatar(platform: FilesPlatform, actor: Actor): Promise<void> {
  await replacePicture(platform, createAvatarField(platform, actor.id), null);
}

/** Sets the icon of a server to `url`, null for none, and writes an audit entry if that changes it. */
async function replaceServerIcon(platform: FilesPlatform, actor: Actor, serverId: string, url: string | null): Promise<void> {
  const from = await replacePicture(platform, createServerIconField(platform, serverId), url);
  if (from === undefined) return refuse('not_found', { what: 'server' });
  if (from !== url)
    await writeAudit(platform, actor, { serverId, action: 'server_update', targetId: serverId, changes: { iconUrl: { from, to: url } } });
}

/** Checks that the caller may change the icon of a server. Needs Manage Server. */
export const requireServerIconAccess = (platform: FilesPlatform, actor: Actor, serverId: string): Promise<unknown> =>
  requireServer(platform, actor, serverId, 'Manage Server');

/** Sets the icon of a server. Needs Manage Server. Refuses as `setAvatar`. */
export async function setServerIcon(platform: FilesPlatform, actor: Actor, serverId: string, file: ReceivedFile): Promise<Picture> {
  await requireServerIconAccess(platform, actor, serverId);
  return storePicture(platform, actor, serverId, 'icon.webp', file, (url) =>
    runManagementWrite(platform, actor, serverId, async (currentActor) => {
      await requireServerIconAccess(platform, currentActor, serverId);
      await replaceServerIcon(platform, currentActor, serverId, url);
    }),
  );
}

/** Removes the icon of a server. Needs Manage Server. */
export async function clearServerIcon(platform: FilesPlatform, actor: Actor, serverId: string): Promise<void> {
  await requireServerIconAccess(platform, actor, serverId);
  await replaceServerIcon(platform, actor, serverId, null);
}

/**
 * Sets the icon of an application and the avatar of its bot to `url`. If the icon changes meanwhile, sets the avatar again, so that both show the last icon.
 */
async function replaceApplicationIcon(platform: FilesPlatform, id: string, botId: string, url: string | null): Promise<void> {
  const icon = createApplicationIconField(platform, id);
  if ((await replacePicture(platform, icon, url)) === undefined) refuse('not_found', { what: 'application' });
  for (let appliedUrl: string | null | undefined = url; appliedUrl !== undefined; ) {
    await replacePicture(platform, createAvatarField(platform, botId), appliedUrl);
    const currentUrl = await icon.read();
    appliedUrl = currentUrl === appliedUrl ? undefined : currentUrl;
  }
}

/** Sets the icon of an application, which is also its bot's avatar. Owner only. Refuses as `setAvatar`. */
export async function setApplicationIcon(platform: FilesPlatform, actor: Actor, id: string, file: ReceivedFile): Promise<Picture> {
  const { _id, botId } = await requireOwnApplication(platform, actor, id);
  return storePicture(platform, actor, _id, 'icon.webp', file, (url) => replaceApplicationIcon(platform, _id, botId, url));
}

/** Removes the icon of an application and its bot's avatar. Owner only. */
export async function clearApplicationIcon(platform: FilesPlatform, actor: Actor, id: string): Promise<void> {
  const { _id, botId } = await requireOwnApplication(platform, actor, id);
  await replaceApplicationIcon(platform, _id, botId, null);
}
