import { createProgress, type Report } from '../../base/progress.ts';
import { foldSearch } from '../../base/text.ts';
import type { Collection, Filter, Update } from '../../store/mongo/database.ts';
import { settleMemberships } from '../../store/mongo/memberships.ts';
import { type MembershipDoc, toMembershipKey } from '../../store/mongo/models/membership.ts';
import type { MemberDoc } from '../../store/mongo/models/server.ts';
import type { Platform } from '../../store/platform.ts';
import { claimMembership } from '../access/memberships.ts';
import { findNewestMessageId, refreshLastMessage } from '../channels/dm-activity.ts';
import { correctMemberNames } from '../members/names.ts';
import { type ReindexPart, type ReindexStart, reindexParts } from './reindex-parts.ts';
import { correctStorage, type StorageCorrection } from './reindex-storage.ts';

/** How many documents are read at once. */
const batchSize = 200;
/** How long one count may take, in milliseconds. */
const countTimeoutMs = 1_500;

/** The result: how many documents were corrected, by part, and the accounts and servers whose storage changed while it was counted. */
export interface Reindexed {
  corrected: Partial<Record<ReindexPart, number>>;
  busy: string[];
}

/** A count, or null if it took too long. */
async function countInTime(count: (options: { maxTimeMS: number }) => Promise<number>): Promise<number | null> {
  try {
    return await count({ maxTimeMS: countTimeoutMs });
  } catch (error) {
    if ((error as { code?: unknown }).code !== 50) throw error; // MaxTimeMSExpired
    return null;
  }
}

/** The filter of a document whose `fields` are still as they were read. */
const unchanged = (doc: object, fields: readonly string[]): object =>
  Object.fromEntries(fields.map((field) => [field, (doc as Record<string, unknown>)[field] ?? { $exists: false }]));

/**
 * Writes the texts that a search compares, where they differ from what `texts` make of the document, unless `sources` have changed since it was read. Returns
 * whether it changed something.
 */
async function correctTexts<T extends { _id: string; search?: object }>(
  collection: Collection<T>,
  doc: T,
  texts: Record<string, string | undefined>,
  sources: object,
): Promise<boolean> {
  const stored = (doc.search ?? {}) as Record<string, string | undefined>;
  const wrong = Object.entries(texts)
    .map(([field, text = '']) => [field, foldSearch(text)] as const)
    .filter(([field, text]) => (stored[field] ?? '') !== text);
  if (wrong.length === 0) return false;
  const $set = Object.fromEntries(wrong.map(([field, text]) => [`search.${field}`, text]));
  return (await collection.updateOne({ _id: doc._id, ...sources } as Filter<T>, { $set } as unknown as Update<T>)).modifiedCount === 1;
}

/** Writes a count where it differs from the stored one. A count that is marked for a recount, or has changed since it was read, is left to the workers. */
async function correctCount<T extends { _id: string; recountAt?: Date }>(
  collection: Collection<T>,
  doc: T,
  field: keyof T & string,
  count: (options: { maxTimeMS: number }) => Promise<number>,
): Promise<boolean> {
  if (doc.recountAt) return false;
  const counted = await countInTime(count);
  if (counted === null || counted === (doc[field] ?? 0)) return false;
  const filter = { _id: doc._id, ...unchanged(doc, [field]), recountAt: { $exists: false } };
  return (await collection.updateOne(filter as Filter<T>, { $set: { [field]: counted } } as unknown as Update<T>)).modifiedCount === 1;
}

/** Gives members the memberships that they lack. The mark of a new membership goes when the member is certain to exist. */
async function addMissingMemberships(platform: Platform, members: readonly MemberDoc[]): Promise<number> {
  const { memberships } = platform.db;
  const keys = { userId: { $in: members.map(({ userId }) => userId) }, _id: { $in: members.map((one) => toMembershipKey(one)._id) } };
  const found = await memberships.find(keys, { projection: { _id: 1 }, hint: '_id_' }).toArray();
  const existing = new Set(found.map(({ _id }) => _id));
  let added = 0;
  for (const member of members) {
    if (existing.has(toMembershipKey(member)._id)) continue;
    const checkAt = await claimMembership(platform, member);
    if (!checkAt) continue;
    const { serverId, bot, joinedAt } = member;
    await settleMemberships(platform.db, [{ ...toMembershipKey(member), serverId, bot, joinedAt, checkAt }], new Date(platform.now()));
    added++;
  }
  return added;
}

/** Deletes memberships without a member. Those that a join has marked are left to the workers. */
async function deleteStrayMemberships(platform: Platform, read: readonly MembershipDoc[]): Promise<number> {
  const { members, memberships } = platform.db;
  const certain = read.filter(({ checkAt }) => checkAt === undefined);
  const keys = {
    _id: { $in: certain.map(({ serverId, userId }) => `${serverId}:${userId}`) },
    serverId: { $in: [...new Set(certain.map(({ serverId }) => serverId))] },
  };
  const found = await members.find(keys, { projection: { _id: 1 }, hint: '_id_' }).toArray();
  const existing = new Set(found.map(({ _id }) => _id));
  const stray = certain.filter(({ serverId, userId }) => !existing.has(`${serverId}:${userId}`));
  if (stray.length === 0) return 0;
  const checkAt = new Date(platform.now());
  const filter = {
    _id: { $in: stray.map(({ _id }) => _id) },
    userId: { $in: stray.map(({ userId }) => userId) },
    checkAt: { $exists: false },
  };
  await memberships.updateMany(filter, { $set: { checkAt } }, { hint: '_id_' });
  await settleMemberships(
    platform.db,
    stray.map((one) => ({ ...one, checkAt })),
    checkAt,
  );
  return stray.length;
}

/** A part that is checked document by document. `correct` checks a batch and returns how many documents it corrected. */
interface Part<T extends { _id: string }> {
  collection: Collection<T>;
  correct: (batch: readonly T[]) => Promise<number>;
}

const countTrue = async <T>(batch: readonly T[], correct: (one: T) => Promise<boolean>): Promise<number> => {
  let corrected = 0;
  for (const one of batch) if (await correct(one)) corrected++;
  return corrected;
};

const definePart = <T extends { _id: string }>(collection: Collection<T>, correct: Part<T>['correct']): Part<{ _id: string }> =>
  ({ collection, correct }) as unknown as Part<{ _id: string }>;

const createParts = (platform: Platform): Record<Exclude<ReindexPart, 'storage'>, Part<{ _id: string }>> => {
  const { db } = platform;
  return {
    servers: definePart(db.servers, (batch) =>
      countTrue(batch, async (server) => {
        const { name, discovery } = server;
        const sources = {
          name,
          ...(discovery ? unchanged(toDiscoveryFields(discovery), discoveryFields) : { discovery: { $exists: false } }),
        };
        const texts = { name, description: discovery?.description, tags: discovery?.tags?.join('\n') };
        const hasTexts = await correctTexts(db.servers, server, texts, sources);
        return (
          (await correctCount(db.servers, server, 'memberCount', (options) =>
            db.members.countDocuments({ serverId: server._id }, options),
          )) || hasTexts
        );
      }),
    ),
    applications: definePart(db.applications, (batch) =>
      countTrue(batch, async (application) => {
        const { name, description, botId } = application;
        const hasTexts = await correctTexts(db.applications, application, { name, description }, { name, description });
        const count = (options: object) => db.memberships.countDocuments({ userId: botId }, options);
        return (await correctCount(db.applications, application, 'serverCount', count)) || hasTexts;
      }),
    ),
    members: definePart(
      db.members,
      async (batch) => (await correctMemberNames(platform, batch)) + (await addMissingMemberships(platform, batch)),
    ),
    memberships: definePart(db.memberships, (batch) => deleteStrayMemberships(platform, batch)),
    threads: definePart(db.channels, (batch) =>
      countTrue(
        batch.filter(({ kind }) => kind === 'thread'),
        (thread) =>
          correctCount(db.channels, thread, 'messageCount', (options) =>
            db.messages.countDocuments({ channelId: thread._id, deleted: { $exists: false } }, options),
          ),
      ),
    ),
    dms: definePart(db.dms, (batch) =>
      countTrue(batch, async ({ _id, lastMessageId }) => {
        if ((await findNewestMessageId(platform, _id)) === lastMessageId) return false;
        await refreshLastMessage(platform, _id);
        return true;
      }),
    ),
  };
};

const discoveryFields = ['discovery.description', 'discovery.tags'];
const toDiscoveryFields = ({ description, tags }: { description?: string; tags?: string[] }) => ({
  'discovery.description': description,
  'discovery.tags': tags,
});

/**
 * Compares what is derived from other documents with these, and corrects it: texts of searches, counts, memberships, newest messages of DMs and used storage.
 * Parlance may run: a value is written only if nothing has changed since it was read. Reads everything in batches; `report` gets the progress, with the position
 * from which a later run can begin.
 */
export async function reindex(
  platform: Platform,
  report: Report,
  start: ReindexStart = { part: reindexParts[0], after: '' },
  waitForWrites?: () => Promise<unknown>,
): Promise<Reindexed> {
  const progress = createProgress(report);
  const parts = createParts(platform);
  const corrected: Reindexed['corrected'] = {};
  let storage: StorageCorrection = { corrected: 0, busy: [] };
  for (const name of reindexParts.slice(reindexParts.indexOf(start.part))) {
    if (name === 'storage') {
      storage = await correctStorage(
        platform,
        (line) => progress(() => `${line}; this part starts again with --after storage:`),
        waitForWrites,
      );
      corrected.storage = storage.corrected;
      continue;
    }
    const { collection, correct } = parts[name];
    let [checked, count] = [0, 0];
    for (let after = name === start.part ? start.after : ''; ; ) {
      const batch = await collection
        .find({ _id: { $gt: after } })
        .sort({ _id: 1 })
        .limit(batchSize)
        .toArray();
      if (batch.length > 0) count += await correct(batch);
      checked += batch.length;
      after = batch.at(-1)?._id ?? after;
      if (batch.length < batchSize) break;
      progress(() => `${name}: ${checked} checked, ${count} corrected; go on from here with --after ${name}:${after}`);
    }
    corrected[name] = count;
    report(`${name}: done, ${checked} checked, ${count} corrected`);
  }
  return { corrected, busy: storage.busy };
}
