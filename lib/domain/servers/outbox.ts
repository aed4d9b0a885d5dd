import { setTimeout as sleep } from 'node:timers/promises';
import { readById } from '../../store/mongo/batched-reads.ts';
import { type Collection, type Filter, relaxedWriteConcern } from '../../store/mongo/database.ts';
import { calculateObjectSize } from '../../store/mongo/ejson.ts';
import { type Outbox, pendingFrom, pendingIndex, removeEntries } from '../../store/mongo/models/outbox.ts';
import { type ChannelDoc, type MemberDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { type ChangesHorizon, changeDelayMs } from '../../store/redis/server-changes.ts';
import {
  hasLifecycleEvent,
  type OutboxSource,
  type PendingBatch,
  type ReadOptions,
  removeRelayedEntries,
  toIdKeys,
} from '../events/outboxes.ts';
import { collectTraces } from '../events/traces.ts';
import { confirmMemberships, finishRemovals } from '../members/changes.ts';
import { listPending, type PendingDocuments, type PendingEntry, renderPending, timeOfId } from './events.ts';

/** How many channels, and how many members, one batch takes, and how many of their events: about so many, because a document is taken whole. */
const batchDocuments = 100;
const batchEvents = 1_000;
const batchBytes = 4 * 2 ** 20;
/** How many documents are fetched at once. Each can have 1 MiB of events. */
const fetchedAtOnce = 10;

/** Documents with pending events, and the time before which all ids of pending events are in them, in milliseconds. */
interface Found<T> {
  documents: T[];
  completeMs: number;
}

/**
 * Documents of the server with events pending since `from`, or with any if it is null, oldest first: about as many as one batch takes. It ends only between two
 * times, because the events of one time may have one order.
 */
async function findPending<T extends ChannelDoc | MemberDoc>(
  collection: Collection<T>,
  serverId: string,
  from: Date | null,
): Promise<Found<T>> {
  const cursor = collection
    .find({ serverId, ...pendingFrom(from) } as Filter<T>)
    .sort({ outboxAt: 1 })
    .batchSize(fetchedAtOnce)
    .hint(pendingIndex);
  const documents: T[] = [];
  let [events, bytes] = [0, 0];
  for await (const document of cursor) {
    const { outbox = [], outboxAt } = document;
    const isFull = documents.length >= batchDocuments || events >= batchEvents || bytes >= batchBytes;
    const isLater = outboxAt && outboxAt > (documents.at(-1)?.outboxAt ?? outboxAt);
    if (isFull && isLater) return { documents, completeMs: outboxAt.getTime() };
    documents.push(document as T);
    events += outbox.length;
    bytes += calculateObjectSize({ outbox });
  }
  return { documents, completeMs: Number.POSITIVE_INFINITY };
}

/** The documents with only those of their pending events that are in `relayed`; without documents that have none. */
const withRelayed = <T extends Outbox>(documents: readonly T[], relayed: ReadonlySet<string>): T[] =>
  documents.flatMap((document) => {
    const outbox = document.outbox?.filter(({ id }) => relayed.has(id)) ?? [];
    return outbox.length > 0 ? [{ ...document, outbox }] : [];
  });

/**
 * Removes relayed events from the outboxes of the server, its members and its channels. If members joined or left, it first marks their number for a recount:
 * the process that should have counted them may have died.
 */
async function acknowledge({ db, now }: WorkerPlatform, documents: PendingDocuments, pending: readonly PendingEntry[]): Promise<void> {
  const { server } = documents;
  const relayed = new Set(pending.map(({ entry }) => entry.id));
  const members = withRelayed(documents.members, relayed);
  const ownIds = (server.outbox ?? []).flatMap(({ id }) => (relayed.has(id) ? id : []));
  const hasMoved = members.some(({ outbox }) => hasLifecycleEvent(outbox)) || pending.some(({ entry }) => entry.name === 'MEMBER_REMOVE');
  const recountStage = hasMoved ? [{ $set: { recountAt: new Date(now()) } }] : [];
  const stages = [...(ownIds.length > 0 ? removeEntries(ownIds) : []), ...recountStage];
  if (stages.length > 0) await db.servers.updateOne({ _id: server._id }, stages, relaxedWriteConcern);
  const toKeysOfMembers = (some: readonly MemberDoc[]) =>
    toMemberKeys(
      [server._id],
      some.map(({ userId }) => userId),
    );
  await removeRelayedEntries(db.members, members, toKeysOfMembers);
  await removeRelayedEntries(db.channels, withRelayed(documents.channels, relayed), toIdKeys);
}

/** Finishes what the pending events say, in case the process that should have done so died: members and channels are deleted, memberships exist. */
async function finishChanges(platform: WorkerPlatform, { server }: PendingDocuments, pending: readonly PendingEntry[]): Promise<void> {
  const { _id: serverId } = server;
  const entries = pending.flatMap(({ kind, entry }) => (kind === 'server' ? entry : []));
  const departures = entries.flatMap(({ name, data }) => (name === 'MEMBER_REMOVE' ? { serverId, ...data } : []));
  const deletedIds = entries.flatMap(({ name, data }) => (name === 'CHANNEL_DELETE' ? data.channelId : []));
  await finishRemovals(platform, serverId, departures);
  if (deletedIds.length > 0) await platform.db.channels.deleteMany({ _id: { $in: deletedIds }, serverId });
  const joined = pending.flatMap((one) => (one.kind === 'member' && one.entry.name === 'MEMBER_ADD' ? one.member : []));
  await confirmMemberships(platform, serverId, joined);
}

/**
 * The pending events of a server, its members and its channels, in the order of its changes (docs/delivery.md#order). If it is patient, it waits for the changes
 * that are under way when it is called: a later one that has ended waits for them.
 */
async function* read(platform: WorkerPlatform, serverId: string, { relayed, isPatient }: ReadOptions): AsyncGenerator<PendingBatch, void> {
  const first = await platform.serverChanges.readHorizon(serverId);
  yield* readUntil(platform, serverId, relayed, first);
  if (first.horizonMs >= first.nowMs || !isPatient) return;
  let last = first;
  while (last.horizonMs < first.nowMs) {
    await sleep(changeDelayMs);
    last = await platform.serverChanges.readHorizon(serverId);
  }
  yield* readUntil(platform, serverId, relayed, last);
}

/**
 * The pending events with times before the horizon, without those of `relayed` that are still in the log. Each batch continues at the `outboxAt` where the last
 * one ended: index entries of acknowledged events stay until the database cleans up, and would be read again.
 */
async function* readUntil(
  platform: WorkerPlatform,
  serverId: string,
  relayed: ReadonlySet<string>,
  { horizonMs, relayedMs: relayedBeforeMs }: ChangesHorizon,
): AsyncGenerator<PendingBatch, void> {
  const { db, serverChanges } = platform;
  const isInLog = ({ entry, order }: PendingEntry): boolean => relayed.has(entry.id) && timeOfId(order) < relayedBeforeMs;
  let relayedMs = relayedBeforeMs;
  const [members, channels] = [new Map<string, MemberDoc>(), new Map<string, ChannelDoc>()];
  let [membersFrom, channelsFrom]: [Date | null, Date | null] = [null, null];
  for (let [fromMs, limitMs] = [0, 0]; limitMs < horizonMs; fromMs = limitMs) {
    const [foundMembers, foundChannels]: [Found<MemberDoc>, Found<ChannelDoc>] = await Promise.all([
      findPending(db.members, serverId, membersFrom),
      findPending(db.channels, serverId, channelsFrom),
    ]);
    for (const member of foundMembers.documents) members.set(member._id, member);
    for (const channel of foundChannels.documents) channels.set(channel._id, channel);
    const server: ServerDoc | null = await readById(db.servers, serverId);
    limitMs = server ? Math.min(horizonMs, foundMembers.completeMs, foundChannels.completeMs) : horizonMs;
    for (const { name, data } of server?.outbox ?? [])
      if (name === 'CHANNEL_DELETE' && data.channel && !channels.has(data.channelId))
        channels.set(data.channelId, data.channel as ChannelDoc);
    const documents = server && { server, members: [...members.values()], channels: [...channels.values()] };
    const pending = documents ? listPending(documents, fromMs, limitMs).filter((one) => !isInLog(one)) : [];
    // The events of later batches are in documents that were read already, or that are found from here on.
    if (foundMembers.completeMs === limitMs) membersFrom = new Date(limitMs);
    if (foundChannels.completeMs === limitMs) channelsFrom = new Date(limitMs);
    const [sinceMs, untilMs] = [relayedMs, limitMs];
    const recordRelayed = (): Promise<void> => serverChanges.recordRelayed(serverId, sinceMs, untilMs);
    if (!documents || pending.length === 0) {
      await recordRelayed();
      relayedMs = Math.max(relayedMs, limitMs);
      continue;
    }
    await finishChanges(platform, documents, pending);
    yield {
      events: await renderPending(platform, documents, pending),
      entryIds: pending.map(({ entry }) => entry.id),
      traces: collectTraces([documents.server, ...documents.members, ...documents.channels]),
      relayedMs,
      onAppended: recordRelayed,
      acknowledge: (appended) => platform.eventLog.acknowledge(appended, null, () => acknowledge(platform, documents, pending)),
    };
    relayedMs = Math.max(relayedMs, limitMs);
    const isRest = ({ outbox = [] }: Outbox): boolean => outbox.some(({ id }) => timeOfId(id) >= limitMs);
    for (const [id, member] of members) if (!isRest(member)) members.delete(id);
    for (const [id, channel] of channels) if (!isRest(channel)) channels.delete(id);
  }
}

/** The outboxes of servers, each with those of its members and channels. */
export const serverOutbox: OutboxSource = {
  read,
  documents: [
    { collection: 'servers', keyField: '_id' },
    { collection: 'members', keyField: 'serverId' },
    { collection: 'channels', keyField: 'serverId' },
  ],
  sweepConcurrency: 8,
};
