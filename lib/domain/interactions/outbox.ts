import { failpoint } from '../../base/failpoint.ts';
import type { LoggedData } from '../../contract/events.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import { type InteractionEvent, type OutboxEntry, removeEntries } from '../../store/mongo/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { accountPlace, serverPlace } from '../../store/redis/log/keys.ts';
import type { OutboxSource, PendingBatch } from '../events/outboxes.ts';
import { createPlacedEvent, findPlacesOfChannel, type PlacedEvent } from '../events/placed.ts';
import { collectTraces } from '../events/traces.ts';
import { storeMessage } from '../messages/draft.ts';
import { deletedAuthor, loadAccounts, toUserSummary } from '../views/accounts.ts';
import { canBotView, loadInteractionBot } from './bot-context.ts';
import { markExpired, windows } from './states.ts';

/** Events of an interaction that are acknowledged, and the id of the message of its answer, if that was stored with them. */
interface AcknowledgedInteraction {
  platform: WorkerPlatform;
  _id: string;
  messageId: string | undefined;
  outbox: readonly OutboxEntry<InteractionEvent>[];
}

type TimedInteraction = InteractionDoc & { leftMs: number };

/** The interaction that `filter` matches, with the milliseconds left of its 3 seconds by the database's clock (`leftMs`); null if there is none. */
export async function readWithTimeLeft(platform: WorkerPlatform, filter: object): Promise<TimedInteraction | null> {
  const found = await platform.db.interactions.aggregate([{ $match: filter }, { $set: { leftMs: windows.leftMs } }]).toArray();
  return (found[0] as TimedInteraction | undefined) ?? null;
}

/** The interaction as the bot gets it, without its token, which the sender adds. */
export async function toInteractionPayload(platform: Platform, interaction: InteractionDoc): Promise<LoggedData<'INTERACTION_CREATE'>> {
  const { _id: id, applicationId, channelId, serverId, userId, userRoles: roles, command, options } = interaction;
  const account = (await loadAccounts(platform, [userId])).get(userId);
  const user = { ...(account ? toUserSummary(account) : deletedAuthor(userId)), roles };
  const data = { id: command.id, name: command.name, options };
  return { type: 'command', id, applicationId, channelId, serverId, user, data };
}

/** The event for the bot's newest session. A bot that is offline, or can no longer view the channel, gets nothing; the interaction then expires. */
async function createBotEvents(platform: WorkerPlatform, interaction: InteractionDoc, eventId: string): Promise<PlacedEvent[]> {
  const { botId, state } = interaction;
  if (state !== 'created') return [];
  const bot = await loadInteractionBot(platform, interaction);
  if (!bot || !(await canBotView(platform, interaction, bot))) return [];
  const onlySession = await platform.connections.findNewestSession(botId);
  if (onlySession === null) return [];
  const data = await toInteractionPayload(platform, interaction);
  return [createPlacedEvent(accountPlace(botId), eventId, 'INTERACTION_CREATE', data, { onlySession })];
}

/**
 * The events of an entry. Those other than INTERACTION_CREATE are for the person only: the new state, or an ephemeral answer, which they receive only while they
 * may view the channel.
 */
async function renderEntry(
  platform: WorkerPlatform,
  interaction: InteractionDoc,
  entry: OutboxEntry<InteractionEvent>,
): Promise<PlacedEvent[]> {
  const { userId, serverId, channelId } = interaction;
  if (entry.name === 'INTERACTION_CREATE') return createBotEvents(platform, interaction, entry.id);
  if (entry.name === 'INTERACTION_UPDATE' || serverId === null)
    return [createPlacedEvent(accountPlace(userId), entry.id, entry.name, entry.data)];
  const { viewedAs } = await findPlacesOfChannel(platform, { channelId, serverId });
  return [createPlacedEvent(serverPlace(serverId), entry.id, entry.name, entry.data, { channelId: viewedAs, onlyAccount: userId })];
}

/** Removes the acknowledged events of interactions from their outboxes, and answers whose message is stored. */
async function acknowledge(acknowledged: readonly AcknowledgedInteraction[]): Promise<void> {
  const [first] = acknowledged;
  if (!first) return;
  const updates = acknowledged.map(({ _id, messageId, outbox }) => {
    const settled = messageId === undefined ? [] : [{ $set: { messageId, answer: '$$REMOVE' } }];
    return { updateOne: { filter: { _id }, update: [...settled, ...removeEntries(outbox.map(({ id }) => id))] } };
  });
  await first.platform.db.interactions.bulkWrite(updates, { ordered: false });
}

/**
 * The pending events of an interaction. Stores the message of a decided answer first. The write that acknowledges the events also removes the answer from the
 * interaction; until then, whoever needs the message stores it, which changes nothing.
 */
export async function createInteractionBatch(platform: WorkerPlatform, interaction: InteractionDoc): Promise<PendingBatch> {
  const { _id, answer, outbox: entries = [] } = interaction;
  const stored = answer && (await storeMessage(platform, answer));
  if (stored) failpoint(platform.config, 'after-answer-message');
  const events: PlacedEvent[] = [];
  for (const entry of entries) events.push(...(await renderEntry(platform, interaction, entry)));
  return {
    events,
    traces: collectTraces([interaction]),
    acknowledge: (appended) => {
      if (stored) failpoint(platform.config, 'after-answer-append');
      return platform.eventLog.acknowledge(appended, { platform, _id, messageId: stored?._id, outbox: entries }, acknowledge);
    },
  };
}

/** Reads the pending events of an interaction. A late interaction is expired instead of sent to the bot, which could no longer answer it. */
async function* read(platform: WorkerPlatform, id: string): AsyncGenerator<PendingBatch, void> {
  const found = await readWithTimeLeft(platform, { _id: id });
  if (!found?.outbox?.length) return;
  // Null if another process answered or expired it since the read; that process relays the events.
  const isLate = found.state === 'created' && found.leftMs === 0;
  const interaction = isLate ? await markExpired(platform, found) : found;
  if (interaction) yield await createInteractionBatch(platform, interaction);
}

/** The outbox of interactions. An answer whose message is not stored yet always has a pending event, so the sweep finds it too. */
export const interactionOutbox: OutboxSource = { read, documents: [{ collection: 'interactions', keyField: '_id' }], sweepConcurrency: 8 };
