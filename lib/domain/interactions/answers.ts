import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { CallbackInput, FollowupInput, Message, MessageEdit } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc, MessageDraft } from '../../store/mongo/models/message.ts';
import type { ApiPlatform, EnqueuePlatform, Platform } from '../../store/platform.ts';
import { isInteractionToken } from '../../store/seal.ts';
import { requireOutboxRoom } from '../events/pending.ts';
import { checkDraft, composeMessage, findMessageByCreateId, storeMessage, toMessageDoc } from '../messages/draft.ts';
import { toMessage } from '../views/messages.ts';
import { requireAnswerContext } from './bot-context.ts';
import { createEphemeral } from './ephemeral-answers.ts';
import { createUpdateEntry, expireAndWake, expireIfLate, isWindowOpen, requireInteraction, transition, windows } from './states.ts';

/** The parameters in the path of a callback route. */
export interface InteractionKey {
  id: string;
  token: string;
}

/** Refuses a token that does not belong to the id (404), without reading the database. It does not check whether the interaction exists. */
export function requireInteractionToken({ config }: Pick<Platform, 'config'>, { id, token }: InteractionKey): void {
  // The token is compared for any id, so that the response time does not reveal which interactions exist.
  const isRight = isInteractionToken(config, id, token);
  if (!isRight || !isId(id)) refuse('not_found', { what: 'interaction' });
}

/** The interaction of this id and token. Every wrong pair is the same 404 (docs/behavior/interactions.md#answer-credential). */
export async function requireInteractionByToken(platform: Platform, key: InteractionKey): Promise<InteractionDoc> {
  requireInteractionToken(platform, key);
  return requireInteraction(platform, key.id);
}

/** The content of an answer. Refuses one that shows nothing (400). */
const checkAnswer = ({ content = '', embeds = [] }: MessageEdit): ReturnType<typeof checkDraft> => checkDraft({ content, embeds });

/** Makes the message of an answer, whose content was checked, without storing it. Refuses a channel that no longer exists (404). */
async function composeAnswer(
  platform: Platform,
  interaction: InteractionDoc,
  draft: ReturnType<typeof checkDraft>,
  createId: string,
): Promise<MessageDraft> {
  const { botId: authorId, userId, command } = interaction;
  const context = await requireAnswerContext(platform, interaction);
  const interactionLine = { id: interaction._id, userId, name: command.name };
  return composeMessage(platform, { createId, context, authorId, ...draft, interaction: interactionLine });
}

/** Stores the message of a decided answer, unless it is stored already, and removes it from the interaction. Can be repeated. */
export async function storeAnswer(platform: EnqueuePlatform, { _id, answer }: InteractionDoc): Promise<MessageDoc | null> {
  if (!answer) return null;
  const stored = await storeMessage(platform, answer);
  await platform.db.interactions.updateOne({ _id }, { $set: { messageId: stored._id }, $unset: { answer: 1 } });
  return stored;
}

/** A first answer that is decided but so far stored only in its interaction. */
export interface DecidedAnswer {
  /** The interaction after the transition, with its pending events. */
  interaction: InteractionDoc;
  /** The message; null for a defer. */
  message: MessageDraft | null;
  /** The message as shown, if the answer is ephemeral; else null. */
  ephemeralView: Message | null;
}

/** Makes `message` the answer, coming from the state that `interaction` has (`created` or `deferred`). Null if the transition failed. */
async function decideMessageAnswer(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  message: MessageDraft,
  isEphemeral: boolean,
  extraFields: object,
): Promise<DecidedAnswer | null> {
  const from = interaction.state;
  const isFirst = from === 'created';
  const window = isFirst ? windows.firstAnswer : windows.followUps;
  const opened = isFirst ? { openedAt: '$$NOW' } : {};
  const update = createUpdateEntry(platform, interaction, 'answered');
  const ephemeral = isEphemeral ? await createEphemeral(platform, message) : null;
  const answer = ephemeral
    ? { ephemeralAnswer: { $literal: { sealed: ephemeral.sealed, revision: 0 } } }
    : { answer: { $literal: message } };
  const set = { ...extraFields, state: 'answered', ...opened, ...answer };
  const events = ephemeral ? [ephemeral.entry, update] : [update];
  const moved = await transition(platform, interaction._id, { from, window, set, events });
  if (!moved) return null;
  failpoint(platform.config, 'after-answer-write');
  return { interaction: moved, message, ephemeralView: ephemeral?.view ?? null };
}

/** Stores the message of a decided answer and returns it as its sender sees it. A worker relays the events. */
async function completeAnswer(
  platform: EnqueuePlatform,
  { interaction, ephemeralView }: DecidedAnswer,
  message: MessageDraft,
): Promise<Message> {
  const stored = await storeAnswer(platform, interaction);
  platform.wake('relay-interaction', { interactionId: interaction._id });
  // The message may be deleted by now. The caller still gets what was posted.
  if (!stored) return ephemeralView ?? refuse('not_found', { what: 'message' });
  return toMessage(platform, stored.deleted ? toMessageDoc(message, stored._id) : stored, null);
}

/**
 * Refuses with `already_answered` if the interaction is answered or deferred, however old it is; else with `interaction_expired`
 * (docs/behavior/interactions.md#states).
 */
async function refuseLateAnswer(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<never> {
  await expireAndWake(platform, interaction);
  const { state } = await requireInteraction(platform, interaction._id);
  return state === 'answered' || state === 'deferred' ? refuse('already_answered') : refuse('interaction_expired');
}

/**
 * Gives the first answer to an interaction (docs/behavior/interactions.md#first-answer). `message` posts a message and returns it; `defer` gives 15 minutes and
 * returns null. An ephemeral message is shown to the person only and not stored as a message. Refuses with `already_answered` or `interaction_expired`. A wrong
 * id or token, or a channel that no longer exists, is 404. An invalid body is 400 and does not consume the answer. `newId` identifies the create request.
 */
export async function answerInteraction(
  platform: EnqueuePlatform,
  input: InteractionKey & { newId: string; answer: CallbackInput },
): Promise<Message | null> {
  const { answer, newId } = input;
  const interaction = await requireInteractionByToken(platform, input);
  const ownAnswer = interaction.state === 'answered' ? await findOwnAnswer(platform, interaction, newId) : null;
  if (ownAnswer) return ownAnswer;
  const decided = await decideAnswer(platform, interaction, answer, newId);
  // If the job runs nevertheless, it finds the interaction answered.
  platform.jobs.tryRemove('expire-interaction', { interactionId: interaction._id });
  if (decided.message) return completeAnswer(platform, decided, decided.message);
  platform.wake('relay-interaction', { interactionId: interaction._id });
  return null;
}

/**
 * Makes `answer` the first answer of `interaction`, which was just read. Refuses as `answerInteraction` does. `extraFields` holds fields of the interaction
 * that are written in the same update, as pipeline expressions.
 */
export async function decideAnswer(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  answer: CallbackInput,
  newId: string,
  extraFields: object = {},
): Promise<DecidedAnswer> {
  const draft = answer.type === 'message' ? checkAnswer(answer) : null;
  if (interaction.state !== 'created') return refuseLateAnswer(platform, interaction);
  const isEphemeral = answer.ephemeral === true;
  let decided: DecidedAnswer | null;
  if (draft === null) {
    await requireAnswerContext(platform, interaction);
    const set = { ...extraFields, state: 'deferred', openedAt: '$$NOW', ephemeral: isEphemeral };
    const events = [createUpdateEntry(platform, interaction, 'deferred')];
    const moved = await transition(platform, interaction._id, { from: 'created', window: windows.firstAnswer, set, events });
    decided = moved && { interaction: moved, message: null, ephemeralView: null };
  } else {
    const message = await composeAnswer(platform, interaction, draft, newId);
    decided = await decideMessageAnswer(platform, interaction, message, isEphemeral, extraFields);
  }
  return decided ?? refuseLateAnswer(platform, interaction);
}

/** The answer that an earlier run of the same create request gave; null if another request gave it. */
async function findOwnAnswer(platform: EnqueuePlatform, interaction: InteractionDoc, createId: string): Promise<Message | null> {
  const isOwn = interaction.answer?.createId === createId;
  const existing = isOwn
    ? await storeAnswer(platform, interaction)
    : await findMessageByCreateId(platform, interaction.channelId, createId);
  return existing && toMessage(platform, existing, null);
}

/**
 * Makes `message` the answer of a deferred interaction. `isEphemeral` defaults to what the defer said. Null if another request was faster, or the 15 minutes
 * have ended.
 */
async function answerDeferred(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  message: MessageDraft,
  isEphemeral: boolean | undefined,
): Promise<Message | null> {
  const first = await decideMessageAnswer(platform, interaction, message, isEphemeral ?? interaction.ephemeral, {});
  return first && completeAnswer(platform, first, message);
}

/** Makes `edit` the answer of a deferred interaction, as the first follow-up would. Null if another request was faster, or the 15 minutes have ended. */
export async function answerDeferredByEdit(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  edit: MessageEdit,
): Promise<Message | null> {
  const message = await composeAnswer(platform, interaction, checkAnswer(edit), platform.ids.next());
  return answerDeferred(platform, interaction, message, undefined);
}

/**
 * Posts a follow-up (docs/behavior/interactions.md#follow-ups). The first one after a defer becomes the answer; its `ephemeral` defaults to that of the defer.
 * Any other is an additional message. Refuses with `not_answered` before any answer, with `interaction_expired` after 15 minutes or if there never was an
 * answer, and otherwise as a callback does. `found` is the interaction as it was just read.
 */
export async function postFollowUp(
  platform: ApiPlatform,
  found: InteractionDoc,
  { newId, answer }: { newId: string; answer: FollowupInput },
): Promise<Message> {
  const interaction = await expireIfLate(platform, found);
  const { _id: id, state } = interaction;
  const draft = checkAnswer(answer);
  if (state === 'created') refuse('not_answered');
  if (state === 'expired' || !(await isWindowOpen(platform, id, windows.followUps))) refuse('interaction_expired');
  const message = await composeAnswer(platform, interaction, draft, newId);
  if (state === 'deferred') {
    const first = await answerDeferred(platform, interaction, message, answer.ephemeral);
    if (first) return first;
  }
  return postAdditionalMessage(platform, interaction, message, answer.ephemeral === true);
}

/**
 * Posts a message in addition to the answer. Refuses with `interaction_expired` if the 15 minutes have ended meanwhile, and with `unavailable` while the outbox
 * holds 50 events, such as ephemeral messages that wait for a worker.
 */
async function postAdditionalMessage(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  message: MessageDraft,
  isEphemeral: boolean,
): Promise<Message> {
  if (!isEphemeral) {
    if (!(await isWindowOpen(platform, interaction._id, windows.followUps))) refuse('interaction_expired');
    return toMessage(platform, await storeMessage(platform, message), null);
  }
  const { view, entry } = await createEphemeral(platform, message);
  const moved = await transition(platform, interaction._id, { from: 'answered', window: windows.followUps, set: {}, events: [entry] });
  if (!moved) {
    requireOutboxRoom((await requireInteraction(platform, interaction._id)).outbox, limits.pendingAnswers);
    refuse('interaction_expired');
  }
  platform.wake('relay-interaction', { interactionId: interaction._id });
  return view;
}
