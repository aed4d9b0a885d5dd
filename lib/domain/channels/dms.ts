import { refuse, refuseField } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { DmChannel } from '../../contract/dm.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import { type DmDoc, toPairKey } from '../../store/mongo/models/dm.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { countCreation, perHour } from '../access/creation-rates.ts';
import { deletedAuthor, getTag, loadAccounts } from '../views/accounts.ts';
import { loadConnected, toVisibleStatus } from '../views/presence.ts';
import { haveSharedServer } from './shared-servers.ts';

type AccountPair = readonly [AccountDoc, AccountDoc];

/** The DM of two accounts, or null. */
export const findDm = (platform: Platform, one: string, other: string): Promise<DmDoc | null> =>
  platform.db.dms.findOne({ pair: toPairKey([one, other]) });

const newDm = (platform: Platform, id: string, accounts: AccountPair): DmDoc => {
  const [low, high] = accounts.toSorted((a, b) => (a._id < b._id ? -1 : 1)) as [AccountDoc, AccountDoc];
  return {
    _id: id,
    pair: toPairKey([low._id, high._id]),
    userIds: [low._id, high._id],
    bots: [low, high].filter((one) => one.kind === 'bot').map((one) => one._id),
    lastMessageId: null,
    activeId: id,
    createdAt: new Date(platform.now()),
  };
};

async function insertDm(platform: Platform, dm: DmDoc): Promise<DmDoc> {
  if (await insertNew(platform.db.dms, dm)) return dm;
  const existing = await platform.db.dms.findOne({ pair: dm.pair });
  if (!existing) throw new Error('the unique index refused a DM, but no DM of this pair exists');
  return existing;
}

/**
 * Creates the DM of two accounts with this id, or returns the existing one. A unique index allows one DM for each pair, also under concurrent calls. Checks
 * nothing.
 */
export const findOrCreateDm = (platform: Platform, id: string, accounts: AccountPair): Promise<DmDoc> =>
  insertDm(platform, newDm(platform, id, accounts));

/** The DMs of an account, latest activity first. A DM without posts counts by its creation. At most 1,000. */
export const loadDms = (platform: Platform, userId: string): Promise<DmDoc[]> =>
  platform.db.dms.find({ userIds: userId }).sort({ activeId: -1 }).limit(limits.dmsListed).toArray();

/** Returns DMs as `actor` sees them, in the given order. Makes one query for the accounts that are not cached, and one lookup of who is connected. */
export async function toDmChannels(platform: Platform, actor: Actor, dms: readonly DmDoc[]): Promise<DmChannel[]> {
  if (dms.length === 0) return [];
  const others = dms.map(({ userIds: [one, other] }) => (one === actor.id ? other : one));
  const [accounts, connected] = await Promise.all([loadAccounts(platform, others), loadConnected(platform, others)]);
  return dms.map(({ _id, lastMessageId }, at) => ({
    id: _id,
    recipient: toRecipient(accounts, connected, others[at] as string),
    lastMessageId,
  }));
}

function toRecipient(accounts: ReadonlyMap<string, AccountDoc>, connected: ReadonlySet<string>, id: string): DmChannel['recipient'] {
  const account = accounts.get(id);
  const { username, displayName } = account ?? deletedAuthor(id);
  const status = account ? toVisibleStatus(account, connected.has(id)) : 'offline';
  const tag = account ? getTag(account) : null;
  return { id, username, displayName, status, customStatus: account?.customStatus ?? null, ...(tag && { tag }) };
}

/**
 * Returns the DM of the caller with another account, and creates it if they share a server. An existing DM is returned even if they share none. `isCreated`:
 * the DM was created under `newId`, by this call or by an earlier try of it. Refuses with 400 for the caller's own account and for an unknown one, and with 403
 * `no_shared_server`. Refuses `rate_limited` when the caller opened too many new ones (docs/behavior/requests.md#creation-limits).
 */
export async function openDm(
  platform: ApiPlatform,
  actor: Actor,
  { recipientId, newId }: { recipientId: string; newId: string },
): Promise<{ dm: DmChannel; isCreated: boolean }> {
  if (recipientId === actor.id) refuseField('/recipientId', 'You cannot open a direct message with yourself.');
  const dm = (await findDm(platform, actor.id, recipientId)) ?? (await createDm(platform, actor, recipientId, newId));
  const [shown] = await toDmChannels(platform, actor, [dm]);
  return { dm: shown as DmChannel, isCreated: dm._id === newId };
}

async function createDm(platform: ApiPlatform, actor: Actor, recipientId: string, newId: string): Promise<DmDoc> {
  const recipient = (await loadAccounts(platform, [recipientId])).get(recipientId);
  if (!recipient) return refuseField('/recipientId', 'This account does not exist.');
  const fresh = newDm(platform, newId, [actor.account, recipient]);
  if (!(await haveSharedServer(platform, fresh))) refuse('no_shared_server');
  await countCreation(platform, [perHour(`dms:${actor.id}`, { burst: limits.newDmsBurst, count: limits.newDmsPerHour })]);
  return insertDm(platform, fresh);
}

/** The caller's DMs, as `loadDms` lists them. */
export const listDms = async (platform: Platform, actor: Actor): Promise<DmChannel[]> =>
  toDmChannels(platform, actor, await loadDms(platform, actor.id));
