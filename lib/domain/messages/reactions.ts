import { readEmoji } from '../../base/emoji.ts';
import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { holds } from '../../base/permissions.ts';
import type { UserFace } from '../../contract/user.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { accountsOf, faceOf, goneAuthor } from '../accounts/public-profiles.ts';
import { inPlace, type Place } from '../channels/channel-context.ts';
import { requireRoom } from '../events/pending-events.ts';
import { type Actor, require } from '../members/access.ts';
import { eraseReaction, type Reaction, type Seen, seeReaction, writeReaction } from './reaction-writes.ts';

/** Checks the channel and the emoji of a request: 404 and 403 as for every message, 400 for text that is not an emoji. Does not read the message. */
async function reactionAt(
  platform: Platform,
  actor: Actor,
  channelId: string,
  messageId: string,
  text: string,
): Promise<{ place: Place; reaction: Reaction }> {
  const place = await inPlace(platform, actor, channelId);
  if (!isId(messageId)) refuse('not_found', { what: 'message' });
  const emoji =
    readEmoji(text) ?? refuse('invalid_request', { reason: 'the path contains no emoji; send one, or a custom emoji as name:id' });
  return { place, reaction: { channelId, messageId, userId: actor.id, ...emoji } };
}

const see = async (platform: Platform, reaction: Reaction): Promise<Seen> =>
  (await seeReaction(platform, reaction)) ?? refuse('not_found', { what: 'message' });

/**
 * Refuses a reaction that was not written, by the rule that forbids it. Returns if no rule forbids it any more, because others changed the message meanwhile.
 */
function refuseReaction({ emojis, inAll, isNew }: Seen, permissions: number): void {
  if (isNew) require(permissions, 'Add Reactions');
  if (isNew && emojis >= limits.reactionsPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsPerMessage} different reactions` });
  if (inAll >= limits.reactionsInAll) refuse('too_many_reactions', { limit: `${limits.reactionsInAll} reactions in all` });
}

/**
 * Adds the caller's reaction to a message (docs/behavior/messages.md#reactions). An emoji that is on the message already needs View Channel; a new one also
 * needs Add Reactions. A repeat changes nothing. Refuses `too_many_reactions` for the 21st different emoji, and past 10,000 reactions in all.
 */
export async function addReaction(platform: ApiPlatform, actor: Actor, channelId: string, messageId: string, text: string): Promise<void> {
  const { place, reaction } = await reactionAt(platform, actor, channelId, messageId, text);
  const mayAdd = holds(place.permissions, 'Add Reactions');
  while (!(await writeReaction(platform, reaction, mayAdd))) {
    const seen = await see(platform, reaction);
    if (seen.mine) return;
    refuseReaction(seen, place.permissions);
    requireRoom(seen.owed);
  }
  platform.nudge('relay-channel', { channelId });
}

/** Removes the caller's reaction, if there is one. The last reaction with an emoji removes the emoji. Needs View Channel. */
export async function removeReaction(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  text: string,
): Promise<void> {
  const { reaction } = await reactionAt(platform, actor, channelId, messageId, text);
  while (!(await eraseReaction(platform, reaction))) {
    const seen = await see(platform, reaction);
    if (!seen.mine) return;
    requireRoom(seen.owed);
  }
  platform.nudge('relay-channel', { channelId });
}

/** The first 100 who reacted with an emoji, oldest first; none if nobody did (docs/behavior/messages.md#reactions). Needs View Channel. */
export async function listReactors(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  text: string,
): Promise<UserFace[]> {
  const { reaction } = await reactionAt(platform, actor, channelId, messageId, text);
  const { users } = await see(platform, reaction);
  const accounts = await accountsOf(platform, users, [actor.account]);
  return users.map((id) => {
    const account = accounts.get(id);
    return account ? faceOf(account) : goneAuthor(id);
  });
}
