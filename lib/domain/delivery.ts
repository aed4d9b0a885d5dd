import type { Message } from '../contract/message.ts';
import { bookkeeping, trusted } from '../store/database.ts';
import type { Append } from '../store/log/append.ts';
import type { MessageDoc } from '../store/models/message.ts';
import { type OutboxEntry, settled, undeliveredIndex } from '../store/models/outbox.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { appendInOrder, forgetAll, type PlacedEvent, placed, placesOfChannel } from './audience.ts';
import { removableGraves } from './crosspost-graves.ts';
import { settleDm } from './dm-activity.ts';
import { presentMessages } from './present.ts';
import { askRecount } from './thread-activity.ts';

/** How many documents one batch takes, and how many events: what one document owes goes in one. */
const batchDocuments = 100;
const batchEvents = 1_000;
/** A batch older than this was paused; another worker has taken over (quality 2). */
const batchLifeMs = 5_000;

/** The events that `messages` owe, in the order of the messages. A message deleted before it was announced is never announced, nor what was done with it. */
async function dueEvents(platform: WorkerPlatform, messages: readonly MessageDoc[]): Promise<Append[]> {
  const alive = messages.filter((message) => !message.deleted);
  const shown = new Map((await presentMessages(platform, alive, null)).map((one) => [one.id, one]));
  return messages.flatMap((message) =>
    untold(message).flatMap((entry): Append[] => {
      const payload = payloadOf(message, entry, shown.get(message._id));
      return payload === null ? [] : [{ id: entry.id, name: entry.name, payload: JSON.stringify(payload), channelId: message.channelId }];
    }),
  );
}

/** The events of a message that tell something: of the MESSAGE_UPDATEs that it owes the last tells all, as each shows the message as it is now. */
const untold = ({ ob = [] }: MessageDoc): OutboxEntry[] => {
  const last = ob.findLast(({ name }) => name === 'MESSAGE_UPDATE');
  return ob.filter((entry) => entry.name !== 'MESSAGE_UPDATE' || entry === last);
};

/** As many of `found` as one batch takes, at least one. */
function oneBatch(found: readonly MessageDoc[]): readonly MessageDoc[] {
  let owed = 0;
  const end = found.findIndex(({ ob = [] }, at) => {
    owed += ob.length;
    return at > 0 && owed > batchEvents;
  });
  return end === -1 ? found : found.slice(0, end);
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

/**
 * Takes the undelivered events of one channel to the bus, oldest message first, until there are none (quality 2, Drain job). Messages from the oldest id in
 * flight on wait until that insert has ended, which wakes it again: so they are relayed in the order of their ids. Running it twice, or two at once, delivers nothing twice: every event has its mark. Rejects while Redis or the database is away; the documents keep what they owe.
 */
export async function drainChannel(platform: WorkerPlatform, channelId: string): Promise<void> {
  for (;;) {
    const began = performance.now();
    const horizon = await platform.messageOrder.horizon(channelId);
    const found = await platform.db.messages.collection
      .find({ channelId, obAt: { $exists: true }, ...(horizon ? { _id: { $lt: horizon.oldest ?? horizon.below } } : {}) } as never)
      .sort({ _id: 1 })
      .limit(batchDocuments)
      .hint(undeliveredIndex)
      .toArray();
    const messages = oneBatch(found as unknown as MessageDoc[]);
    const [first] = messages;
    if (!first) return;
    const events = await dueEvents(platform, messages);
    if (performance.now() - began > batchLifeMs) return;
    const due = placed(await placesOfChannel(platform, first), events);
    const appended = await appendInOrder(platform, due);
    await noteNewest(platform, channelId, messages, horizon?.newest ?? '');
    if (first.serverId === null) await settleDm(platform, channelId);
    if (first.thread && messages.some(cameOrWent)) await askRecount(platform, channelId, bookkeeping);
    await platform.confirm(appended);
    if (performance.now() - began > batchLifeMs) return;
    await settle(platform, messages, due);
    if (found.length < batchDocuments && messages.length === found.length) return;
  }
}

/** Makes up for a post or a delete that could not note it in Redis, or died before. `noted` is what stood there as the newest message. */
async function noteNewest(
  { messageOrder: { newest } }: WorkerPlatform,
  channelId: string,
  messages: readonly MessageDoc[],
  noted: string,
): Promise<void> {
  const last = messages.at(-1)?._id ?? '';
  if (messages.some(({ deleted }) => deleted)) await newest.forget(channelId);
  else if (noted < last) await newest.note(channelId, last);
}

/** Whether a message owes the event of its post or of its end. */
const cameOrWent = ({ ob }: MessageDoc): boolean => ob?.some(({ name }) => name === 'MESSAGE_CREATE' || name === 'MESSAGE_DELETE') ?? false;

/** Takes delivered events off their documents, then lets their marks expire; a tombstone that owes nothing more goes. */
async function settle(platform: WorkerPlatform, messages: readonly MessageDoc[], told: readonly PlacedEvent[]): Promise<void> {
  const eventIds = messages.flatMap((message) => (message.ob ?? []).map((entry) => entry.id));
  const ids = messages.map((message) => message._id);
  const buried = messages.filter((message) => message.deleted);
  const graves = buried.length ? await removableGraves(platform, buried) : [];
  // First: as long as a tombstone owes events it is found again, whatever dies here. Nothing comes to owe more once it is one.
  if (graves.length) await platform.db.messages.deleteMany({ _id: trusted({ $in: graves }), deleted: true });
  // Taken back by a crash of the database, the events are found again, and their marks say that they were delivered.
  await platform.db.messages.collection.updateMany({ _id: { $in: ids } } as never, settled(eventIds), bookkeeping);
  void forgetAll(platform, told);
}

/** How old undelivered events are when the sweep takes them, in milliseconds. */
const sweepAfterMs = 2_000;

/** How many messages one look of the sweep takes in: far below the time that one operation may take. */
const sweepDocuments = 10_000;

/** The channels whose events are older than 2 s: their job was lost or late (quality 2, Sweep). However many messages wait, each look is a short one. */
export async function overdueChannels(platform: WorkerPlatform): Promise<string[]> {
  const $lt = new Date(platform.now() - sweepAfterMs);
  const channelIds = new Set<string>();
  for (let $gte = new Date(0); ; ) {
    const found = await platform.db.messages
      .find({ obAt: trusted({ $gte, $lt }) }, { _id: 0, channelId: 1, obAt: 1 })
      .sort({ obAt: 1 })
      .limit(sweepDocuments)
      .lean();
    for (const { channelId } of found) channelIds.add(channelId);
    if (found.length < sweepDocuments) return [...channelIds];
    const last = found.at(-1)?.obAt as Date;
    $gte = new Date(Math.max(last.getTime(), $gte.getTime() + 1));
  }
}

/** How old the oldest undelivered event is, of a message, an interaction, a channel, a server, a member or an account, in milliseconds; 0 when there is none. For the operators' metrics. */
export async function outboxAgeMs({ db, now }: Pick<WorkerPlatform, 'db' | 'now'>): Promise<number> {
  const due = { obAt: trusted({ $exists: true }) };
  const oldest = await Promise.all([
    db.messages.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.interactions.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.channels.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.servers.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.members.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
    db.accounts.findOne(due, { obAt: 1 }).sort({ obAt: 1 }).lean(),
  ]);
  return Math.max(0, ...oldest.map((one) => (one?.obAt ? now() - one.obAt.getTime() : 0)));
}
