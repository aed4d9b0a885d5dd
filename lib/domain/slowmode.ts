import { refuse } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { holds } from '../base/permissions.ts';
import type { TurnDoc } from '../store/models/turn.ts';
import type { Platform } from '../store/platform.ts';
import type { Place } from './places.ts';

/** How many milliseconds lie between two messages of the caller there; 0 for who may skip slow mode, where it is off, and in DMs (edge case 50). */
function spacingMs({ channel, permissions }: Place): number {
  if (holds(permissions, 'Manage Messages') || holds(permissions, 'Manage Channels')) return 0;
  return (channel?.slowmodeSecs ?? 0) * 1000;
}

const turnId = ({ channelId }: Place, userId: string): string => `${channelId}:${userId}`;

/** How long until the next turn, in milliseconds by the database's clock; 0 or less when it has come. */
async function waitMs(platform: Platform, id: string, spacing: number): Promise<number> {
  const left = { $subtract: [{ $add: ['$at', spacing] }, '$$NOW'] };
  const [found] = await platform.db.turns.collection.aggregate([{ $match: { _id: id } }, { $project: { left } }]).toArray();
  return found ? Number(found.left) : 0;
}

/** Refuses `slowmode` with whole seconds, rounded up: after so many the next post passes. */
function refuseEarly(ms: number): void {
  const seconds = Math.ceil(ms / 1000);
  if (seconds > 0) refuse('slowmode', { seconds }, { retryAfter: seconds });
}

/** Refuses `slowmode` when the caller's turn has not come. It only looks: for what is dear to read before the turn is taken, such as files. */
export async function requireTurn(platform: Platform, place: Place, userId: string): Promise<void> {
  const spacing = spacingMs(place);
  if (spacing > 0) refuseEarly(await waitMs(platform, turnId(place, userId), spacing));
}

/**
 * Takes the caller's turn for the message `messageId` (spec, Channel: `slowmodeSecs`), people and bots alike; called last, just before the message is stored.
 * One conditional write decides, by the database's clock: whose message it holds afterwards has the turn, so a create taken up again after a crash owns
 * its own. Refuses `slowmode` to all others.
 */
export async function takeTurn(platform: Platform, place: Place, userId: string, messageId: string): Promise<void> {
  const spacing = spacingMs(place);
  if (spacing === 0) return;
  const _id = turnId(place, userId);
  const come = { $lte: [{ $ifNull: ['$at', new Date(0)] }, { $subtract: ['$$NOW', spacing] }] };
  const kept = (field: string, taken: unknown) => ({ $cond: [come, taken, `$${field}`] });
  const turn = {
    at: kept('at', '$$NOW'),
    messageId: kept('messageId', { $literal: messageId }),
    expiresAt: kept('expiresAt', { $add: ['$$NOW', limits.slowmodeMaxSecs * 1000] }),
  };
  for (;;) {
    const options = { upsert: true, returnDocument: 'after' } as const;
    const held = (await platform.db.turns.collection.findOneAndUpdate({ _id: _id as never }, [{ $set: turn }], options)) as TurnDoc | null;
    if (held?.messageId === messageId) return;
    // Taken up again after its author posted once more: it stands, and asks for no second turn.
    if (await platform.db.messages.exists({ _id: messageId })) return;
    refuseEarly(await waitMs(platform, _id, spacing));
  }
}
