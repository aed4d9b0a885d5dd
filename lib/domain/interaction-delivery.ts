import type { EventData } from '../contract/events.ts';
import type { InteractionDoc } from '../store/models/interaction.ts';
import { type OutboxEntry, settled } from '../store/models/outbox.ts';
import type { Platform, WorkerPlatform } from '../store/platform.ts';
import { loadServerNow, mayView } from './access.ts';
import { accountsOf, faceOf, goneAuthor } from './faces.ts';
import { finishAnswer } from './interaction-answers.ts';
import { expireInteraction, windows } from './interaction-states.ts';

/** A delivery that takes longer was paused; someone else has taken over (quality 2). In milliseconds. */
const deliveryLifeMs = 5_000;
/** How often the audience is computed again while access data keep changing. */
const staleMax = 20;

/** The interaction, and whether its 3 seconds are over by the database's clock; null when there is none. */
async function readTimed(platform: WorkerPlatform, id: string): Promise<(InteractionDoc & { late: boolean }) | null> {
  const found = await platform.db.interactions.collection.aggregate([{ $match: { _id: id } }, { $set: { late: windows.late } }]).toArray();
  return (found[0] as unknown as (InteractionDoc & { late: boolean }) | undefined) ?? null;
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
async function tellBot(platform: WorkerPlatform, interaction: InteractionDoc, entry: OutboxEntry): Promise<void> {
  const { botId, channelId, serverId } = interaction;
  const payload = JSON.stringify(await payloadOf(platform, interaction));
  for (let tries = 0; tries < staleMax; tries++) {
    const access = serverId === null ? null : await loadServerNow(platform, serverId);
    if (access?.version === null) throw new Error('redis is away');
    if (serverId !== null && !(access && (await mayView(access, botId, channelId)))) return;
    const outcome = await platform.append({
      eventId: entry.id,
      name: 'INTERACTION_CREATE',
      payload,
      bots: [botId],
      reach: 'newest',
      topics: [`user:${botId}`],
      ...(access ? { server: { id: access.server._id, version: access.version } } : {}),
      channelId,
    });
    if (outcome !== 'stale') return;
  }
  throw new Error('access data changed too often while an interaction was handed over');
}

/** Shows the person, and nobody else, what their interaction owes: its state, or an ephemeral answer. */
async function tellPerson(platform: WorkerPlatform, { userId }: InteractionDoc, { id, name, data }: OutboxEntry): Promise<void> {
  const topics = [`user:${userId}`];
  await platform.append({ eventId: id, name, payload: JSON.stringify(data), bots: [], reach: 'all', topics });
}

/**
 * Delivers what an interaction owes (quality 3): makes the message of a decided answer stand, tells the bot of a new interaction and the person of the rest,
 * then takes the events off. Running it twice, or two at once, delivers nothing twice. Rejects while Redis or the database is away; what is owed stays.
 */
export async function deliverInteraction(platform: WorkerPlatform, id: string): Promise<void> {
  const began = performance.now();
  const found = await readTimed(platform, id);
  if (!found?.ob?.length) return;
  const { late } = found;
  const interaction = (found.state === 'created' && late && (await expireInteraction(platform, found))) || found;
  await finishAnswer(platform, interaction);
  const entries = interaction.ob ?? [];
  for (const entry of entries) {
    if (performance.now() - began > deliveryLifeMs) return;
    if (entry.name !== 'INTERACTION_CREATE') await tellPerson(platform, interaction, entry);
    // A bot that hears of it too late could do nothing but fail.
    else if (interaction.state === 'created' && !late) await tellBot(platform, interaction, entry);
  }
  const ids = entries.map((entry) => entry.id);
  await platform.db.interactions.collection.updateOne({ _id: id as never }, settled(ids));
  await platform.forget(ids);
}
