import { refuse } from '../../base/errors.ts';
import type { Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { applyEdit, replaceWithTombstone, requireMessage } from '../messages/messages.ts';
import { toMessage } from '../views/messages.ts';
import { answerDeferredByEdit, storeAnswer } from './answers.ts';
import { requireAnswerContext } from './bot-context.ts';
import { deleteEphemeralAnswer, editEphemeralAnswer, getEphemeralAnswer } from './ephemeral-answers.ts';
import { expireIfLate, isWindowOpen, requireInteraction, windows } from './states.ts';

/**
 * An interaction whose first answer is asked for, within its 15 minutes (docs/behavior/interactions.md#the-original). `found` is the interaction as it was just
 * read. Refuses with `not_answered` if there is no answer or defer, or with `interaction_expired`.
 */
async function requireOpened(platform: ApiPlatform, found: InteractionDoc): Promise<InteractionDoc> {
  const interaction = await expireIfLate(platform, found);
  if (interaction.state === 'created') refuse('not_answered');
  if (interaction.state === 'expired' || !(await isWindowOpen(platform, interaction._id, windows.followUps))) refuse('interaction_expired');
  return interaction;
}

/** `requireOpened` of an interaction with an answer: refuses with `not_answered` after a defer. */
async function requireAnswered(platform: ApiPlatform, found: InteractionDoc): Promise<InteractionDoc> {
  const interaction = await requireOpened(platform, found);
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
export async function getOriginal(platform: ApiPlatform, found: InteractionDoc): Promise<Message> {
  const interaction = await requireAnswered(platform, found);
  await requireAnswerContext(platform, interaction);
  if (isEphemeral(interaction)) return getEphemeralAnswer(platform, interaction);
  return toMessage(platform, await requireStoredAnswer(platform, interaction), null);
}

/**
 * Edits the first answer as a message is edited. After a defer, the edit is the answer, as a follow-up would be. Refuses as `requireOpened` does, with 404 if the
 * answer is deleted or the channel no longer exists, and with 400 if nothing would be left.
 */
export async function editOriginal(platform: ApiPlatform, found: InteractionDoc, edit: MessageEdit): Promise<Message> {
  let interaction = await requireOpened(platform, found);
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
export async function deleteOriginal(platform: ApiPlatform, found: InteractionDoc): Promise<void> {
  const interaction = await requireAnswered(platform, found);
  await requireAnswerContext(platform, interaction);
  if (isEphemeral(interaction)) return deleteEphemeralAnswer(platform, interaction);
  const message = await requireStoredAnswer(platform, interaction);
  if (!(await replaceWithTombstone(platform, message))) refuse('not_found', { what: 'message' });
}
