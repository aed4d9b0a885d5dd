import { refuse } from '../../base/errors.ts';
import type { Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { applyEdit, replaceWithTombstone, requireMessage } from '../messages/messages.ts';
import { toMessage } from '../views/messages.ts';
import { answerDeferredByEdit, type InteractionKey, requireAnswerContext, requireInteractionByToken, storeAnswer } from './answers.ts';
import { deleteEphemeralAnswer, editEphemeralAnswer, getEphemeralAnswer } from './ephemeral-answers.ts';
import { countFollowUp, type SetRateHeaders } from './limits.ts';
import { expireIfLate, isWindowOpen, requireInteraction, windows } from './states.ts';

/** The path parameters of a request for the original, and the callback that reports rate limits. */
export type OriginalKey = InteractionKey & { setRateHeaders: SetRateHeaders };

/**
 * The interaction of a request for its first answer, within its 15 minutes (docs/behavior/interactions.md#the-original). Refuses with `rate_limited`, with
 * `not_answered` if there is no answer or defer, or with `interaction_expired`.
 */
async function requireOpened(platform: ApiPlatform, key: OriginalKey): Promise<InteractionDoc> {
  const found = await requireInteractionByToken(platform, key);
  await countFollowUp(platform, found, key.setRateHeaders);
  const interaction = await expireIfLate(platform, found);
  if (interaction.state === 'created') refuse('not_answered');
  if (interaction.state === 'expired' || !(await isWindowOpen(platform, interaction._id, windows.followUps))) refuse('interaction_expired');
  return interaction;
}

/** `requireOpened` of an interaction with an answer: refuses with `not_answered` after a defer. */
async function requireAnswered(platform: ApiPlatform, key: OriginalKey): Promise<InteractionDoc> {
  const interaction = await requireOpened(platform, key);
  return interaction.state === 'deferred' ? refuse('not_answered') : interaction;
}

/** The stored message of the first answer; 404 if it is deleted. */
async function requireStoredAnswer(platform: ApiPlatform, interaction: InteractionDoc): Promise<MessageDoc> {
  const messageId = (await storeAnswer(platform, interaction))?._id ?? interaction.messageId ?? '';
  return requireMessage(platform, interaction.channelId, messageId);
}

/** Whether the first answer is not a stored message: it is ephemeral, or was ephemeral and is deleted. */
const isEphemeral = ({ answer, messageId }: InteractionDoc): boolean => !answer && messageId === null;

/** Returns the first answer as it is now. Refuses as `requireAnswered` does, with 404 if it is deleted. */
export async function getOriginal(platform: ApiPlatform, key: OriginalKey): Promise<Message> {
  const interaction = await requireAnswered(platform, key);
  await requireAnswerContext(platform, interaction);
  if (isEphemeral(interaction)) return getEphemeralAnswer(platform, interaction);
  return toMessage(platform, await requireStoredAnswer(platform, interaction), null);
}

/**
 * Edits the first answer as a message is edited. After a defer, the edit is the answer, as a follow-up would be. Refuses as `requireOpened` does, with 404 if the
 * answer is deleted or the channel no longer exists, and with 400 if nothing would be left.
 */
export async function editOriginal(platform: ApiPlatform, input: OriginalKey & { edit: MessageEdit }): Promise<Message> {
  const { edit } = input;
  let interaction = await requireOpened(platform, input);
  if (interaction.state === 'deferred') {
    const first = await answerDeferredByEdit(platform, interaction, edit);
    if (first) return first;
    // Another request answered first, or the 15 minutes have ended meanwhile.
    interaction = await requireInteraction(platform, interaction._id);
    if (interaction.state !== 'answered') refuse('interaction_expired');
  }
  const context = await requireAnswerContext(platform, interaction);
  if (isEphemeral(interaction)) return editEphemeralAnswer(platform, interaction, context, edit);
  const message = await requireStoredAnswer(platform, interaction);
  return toMessage(platform, await applyEdit(platform, context, message, edit), null);
}

/** Deletes the first answer. Refuses as `requireAnswered` does; a second delete is 404. */
export async function deleteOriginal(platform: ApiPlatform, key: OriginalKey): Promise<void> {
  const interaction = await requireAnswered(platform, key);
  await requireAnswerContext(platform, interaction);
  if (isEphemeral(interaction)) return deleteEphemeralAnswer(platform, interaction);
  const message = await requireStoredAnswer(platform, interaction);
  if (!(await replaceWithTombstone(platform, message))) refuse('not_found', { what: 'message' });
}
