import { readEmoji } from '../../base/emoji.ts';
import type { LoggedData } from '../../contract/events.ts';
import type { Message } from '../../contract/message.ts';
import { relaxedWriteConcern } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import { type MessageEvent, type OutboxEntry, pendingIndex } from '../../store/mongo/models/outbox.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { type ChannelHorizon, readEndedWrite } from '../../store/redis/horizon.ts';
import type { NewestRelayed } from '../../store/redis/log/append.ts';
import type { Appended } from '../../store/redis/log/confirm.ts';
import type { RunState } from '../../store/redis/wakes.ts';
import { refreshLastMessage } from '../channels/dm-activity.ts';
import { requestRecounts } from '../channels/thread-activity.ts';
import {
  batchLifeMs,
  hasLifecycleEvent,
  isAnnounced,
  type OutboxSource,
  type PendingBatch,
  type ReadOptions,
  removeRelayedEntries,
  selectEntriesToSend,
  toIdKeys,
} from '../events/outboxes.ts';
import { createPlacedEvent, findPlacesOfChannel, type PlacedEvent } from '../events/placed.ts';
import { collectTraces } from '../events/traces.ts';
import { toMessages } from '../views/messages.ts';
import { afterAllFollowers, clearTombstones, removableTombstones } from './crosspost-tombstones.ts';
import { withCreate, withoutCreate } from './new-messages.ts';
import { completeRelayedChanges } from './reaction-changes.ts';

/** How many documents, and how many events, one batch takes. The events of one document are never split. */
const batchDocumentsMax = 100;
const batchEventsMax = 1_000;

/** The reactions of a message before those of `later`, its events that are sent after this one: clients count these. */
function reactionsBefore(reactions: Message['reactions'], later: readonly OutboxEntry<MessageEvent>[]): Message['reactions'] {
  const toIdentity = (emoji: string): string => readEmoji(emoji)?.identity ?? emoji;
  const before = new Map(reactions.map((one) => [toIdentity(one.emoji), one]));
  for (const { name, data } of later) {
    if (name !== 'REACTION_ADD' && name !== 'REACTION_REMOVE') continue;
    const one = before.get(toIdentity(data.emoji)) ?? { emoji: data.emoji, count: 0, me: false };
    before.set(toIdentity(data.emoji), { ...one, count: one.count + (name === 'REACTION_ADD' ? -1 : 1) });
  }
  return [...before.values()].filter(({ count }) => count > 0);
}

/** The event of an outbox entry, with the current message (`view`). None for an event that is not sent because the message is deleted. */
function createEvent(
  place: string,
  viewedAs: string,
  message: MessageDoc,
  entry: OutboxEntry<MessageEvent>,
  view: Message | undefined,
): PlacedEvent[] {
  const { _id: messageId, channelId, serverId, outbox = [] } = message;
  const withReactionsBefore = (shown: Message): Message => ({
    ...shown,
    reactions: reactionsBefore(shown.reactions, outbox.slice(outbox.indexOf(entry) + 1)),
  });
  const create = <N extends MessageEvent['name']>(name: N, data: LoggedData<N>): PlacedEvent[] => [
    createPlacedEvent(place, entry.id, name, data, { channelId: viewedAs }),
  ];
  switch (entry.name) {
    case 'MESSAGE_CREATE': {
      const nonce = entry.nonce === undefined ? {} : { nonce: entry.nonce };
      const created = view ? create('MESSAGE_CREATE', { ...withReactionsBefore(view), ...(serverId ? { serverId } : {}), ...nonce }) : [];
      return message.isNew ? created.map((event) => ({ ...event, newIn: channelId })) : created;
    }
    case 'MESSAGE_UPDATE':
      return view ? create('MESSAGE_UPDATE', { ...withReactionsBefore(view), serverId }) : [];
    case 'MESSAGE_DELETE':
      return create('MESSAGE_DELETE', { id: messageId, channelId, serverId });
    case 'REACTION_ADD':
    case 'REACTION_REMOVE':
      return view || isAnnounced(outbox) ? create(entry.name, { channelId, messageId, serverId, ...entry.data }) : [];
    case 'PINS_UPDATE':
      return create('PINS_UPDATE', { channelId, serverId });
  }
}

/**
 * The events of `messages`, in their order, for each place of their channel. A message that was deleted before its MESSAGE_CREATE was relayed is never
 * announced, and neither are its edits and reactions.
 */
async function createEvents(platform: WorkerPlatform, messages: readonly MessageDoc[]): Promise<PlacedEvent[]> {
  const { channelId, serverId, thread } = messages[0] as MessageDoc;
  const { places, viewedAs } = await findPlacesOfChannel(platform, { channelId, serverId, isThread: thread === true });
  const existing = messages.filter((message) => !message.deleted);
  const viewById = new Map((await toMessages(platform, existing, null)).map((one) => [one.id, one]));
  return places.flatMap((place) =>
    messages.flatMap((message) =>
      [...selectEntriesToSend(message.outbox ?? [])].flatMap((entry) =>
        createEvent(place, viewedAs, message, entry, viewById.get(message._id)),
      ),
    ),
  );
}

/** The first messages of `found` that fit into one batch, at least one. */
function takeBatch(found: readonly MessageDoc[]): readonly MessageDoc[] {
  let pending = 0;
  const end = found.findIndex(({ outbox = [] }, at) => {
    pending += outbox.length;
    return at > 0 && pending > batchEventsMax;
  });
  return end === -1 ? found : found.slice(0, end);
}

/**
 * Corrects the newest message in Redis, if a post or a delete could not note it there or its process died before. `storedNewest` is the newest message noted so
 * far. Runs before the event is appended, because a session that starts after the event learns of the message from Redis only.
 */
async function correctNewestMessage(
  { messageOrder: { newestMessages } }: WorkerPlatform,
  channelId: string,
  messages: readonly MessageDoc[],
  storedNewest: string,
): Promise<void> {
  const last = messages.at(-1)?._id ?? '';
  if (messages.some(({ deleted }) => deleted)) await newestMessages.forget(channelId);
  else if (storedNewest < last) await newestMessages.recordIfNewer(channelId, last);
}

/** Messages of one channel whose events were relayed, with those events that are in their outboxes. */
interface RelayedMessages {
  platform: WorkerPlatform;
  messages: readonly MessageDoc[];
}

/** The filter of messages, with their channels. */
const toKeys = (messages: readonly MessageDoc[]) => ({
  channelId: { $in: [...new Set(messages.map(({ channelId }) => channelId))] },
  ...toIdKeys(messages),
});

/**
 * Removes relayed events from their documents, and deletes relayed tombstones, except those that a running crosspost still needs and those whose reactions are
 * still stored. The tombstones that were kept for the crosspost of a message that is now deleted are deleted too.
 */
async function acknowledge(batches: RelayedMessages[]): Promise<void> {
  const { platform } = batches[0] as RelayedMessages;
  const messages = batches.flatMap((one) => one.messages);
  // A post or a delete may have left these incomplete when its process died.
  for (const channelId of new Set(messages.flatMap((one) => (one.serverId === null ? one.channelId : []))))
    await refreshLastMessage(platform, channelId);
  const threads = messages.flatMap(({ channelId, thread, outbox }) => (thread && hasLifecycleEvent(outbox) ? channelId : []));
  await requestRecounts(platform, [...new Set(threads)], relaxedWriteConcern);
  await completeRelayedChanges(platform, messages);
  const tombstones = messages.filter((message) => message.deleted);
  const removable = tombstones.length ? await removableTombstones(platform, tombstones) : [];
  for (const { _id, crossposted } of tombstones) if (crossposted) await clearTombstones(platform, _id, afterAllFollowers);
  // Tombstones are deleted first. If the process dies here, their pending events let the relay find them again. A tombstone gets no further events.
  const isDeletable = ({ _id, reactionCount }: MessageDoc): boolean => removable.includes(_id) && reactionCount === undefined;
  const deletable = messages.filter(isDeletable);
  if (deletable.length > 0)
    await platform.db.messages.deleteMany({ ...toKeys(deletable), deleted: true, reactionCount: { $exists: false } });
  await removeRelayedEntries(
    platform.db.messages,
    messages.filter((message) => !isDeletable(message)),
    toKeys,
  );
}

/** The newest message of the channel of this one that is relayed to all places of the channel; '~' for a DM that is gone, which has none. */
async function readNewestRelayed(platform: WorkerPlatform, { channelId, serverId }: MessageDoc): Promise<NewestRelayed> {
  const { places } = await findPlacesOfChannel(platform, { channelId, serverId, isThread: false });
  const relayed = await Promise.all(places.map((place) => platform.eventLog.readNewestRelayed(place, channelId)));
  return { id: relayed.map(({ id }) => id).sort()[0] ?? '~', appended: relayed.flatMap(({ appended }) => appended) };
}

/**
 * Messages of a channel with pending events, oldest first, and the horizon that they were read with: null while Redis is unavailable. `isAll`: whether there
 * are no others. `earlier`: the newest message of the channel that is in the log, in each place; absent if the last run appended it.
 */
interface PendingMessages {
  horizon: ChannelHorizon | null;
  messages: readonly MessageDoc[];
  isAll: boolean;
  earlier?: readonly Appended[];
}

/**
 * What the owner of a channel saves for its next run. Of the first `endedInserts` inserts, all messages are relayed but those in `unrelayed`.
 */
interface ChannelRunState {
  endedInserts: number;
  unrelayed: readonly MessageDoc[];
  /** When it was saved, by the process' monotonic clock. */
  savedAtMs: number;
}

/** How many messages are kept for the next run at most. */
const unrelayedMax = 100;

/**
 * The messages to relay, as known from the data of the wakes, without a database query. Null when a message may be missing: the caller must then query the
 * database. Ended inserts are counted, so a lost wake, or an insert whose process died before its end, shows as a gap in the count.
 */
function takeWakeMessages(state: RunState, payloads: readonly unknown[]): PendingMessages | null {
  const saved = state.saved as ChannelRunState | null;
  state.saved = null;
  if (!saved || payloads.length === 0 || performance.now() - saved.savedAtMs > batchLifeMs) return null;
  const messages = new Map(saved.unrelayed.map((message) => [message._id, message]));
  let horizon: ChannelHorizon | null = null;
  let { endedInserts } = saved;
  for (const payload of payloads) {
    const write = readEndedWrite(payload);
    if (!write || write.message === undefined || write.horizon.endedInserts !== ++endedInserts) return null;
    if (write.message) messages.set(write.message._id, write.message);
    horizon = write.horizon;
  }
  return { horizon, messages: [...messages.values()].sort((a, b) => (a._id < b._id ? -1 : 1)), isAll: true };
}

/** Saves the messages that wait for an older insert, for the next run. The first `relayed` of `messages` are relayed. */
function saveRunState(state: RunState, { horizon, messages }: PendingMessages, relayed: number): void {
  const unrelayed = messages.slice(relayed);
  if (horizon && unrelayed.length <= unrelayedMax)
    state.saved = { endedInserts: horizon.endedInserts, unrelayed, savedAtMs: performance.now() } satisfies ChannelRunState;
}

/**
 * Reads the messages with pending events after the id `after`, oldest first: those with an outbox, and the new ones that are not in the log. Without `after`, new
 * ones are read from where on they can be. `to`: the id up to which these are all that are pending. The query of those with an outbox has no bound for the ids,
 * because DocumentDB would then read and sort the whole backlog of the channel.
 */
async function readPendingMessages(
  platform: WorkerPlatform,
  channelId: string,
  relayed: ReadonlySet<string>,
  after: string | null,
): Promise<PendingMessages & { to: string }> {
  const { messages } = platform.db;
  const [horizon, from] = await Promise.all([platform.messageOrder.horizon(channelId), after ?? platform.logState.readAnnounced()]);
  const readNew = (since: string): Promise<MessageDoc[]> =>
    messages
      .find({ channelId, _id: { $gt: since }, isNew: true })
      .sort({ channelId: 1, _id: 1 })
      .limit(batchDocumentsMax)
      .toArray();
  const readWithOutbox = (): Promise<MessageDoc[]> =>
    messages
      .find({
        channelId,
        outboxAt: { $exists: true },
        ...(relayed.size > 0 ? { outbox: { $elemMatch: { id: { $nin: [...relayed] } } } } : {}),
      })
      .sort({ _id: 1 })
      .limit(batchDocumentsMax)
      .hint(pendingIndex)
      .toArray();
  // Those with an outbox are read after the new ones, because the sweep moves the event of a new message to its outbox.
  let newOnes = await readNew(from);
  const readNewest = newOnes[0] ? readNewestRelayed(platform, newOnes[0]) : { id: '', appended: [] };
  let [withOutbox, newest] = await Promise.all([readWithOutbox(), readNewest]);
  if (newest.id > (newOnes.at(-1)?._id ?? '')) {
    newOnes = await readNew(newest.id);
    withOutbox = await readWithOutbox();
  }
  const lastOf = (page: readonly MessageDoc[]): string => (page.length < batchDocumentsMax ? '~' : (page.at(-1)?._id as string));
  const to = [lastOf(newOnes), lastOf(withOutbox), horizon?.below ?? '~'].sort()[0] as string;
  const notRelayed = newOnes.filter(({ _id }) => _id > newest.id).map(withCreate);
  const found = new Map([...withOutbox, ...notRelayed].map((message) => [message._id, message]));
  return {
    horizon,
    messages: [...found.values()].filter(({ _id }) => _id <= to && _id !== horizon?.below).sort((a, b) => (a._id < b._id ? -1 : 1)),
    isAll: to === (horizon?.below ?? '~'),
    earlier: newest.appended,
    to,
  };
}

/**
 * The pending events of a channel's messages, oldest message first. Messages from the oldest id in flight on wait until that insert has ended, which wakes the
 * relay again, so they are relayed in the order of their ids. The owner of the channel (`state`, `payloads`) reads the database only if the wakes did not
 * report every insert.
 */
async function* read(
  platform: WorkerPlatform,
  channelId: string,
  { relayed, state, payloads }: ReadOptions,
): AsyncGenerator<PendingBatch, void> {
  let after: string | null = null;
  for (let fromWakes = state ? takeWakeMessages(state, payloads) : null; ; fromWakes = null) {
    const pending: PendingMessages & { to?: string } = fromWakes
      ? { ...fromWakes, messages: fromWakes.messages.map(withCreate) }
      : await readPendingMessages(platform, channelId, relayed, after);
    const oldest = pending.horizon?.oldest ?? null;
    const ready = pending.messages.filter(({ _id }) => oldest === null || _id < oldest);
    for (const message of ready) message.outbox = (message.outbox ?? []).filter(({ id }) => !relayed.has(id));
    const messages = takeBatch(ready);
    const [first] = messages;
    if (first) {
      await correctNewestMessage(platform, channelId, messages, pending.horizon?.newest ?? '');
      // What is new is not in an outbox: the sweep of new messages acknowledges it.
      const withOutbox = messages.flatMap(withoutCreate);
      yield {
        events: await createEvents(platform, messages),
        traces: collectTraces(messages),
        entryIds: withOutbox.flatMap(({ outbox = [] }) => outbox.map(({ id }) => id)),
        earlier: pending.earlier ?? [],
        acknowledge: async (appended) => {
          if (withOutbox.length > 0) await platform.eventLog.acknowledge(appended, { platform, messages: withOutbox }, acknowledge);
        },
      };
    }
    if (messages.length < ready.length) after = messages.at(-1)?._id ?? after;
    else if (pending.isAll) return state && saveRunState(state, pending, ready.length);
    else if (ready.length < pending.messages.length)
      return; // what follows waits for an insert that is under way
    else after = pending.to ?? after;
  }
}

/** The outbox of the messages of a channel. */
export const messageOutbox: OutboxSource = { read, documents: [{ collection: 'messages', keyField: 'channelId' }], sweepConcurrency: 4 };
