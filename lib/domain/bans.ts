import { refuse, refuseField } from '../base/errors.ts';
import { failpoint } from '../base/failpoint.ts';
import { isId } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import { wellFormed } from '../base/text.ts';
import type { Ban, BanInput, BanPage } from '../contract/server.ts';
import { insertNew } from '../store/insert.ts';
import type { BanDoc } from '../store/models/moderation.ts';
import type { EnqueuePlatform, Platform } from '../store/platform.ts';
import { type Actor, inServer } from './access.ts';
import { writeAudit } from './audit.ts';
import { type Expelled, expel, requireBelow } from './expulsion.ts';
import { accountsOf, faceOf, goneAuthor } from './faces.ts';
import { announceRemoval, noticeOf } from './notices.ts';

/** A blank reason is none. */
const reasonOf = (body: BanInput | undefined): string | null => {
  const reason = wellFormed(body?.reason ?? '');
  return reason.trim() === '' ? null : reason;
};

/** What writing a ban changed: a new one stands, another reason does, or nothing. */
type Written = 'new' | 'same' | { from: string | null };

/** Writes the ban; one that stands gets the new reason, if there is one. */
async function writeBan(platform: Platform, ban: BanDoc): Promise<Written> {
  const { bans } = platform.db;
  const { _id, reason } = ban;
  if (await insertNew(bans, ban)) return 'new';
  if (reason === null) return 'same';
  const before = await bans.findOneAndUpdate({ _id }, { $set: { reason } }, { returnDocument: 'before' }).lean();
  return before && before.reason !== reason ? { from: before.reason } : 'same';
}

/**
 * Bans an account, also one that is not in the server; who is in it goes, and a person gets a notice. Needs Ban Members. Refuses an unknown
 * account (404), oneself (400), the owner and equals (`role_hierarchy`). Repeating it changes nothing but the reason, if another one is
 * given. The ban stands before the membership goes, and every join looks for it once it is in: whatever comes at the same moment, nobody
 * who is banned stays.
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

/** Leaves the audit entry of a ban, if it changed something. */
async function tell(platform: Platform, actor: Actor, ban: BanDoc, written: Written): Promise<void> {
  if (written === 'same') return;
  const { serverId, userId, reason } = ban;
  const changes = written === 'new' ? {} : { reason: { from: written.from, to: reason } };
  await writeAudit(platform, actor, { serverId, action: 'member_ban', targetId: userId, reason, changes });
}

/** Lifts a ban; where there is none, nothing changes. Needs Ban Members. */
export async function liftBan(platform: Platform, actor: Actor, serverId: string, userId: string): Promise<void> {
  await inServer(platform, actor, serverId, 'Ban Members');
  if (!isId(userId)) refuse('not_found', { what: 'account' });
  const lifted = await platform.db.bans.findOneAndDelete({ _id: `${serverId}:${userId}` }).lean();
  if (lifted) await writeAudit(platform, actor, { serverId, action: 'member_unban', targetId: userId, reason: lifted.reason });
}

const olderThan = ({ createdAt, _id }: BanDoc): object => ({ $or: [{ createdAt: { $lt: createdAt } }, { createdAt, _id: { $lt: _id } }] });

/**
 * A page of a server's bans, newest first, and the account that the next one goes on from. 1,000 unless `limit` says fewer; `before`, exclusive, is the account where the last page ended, and 400
 * when its ban was lifted since. Needs Ban Members.
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
