import { refuse } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isId } from '../../base/ids.ts';
import { limits } from '../../base/limits.ts';
import type { CallbackInput, FollowupInput, Message } from '../../contract/message.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { MessageDoc, MessageDraft } from '../../store/mongo/models/message.ts';
import type { OutboxEntry } from '../../store/mongo/models/outbox.ts';
import type { ApiPlatform, EnqueuePlatform, Platform } from '../../store/platform.ts';
import { isInteractionToken } from '../../store/seal.ts';
import { accountsOf } from '../accounts/public-profiles.ts';
import { dmPermissions, type Place } from '../channels/channel-context.ts';
import { requireRoom } from '../events/pending-events.ts';
import { homeOfChannel, loadServerNow, permissionsIn, require } from '../members/access.ts';
import { checkDraft, composeMessage, messageOf, messageOfCreate, storeMessage } from '../messages/message-draft.ts';
import { presentMessage } from '../messages/message-view.ts';
import { countFollowUp, type TellRate } from './interaction-limits.ts';
import { expireLazily, isDuring, move, readInteraction, settleState, updateEntry, windows } from './interaction-states.ts';

/** The parameters in the path of a callback route. */
export interface InteractionKey {
  id: string;
  token: string;
}

/** Refuses a token that does not belong to the id (404), without reading the database. It does not check whether the interaction exists. */
export function checkInteractionKey({ config }: Pick<Platform, 'config'>, { id, token }: InteractionKey): void {
  // The token is compared for any id, so that the response time does not reveal which interactions exist.
  const isRight = isInteractionToken(config, id, token);
  if (!isRight || !isId(id)) refuse('not_found', { what: 'interaction' });
}

/** The interaction of this id and token. Every wrong pair is the same 404 (docs/behavior/interactions.md#answer-credential). */
export async function openInteraction(platform: Platform, key: InteractionKey): Promise<InteractionDoc> {
  checkInteractionKey(platform, key);
  return readInteraction(platform, key.id);
}

/**
 * The channel of an answer, with the bot's permissions in it. The bot needs View Channel but not Send Messages, because a person asked
 * (docs/behavior/interactions.md#answer-credential). 404 if the channel or the bot no longer exists, or the bot has left the server.
 */
export async function stageOf(platform: Platform, { serverId, channelId, botId }: InteractionDoc): Promise<Place> {
  const [home, accounts] = await Promise.all([homeOfChannel(platform, channelId), accountsOf(platform, [botId])]);
  if (!accounts.has(botId)) return refuse('not_found', { what: 'bot' });
  if (home?.dm) return { channelId, serverId: null, permissions: dmPermissions, access: null, channel: null, dm: home.dm };
  const access = serverId === null ? null : await loadServerNow(platform, serverId);
  const [bot, channel] = access ? await Promise.all([access.member(botId), access.channel(channelId)]) : [null, null];
  if (!access || !bot || !channel) return refuse('not_found', { what: 'channel' });
  const permissions = await permissionsIn(access, bot, channel);
  require(permissions, 'View Channel');
  return { channelId, serverId, permissions, access, channel, dm: null };
}

/** Makes the message of an answer without storing it. Refuses a message that shows nothing (400) and a channel that no longer exists (404). */
async function compose(platform: Platform, interaction: InteractionDoc, input: FollowupInput, createId: string): Promise<MessageDraft> {
  const draft = checkDraft({ content: input.content ?? '', embeds: input.embeds ?? [] });
  const { botId: authorId, userId, command } = interaction;
  const line = { id: interaction._id, userId, name: command.name };
  return composeMessage(platform, { createId, place: await stageOf(platform, interaction), authorId, ...draft, interaction: line });
}

/**
 * Makes an ephemeral answer: the message as shown, and the outbox entry that delivers it to the person. It is never stored as a message; the interaction holds
 * it only in that entry.
 */
async function ephemeral(platform: EnqueuePlatform, draft: MessageDraft): Promise<{ shown: Message; entry: OutboxEntry }> {
  const message = messageOf(draft, await platform.messageId());
  const shown = { ...(await presentMessage(platform, message, null)), ephemeral: true };
  const data = message.serverId === null ? shown : { ...shown, serverId: message.serverId };
  return { shown, entry: { id: platform.ids.next(), name: 'MESSAGE_CREATE', data } };
}

/** Stores the message of a decided answer, unless it is stored already, and removes it from the interaction. Can be repeated. */
export async function finishAnswer(platform: EnqueuePlatform, { _id, answer }: InteractionDoc): Promise<MessageDoc | null> {
  if (!answer) return null;
  const stored = await storeMessage(platform, answer);
  await platform.db.interactions.updateOne({ _id }, { $set: { messageId: stored._id }, $unset: { answer: 1 } });
  return stored;
}

/** A first answer that is decided but so far stored only in its interaction. */
export interface Decided {
  /** The interaction after the transition, with its pending events. */
  interaction: InteractionDoc;
  /** The message; null for a defer. */
  message: MessageDraft | null;
  /** The message as shown, if the answer is ephemeral; else null. */
  hidden: Message | null;
}

/** Makes `message` the answer, coming from the state that `interaction` has (`created` or `deferred`). Null if the transition failed. */
async function decideMessage(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  message: MessageDraft,
  hidden: boolean,
  also: object,
): Promise<Decided | null> {
  const from = interaction.state;
  const first = from === 'created';
  const during = first ? windows.answering : windows.following;
  const opened = first ? { openedAt: '$$NOW' } : {};
  const update = updateEntry(platform, interaction, 'answered');
  const secret = hidden ? await ephemeral(platform, message) : null;
  const set = secret ? { ...also, state: 'answered', ...opened } : { ...also, state: 'answered', ...opened, answer: { $literal: message } };
  const owes = secret ? [secret.entry, update] : [update];
  const moved = await move(platform, interaction._id, { from, during, set, owes });
  if (!moved) return null;
  failpoint(platform.config, 'after-answer-write');
  return { interaction: moved, message, hidden: secret?.shown ?? null };
}

/** Stores the message of a decided answer and returns it as its sender sees it. A worker relays the events. */
async function conclude(platform: EnqueuePlatform, { interaction, hidden }: Decided, message: MessageDraft): Promise<Message> {
  const stored = await finishAnswer(platform, interaction);
  platform.nudge('relay-interaction', { interactionId: interaction._id });
  // The message may be deleted by now. The caller still gets what was posted.
  if (!stored) return hidden ?? refuse('not_found', { what: 'message' });
  return presentMessage(platform, stored.deleted ? messageOf(message, stored._id) : stored, null);
}

/**
 * Refuses with `already_answered` if the interaction is answered or deferred, however old it is; else with `interaction_expired`
 * (docs/behavior/interactions.md#states).
 */
async function refuseLost(platform: EnqueuePlatform, interaction: InteractionDoc): Promise<never> {
  await expireLazily(platform, interaction);
  const { state } = await readInteraction(platform, interaction._id);
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
  const interaction = await openInteraction(platform, input);
  const own = interaction.state === 'answered' ? await ownAnswer(platform, interaction, newId) : null;
  if (own) return own;
  const decided = await decideAnswer(platform, interaction, answer, newId);
  if (decided.message) return conclude(platform, decided, decided.message);
  platform.nudge('relay-interaction', { interactionId: interaction._id });
  return null;
}

/**
 * Makes `answer` the first answer of `interaction`, which was just read. Refuses as `answerInteraction` does. `also` holds fields of the interaction that are
 * written in the same update, as pipeline expressions.
 */
export async function decideAnswer(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  answer: CallbackInput,
  newId: string,
  also: object = {},
): Promise<Decided> {
  if (answer.type === 'message') checkDraft({ content: answer.content ?? '', embeds: answer.embeds ?? [] });
  if (interaction.state !== 'created') return refuseLost(platform, interaction);
  if (answer.type === 'defer') {
    await stageOf(platform, interaction);
    const set = { ...also, state: 'deferred', openedAt: '$$NOW', ephemeral: answer.ephemeral === true };
    const owes = [updateEntry(platform, interaction, 'deferred')];
    const moved = await move(platform, interaction._id, { from: 'created', during: windows.answering, set, owes });
    return moved ? { interaction: moved, message: null, hidden: null } : refuseLost(platform, interaction);
  }
  const message = await compose(platform, interaction, answer, newId);
  return (await decideMessage(platform, interaction, message, answer.ephemeral === true, also)) ?? refuseLost(platform, interaction);
}

/** The answer that an earlier run of the same create request gave; null if another request gave it. */
async function ownAnswer(platform: EnqueuePlatform, interaction: InteractionDoc, createId: string): Promise<Message | null> {
  const isOwn = interaction.answer?.createId === createId;
  const standing = isOwn ? await finishAnswer(platform, interaction) : await messageOfCreate(platform, createId);
  return standing && presentMessage(platform, standing, null);
}

/**
 * Posts a follow-up (docs/behavior/interactions.md#follow-ups). The first one after a defer becomes the answer; its `ephemeral` defaults to that of the defer.
 * Any other is an additional message. Refuses with `rate_limited`, with `not_answered` before any answer, with `interaction_expired` after 15 minutes or if
 * there never was an answer, and otherwise as a callback does.
 */
export async function followUp(
  platform: ApiPlatform,
  input: InteractionKey & { newId: string; answer: FollowupInput; tellRate: TellRate },
): Promise<Message> {
  const { answer, newId } = input;
  const opened = await openInteraction(platform, input);
  await countFollowUp(platform, opened, input.tellRate);
  const interaction = await settleState(platform, opened);
  const { _id: id, state } = interaction;
  checkDraft({ content: answer.content ?? '', embeds: answer.embeds ?? [] });
  if (state === 'created') refuse('not_answered');
  if (state === 'expired' || !(await isDuring(platform, id, windows.following))) refuse('interaction_expired');
  const message = await compose(platform, interaction, answer, newId);
  if (state === 'deferred') {
    const first = await decideMessage(platform, interaction, message, answer.ephemeral ?? interaction.ephemeral, {});
    if (first) return conclude(platform, first, message);
  }
  return furtherMessage(platform, interaction, message, answer.ephemeral === true);
}

/**
 * Posts a message in addition to the answer. Refuses with `interaction_expired` if the 15 minutes have ended meanwhile, and with `unavailable` while the outbox
 * holds 50 events, such as ephemeral messages that wait for a worker.
 */
async function furtherMessage(
  platform: EnqueuePlatform,
  interaction: InteractionDoc,
  message: MessageDraft,
  hidden: boolean,
): Promise<Message> {
  if (!hidden) {
    if (!(await isDuring(platform, interaction._id, windows.following))) refuse('interaction_expired');
    return presentMessage(platform, await storeMessage(platform, message), null);
  }
  const { shown, entry } = await ephemeral(platform, message);
  const moved = await move(platform, interaction._id, { from: 'answered', during: windows.following, set: {}, owes: [entry] });
  if (!moved) {
    requireRoom((await readInteraction(platform, interaction._id)).ob?.length ?? 0, limits.answersOwed);
    refuse('interaction_expired');
  }
  platform.nudge('relay-interaction', { interactionId: interaction._id });
  return shown;
}
