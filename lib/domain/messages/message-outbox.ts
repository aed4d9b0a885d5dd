import type { EventData } from '../../contract/events.ts';
import type { Message } from '../../contract/message.ts';
import { bookkeeping, trusted } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { type OutboxEntry, settled, undeliveredIndex } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import type { Following } from '../../store/queue/queue.ts';
import { settleDm } from '../channels/dm-activity.ts';
import { askRecount } from '../channels/thread-activity.ts';
import { entriesToSend, hasBirthOrEnd, isAnnounced, type OutboxSource, type PendingEvents } from '../events/outbox-source.ts';
import { type PlacedEvent, placedEvent, placesOfChannel } from '../events/placed-events.ts';
import { type KnownMessages, remember, takeWakeMessages } from '../events/wake-messages.ts';
import { removableGraves } from './crosspost-tombstones.ts';
import { presentMessages } from './message-view.ts';

/** How many documents, and how many events, one batch takes. The events of one document are never split. */
const batchDocuments = 100;
const batchEvents = 1_000;

type MessageEvent = 'MESSAGE_CREATE' | 'MESSAGE_UPDATE' | 'MESSAGE_DELETE' | 'REACTION_ADD' | 'REACTION_REMOVE' | 'PINS_UPDATE';

type Render<N extends MessageEvent> = (message: MessageDoc, entry: OutboxEntry, shown: Message | undefined) => EventData<N> | null;

const reaction: Render<'REACTION_ADD'> = ({ _id: messageId, channelId, serverId, ob }, { data }, shown) =>
  shown || isAnnounced(ob) ? { channelId, messageId, serverId, ...(data as { userId: string; emoji: string }) } : null;

/** The payload of each event of a message, with the current message; null for an event that is not sent because the message is deleted. */
const render: { [N in MessageEvent]: Render<N> } = {
  MESSAGE_CREATE: ({ serverId }, { nonce }, shown) =>
    shown ? { ...shown, ...(serverId ? { serverId } : {}), ...(nonce === undefined ? {} : { nonce }) } : null,
  MESSAGE_UPDATE: ({ serverId }, _entry, shown) => (shown ? { ...shown, serverId } : null),
  MESSAGE_DELETE: ({ _id: id, channelId, serverId }) => ({ id, channelId, serverId }),
  REACTION_ADD: reaction,
  REACTION_REMOVE: reaction,
  PINS_UPDATE: ({ channelId, serverId }) => ({ channelId, serverId }),
};

/**
 * The events of `messages`, in their order, for each of `places`. A message that was deleted before its MESSAGE_CREATE was relayed is never announced, and
 * neither are its edits and reactions.
 */
async function eventsOf(platform: WorkerPlatform, messages: readonly MessageDoc[], places: readonly string[]): Promise<PlacedEvent[]> {
  const alive = messages.filter((message) => !message.deleted);
  const shown = new Map((await presentMessages(platform, alive, null)).map((one) => [one.id, one]));
  return places.flatMap((place) =>
    messages.flatMap((message) =>
      [...entriesToSend(message.ob ?? [])].flatMap((entry): PlacedEvent[] => {
        const name = entry.name as MessageEvent;
        const data = render[name](message, entry, shown.get(message._id));
        return data ? [placedEvent(place, entry.id, name, data, { channelId: message.channelId })] : [];
      }),
    ),
  );
}

/** The first messages of `found` that fit into one batch, at least one. */
function oneBatch(found: readonly MessageDoc[]): readonly MessageDoc[] {
  let pending = 0;
  const end = found.findIndex(({ ob = [] }, at) => {
    pending += ob.length;
    return at > 0 && pending > batchEvents;
  });
  return end === -1 ? found : found.slice(0, end);
}

/**
 * Corrects the newest message in Redis, if a post or a delete could not note it there or its process died before. `noted` is the newest message noted so far.
 * Runs before the event is appended, because a session that starts after the event learns of the message from Redis only.
 */
async function noteNewest(
  { messageOrder: { newest } }: WorkerPlatform,
  channelId: string,
  messages: readonly MessageDoc[],
  noted: string,
): Promise<void> {
  const last = messages.at(-1)?._id ?? '';
  if (messages.some(({ deleted }) => deleted)) await newest.forget(channelId);
  else if (noted < last) await newest.raise(channelId, last);
}

/** Messages of one channel whose events were relayed. */
interface RelayedMessages {
  platform: WorkerPlatform;
  channelId: string;
  messages: readonly MessageDoc[];
}

/** Repairs what a post or a delete may have left incomplete when its process died. */
async function repair({ platform, channelId, messages }: RelayedMessages): Promise<void> {
  if (messages[0]?.serverId === null) await settleDm(platform, channelId);
  if (messages[0]?.thread && messages.some(({ ob }) => hasBirthOrEnd(ob))) await askRecount(platform, channelId, bookkeeping);
}

/** Removes relayed events from their documents, and deletes relayed tombstones, except those that a running crosspost still needs. */
async function acknowledge(batches: RelayedMessages[]): Promise<void> {
  const { platform } = batches[0] as RelayedMessages;
  await Promise.all(batches.map(repair));
  const messages = batches.flatMap((one) => one.messages);
  const eventIds = messages.flatMap(({ ob = [] }) => ob.map(({ id }) => id));
  const tombstones = messages.filter((message) => message.deleted);
  const removable = tombstones.length ? await removableGraves(platform, tombstones) : [];
  // Tombstones are deleted first. If the process dies here, their pending events let the relay find them again. A tombstone gets no further events.
  if (removable.length) await platform.db.messages.deleteMany({ _id: trusted({ $in: removable }), deleted: true });
  const $in = messages.map(({ _id }) => _id as never);
  await platform.db.messages.collection.updateMany({ _id: { $in } }, settled(eventIds), bookkeeping);
}

/** Reads the messages with pending events, oldest first. */
async function lookUp(platform: WorkerPlatform, channelId: string, relayed: ReadonlySet<string>): Promise<KnownMessages> {
  const horizon = await platform.messageOrder.horizon(channelId);
  const found = (await platform.db.messages.collection
    .find({
      channelId,
      obAt: { $exists: true },
      ...(horizon ? { _id: { $lt: horizon.below } } : {}),
      ...(relayed.size > 0 ? { ob: { $elemMatch: { id: { $nin: [...relayed] } } } } : {}),
    } as never)
    .sort({ _id: 1 })
    .limit(batchDocuments)
    .hint(undeliveredIndex)
    .toArray()) as unknown as MessageDoc[];
  return { horizon, messages: found, isAll: found.length < batchDocuments };
}

/**
 * The pending events of a channel's messages, oldest message first. Messages from the oldest id in flight on wait until that insert has ended, which wakes the
 * relay again, so they are relayed in the order of their ids. A worker that stays with the channel (`following`) reads the database only if the wakes did not
 * report every insert.
 */
async function* read(
  platform: WorkerPlatform,
  channelId: string,
  relayed: ReadonlySet<string>,
  following?: Following,
): AsyncGenerator<PendingEvents, void> {
  for (let fromWakes = following ? takeWakeMessages(following) : null; ; fromWakes = null) {
    const known = fromWakes ?? (await lookUp(platform, channelId, relayed));
    const oldest = known.horizon?.oldest ?? null;
    const ready = known.messages.filter(({ _id }) => oldest === null || _id < oldest);
    for (const message of ready) message.ob = (message.ob ?? []).filter(({ id }) => !relayed.has(id));
    const messages = oneBatch(ready);
    const [first] = messages;
    if (first) {
      await noteNewest(platform, channelId, messages, known.horizon?.newest ?? '');
      yield {
        events: await eventsOf(platform, messages, await placesOfChannel(platform, first)),
        entryIds: messages.flatMap(({ ob = [] }) => ob.map(({ id }) => id)),
        batch: { platform, channelId, messages } satisfies RelayedMessages,
        acknowledge,
      };
    }
    if (known.isAll && messages.length === ready.length) return following && remember(following, known, ready.length);
    if (!first) return;
  }
}

/** How many messages one query of the sweep reads, so that it stays far below the time limit of an operation. */
const sweepDocuments = 10_000;

/** The channels with overdue events. Each query is short, however many messages wait. */
async function overdue({ db }: WorkerPlatform, $lt: Date): Promise<string[]> {
  const channelIds = new Set<string>();
  for (let $gte = new Date(0); ; ) {
    const found = await db.messages
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

/** The outbox of the messages of a channel. */
export const messageOutbox: OutboxSource = { read, overdue, sweptAtOnce: 4 };
