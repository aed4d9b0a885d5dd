import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { hasPermission } from '../../base/permissions.ts';
import { exists } from '../../store/mongo/database.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { CooldownDoc } from '../../store/mongo/models/cooldown.ts';
import type { Platform } from '../../store/platform.ts';
import type { ChannelContext } from './context.ts';

/** The caller's cooldown in a channel, in milliseconds. 0 if the caller skips slow mode, if it is off, and in DMs (docs/behavior/messages.md#slow-mode). */
function getCooldownMs({ channel, permissions }: ChannelContext): number {
  if (hasPermission(permissions, 'Manage Messages') || hasPermission(permissions, 'Manage Channels')) return 0;
  return (channel?.slowmodeSecs ?? 0) * 1000;
}

const toCooldownId = ({ channelId }: ChannelContext, userId: string): string => `${channelId}:${userId}`;

/** Whether a cooldown is over by the database's clock. If the clock was set back, a cooldown that would begin only after another one is not waited for. */
const toIsOver = (cooldownMs: number): object => ({
  $or: [{ $lte: ['$at', { $subtract: ['$$NOW', cooldownMs] }] }, { $gt: ['$at', { $add: ['$$NOW', cooldownMs] }] }],
});

/** The last cooldown of an account in a channel, and how many milliseconds of it are left by the database's clock; null when there is none. */
async function findLastCooldown(
  platform: Platform,
  id: string,
  cooldownMs: number,
): Promise<(CooldownDoc & { remainingMs: number }) | null> {
  // A cooldown that begins at this very moment may have a later time than this command's `$$NOW`.
  const leftMs = { $min: [cooldownMs, { $subtract: [{ $add: ['$at', cooldownMs] }, '$$NOW'] }] };
  const remainingMs = { $cond: [toIsOver(cooldownMs), 0, leftMs] };
  const [found] = await platform.db.cooldowns.aggregate([{ $match: { _id: id } }, { $set: { remainingMs } }]).toArray();
  return (found ?? null) as (CooldownDoc & { remainingMs: number }) | null;
}

/** Refuses `slowmode` with the seconds that are left, rounded up, so that a post after that time passes. */
function refuseIfRemaining(remainingMs: number): void {
  const seconds = Math.ceil(remainingMs / 1000);
  if (seconds > 0) refuse('slowmode', { seconds }, { retryAfter: seconds });
}

/** Refuses `slowmode` if the caller's cooldown has not passed. Begins no cooldown: this is for a check before expensive work, such as reading files. */
export async function requireNoCooldown(platform: Platform, context: ChannelContext, userId: string): Promise<void> {
  const cooldownMs = getCooldownMs(context);
  if (cooldownMs === 0) return;
  const cooldown = await findLastCooldown(platform, toCooldownId(context, userId), cooldownMs);
  if (cooldown) refuseIfRemaining(cooldown.remainingMs);
}

/**
 * Begins the cooldown of the caller, person or bot, for the create `createId` (docs/behavior/messages.md#slow-mode). Called after all checks but those of
 * files. One conditional update decides, by the database's clock. A create that is repeated after a crash keeps its cooldown. Refuses `slowmode` if the last
 * cooldown has not passed, or if another post wins the race.
 */
export async function startCooldown(platform: Platform, context: ChannelContext, userId: string, createId: string): Promise<void> {
  const cooldownMs = getCooldownMs(context);
  if (cooldownMs === 0) return;
  const { cooldowns, messages } = platform.db;
  const _id = toCooldownId(context, userId);
  const retentionMs = limits.slowmodeMaxSecs * 1000;
  const fields = { at: '$$NOW', createId: { $literal: createId }, expiresAt: { $add: ['$$NOW', retentionMs] } };
  for (;;) {
    if (await cooldowns.findOneAndUpdate({ _id, $expr: toIsOver(cooldownMs) }, [{ $set: fields }])) return;
    const cooldown = await findLastCooldown(platform, _id, cooldownMs);
    if (cooldown) {
      // An earlier run of this create began the cooldown, or its message exists and the author has posted again since. It needs no second cooldown.
      if (cooldown.createId === createId || (await exists(messages, { channelId: context.channelId, createId }))) return;
      refuseIfRemaining(cooldown.remainingMs);
    } else await insertNew(cooldowns, { _id, at: new Date(0), createId: '', expiresAt: new Date(platform.now() + retentionMs) });
  }
}
