import { type Collection, type Collections, exists, type Filter, withSharedFields } from '../../store/mongo/database.ts';
import { insertMissing, insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { OutboxEntry, ServerEvent } from '../../store/mongo/models/outbox.ts';
import type { CollectionName } from './contents.ts';
import type { AnyDoc } from './pages.ts';

/** What a restore needs to know about the target. */
export interface RestoreTarget {
  db: Collections;
  /** The public address of the backed-up installation, and that of this one. */
  fromUrl: string;
  toUrl: string;
  now: Date;
}

/** The address of a picture, at the new public address if it was at the old one. */
const moveUrl = ({ fromUrl, toUrl }: RestoreTarget, url: unknown): unknown =>
  typeof url === 'string' && url.startsWith(`${fromUrl}/files/`) ? toUrl + url.slice(fromUrl.length) : url;

/** Moves the picture of a document whose field `name` has its address. */
const movePicture = (target: RestoreTarget, doc: AnyDoc, name: string): AnyDoc =>
  name in doc ? { ...doc, [name]: moveUrl(target, doc[name]) } : doc;

/** The state of a file that was being deleted: its message, which was read earlier, decides whether it stays. */
function undecideFreed({ now }: RestoreTarget, file: AnyDoc): AnyDoc {
  if (file.state !== 'freed') return file;
  return { ...file, state: file.uploadedAs === undefined ? 'stored' : 'waiting', openAt: now };
}

function restoreMessage(target: RestoreTarget, message: AnyDoc): AnyDoc {
  const face = message.face as AnyDoc | undefined;
  return face ? { ...message, face: movePicture(target, face, 'avatarUrl') } : message;
}

/** How documents differ from those in the backup, so that sweeps bring them up to date (docs/store.md#backups). */
const changes: { readonly [Name in CollectionName]?: (target: RestoreTarget, doc: AnyDoc) => AnyDoc } = {
  accounts: (target, doc) => movePicture(target, doc, 'avatarUrl'),
  servers: (target, doc) => ({ ...movePicture(target, doc, 'iconUrl'), recountAt: target.now }),
  applications: (target, doc) => ({ ...movePicture(target, doc, 'iconUrl'), recountAt: target.now }),
  channels: ({ now }, doc) => (doc.messageCount === undefined ? doc : { ...doc, recountAt: now }),
  messages: restoreMessage,
  files: undecideFreed,
  removals: ({ now }, { done: _done, ...doc }) => ({ ...doc, nextAt: now }),
};

/** By collection, the field of a slot and that of its scope (docs/store.md#conditional-writes). */
const slots: { readonly [Name in CollectionName]?: { slot: string; scope: string } } = {
  applications: { slot: 'slot', scope: 'ownerId' },
  channels: { slot: 'slot', scope: 'serverId' },
  follows: { slot: 'slot', scope: 'sourceId' },
  invites: { slot: 'slot', scope: 'serverId' },
  memberships: { slot: 'slot', scope: 'userId' },
  messages: { slot: 'pinSlot', scope: 'channelId' },
  tokens: { slot: 'slot', scope: 'accountId' },
  webhooks: { slot: 'slot', scope: 'channelId' },
};

/**
 * `doc` with a free slot, or without a unique value that another document has. While the backup ran, one document gave up the value and the other one took it,
 * so both have it in the backup. null if it has neither.
 */
async function withoutConflict(collection: Collection<AnyDoc>, name: CollectionName, doc: AnyDoc): Promise<AnyDoc | null> {
  const { slot, scope } = slots[name] ?? { slot: '', scope: '' };
  if (doc[slot] !== undefined) {
    const taken = { [scope]: doc[scope], [slot]: { $gte: 0 } } as Filter<AnyDoc>;
    const [last] = await collection
      .find(taken)
      .sort({ [slot]: -1 })
      .limit(1)
      .toArray();
    return { ...doc, [slot]: Number(last?.[slot] ?? -1) + 1 };
  }
  if (doc.threadStarterId === undefined) return null;
  const { threadStarterId: _, ...rest } = doc;
  return rest;
}

/** Deletes the members whose departure is pending in the outbox of their server: they were read before they left. */
async function endDepartures({ db }: RestoreTarget, servers: readonly AnyDoc[]): Promise<void> {
  for (const { _id: serverId, outbox = [] } of servers)
    for (const event of outbox as OutboxEntry<ServerEvent>[])
      if (event.name === 'MEMBER_REMOVE') {
        const { userId, joinedAt } = event.data;
        await db.members.deleteOne({ _id: `${serverId}:${userId}`, serverId, joinedAt });
      }
}

/**
 * Stores documents of a backup. Those that an interrupted restore has stored stay as they are. Returns the ids of those that could not be stored because of a
 * unique value that another document has.
 */
export async function storeDocuments(target: RestoreTarget, name: CollectionName, found: readonly AnyDoc[]): Promise<string[]> {
  const collection = withSharedFields(target.db[name]) as unknown as Collection<AnyDoc>;
  const change = changes[name];
  const docs = change ? found.map((doc) => change(target, doc)) : found;
  const refused: string[] = [];
  if (!(await insertMissing(collection, docs)))
    for (const doc of docs) if (!(await storeConflicting(collection, name, doc))) refused.push(doc._id);
  if (name === 'servers') await endDepartures(target, docs);
  return refused;
}

/**
 * Takes the username off an account, so that it cannot log in either: while the backup ran, the account was deleted, and then somebody else registered its
 * name. Its removal is in the backup, too, and deletes it after the restore.
 */
async function releaseUsername(accounts: Collection<AnyDoc>, { username }: AnyDoc): Promise<void> {
  const holder = await accounts.findOne({ username, kind: 'person' });
  if (holder) await accounts.updateOne({ _id: holder._id }, { $set: { username: `deleted ${holder._id}`, passwordHash: null } });
}

/**
 * Takes the identity off the account that was linked to it first, and returns `doc` with or without its own: while the backup ran, the identity was unlinked
 * from one account, or its account deleted, and then another one was linked to it.
 */
async function releaseIdentity(accounts: Collection<AnyDoc>, doc: AnyDoc): Promise<AnyDoc> {
  if (doc.identity === undefined) return doc;
  const { issuer, subject, linkedAt } = doc.identity as NonNullable<AccountDoc['identity']>;
  const holder = { 'identity.issuer': issuer, 'identity.subject': subject } as Filter<AnyDoc>;
  const earlier = { ...holder, 'identity.linkedAt': { $lt: linkedAt } } as Filter<AnyDoc>;
  await accounts.updateOne(earlier, { $unset: { identity: 1 } });
  if (!(await exists(accounts, holder))) return doc;
  const { identity: _, ...rest } = doc;
  return rest;
}

async function storeConflicting(collection: Collection<AnyDoc>, name: CollectionName, doc: AnyDoc): Promise<boolean> {
  if (await exists(collection, { _id: doc._id })) return true;
  if (name === 'accounts') {
    await releaseUsername(collection, doc);
    return insertNew(collection, await releaseIdentity(collection, doc));
  }
  const changed = await withoutConflict(collection, name, doc);
  return changed !== null && (await insertNew(collection, changed));
}
