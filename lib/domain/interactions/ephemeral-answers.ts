import { refuse } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import type { Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc, SealedAnswer } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc, MessageDraft } from '../../store/mongo/models/message.ts';
import type { InteractionEvent, OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { EnqueuePlatform, Platform } from '../../store/platform.ts';
import { seal, unseal } from '../../store/seal.ts';
import { createEntry, requireOutboxRoom } from '../events/pending.ts';
import { type MentionContext, resolveMentions, toMessageDoc } from '../messages/draft.ts';
import { checkEdit } from '../messages/messages.ts';
import { toMessage } from '../views/messages.ts';
import { requireInteraction, transition, windows } from './states.ts';

/** An ephemeral message, which is never stored as a message. */
export interface EphemeralMessage {
  /** As its sender sees it. */
  view: Message;
  /** The outbox entry that delivers it to the person. */
  entry: OutboxEntry<InteractionEvent>;
  /** What the interaction keeps of it, encrypted, so that it can be edited. */
  sealed: string;
}

/** An ephemeral message as it is shown, and its event. */
async function renderEphemeral(
  platform: Platform,
  name: 'MESSAGE_CREATE' | 'MESSAGE_UPDATE',
  message: MessageDoc,
): Promise<EphemeralMessage> {
  const view = { ...(await toMessage(platform, message, null)), ephemeral: true };
  const data = message.serverId === null ? view : { ...view, serverId: message.serverId };
  return { view, entry: createEntry(platform, { name, data }), sealed: seal(platform.config.APP_KEY, JSON.stringify(message)) };
}

/** Makes an ephemeral message of `draft`. */
export const createEphemeral = async (platform: EnqueuePlatform, draft: MessageDraft): Promise<EphemeralMessage> =>
  renderEphemeral(platform, 'MESSAGE_CREATE', toMessageDoc(draft, await platform.nextMessageId()));

/** The ephemeral answer of an interaction. 404 if it has none, it is deleted, or it was encrypted under a key that is no longer in use. */
function requireEphemeralAnswer(platform: Platform, { ephemeralAnswer }: InteractionDoc): { message: MessageDoc; stored: SealedAnswer } {
  const text = ephemeralAnswer ? unseal(platform.config, ephemeralAnswer.sealed) : null;
  if (!ephemeralAnswer || text === null) return refuse('not_found', { what: 'message' });
  const message = JSON.parse(text) as Omit<MessageDoc, 'createdAt' | 'editedAt'> & { createdAt: string; editedAt: string | null };
  const { createdAt, editedAt } = message;
  return {
    message: { ...message, createdAt: new Date(createdAt), editedAt: editedAt === null ? null : new Date(editedAt) },
    stored: ephemeralAnswer,
  };
}

/** The ephemeral answer as it is now; 404 if there is none. */
export const getEphemeralAnswer = async (platform: Platform, interaction: InteractionDoc): Promise<Message> =>
  (await renderEphemeral(platform, 'MESSAGE_UPDATE', requireEphemeralAnswer(platform, interaction).message)).view;

/**
 * Replaces the ephemeral answer by `answer`, and sends `entry` to the person. False if it was edited or deleted meanwhile. Refuses with `interaction_expired`
 * after 15 minutes.
 */
async function replaceEphemeralAnswer(
  platform: EnqueuePlatform,
  { _id }: InteractionDoc,
  revision: number,
  answer: SealedAnswer | null,
  entry: OutboxEntry<InteractionEvent>,
): Promise<boolean> {
  const window = { $and: [windows.followUps, { $eq: ['$ephemeralAnswer.revision', revision] }] };
  const set = { ephemeralAnswer: answer ? { $literal: answer } : '$$REMOVE' };
  const moved = await transition(platform, _id, { from: 'answered', window, set, events: [entry] });
  if (moved) {
    platform.wake('relay-interaction', { interactionId: _id });
    return true;
  }
  const current = await requireInteraction(platform, _id);
  if (current.ephemeralAnswer?.revision !== revision) return false;
  requireOutboxRoom(current.outbox, limits.pendingAnswers);
  return refuse('interaction_expired');
}

/** Edits the ephemeral answer as a message is edited, and sends the person MESSAGE_UPDATE. 404 if there is none. */
export async function editEphemeralAnswer(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  context: MentionContext,
  edit: MessageEdit,
): Promise<Message> {
  const { message, stored } = requireEphemeralAnswer(platform, interaction);
  const changed = checkEdit(message, edit);
  if (!changed) return getEphemeralAnswer(platform, interaction);
  const mentions = changed.content === undefined ? {} : await resolveMentions(platform, changed.content, context, message.replyPing);
  const edited = { ...message, ...changed, ...mentions, editedAt: new Date(platform.now()) };
  const { view, entry, sealed } = await renderEphemeral(platform, 'MESSAGE_UPDATE', edited);
  const revision = stored.revision + 1;
  if (await replaceEphemeralAnswer(platform, interaction, stored.revision, { sealed, revision }, entry)) return view;
  return editEphemeralAnswer(platform, await requireInteraction(platform, interaction._id), context, edit);
}

/** Deletes the ephemeral answer, and sends the person MESSAGE_DELETE. 404 if there is none. */
export async function deleteEphemeralAnswer(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<void> {
  const { message, stored } = requireEphemeralAnswer(platform, interaction);
  const { _id: id, channelId, serverId } = message;
  const entry = createEntry(platform, { name: 'MESSAGE_DELETE' as const, data: { id, channelId, serverId } });
  if (await replaceEphemeralAnswer(platform, interaction, stored.revision, null, entry)) return;
  await deleteEphemeralAnswer(platform, await requireInteraction(platform, interaction._id));
}
