import { failpoint } from '../../base/failpoint.ts';
import { idTimeMs } from '../../base/ids.ts';
import { escapeMarkup } from '../../base/markup-escape.ts';
import { exists, isDuplicateKey } from '../../store/mongo/database.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { DmDoc } from '../../store/mongo/models/dm.ts';
import type { NoticeDoc, NoticeKind } from '../../store/mongo/models/notice.ts';
import { type ServerDoc, toMemberKey } from '../../store/mongo/models/server.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { findDm, findOrCreateDm } from '../channels/dms.ts';
import { composeMessage, storeMessage } from '../messages/draft.ts';
import { ensureSystemAccount, systemAccount } from '../system-account.ts';
import { loadAccounts } from '../views/accounts.ts';
import { removeUnlessOwner } from './removal.ts';

/** How long a removal may take, in milliseconds. An older notice whose person is still a member is about a removal that never happened. */
const removalMs = 10_000;

const noticeTexts: Record<NoticeKind, (server: string) => string> = {
  kick: (server) => `You were kicked from **${server}**. You can come back with an invite.`,
  ban: (server) => `You were banned from **${server}**.`,
};

/** The text of a notice. Names and reasons are shown literally: they format, link and mention nothing. */
function renderNotice({ kind, serverName, reason }: NoticeDoc): string {
  const text = noticeTexts[kind](escapeMarkup(serverName));
  return reason === null ? text : `${text}\nReason: ${escapeMarkup(reason)}`;
}

/** The notice of a removal from `server` that is about to happen. The notice for a bot is posted to nobody, but lets a worker complete its ban. */
export const newNotice = (
  platform: Platform,
  { kind, userId, server, reason = null }: { kind: NoticeKind; userId: string; server: ServerDoc; reason?: string | null },
): NoticeDoc => ({
  _id: platform.ids.next(),
  userId,
  kind,
  serverId: server._id,
  serverName: server.name,
  reason,
  at: new Date(platform.now()),
});

/**
 * Runs `remove`, which returns whether it removed a member, and posts the notice exactly if it did, even if a process dies at any point: the notice is stored
 * first, and a worker posts it. Returns the result of `remove`.
 */
export async function removeWithNotice(platform: EnqueuePlatform, notice: NoticeDoc, remove: () => Promise<boolean>): Promise<boolean> {
  const { notices } = platform.db;
  const { _id } = notice;
  await insertNew(notices, notice);
  failpoint(platform.config, 'after-notice-write');
  if (!(await remove())) {
    await notices.deleteOne({ _id });
    return false;
  }
  failpoint(platform.config, 'after-removal');
  // A sweep may have deleted the notice while the removal ran, so it is stored again.
  await notices.replaceOne({ _id }, { ...notice, removed: true }, { upsert: true });
  platform.jobs.tryEnqueue('send-notice', { noticeId: _id });
  return true;
}

/**
 * Posts a notice as a DM of the system account, then deletes it. The unique index on the message's `noticeId` makes it one message, even if this runs
 * repeatedly or concurrently. If it is not known yet whether the removal happened, returns after how many milliseconds to try again; else null.
 */
export async function sendNotice(platform: EnqueuePlatform, noticeId: string): Promise<number | null> {
  const { notices } = platform.db;
  const notice = await notices.findOne({ _id: noticeId });
  if (!notice) return null;
  if (!notice.removed && !(await isRemoved(platform, notice))) {
    const remainingMs = notice.at.getTime() + removalMs - platform.now();
    if (remainingMs > 0) return remainingMs;
    if (!(await completeBan(platform, notice))) {
      await notices.deleteOne({ _id: noticeId, removed: { $exists: false } });
      return null;
    }
  }
  await postNotice(platform, notice);
  failpoint(platform.config, 'after-notice-post');
  await notices.deleteOne({ _id: noticeId });
  return null;
}

/** Whether a removal that is not marked as done has happened: the person is not a member and, for a ban, the ban exists. */
async function isRemoved({ db }: Platform, { kind, serverId, userId }: NoticeDoc): Promise<boolean> {
  const key = toMemberKey(serverId, userId);
  const [isMember, isBanned] = await Promise.all([exists(db.members, key), exists(db.bans, key)]);
  return !isMember && (kind === 'kick' || isBanned);
}

/** Removes the member if their ban exists, because the process that should have done so died. False if there is no such ban. */
async function completeBan(platform: EnqueuePlatform, { kind, serverId, userId }: NoticeDoc): Promise<boolean> {
  const key = toMemberKey(serverId, userId);
  if (kind !== 'ban' || !(await exists(platform.db.bans, key))) return false;
  return (await removeUnlessOwner(platform, serverId, userId, () => platform.db.bans.deleteOne(key))) === 'removed';
}

const postNotice = (platform: EnqueuePlatform, notice: NoticeDoc): Promise<void> =>
  postSystemMessage(platform, notice.userId, notice._id, renderNotice(notice));

/**
 * Posts a direct message of the system account to a person, once for each `noticeId`, also if this runs repeatedly or concurrently. Posts nothing to a bot or
 * to an account that no longer exists.
 */
export async function postSystemMessage(platform: EnqueuePlatform, userId: string, noticeId: string, content: string): Promise<void> {
  const dm = await openSystemDm(platform, userId);
  if (!dm) return;
  const context = { channelId: dm._id, serverId: null, permissions: 0, access: null, channel: null, dm };
  const parts = { context, authorId: systemAccount._id, content, embeds: [] };
  const message = { ...(await composeMessage(platform, parts)), noticeId };
  try {
    // Its id is above all ids of the DM, whichever clock made them.
    await storeMessage(platform, message, { after: idTimeMs(dm.activeId) + 1 });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

/** The DM of the system account with a person, created if it does not exist; null for a bot, and if the account no longer exists. */
async function openSystemDm(platform: Platform, userId: string): Promise<DmDoc | null> {
  const existing = await findDm(platform, systemAccount._id, userId);
  if (existing) return existing;
  const person = (await loadAccounts(platform, [userId])).get(userId);
  return person?.kind === 'person' ? findOrCreateDm(platform, platform.ids.next(), [await ensureSystemAccount(platform), person]) : null;
}

/** Sends the notices whose job was lost: those older than 10 s. A failed one does not delay the others; their errors are thrown at the end. */
export const sweepNotices = sweepDue({
  collection: 'notices',
  due: 'at',
  afterMs: removalMs,
  fields: [],
  max: 100,
  run: each((platform: EnqueuePlatform, { _id }) => sendNotice(platform, _id)),
});
