import { refuse, refuseField } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { wellFormed } from '../../base/text.ts';
import type { Ban, BanInput, BanPage } from '../../contract/server.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { BanDoc } from '../../store/mongo/models/moderation.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { accountsOf, faceOf, goneAuthor } from '../accounts/public-profiles.ts';
import { writeAudit } from '../servers/audit.ts';
import { type Actor, inServer } from './access.ts';
import { type Expelled, expel, requireBelow } from './expulsion.ts';
import { announceRemoval, noticeOf } from './notices.ts';

/** The reason of a ban; null if it is missing or blank. */
const reasonOf = (body: BanInput | undefined): string | null => {
  const reason = wellFormed(body?.reason ?? '');
  return reason.trim() === '' ? null : reason;
};

/** What writing a ban changed: `new` is a new ban, `same` is no change, and `from` is the old reason if only the reason changed. */
type Written = 'new' | 'same' | { from: string | null };

/** Inserts the ban. An existing ban gets the new reason if one is given. */
async function writeBan(platform: Platform, ban: BanDoc): Promise<Written> {
  const { bans } = platform.db;
  const { _id, reason } = ban;
  if (await insertNew(bans, ban)) return 'new';
  if (reason === null) return 'same';
  const before = await bans.findOneAndUpdate({ _id }, { $set: { reason } }, { returnDocument: 'before' }).lean();
  return before && before.reason !== reason ? { from: before.reason } : 'same';
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
  const place = await inServer(platform, actor, serverId, 'Ban Members');
  const known = isId(userId) && (await accountsOf(platform, [userId])).has(userId);
  if (!known) refuse('not_found', { what: 'account' });
  const target = await place.access.member(userId);
  requireBelow(place, userId, target);
  const _id = `${serverId}:${userId}`;
  const reason = reasonOf(body);
  const ban = { _id, serverId, userId, reason, createdAt: new Date(platform.now()) };
  let written = 'same' as Written;
  let end = 'gone' as Expelled;
  const remove = async (): Promise<boolean> => {
    written = await writeBan(platform, ban);
    failpoint(platform.config, 'after-ban-write');
    end = await expel(platform, serverId, userId, () => platform.db.bans.deleteOne({ _id }));
    return end === 'out';
  };
  const notice = target && noticeOf(platform, { kind: 'ban', userId, server: place.server, reason });
  await (notice ? announceRemoval(platform, notice, remove) : remove());
  if (end === 'owner') refuse('role_hierarchy');
  await tell(platform, actor, ban, written);
}

/** Writes the audit entry of a ban if the ban changed something. */
async function tell(platform: Platform, actor: Actor, ban: BanDoc, written: Written): Promise<void> {
  if (written === 'same') return;
  const { serverId, userId, reason } = ban;
  const changes = written === 'new' ? {} : { reason: { from: written.from, to: reason } };
  await writeAudit(platform, actor, { serverId, action: 'member_ban', targetId: userId, reason, changes });
}

/** Lifts a ban. Changes nothing if there is none. Needs Ban Members. */
export async function liftBan(platform: Platform, actor: Actor, serverId: string, userId: string): Promise<void> {
  await inServer(platform, actor, serverId, 'Ban Members');
  if (!isId(userId)) refuse('not_found', { what: 'account' });
  const lifted = await platform.db.bans.findOneAndDelete({ _id: `${serverId}:${userId}` }).lean();
  if (lifted) await writeAudit(platform, actor, { serverId, action: 'member_unban', targetId: userId, reason: lifted.reason });
}

const olderThan = ({ createdAt, _id }: BanDoc): object => ({ $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: _id } }] });

/**
 * Returns a page of a server's bans, newest first, and in `next` the account to pass as `before` for the next page; null on the last page. A page has 1,000
 * bans unless `limit` is lower. `before` is exclusive, and is refused with 400 if that account is not banned any more. Needs Ban Members.
 */
export async function listBans(
  platform: Platform,
  actor: Actor,
  serverId: string,
  page: BanPage,
): Promise<{ items: Ban[]; next: string | null }> {
  await inServer(platform, actor, serverId, 'Ban Members');
  const { bans } = platform.db;
  const { before, limit = limits.bansListed } = page;
  const from = before === undefined ? null : await bans.findOne({ _id: `${serverId}:${before}` }).lean();
  if (before !== undefined && !from) refuseField('/before', 'is not an account that is banned here');
  const found = await bans.collection
    .find({ serverId, ...(from ? olderThan(from) : {}) })
    .sort({ createdAt: -1, _id: -1 })
    .limit(limit + 1)
    .toArray();
  const shown = found.slice(0, limit) as unknown as BanDoc[];
  const accounts = await accountsOf(
    platform,
    shown.map((one) => one.userId),
  );
  const items = shown.map(({ userId, reason, createdAt: at }) => {
    const account = accounts.get(userId);
    return { user: account ? faceOf(account) : goneAuthor(userId), reason, createdAt: at.toISOString() };
  });
  return { items, next: found.length > limit ? (shown.at(-1)?.userId ?? null) : null };
}
