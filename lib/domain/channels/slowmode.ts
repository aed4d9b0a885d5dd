import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { holds } from '../../base/permissions.ts';
import { insertNew } from '../../store/mongo/insert.ts';
import type { TurnDoc } from '../../store/mongo/models/cooldown.ts';
import type { Platform } from '../../store/platform.ts';
import type { Place } from './channel-context.ts';

/** The caller's cooldown in a channel, in milliseconds. 0 if the caller skips slow mode, if it is off, and in DMs (docs/behavior/messages.md#slow-mode). */
function spacingMs({ channel, permissions }: Place): number {
  if (holds(permissions, 'Manage Messages') || holds(permissions, 'Manage Channels')) return 0;
  return (channel?.slowmodeSecs ?? 0) * 1000;
}

const turnId = ({ channelId }: Place, userId: string): string => `${channelId}:${userId}`;

/** The last cooldown of an account in a channel, and how many milliseconds of it are left by the database's clock; null when there is none. */
async function lastTurn(platform: Platform, id: string, spacing: number): Promise<(TurnDoc & { left: number }) | null> {
  // A cooldown that begins at this very moment may have a later time than this command's `$$NOW`.
  const left = { $min: [spacing, { $subtract: [{ $add: ['$at', spacing] }, '$$NOW'] }] };
  const [found] = await platform.db.turns.collection.aggregate([{ $match: { _id: id } }, { $set: { left } }]).toArray();
  return (found ?? null) as (TurnDoc & { left: number }) | null;
}

/** Refuses `slowmode` with the seconds that are left, rounded up, so that a post after that time passes. */
function refuseEarly(leftMs: number): void {
  const seconds = Math.ceil(leftMs / 1000);
  if (seconds > 0) refuse('slowmode', { seconds }, { retryAfter: seconds });
}

/** Refuses `slowmode` if the caller's cooldown has not passed. Begins no cooldown: this is for a check before expensive work, such as reading files. */
export async function requireTurn(platform: Platform, place: Place, userId: string): Promise<void> {
  const spacing = spacingMs(place);
  if (spacing === 0) return;
  const turn = await lastTurn(platform, turnId(place, userId), spacing);
  if (turn) refuseEarly(turn.left);
}

/**
 * Begins the cooldown of the caller, person or bot, for the create `createId` (docs/behavior/messages.md#slow-mode). Called after all checks but those of
 * files. One conditional update decides, by the database's clock. A create that is repeated after a crash keeps its cooldown. Refuses `slowmode` if the last
 * cooldown has not passed, or if another post wins the race.
 */
export async function takeTurn(platform: Platform, place: Place, userId: string, createId: string): Promise<void> {
  const spacing = spacingMs(place);
  if (spacing === 0) return;
  const { turns, messages } = platform.db;
  const _id = turnId(place, userId);
  const come = { $lte: ['$at', { $subtract: ['$$NOW', spacing] }] };
  const keptMs = limits.slowmodeMaxSecs * 1000;
  const mine = { at: '$$NOW', createId: { $literal: createId }, expiresAt: { $add: ['$$NOW', keptMs] } };
  for (;;) {
    if (await turns.collection.findOneAndUpdate({ _id: _id as never, $expr: come }, [{ $set: mine }])) return;
    const turn = await lastTurn(platform, _id, spacing);
    if (turn) {
      // An earlier run of this create began the cooldown, or its message exists and the author has posted again since. It needs no second cooldown.
      if (turn.createId === createId || (await messages.exists({ createId }))) return;
      refuseEarly(turn.left);
    } else await insertNew(turns, { _id, at: new Date(0), createId: '', expiresAt: new Date(platform.now() + keptMs) });
  }
}
