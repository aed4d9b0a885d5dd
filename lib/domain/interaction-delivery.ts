import type { EventData } from '../contract/events.ts';
import type { Appended } from '../store/log/confirm.ts';
import { accountPlace } from '../store/log/keys.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import { type OutboxEntry, settled } from '../store/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../store/platform.ts';
import { loadServerNow, mayView } from './access.ts';
import { accountsOf, faceOf, goneAuthor } from './faces.ts';
import { moveToExpired, windows } from './interaction-states.ts';
import { storeMessage } from './message-draft.ts';

/** A delivery that takes longer was paused; someone else has taken over (quality 2). In milliseconds. */
const deliveryLifeMs = 5_000;

type Timed = InteractionDoc & { left: number };

/** The interaction that `filter` names, and how many of its 3 seconds are left by the database's clock, in milliseconds; null when there is none. */
async function readTimed(platform: WorkerPlatform, filter: object): Promise<Timed | null> {
  const found = await platform.db.interactions.collection.aggregate([{ $match: filter }, { $set: { left: windows.left } }]).toArray();
  return (found[0] as unknown as Timed | undefined) ?? null;
}

/** The interaction as the bot gets it, but for its token, which is added when it is sent (quality 3). */
export async function payloadOf(platform: Platform, interaction: InteractionDoc): Promise<Omit<EventData<'INTERACTION_CREATE'>, 'token'>> {
  const { _id: id, applicationId, channelId, serverId, userId, userRoles: roles, command, options } = interaction;
  const account = (await accountsOf(platform, [userId])).get(userId);
  const user = { ...(account ? faceOf(account) : goneAuthor(userId)), roles };
  const data = { id: command.id, name: command.name, options };
  return { type: 'command', id, applicationId, channelId, serverId, user, data };
}

/** Hands the interaction to the bot's newest session. One that is offline, or may not see the channel any more, is told nothing: the interaction will expire. */
async function tellBot(platform: WorkerPlatform, interaction: InteractionDoc, entry: OutboxEntry): Promise<Appended[]> {
  const { botId, channelId, serverId } = interaction;
  const payload = JSON.stringify(await payloadOf(platform, interaction));
  const access = serverId === null ? null : await loadServerNow(platform, serverId);
  if (serverId !== null && !(access && (await mayView(access, botId, channelId)))) return [];
  const sid = await platform.newestSession(botId);
  if (sid === null) return [];
  return platform.append(accountPlace(botId), [{ id: entry.id, name: 'INTERACTION_CREATE', payload, onlySession: sid }]);
}

/** Shows the person, and nobody else, what their interaction owes: its state, or an ephemeral answer. */
async function tellPerson(platform: WorkerPlatform, { userId }: InteractionDoc, { id, name, data }: OutboxEntry): Promise<Appended[]> {
  return platform.append(accountPlace(userId), [{ id, name, payload: JSON.stringify(data) }]);
}

/**
 * Delivers what an interaction owes, as it stands (quality 3): stores the message of a decided answer, tells the bot of a new interaction and the person
 * of the rest, then takes all that off. Doing it twice, or two at once, delivers nothing twice. Rejects while Redis or the database is away; what is owed stays
 * for the sweep. `began` is a moment before it was read, by the process' monotonic clock.
 */
export async function deliverOwed(platform: WorkerPlatform, interaction: InteractionDoc, began: number): Promise<void> {
  const { _id, answer, ob: entries = [] } = interaction;
  const stored = answer ? await storeMessage(platform, answer) : null;
  for (const entry of entries) {
    if (performance.now() - began > deliveryLifeMs) return;
    if (entry.name !== 'INTERACTION_CREATE') await platform.confirm(await tellPerson(platform, interaction, entry));
    else if (interaction.state === 'created') await platform.confirm(await tellBot(platform, interaction, entry));
  }
  const ids = entries.map((entry) => entry.id);
  await platform.db.interactions.collection.updateOne({ _id: _id as never }, [
    ...settled(ids),
    ...(stored ? [{ $set: { messageId: stored._id } }] : []),
    { $unset: 'answer' },
  ]);
  for (const accountId of [interaction.userId, interaction.botId]) await platform.forget(accountPlace(accountId), ids);
}

/** Ends an interaction whose time is over, and tells the person. False when it was answered, was ended already, or has time left. */
export async function expireInteraction(platform: WorkerPlatform, interaction: InteractionDoc): Promise<boolean> {
  const began = performance.now();
  const expired = await moveToExpired(platform, interaction);
  if (expired) await deliverOwed(platform, expired, began);
  return expired !== null;
}

/** Delivers what the interaction of an id owes, by `deliverOwed`. A bot that would hear of it too late is not told, as it could do nothing but fail. */
export async function deliverInteraction(platform: WorkerPlatform, id: string): Promise<void> {
  const began = performance.now();
  const found = await readTimed(platform, { _id: id });
  if (!found?.ob?.length) return;
  // Answered or ended by another between the two, it is delivered by who did that.
  if (found.state === 'created' && found.left === 0) await expireInteraction(platform, found);
  else await deliverOwed(platform, found, began);
}

/** Ends the interaction if its time is over. Answers how many milliseconds it has left when it is too early, else null: there is nothing more to do. */
export async function expireUnanswered(platform: WorkerPlatform, id: string): Promise<number | null> {
  const found = await readTimed(platform, { _id: id, state: 'created' });
  if (found?.left === 0) await expireInteraction(platform, found);
  return found?.left || null;
}
