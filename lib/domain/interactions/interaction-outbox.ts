import type { LoggedData } from '../../contract/events.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { InteractionDoc } from '../../store/mongo/models/interaction.ts';
import { type OutboxEntry, settled } from '../../store/mongo/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../../store/platform.ts';
import { accountPlace } from '../../store/redis/log/keys.ts';
import { accountsOf, faceOf, goneAuthor } from '../accounts/public-profiles.ts';
import { type OutboxSource, type PendingEvents, relayBatch } from '../events/outbox-source.ts';
import { type PlacedEvent, placedEvent } from '../events/placed-events.ts';
import { loadServerNow, mayView } from '../members/access.ts';
import { storeMessage } from '../messages/message-draft.ts';
import { moveToExpired, windows } from './interaction-states.ts';

type Timed = InteractionDoc & { left: number };

/** The interaction that `filter` matches, with the milliseconds left of its 3 seconds by the database's clock (`left`); null if there is none. */
async function readTimed(platform: WorkerPlatform, filter: object): Promise<Timed | null> {
  const found = await platform.db.interactions.collection.aggregate([{ $match: filter }, { $set: { left: windows.left } }]).toArray();
  return (found[0] as unknown as Timed | undefined) ?? null;
}

/** The interaction as the bot gets it, without its token, which the sender adds. */
export async function payloadOf(platform: Platform, interaction: InteractionDoc): Promise<LoggedData<'INTERACTION_CREATE'>> {
  const { _id: id, applicationId, channelId, serverId, userId, userRoles: roles, command, options } = interaction;
  const account = (await accountsOf(platform, [userId])).get(userId);
  const user = { ...(account ? faceOf(account) : goneAuthor(userId)), roles };
  const data = { id: command.id, name: command.name, options };
  return { type: 'command', id, applicationId, channelId, serverId, user, data };
}

type InteractionEvent = 'INTERACTION_CREATE' | 'INTERACTION_UPDATE' | 'MESSAGE_CREATE';
type Render = (platform: WorkerPlatform, interaction: InteractionDoc, entry: OutboxEntry) => Promise<PlacedEvent[]>;

/** The event for the bot's newest session. A bot that is offline, or can no longer view the channel, gets nothing; the interaction then expires. */
const toBot: Render = async (platform, interaction, { id }) => {
  const { botId, channelId, serverId, state } = interaction;
  if (state !== 'created') return [];
  const access = serverId === null ? null : await loadServerNow(platform, serverId);
  if (serverId !== null && !(access && (await mayView(access, botId, channelId)))) return [];
  const onlySession = await platform.newestSession(botId);
  if (onlySession === null) return [];
  return [placedEvent(accountPlace(botId), id, 'INTERACTION_CREATE', await payloadOf(platform, interaction), { onlySession })];
};

/** The event for the person only: the new state, or an ephemeral answer, as stored in the entry. */
const toPerson =
  <N extends InteractionEvent>(name: N): Render =>
  async (_platform, { userId }, { id, data }) => [placedEvent(accountPlace(userId), id, name, data as LoggedData<N>)];

const render: Record<InteractionEvent, Render> = {
  INTERACTION_CREATE: toBot,
  INTERACTION_UPDATE: toPerson('INTERACTION_UPDATE'),
  MESSAGE_CREATE: toPerson('MESSAGE_CREATE'),
};

/** The pending events of an interaction. Stores the message of a decided answer first. */
async function pendingOf(platform: WorkerPlatform, interaction: InteractionDoc): Promise<PendingEvents> {
  const { _id, answer, ob: entries = [] } = interaction;
  const stored = answer ? await storeMessage(platform, answer) : null;
  const events: PlacedEvent[] = [];
  for (const entry of entries) events.push(...(await render[entry.name as InteractionEvent](platform, interaction, entry)));
  return {
    events,
    async acknowledge() {
      await platform.db.interactions.collection.updateOne({ _id: _id as never }, [
        ...settled(entries.map((entry) => entry.id)),
        ...(stored ? [{ $set: { messageId: stored._id } }] : []),
        { $unset: 'answer' },
      ]);
    },
  };
}

/**
 * Relays the pending events of an interaction. `began` is a moment before it was read, by the process' monotonic clock. Repeated and concurrent calls relay
 * nothing twice.
 */
export async function relayInteraction(platform: WorkerPlatform, interaction: InteractionDoc, began: number): Promise<void> {
  await (await relayBatch(platform, await pendingOf(platform, interaction), began))?.acknowledged;
}

/** Expires an interaction whose 3 seconds are over, and relays that. False if it was answered or expired before, or has time left. */
export async function expireInteraction(platform: WorkerPlatform, interaction: InteractionDoc): Promise<boolean> {
  const began = performance.now();
  const expired = await moveToExpired(platform, interaction);
  if (expired) await relayInteraction(platform, expired, began);
  return expired !== null;
}

/** Reads the pending events of an interaction. A late interaction is expired instead of sent to the bot, which could no longer answer it. */
async function* read(platform: WorkerPlatform, id: string): AsyncGenerator<PendingEvents, void> {
  const found = await readTimed(platform, { _id: id });
  if (!found?.ob?.length) return;
  // Null if another process answered or expired it since the read; that process relays the events.
  const isLate = found.state === 'created' && found.left === 0;
  const interaction = isLate ? await moveToExpired(platform, found) : found;
  if (interaction) yield await pendingOf(platform, interaction);
}

/** How many interactions one sweep takes. */
const sweepMax = 500;

/** Finds interactions with overdue events. An answer whose message is not stored yet always has a pending event, so it is found too. */
async function overdue({ db }: WorkerPlatform, before: Date): Promise<string[]> {
  const found = await db.interactions
    .find({ obAt: trusted({ $lte: before }) }, { _id: 1 })
    .sort({ obAt: 1 })
    .limit(sweepMax)
    .lean();
  return found.map(({ _id }) => _id);
}

/** The outbox of interactions. */
export const interactionOutbox: OutboxSource = { read, overdue, sweptAtOnce: 8 };

/** Expires the interaction if its 3 seconds are over. Returns the milliseconds that are left if it is too early, else null. */
export async function expireUnanswered(platform: WorkerPlatform, id: string): Promise<number | null> {
  const found = await readTimed(platform, { _id: id, state: 'created' });
  if (found?.left === 0) await expireInteraction(platform, found);
  return found?.left || null;
}
