import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { AccountDeletion, AccountDeletionInput, MessagesChoice, OwnDeletion } from '../../contract/account-deletion.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import type { AccountDoc } from '../../store/mongo/models/account.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import type { Actor } from '../access/checks.ts';
import { findServerIds } from '../access/memberships.ts';
import { storeAccountRemoval } from '../removals.ts';
import { toDurationMs } from '../retention.ts';
import { toAccountDeletion } from './accounts.ts';
import { type CheckedFactors, refusePassword, requireOwnFactors } from './own-password.ts';
import { type Client, endOtherSessions } from './sessions.ts';
import { requirePersonAccount } from './suspensions.ts';

/** How many owned servers a refusal names. */
const serversNamed = 5;

/** Refuses `owns_servers` with the names of the servers that a person owns. */
async function requireNoOwnedServers(platform: Platform, ownerId: string): Promise<void> {
  const ids = await findServerIds(platform, ownerId, '', limits.serversPerPerson);
  const owned = await platform.db.servers
    .find({ _id: { $in: ids }, ownerId }, { projection: { name: 1 } })
    .sort({ _id: 1 })
    .toArray();
  if (owned.length === 0) return;
  const names = owned.slice(0, serversNamed).map(({ name }) => `“${name}”`);
  const more = owned.length > serversNamed ? ` and ${owned.length - serversNamed} more` : '';
  refuse('owns_servers', { servers: `${names.join(', ')}${more}` });
}

/** How a deletion is scheduled. Without `messages` an earlier choice stays, and otherwise the messages are kept. `now`: without a grace period. */
export interface DeletionOptions {
  messages?: MessagesChoice | undefined;
  now?: boolean | undefined;
}

/**
 * Schedules the deletion of the person that `filter` matches, in one conditional write. A deletion that is scheduled already keeps its time, unless it is to
 * be `now`. Returns null if `filter` matches nobody, or the deletion has begun.
 */
async function scheduleDeletion(
  { db, config, now, accessVersions }: Platform,
  filter: { _id: string } & Partial<CheckedFactors>,
  { messages, now: isImmediate = false }: DeletionOptions,
): Promise<AccountDeletion | null> {
  const at = new Date(now() + (isImmediate ? 0 : toDurationMs(config.ACCOUNT_DELETION_DAYS)));
  const deletion = {
    at: isImmediate ? at : { $ifNull: ['$deletion.at', at] },
    messages: messages === undefined ? { $ifNull: ['$deletion.messages', 'keep'] } : { $literal: messages },
  };
  const schedule = () =>
    db.accounts.findOneAndUpdate({ ...filter, kind: 'person', 'deletion.begun': { $exists: false } }, [{ $set: { deletion } }], {
      returnDocument: 'after',
    });
  const scheduled = await accessVersions.runChange({ accounts: [filter._id] }, schedule);
  return scheduled?.deletion ? toAccountDeletion(scheduled.deletion) : null;
}

/**
 * Schedules the deletion of the caller's account after the grace period (docs/behavior/accounts.md#account-deletion), and ends all other sessions. A repeated
 * request replaces the choice but not the date. Refuses as `requireOwnFactors`, and `owns_servers`.
 */
export async function requestAccountDeletion(
  platform: Platform,
  actor: Actor,
  { password, code, messages }: AccountDeletionInput,
  client: Client,
): Promise<AccountDeletion> {
  const factors = await requireOwnFactors(platform, actor.id, { password, code }, client, '/password');
  await requireNoOwnedServers(platform, actor.id);
  const scheduled = await scheduleDeletion(platform, { _id: actor.id, ...factors }, { messages });
  if (!scheduled) return refusePassword('/password');
  await endOtherSessions(platform, actor, client.tokenId);
  return scheduled;
}

/** The scheduled deletion of the caller's account, if there is one, and the grace period. */
export async function getAccountDeletion({ db, config }: Platform, actor: Actor): Promise<OwnDeletion> {
  const account = await db.accounts.findOne({ _id: actor.id }, { projection: { deletion: 1 } });
  return { deletion: account?.deletion ? toAccountDeletion(account.deletion) : null, graceDays: config.ACCOUNT_DELETION_DAYS };
}

/** Cancels the deletion of an account, unless it has begun. Returns whether one was scheduled. */
export async function cancelAccountDeletion({ db, accessVersions }: Platform, userId: string): Promise<boolean> {
  const scheduled = { _id: userId, 'deletion.at': { $exists: true }, 'deletion.begun': { $exists: false } };
  const cancel = () => db.accounts.updateOne(scheduled, { $unset: { deletion: 1 } });
  const { modifiedCount } = await accessVersions.runChange({ accounts: [userId] }, cancel);
  return modifiedCount === 1;
}

/** An account that an operator changed, and whether that changed anything. */
interface OperatedAccount {
  account: AccountDoc;
  isChanged: boolean;
}

/**
 * Schedules the deletion of a person's account for an operator. Refuses as `requirePersonAccount` does, `owns_servers`, and `invalid_request` if the deletion
 * has begun.
 */
export async function scheduleAccountDeletion(
  platform: Platform,
  userId: string,
  options: DeletionOptions,
): Promise<OperatedAccount & { deletion: AccountDeletion }> {
  const account = await requirePersonAccount(platform, userId);
  await requireNoOwnedServers(platform, userId);
  const deletion = await scheduleDeletion(platform, { _id: userId }, options);
  if (!deletion) return refuse('invalid_request', { reason: 'the deletion of this account has begun' });
  const before = account.deletion && toAccountDeletion(account.deletion);
  return { account, isChanged: before?.deletesAt !== deletion.deletesAt || before.messages !== deletion.messages, deletion };
}

/** Cancels the deletion of a person's account for an operator. Refuses as `requirePersonAccount` does, and `invalid_request` if the deletion has begun. */
export async function keepAccount(platform: Platform, userId: string): Promise<OperatedAccount> {
  const account = await requirePersonAccount(platform, userId);
  const isChanged = await cancelAccountDeletion(platform, userId);
  if (!isChanged && account.deletion?.begun) refuse('invalid_request', { reason: 'the deletion of this account has begun' });
  return { account, isChanged };
}

/** Starts the deletion of the accounts whose grace period is over, by storing their removals. */
export const startDueAccountDeletions = sweepDue({
  collection: 'accounts',
  due: 'deletion.at',
  fields: [],
  max: 100,
  run: each((platform: EnqueuePlatform, { _id }) => storeAccountRemoval(platform, _id)),
});
