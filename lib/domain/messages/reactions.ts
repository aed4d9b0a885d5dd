import { readEmoji } from '../../base/emoji.ts';
import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { UserSummary } from '../../contract/user.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { type Actor, requirePermissions } from '../access/checks.ts';
import { type ChannelContext, requireMessageChannel } from '../channels/context.ts';
import { requireOutboxRoom } from '../events/pending.ts';
import { deletedAuthor, loadAccounts, toUserSummary } from '../views/accounts.ts';
import { findReactors } from '../views/reactions.ts';
import { type Reaction, type ReactionState, readReactionState, writeReaction } from './reaction-writes.ts';

/** Checks the channel and the emoji of a request: 404 and 403 as for every message, 400 for text that is not an emoji. Does not read the message. */
async function requireReactionTarget(
  platform: Platform,
  actor: Actor,
  channelId: string,
  messageId: string,
  emojiText: string,
): Promise<{ context: ChannelContext; reaction: Reaction }> {
  const context = await requireMessageChannel(platform, actor, channelId);
  if (!isId(messageId)) refuse('not_found', { what: 'message' });
  const emoji =
    readEmoji(emojiText) ?? refuse('invalid_request', { reason: 'the path contains no emoji; send one, or a custom emoji as name:id' });
  return { context, reaction: { channelId, messageId, userId: actor.id, ...emoji } };
}

/** The state of the message; 404 if there is none. 503 while it is not known whether an earlier request of the caller, which failed, has taken effect. */
async function requireReactionState(platform: Platform, reaction: Reaction): Promise<ReactionState> {
  const state = await readReactionState(platform, reaction);
  if (state === 'unknown') return refuse('unavailable', undefined, { retryAfter: 5 });
  return state ?? refuse('not_found', { what: 'message' });
}

/** Refuses to add a reaction by the first rule that forbids it. The write checks the same, in case others change the message meanwhile. */
function refuseReaction({ counters, counterIndex, reactionCount, pendingCount }: ReactionState, permissions: number): void {
  const isNewEmoji = counterIndex < 0;
  if (isNewEmoji) requirePermissions(permissions, 'Add Reactions');
  if (isNewEmoji && counters.length >= limits.reactionsPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsPerMessage} different reactions` });
  if (reactionCount >= limits.reactionsTotalPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsTotalPerMessage} reactions in total` });
  requireOutboxRoom(pendingCount);
}

/**
 * Adds the caller's reaction to a message (docs/behavior/messages.md#reactions). An emoji that is on the message already needs View Channel; a new one also
 * needs Add Reactions. A repeat changes nothing. Refuses `too_many_reactions` for the 21st different emoji, and past 10,000 reactions in all.
 */
export async function addReaction(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  emojiText: string,
): Promise<void> {
  const { context, reaction } = await requireReactionTarget(platform, actor, channelId, messageId, emojiText);
  for (;;) {
    const state = await requireReactionState(platform, reaction);
    if (state.isOwn) return;
    refuseReaction(state, context.permissions);
    if (await writeReaction(platform, reaction, state, 'REACTION_ADD')) break;
  }
  platform.wake('relay-channel', { channelId });
}

/** Removes the caller's reaction, if there is one. The last reaction with an emoji removes the emoji. Needs View Channel. */
export async function removeReaction(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  emojiText: string,
): Promise<void> {
  const { reaction } = await requireReactionTarget(platform, actor, channelId, messageId, emojiText);
  for (;;) {
    const state = await requireReactionState(platform, reaction);
    if (!state.isOwn) return;
    requireOutboxRoom(state.pendingCount);
    if (await writeReaction(platform, reaction, state, 'REACTION_REMOVE')) break;
  }
  platform.wake('relay-channel', { channelId });
}

/** The first 100 who reacted with an emoji, oldest first; none if nobody did (docs/behavior/messages.md#reactions). Needs View Channel. */
export async function listReactors(
  platform: ApiPlatform,
  actor: Actor,
  channelId: string,
  messageId: string,
  emojiText: string,
): Promise<UserSummary[]> {
  const { reaction } = await requireReactionTarget(platform, actor, channelId, messageId, emojiText);
  const users = (await findReactors(platform, reaction)) ?? refuse('not_found', { what: 'message' });
  const accounts = await loadAccounts(platform, users, [actor.account]);
  return users.map((id) => {
    const account = accounts.get(id);
    return account ? toUserSummary(account) : deletedAuthor(id);
  });
}
