import { refuse } from '../../base/errors.ts';
import type { Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { toMessage } from '../messages/message-view.ts';
import { applyEdit, replaceWithTombstone, requireMessage } from '../messages/messages.ts';
import { type InteractionKey, requireAnswerContext, requireInteractionByToken, storeAnswer } from './interaction-answers.ts';
import { countFollowUp, type SetRateHeaders } from './interaction-limits.ts';
import { expireIfLate, isWindowOpen, windows } from './interaction-states.ts';

/** The path parameters of a request for the original, and the callback that reports rate limits. */
export type OriginalKey = InteractionKey & { setRateHeaders: SetRateHeaders };

/**
 * The first answer of an interaction, within its 15 minutes (docs/behavior/interactions.md#the-original). Refuses with `rate_limited`, with `not_answered` if
 * there is none, or with `interaction_expired`. An answer that was ephemeral or is deleted is 404.
 */
async function requireOriginal(platform: ApiPlatform, key: OriginalKey): Promise<{ interaction: InteractionDoc; message: MessageDoc }> {
  const found = await requireInteractionByToken(platform, key);
  await countFollowUp(platform, found, key.setRateHeaders);
  const interaction = await expireIfLate(platform, found);
  if (interaction.state === 'created') refuse('not_answered');
  if (interaction.state === 'expired' || !(await isWindowOpen(platform, interaction._id, windows.followUps))) refuse('interaction_expired');
  if (interaction.state === 'deferred') refuse('not_answered');
  const messageId = (await storeAnswer(platform, interaction))?._id ?? interaction.messageId ?? '';
  return { interaction, message: await requireMessage(platform, interaction.channelId, messageId) };
}

/** Returns the first answer as it is now. Refuses as `requireOriginal` does. */
export async function getOriginal(platform: ApiPlatform, key: OriginalKey): Promise<Message> {
  const { interaction, message } = await requireOriginal(platform, key);
  await requireAnswerContext(platform, interaction);
  return toMessage(platform, message, null);
}

/**
 * Edits the first answer as a message is edited. Refuses as `requireOriginal` does, with 404 if the channel no longer exists, and with 400 if nothing would be
 * left.
 */
export async function editOriginal(platform: ApiPlatform, input: OriginalKey & { edit: MessageEdit }): Promise<Message> {
  const { interaction, message } = await requireOriginal(platform, input);
  return toMessage(platform, await applyEdit(platform, await requireAnswerContext(platform, interaction), message, input.edit), null);
}

/** Deletes the first answer. Refuses as `requireOriginal` does; a second delete is 404. */
export async function deleteOriginal(platform: ApiPlatform, key: OriginalKey): Promise<void> {
  const { interaction, message } = await requireOriginal(platform, key);
  await requireAnswerContext(platform, interaction);
  if (!(await replaceWithTombstone(platform, message))) refuse('not_found', { what: 'message' });
}
