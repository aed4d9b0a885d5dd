import { refuse } from '../../base/errors.ts';
import type { Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { presentMessage } from '../messages/message-view.ts';
import { applyEdit, buryMessage, messageIn } from '../messages/messages.ts';
import { finishAnswer, type InteractionKey, openInteraction, stageOf } from './interaction-answers.ts';
import { countFollowUp, type TellRate } from './interaction-limits.ts';
import { isDuring, settleState, windows } from './interaction-states.ts';

/** The path parameters of a change of the original, and the callback that reports rate limits. */
export type OriginalKey = InteractionKey & { tellRate: TellRate };

/**
 * The first answer of an interaction, within its 15 minutes (docs/behavior/interactions.md#the-original). Refuses with `rate_limited`, with `not_answered` if
 * there is none, or with `interaction_expired`. An answer that was ephemeral or is deleted is 404.
 */
async function originalOf(platform: ApiPlatform, key: OriginalKey): Promise<{ interaction: InteractionDoc; message: MessageDoc }> {
  const opened = await openInteraction(platform, key);
  await countFollowUp(platform, opened, key.tellRate);
  const interaction = await settleState(platform, opened);
  if (interaction.state === 'created') refuse('not_answered');
  if (interaction.state === 'expired' || !(await isDuring(platform, interaction._id, windows.following))) refuse('interaction_expired');
  if (interaction.state === 'deferred') refuse('not_answered');
  const messageId = (await finishAnswer(platform, interaction))?._id ?? interaction.messageId ?? '';
  return { interaction, message: await messageIn(platform, interaction.channelId, messageId) };
}

/**
 * Edits the first answer as a message is edited. Refuses as `originalOf` does, with 404 if the channel no longer exists, and with 400 if nothing would be left.
 */
export async function editOriginal(platform: ApiPlatform, input: OriginalKey & { edit: MessageEdit }): Promise<Message> {
  const { interaction, message } = await originalOf(platform, input);
  return presentMessage(platform, await applyEdit(platform, await stageOf(platform, interaction), message, input.edit), null);
}

/** Deletes the first answer. Refuses as `originalOf` does; a second delete is 404. */
export async function deleteOriginal(platform: ApiPlatform, key: OriginalKey): Promise<void> {
  const { interaction, message } = await originalOf(platform, key);
  await stageOf(platform, interaction);
  if (!(await buryMessage(platform, message))) refuse('not_found', { what: 'message' });
}
