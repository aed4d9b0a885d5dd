import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DmChannel } from '../../contract/dm.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type DmDoc, pairOf } from '../../store/mongo/models/dm.ts';
import type { Platform } from '../../store/platform.ts';
import { connectedOf, seenStatusOf } from '../accounts/presence.ts';
import { accountsOf, goneAuthor, tagOf } from '../accounts/public-profiles.ts';
import { stillShare } from '../accounts/shared-servers.ts';
import type { Actor } from '../members/access.ts';

type Two = readonly [AccountDoc, AccountDoc];

/** The DM of two accounts, or null. */
export const findDm = (platform: Platform, one: string, other: string): Promise<DmDoc | null> =>
  platform.db.dms
    .findOne({ pair: pairOf([one, other]) })
    .lean()
    .exec();

const newDm = (platform: Platform, id: string, two: Two): DmDoc => {
  const [low, high] = two.toSorted((a, b) => (a._id < b._id ? -1 : 1)) as [AccountDoc, AccountDoc];
  return {
    _id: id,
    pair: pairOf([low._id, high._id]),
    userIds: [low._id, high._id],
    bots: [low, high].filter((one) => one.kind === 'bot').map((one) => one._id),
    lastMessageId: null,
    activeId: id,
    createdAt: new Date(platform.now()),
  };
};

async function insertDm(platform: Platform, dm: DmDoc): Promise<DmDoc> {
  if (await insertNew(platform.db.dms, dm)) return dm;
  const standing = await platform.db.dms.findOne({ pair: dm.pair }).lean();
  if (!standing) throw new Error('a DM is refused by a unique index that nothing stands in');
  return standing;
}

/**
 * Creates the DM of two accounts with this id, or returns the existing one. A unique index allows one DM for each pair, also under concurrent calls. Checks
 * nothing.
 */
export const openPair = (platform: Platform, id: string, two: Two): Promise<DmDoc> => insertDm(platform, newDm(platform, id, two));

/** The DMs of an account, latest activity first. A DM without posts counts by its creation. At most 1,000. */
export const dmsOf = (platform: Platform, userId: string): Promise<DmDoc[]> =>
  platform.db.dms.find({ userIds: userId }).sort({ activeId: -1 }).limit(limits.dmsListed).lean().exec();

/** Returns DMs as `actor` sees them, in the given order. Makes one query for the accounts that are not cached, and one lookup of who is connected. */
export async function showDms(platform: Platform, actor: Actor, dms: readonly DmDoc[]): Promise<DmChannel[]> {
  if (dms.length === 0) return [];
  const others = dms.map(({ userIds: [one, other] }) => (one === actor.id ? other : one));
  const [accounts, connected] = await Promise.all([accountsOf(platform, others), connectedOf(platform, others)]);
  return dms.map(({ _id, lastMessageId }, at) => ({
    id: _id,
    recipient: recipientOf(accounts, connected, others[at] as string),
    lastMessageId,
  }));
}

function recipientOf(accounts: ReadonlyMap<string, AccountDoc>, connected: ReadonlySet<string>, id: string): DmChannel['recipient'] {
  const account = accounts.get(id);
  const { username, displayName } = account ?? goneAuthor(id);
  const status = account ? seenStatusOf(account, connected.has(id)) : 'offline';
  const tag = account ? tagOf(account) : null;
  return { id, username, displayName, status, customStatus: account?.customStatus ?? null, ...(tag && { tag }) };
}

/**
 * Returns the DM of the caller with another account, and creates it if they share a server. An existing DM is returned even if they share none. `made`: the DM
 * was created under `newId`, by this call or by an earlier try of it. Refuses with 400 for the caller's own account and for an unknown one, and with 403
 * `no_shared_server`.
 */
export async function openDm(
  platform: Platform,
  actor: Actor,
  { recipientId, newId }: { recipientId: string; newId: string },
): Promise<{ dm: DmChannel; made: boolean }> {
  if (recipientId === actor.id) refuseField('/recipientId', 'is yourself');
  const dm = (await findDm(platform, actor.id, recipientId)) ?? (await makeDm(platform, actor, recipientId, newId));
  const [shown] = await showDms(platform, actor, [dm]);
  return { dm: shown as DmChannel, made: dm._id === newId };
}

async function makeDm(platform: Platform, actor: Actor, recipientId: string, newId: string): Promise<DmDoc> {
  const recipient = (await accountsOf(platform, [recipientId])).get(recipientId);
  if (!recipient) return refuseField('/recipientId', 'is no account');
  const fresh = newDm(platform, newId, [actor.account, recipient]);
  if (!(await stillShare(platform, fresh))) refuse('no_shared_server');
  return insertDm(platform, fresh);
}

/** The caller's DMs, as `dmsOf` lists them. */
export const listDms = async (platform: Platform, actor: Actor): Promise<DmChannel[]> =>
  showDms(platform, actor, await dmsOf(platform, actor.id));
