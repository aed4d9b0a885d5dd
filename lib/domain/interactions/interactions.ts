import { type FieldError, refuse, refuseField } from '../../base/errors.ts';
import { failpoint } from '../../base/failpoint.ts';
import { isId } from '../../base/ids.ts';
import type { CommandOption, InvokeInput } from '../../contract/command.ts';
import type { InteractionView, InvokeResult, OptionValue } from '../../contract/interaction.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import type { ApiPlatform } from '../../store/platform.ts';
import { type Actor, canView, loadOwnMember } from '../access/checks.ts';
import type { Bot } from '../applications/bots.ts';
import { requireUsableCommand } from '../applications/command-picker.ts';
import { type ChannelContext, requireMessageChannel } from '../channels/context.ts';
import { createEntry } from '../events/pending.ts';
import { storeAnswer } from './answers.ts';
import { parseOptions } from './option-parsing.ts';
import { expireIfLate } from './states.ts';

/** `findReferenceError` for a DM, which has two users and no roles or channels. */
function findReferenceErrorInDm({ dm }: ChannelContext, { type, value }: OptionValue): string | null {
  if (type === 'user') return dm?.userIds.includes(String(value)) ? null : 'is not a participant in this direct message';
  return type === 'role' || type === 'channel' ? `cannot be a ${type} in a direct message` : null;
}

/**
 * Why an option's user, role or channel cannot be used here; null if it can. The person must be able to view the channel
 * (docs/behavior/interactions.md#option-types).
 */
async function findReferenceError(context: ChannelContext, actor: Actor, option: OptionValue): Promise<string | null> {
  const { access } = context;
  if (!access) return findReferenceErrorInDm(context, option);
  const { type, value } = option;
  const id = String(value);
  if (type === 'user') return (await access.member(id)) ? null : 'is not a member of this server';
  if (type === 'role') return access.server.roles.some((role) => role.id === id) ? null : 'is not a role of this server';
  if (type === 'channel') return (await canView(access, actor.id, id)) ? null : 'is not a channel that you can view';
  return null;
}

/** Parses and checks the options of a use. Refuses with `invalid_options`, with an error for each wrong option. */
async function requireOptions(
  context: ChannelContext,
  actor: Actor,
  options: readonly CommandOption[],
  input: InvokeInput,
): Promise<OptionValue[]> {
  if (input.text !== undefined && input.options !== undefined) refuseField('/options', 'Send either text or options, not both.');
  const { values, errors } = parseOptions(options, input);
  const references = await Promise.all(
    values.map(async (one): Promise<FieldError[]> => {
      const message = await findReferenceError(context, actor, one);
      return message === null ? [] : [{ path: one.name, message }];
    }),
  );
  const allErrors = [...errors, ...references.flat()];
  if (allErrors[0]) refuse('invalid_options', { reason: `${allErrors[0].path} ${allErrors[0].message}` }, { errors: allErrors });
  return values;
}

/** Why a use is refused with 503 that could not be delivered in time. */
const refuseBusy = (): never => refuse('unavailable');

/**
 * Refuses with 503 `unavailable` while Redis is unavailable, and while too much waits, above all for the application or the place, because one more use would
 * only expire (docs/operations.md#under-too-much-load).
 */
async function requireRoom(platform: ApiPlatform, { application }: Bot, placeId: string): Promise<void> {
  const queue = application.interactionsEndpointUrl === null ? 'interactions' : 'endpoints';
  if (!(await platform.jobs.hasRoom(queue, [application._id, placeId]).catch(refuseBusy))) refuseBusy();
}

/** Refuses with `bot_offline` unless the bot has a connected session, or an endpoint and an owner who is not suspended. */
async function requireReachable(
  platform: ApiPlatform,
  { application: { botId, interactionsEndpointUrl }, isSuspended }: Bot,
): Promise<void> {
  const isReachable =
    interactionsEndpointUrl === null ? (await platform.connections.areConnected([botId]).catch(refuseBusy))[0] : !isSuspended;
  if (!isReachable) refuse('bot_offline');
}

/**
 * Stores an interaction with its pending event. `createdAt` is set by the database's clock, so the write is a pipeline, and every value from outside is wrapped
 * in `$literal` (docs/guarantees.md#literal-values). An existing interaction with the same id is not changed.
 */
async function storeInteraction(
  platform: ApiPlatform,
  interaction: Omit<InteractionDoc, 'createdAt' | 'outboxAt' | 'deliveredAt'>,
): Promise<InteractionDoc> {
  const newInteraction = {
    $mergeObjects: [
      { $literal: interaction },
      { createdAt: '$$NOW', deliveredAt: null, ...(interaction.outbox ? { outboxAt: '$$NOW' } : {}) },
    ],
  };
  const stored = await platform.db.interactions.findOneAndUpdate(
    { _id: interaction._id },
    [{ $replaceWith: { $cond: [{ $eq: [{ $type: '$state' }, 'missing'] }, newInteraction, '$$ROOT'] } }],
    { upsert: true, returnDocument: 'after' },
  );
  return stored as InteractionDoc;
}

/** The request of a person to use a command. `id` is the interaction's id. */
export interface CommandUse {
  id: string;
  channelId: string;
  commandId: string;
  input: InvokeInput;
}

/**
 * Uses a slash command (docs/behavior/interactions.md#using-a-command). The caller needs the same as for a post: View Channel and Send Messages, or in a DM a
 * common server. Refuses with `invalid_options`, `bot_offline` or `unavailable` before anything is stored, so the bot receives nothing of a refused use.
 */
export async function useCommand(
  platform: ApiPlatform,
  actor: Actor,
  { id, channelId, commandId, input }: CommandUse,
): Promise<InvokeResult> {
  const context = await requireMessageChannel(platform, actor, channelId, 'Send Messages');
  const { command, bot } = await requireUsableCommand(platform, context, commandId, actor);
  const { application } = bot;
  const placeId = context.serverId ?? channelId;
  await requireRoom(platform, bot, placeId);
  if (command.kind === 'prefix') refuse('invalid_request', { reason: 'a prefix command is used by posting a message that starts with it' });
  const options = await requireOptions(context, actor, command.options ?? [], input);
  await requireReachable(platform, bot);
  const endpoint = application.interactionsEndpointUrl !== null;
  const stored = await storeInteraction(platform, {
    _id: id,
    applicationId: application._id,
    botId: application.botId,
    channelId,
    serverId: context.serverId,
    userId: actor.id,
    userRoles: [...((context.serverId && (await loadOwnMember(platform, actor, context.serverId))?.roles) || [])],
    command: { id: command.id, name: command.name },
    options,
    state: 'created',
    openedAt: null,
    ephemeral: false,
    messageId: null,
    endpoint,
    ...(endpoint ? {} : { outbox: [createEntry(platform, { name: 'INTERACTION_CREATE' as const })] }),
  });
  failpoint(platform.config, 'after-invoke-write');
  const job = { interactionId: id, applicationId: application._id, placeId };
  platform.jobs.tryEnqueue(endpoint ? 'post-interaction' : 'deliver-interaction', job);
  // The worker that posts to an endpoint knows when there is no answer.
  if (!endpoint) platform.jobs.tryEnqueue('expire-interaction', { interactionId: id });
  return { id, state: stored.state };
}

/** An interaction as the person who used it sees it; 404 for anyone else (docs/behavior/interactions.md#state-for-the-person). */
export async function getInteractionView(platform: ApiPlatform, actor: Actor, id: string): Promise<InteractionView> {
  const found = isId(id) ? await platform.db.interactions.findOne({ _id: id, userId: actor.id }) : null;
  if (!found) return refuse('not_found', { what: 'interaction' });
  const interaction = await expireIfLate(platform, found);
  const { channelId, command, state, createdAt } = interaction;
  const messageId = (await storeAnswer(platform, interaction))?._id ?? interaction.messageId;
  return { id, channelId, command: { id: command.id, name: command.name }, state, createdAt: createdAt.toISOString(), messageId };
}
