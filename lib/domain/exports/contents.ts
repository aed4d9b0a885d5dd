import { limits } from '../../base/limits.ts';
import { toParts } from '../../base/parts.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { FileDoc } from '../../store/mongo/models/file.ts';
import { toMemberKey } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { toAccountDeletion } from '../accounts/accounts.ts';
import { listSessions } from '../accounts/sessions.ts';
import { type FileRef, refsFilter } from '../files/files.ts';
import { parsePictureKey } from '../files/shown-pictures.ts';
import { deletedAuthor, getTag, loadAccounts, toUserSummary } from '../views/accounts.ts';
import type { ExportArchive } from './archive.ts';
import { type ExportedMessage, readOwnMessages } from './messages.ts';
import { readme } from './readme.ts';

/** How many documents one query reads. */
const pageSize = 200;

/** A file to put into the archive, under `name`. */
type WantedFile = FileRef & { name: string };

/** What the last file of the archive says about it. */
interface Summary {
  createdAt: string;
  messages: number;
  files: number;
  /** Files whose bytes were deleted while the archive was made, or are not in the store. */
  missingFiles: number;
  /** Files that the archive has no room for: there are more than `exportFiles`. */
  filesLeftOut: number;
}

/** Writes everything that an export contains (docs/behavior/accounts.md#export). Nothing in it is written by others, and nothing in it is a secret. */
export async function writeContents(platform: WorkerPlatform, account: AccountDoc, archive: ExportArchive): Promise<void> {
  const summary: Summary = { createdAt: new Date(platform.now()).toISOString(), messages: 0, files: 0, missingFiles: 0, filesLeftOut: 0 };
  await archive.addText('README.txt', readme);
  const pictures = await writeAccount(platform, account, archive);
  await archive.addList('servers.json', readServers(platform, account));
  await archive.addList('direct-messages.json', readDirectMessages(platform, account));
  await archive.addList('reads.json', readReads(platform, account));
  const attachments = await writeMessages(platform, account, archive, summary);
  await writeFiles(platform, [...pictures, ...attachments], archive, summary);
  await archive.addText('summary.json', `${JSON.stringify(summary, null, 2)}\n`);
}

/** Writes the account with its sessions and applications. Returns its pictures. */
async function writeAccount(platform: WorkerPlatform, account: AccountDoc, archive: ExportArchive): Promise<WantedFile[]> {
  const { db } = platform;
  const pictures: WantedFile[] = [];
  const addPicture = async (url: string | null, name: string): Promise<string | null> => {
    const key = parsePictureKey(url);
    const file = key === null ? null : await db.files.findOne({ key }, { projection: { key: 1 } });
    if (!file) return null;
    pictures.push({ _id: file._id, key: file.key, name });
    return name;
  };
  const { _id: id, username, displayName, bio = null, pronouns = null, status, customStatus, createdAt } = account;
  const sessions = await listSessions(platform, { id }, null);
  const owned = await db.applications.find({ ownerId: id }).sort({ slot: 1 }).limit(limits.applicationsPerPerson).toArray();
  const applications = [];
  for (const { _id, name, description, iconUrl, public: isPublic, inDirectory, interactionsEndpointUrl, ...application } of owned)
    applications.push({
      id: _id,
      name,
      description,
      icon: await addPicture(iconUrl, `files/application-${_id}.webp`),
      public: isPublic,
      inDirectory,
      interactionsEndpointUrl,
      createdAt: application.createdAt,
    });
  const exported = {
    id,
    username,
    displayName,
    bio,
    pronouns,
    avatar: await addPicture(account.avatarUrl, 'files/avatar.webp'),
    tag: getTag(account),
    status,
    customStatus,
    earlyAccess: account.earlyAccess ?? false,
    storedBytes: account.storedBytes ?? 0,
    createdAt,
    twoFactorSince: account.twoFactor?.enabledAt ?? null,
    linkedAccount: account.identity ?? null,
    deletion: account.deletion ? toAccountDeletion(account.deletion) : null,
    sessions: sessions.map((session) => {
      const { current: _, ...kept } = session;
      return kept;
    }),
    applications,
  };
  await archive.addText('account.json', `${JSON.stringify(exported, null, 2)}\n`);
  return pictures;
}

/** The servers that the person is in, and the roles they have there. */
async function* readServers({ db }: WorkerPlatform, { _id: userId }: AccountDoc): AsyncGenerator<object> {
  const memberships = await db.memberships.find({ userId }).sort({ serverId: 1 }).limit(limits.serversPerPerson).toArray();
  for (const { serverId } of memberships) {
    const member = await db.members.findOne(toMemberKey(serverId, userId));
    const server = member && (await db.servers.findOne({ _id: serverId }));
    if (!member || !server) continue;
    const roles = server.roles.filter(({ id }) => member.roles.includes(id)).map(({ id, name }) => ({ id, name }));
    yield { id: serverId, name: server.name, owner: server.ownerId === userId, joinedAt: member.joinedAt, roles };
  }
}

/** The person's direct message channels. One that becomes active while they are read is read twice, and skipped the second time. */
async function* readDirectMessages(platform: WorkerPlatform, { _id: userId }: AccountDoc): AsyncGenerator<object> {
  const seen = new Set<string>();
  for (let last = ''; ; ) {
    const page = await platform.db.dms
      .find({ userIds: userId, activeId: { $gt: last } })
      .sort({ activeId: 1 })
      .limit(pageSize)
      .toArray();
    const fresh = page.filter(({ _id }) => !seen.has(_id));
    const otherIds = fresh.map(({ userIds: [one, other] }) => (one === userId ? other : one));
    const accounts = await loadAccounts(platform, otherIds);
    for (const [at, { _id, createdAt }] of fresh.entries()) {
      seen.add(_id);
      const other = accounts.get(otherIds[at] as string);
      const { id, username, displayName } = other ? toUserSummary(other) : deletedAuthor(otherIds[at] as string);
      yield { id: _id, with: { id, username, displayName }, createdAt };
    }
    if (page.length < pageSize) return;
    last = page.at(-1)?.activeId ?? last;
  }
}

/** How far the person has read in each channel. One that is read further meanwhile is listed twice. */
async function* readReads({ db }: WorkerPlatform, { _id: userId }: AccountDoc): AsyncGenerator<object> {
  for (let last = ''; ; ) {
    const page = await db.reads
      .find({ userId, messageId: { $gt: last } })
      .sort({ messageId: 1 })
      .limit(pageSize)
      .toArray();
    for (const { channelId, messageId } of page) yield { channelId, lastReadMessageId: messageId };
    if (page.length < pageSize) return;
    last = page.at(-1)?.messageId ?? last;
  }
}

/** Writes all messages that the person wrote, in a file for each month, or several if there are many. Returns their attachments. */
async function writeMessages(
  platform: WorkerPlatform,
  { _id: userId }: AccountDoc,
  archive: ExportArchive,
  summary: Summary,
): Promise<WantedFile[]> {
  const wanted: WantedFile[] = [];
  const messages = readOwnMessages(platform, userId, ({ id, key }, name) => {
    if (wanted.length < limits.exportFiles) return wanted.push({ _id: id, key, name }) > 0;
    summary.filesLeftOut++;
    return false;
  });
  const filesByMonth = new Map<string, number>();
  const toMonth = ({ createdAt }: ExportedMessage): string => createdAt.slice(0, 7);
  let next = await messages.next();
  const readFile = async function* (month: string): AsyncGenerator<object> {
    for (let count = 0; !next.done && toMonth(next.value) === month && count < limits.exportMessagesPerFile; count++) {
      yield next.value;
      summary.messages++;
      next = await messages.next();
    }
  };
  while (!next.done) {
    const month = toMonth(next.value);
    const number = (filesByMonth.get(month) ?? 0) + 1;
    filesByMonth.set(month, number);
    await archive.addList(`messages/${month}${number === 1 ? '' : `-${number}`}.json`, readFile(month));
  }
  return wanted;
}

/** Writes the bytes of files. Those of an image that waits for its conversion are as they were uploaded. */
async function writeFiles(
  platform: WorkerPlatform,
  wanted: readonly WantedFile[],
  archive: ExportArchive,
  summary: Summary,
): Promise<void> {
  for (const batch of toParts(wanted, pageSize)) {
    const docs: FileDoc[] = await platform.db.files.find(refsFilter(batch)).toArray();
    const byId = new Map(docs.map((doc) => [doc._id, doc]));
    for (const { _id, name } of batch) {
      const doc = byId.get(_id);
      const blobName = doc?.state === 'waiting' ? (doc.original ?? doc.blob) : doc?.blob;
      const blob = blobName === undefined ? null : await platform.blobs.open(blobName);
      if (blob) await archive.addFile(name, blob.size, blob.stream);
      summary[blob ? 'files' : 'missingFiles']++;
    }
  }
}
