import { refuse, refuseField } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { toWellFormed } from '../../base/text.ts';
import type { Ban, BanInput, BansQuery } from '../../contract/member.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { BanDoc } from '../../store/mongo/models/moderation.ts';
import { toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { writeAudit } from '../access/audit.ts';
import { type Actor, requireServer } from '../access/checks.ts';
import { deletedAuthor, loadAccounts, toUserSummary } from '../views/accounts.ts';
import { newNotice, removeWithNotice } from './notices.ts';
import { type RemovalOutcome, removeUnlessOwner, requireLowerRank } from './removal.ts';

/** The reason of a ban; null if it is missing or blank. */
const normalizeReason = (body: BanInput | undefined): string | null => {
  const reason = toWellFormed(body?.reason ?? '');
  return reason.trim() === '' ? null : reason;
};

/** What writing a ban changed: `new` is a new ban, `unchanged` is no change, and `from` is the old reason if only the reason changed. */
type BanChange = 'new' | 'unchanged' | { from: string | null };

/** Inserts the ban. An existing ban gets the new reason if one is given. */
async function writeBan(platform: Platform, ban: BanDoc): Promise<BanChange> {
  const { bans } = platform.db;
  const { serverId, userId, reason } = ban;
  if (await insertNew(bans, ban)) return 'new';
  if (reason === null) return 'unchanged';
  const before = await bans.findOneAndUpdate(toMemberKey(serverId, userId), { $set: { reason } }, { returnDocument: 'before' });
  return before && before.reason !== reason ? { from: before.reason } : 'unchanged';
}

/**
 * Bans an account, also one that is not in the server. A member is removed, and gets a notice if it is a person. Needs Ban Members. Refuses an unknown account
 * with 404, the caller's own with 400, and the owner and members whose highest role is not below the caller's with `role_hierarchy`. A repeat changes only the
 * reason, if another one is given. The ban is stored before the membership is deleted, and every join looks for a ban after it has added the member. So no
 * banned account stays in the server after a concurrent join.
 */
export async function banMember(
  platform: EnqueuePlatform,
  actor: Actor,
  serverId: string,
  userId: string,
  body: BanInput | undefined,
): Promise<void> {
  const context = await requireServer(platform, actor, serverId, 'Ban Members');
  const isKnown = isId(userId) && (await loadAccounts(platform, [userId])).has(userId);
  if (!isKnown) refuse('not_found', { what: 'account' });
  const target = await context.access.member(userId);
  requireLowerRank(context, userId, target);
  const key = toMemberKey(serverId, userId);
  const reason = normalizeReason(body);
  const ban = { ...key, userId, reason, createdAt: new Date(platform.now()) };
  let change = 'unchanged' as BanChange;
  let outcome = 'not-member' as RemovalOutcome;
  const banAndRemove = async (): Promise<boolean> => {
    change = await writeBan(platform, ban);
    failpoint(platform.config, 'after-ban-write');
    outcome = await removeUnlessOwner(platform, serverId, userId, () => platform.db.bans.deleteOne(key));
    return outcome === 'removed';
  };
  const notice = target && newNotice(platform, { kind: 'ban', userId, server: context.server, reason });
  await (notice ? removeWithNotice(platform, notice, banAndRemove) : banAndRemove());
  if (outcome === 'owner') refuse('role_hierarchy');
  await auditBan(platform, actor, ban, change);
}

/** Writes the audit entry of a ban if the ban changed something. */
async function auditBan(platform: Platform, actor: Actor, ban: BanDoc, change: BanChange): Promise<void> {
  if (change === 'unchanged') return;
  const { serverId, userId, reason } = ban;
  const changes = change === 'new' ? {} : { reason: { from: change.from, to: reason } };
  await writeAudit(platform, actor, { serverId, action: 'member_ban', targetId: userId, reason, changes });
}

/** Lifts a ban. Changes nothing if there is none. Needs Ban Members. */
export async function removeBan(platform: Platform, actor: Actor, serverId: string, userId: string): Promise<void> {
  await requireServer(platform, actor, serverId, 'Ban Members');
  if (!isId(userId)) refuse('not_found', { what: 'account' });
  const removedBan = await platform.db.bans.findOneAndDelete(toMemberKey(serverId, userId));
  if (removedBan) await writeAudit(platform, actor, { serverId, action: 'member_unban', targetId: userId, reason: removedBan.reason });
}

const olderThanFilter = ({ createdAt, _id }: BanDoc): object => ({
  $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: _id } }],
});

/**
 * Returns a page of a server's bans, newest first, and in `next` the account to pass as `before` for the next page; null on the last page. A page has 1,000
 * bans unless `limit` is lower. `before` is exclusive, and is refused with 400 if that account is not banned any more. Needs Ban Members.
 */
export async function listBans(
  platform: Platform,
  actor: Actor,
  serverId: string,
  page: BansQuery,
): Promise<{ items: Ban[]; next: string | null }> {
  await requireServer(platform, actor, serverId, 'Ban Members');
  const { bans } = platform.db;
  const { before, limit = limits.bansListed } = page;
  const cursor = before === undefined ? null : await bans.findOne(toMemberKey(serverId, before));
  if (before !== undefined && !cursor) refuseField('/before', 'This account is not banned from this server.');
  const found = await bans
    .find({ serverId, ...(cursor ? olderThanFilter(cursor) : {}) })
    .sort({ createdAt: -1, _id: -1 })
    .limit(limit + 1)
    .toArray();
  const shown = found.slice(0, limit);
  const accounts = await loadAccounts(
    platform,
    shown.map((one) => one.userId),
  );
  const items = shown.map(({ userId, reason, createdAt: bannedAt }) => {
    const account = accounts.get(userId);
    return { user: account ? toUserSummary(account) : deletedAuthor(userId), reason, createdAt: bannedAt.toISOString() };
  });
  return { items, next: found.length > limit ? (shown.at(-1)?.userId ?? null) : null };
}
