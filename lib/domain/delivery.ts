import type { Message } from '../contract/message.ts';
import { trusted } from '../store/database.ts';
import type { MessageDoc } from '../store/models/message.ts';
import { type OutboxEntry, settled, undeliveredIndex } from '../store/models/outbox.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { homeOfChannel } from './access.ts';
import { type Audience, appendInOrder, channelAudience, type DueEvent, dmAudience } from './audience.ts';
import { removableGraves } from './crosspost-graves.ts';
import { settleDm } from './dm-activity.ts';
import { presentMessages } from './present.ts';
import { askRecount } from './thread-activity.ts';

/** How many documents one batch takes. */
const batchDocuments = 100;
/** A batch older than this was paused; another worker has taken over (quality 2). */
const batchLifeMs = 5_000;

/** The events that `messages` owe, in the order of the messages. A message deleted before it was announced is never announced, nor what was done with it. */
async function dueEvents(platform: WorkerPlatform, messages: readonly MessageDoc[]): Promise<DueEvent[]> {
  const alive = messages.filter((message) => !message.deleted);
  const shown = new Map((await presentMessages(platform, alive, null)).map((one) => [one.id, one]));
  return messages.flatMap((message) =>
    (message.ob ?? []).flatMap((entry): DueEvent[] => {
      const payload = payloadOf(message, entry, shown.get(message._id));
      return payload === null ? [] : [{ id: entry.id, name: entry.name, payload: JSON.stringify(payload), channelId: message.channelId }];
    }),
  );
}

const isAnnounced = ({ ob }: MessageDoc): boolean => !ob?.some(({ name }) => name === 'MESSAGE_CREATE');

function payloadOf(message: MessageDoc, { name, data, nonce }: OutboxEntry, shown: Message | undefined): object | null {
  const { _id, serverId, channelId } = message;
  if (name === 'MESSAGE_DELETE') return { id: _id, channelId, serverId };
  if (name === 'PINS_UPDATE') return { channelId, serverId };
  if (name === 'REACTION_ADD' || name === 'REACTION_REMOVE')
    return shown || isAnnounced(message) ? { channelId, messageId: _id, serverId, ...(data as object) } : null;
  if (!shown) return null;
  if (name === 'MESSAGE_UPDATE') return { ...shown, serverId };
  return { ...shown, ...(serverId ? { serverId } : {}), ...(nonce === undefined ? {} : { nonce }) };
}

/** The audience of a channel's messages as it stands now; null when nobody is left to hear. */
async function audienceOf(platform: WorkerPlatform, { serverId, channelId }: MessageDoc): Promise<Audience | null> {
  if (serverId !== null) return channelAudience(platform, serverId, channelId);
  const home = await homeOfChannel(platform, channelId);
  return home?.dm ? dmAudience(home.dm) : null;
}

/**
 * Takes the undelivered events of one channel to the bus, oldest message first, until there are none (quality 2, Drain job). Running it twice, or two at
 * once, delivers nothing twice: every event has its mark. Rejects while Redis or the database is away; the documents keep what they owe.
 */
export async function drainChannel(platform: WorkerPlatform, channelId: string): Promise<void> {
  for (;;) {
    const began = performance.now();
    const found = await platform.db.messages.collection
      .find({ channelId, obAt: { $exists: true } } as never)
      .sort({ _id: 1 })
      .limit(batchDocuments)
      .hint(undeliveredIndex)
      .toArray();
    const messages = found as unknown as MessageDoc[];
    const [first] = messages;
    if (!first) return;
    const events = await dueEvents(platform, messages);
    if (performance.now() - began > batchLifeMs) return;
    await appendInOrder(platform, events, () => audienceOf(platform, first));
    if (first.serverId === null) await settleDm(platform, channelId);
    if (first.thread && messages.some(cameOrWent)) await askRecount(platform, channelId, bookkeeping);
    if (performance.now() - began > batchLifeMs) return;
    await settle(platform, messages);
    if (messages.length < batchDocuments) return;
  }
}

/**
 * Not waited for until it is on disk: when a crash of the database takes it back, the events are found again and their marks say that they were
 * delivered.
 */
const bookkeeping = { writeConcern: { w: 1, journal: false } } as const;

/** Whether a message owes the event of its post or of its end. */
const cameOrWent = ({ ob }: MessageDoc): boolean => ob?.some(({ name }) => name === 'MESSAGE_CREATE' || name === 'MESSAGE_DELETE') ?? false;

/** Takes delivered events off their documents, then lets their marks expire; a tombstone that owes nothing more goes. */
async function settle(platform: WorkerPlatform, messages: readonly MessageDoc[]): Promise<void> {
  const eventIds = messages.flatMap((message) => (message.ob ?? []).map((entry) => entry.id));
  const ids = messages.map((message) => message._id);
  await platform.db.messages.collection.updateMany({ _id: { $in: ids } } as never, settled(eventIds), bookkeeping);
  const buried = messages.filter((message) => message.deleted);
  const graves = buried.length ? await removableGraves(platform, buried) : [];
  if (graves.length)
    await platform.db.messages.deleteMany({ _id: trusted({ $in: graves }), deleted: true, obAt: trusted({ $exists: false }) });
  void platform.forget(eventIds);
}

/** How old undelivered events are when the sweep takes them, in milliseconds. */
const sweepAfterMs = 2_000;

/** The channels whose events are older than 2 s: their job was lost or late (quality 2, Sweep). */
export async function overdueChannels(platform: WorkerPlatform): Promise<string[]> {
  const before = new Date(platform.now() - sweepAfterMs);
  return platform.db.messages.distinct('channelId', { obAt: trusted({ $lt: before }) });
}

/** How old the oldest undelivered event is, of a message, an interaction or a channel, in milliseconds; 0 when there is none. For the operators' metrics. */
export async function outboxAgeMs({ db, now }: Pick<WorkerPlatform, 'db' | 'now'>): Promise<number> {
  const due = { obAt: trusted({ $exists: true }) };
  const oldest = await Promise.all([
    db.messages.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.interactions.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.channels.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
  ]);
  return Math.max(0, ...oldest.map((one) => (one?.obAt ? now() - one.obAt.getTime() : 0)));
}
