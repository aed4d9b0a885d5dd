import { readEmoji } from '../../base/emoji.ts';
import { refuse } from '../../base/errors.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import { hasPermission } from '../../base/permissions.ts';
import type { UserSummary } from '../../contract/user.ts';
import type { ApiPlatform, Platform } from '../../store/platform.ts';
import { deletedAuthor, loadAccounts, toUserSummary } from '../accounts/public-profiles.ts';
import { type ChannelContext, requireMessageChannel } from '../channels/channel-context.ts';
import { requireOutboxRoom } from '../events/pending-events.ts';
import { type Actor, requirePermissions } from '../members/access.ts';
import { deleteReaction, type Reaction, type ReactionState, readReactionState, writeReaction } from './reaction-writes.ts';

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

const requireReactionState = async (platform: Platform, reaction: Reaction): Promise<ReactionState> =>
  (await readReactionState(platform, reaction)) ?? refuse('not_found', { what: 'message' });

/**
 * Refuses a reaction that was not written, by the rule that forbids it. Returns if no rule forbids it any more, because others changed the message meanwhile.
 */
function refuseReaction({ emojiCount, reactionCount, isNewEmoji }: ReactionState, permissions: number): void {
  if (isNewEmoji) requirePermissions(permissions, 'Add Reactions');
  if (isNewEmoji && emojiCount >= limits.reactionsPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsPerMessage} different reactions` });
  if (reactionCount >= limits.reactionsTotalPerMessage)
    refuse('too_many_reactions', { limit: `${limits.reactionsTotalPerMessage} reactions in total` });
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
  const canAddEmoji = hasPermission(context.permissions, 'Add Reactions');
  while (!(await writeReaction(platform, reaction, canAddEmoji))) {
    const state = await requireReactionState(platform, reaction);
    if (state.isOwn) return;
    refuseReaction(state, context.permissions);
    requireOutboxRoom(state.pendingCount);
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
  while (!(await deleteReaction(platform, reaction))) {
    const state = await requireReactionState(platform, reaction);
    if (!state.isOwn) return;
    requireOutboxRoom(state.pendingCount);
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
  const { users } = await requireReactionState(platform, reaction);
  const accounts = await loadAccounts(platform, users, [actor.account]);
  return users.map((id) => {
    const account = accounts.get(id);
    return account ? toUserSummary(account) : deletedAuthor(id);
  });
}
