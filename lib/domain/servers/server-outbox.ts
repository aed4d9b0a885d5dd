import { type Collection, type Filter, relaxedWriteConcern } from '../../store/mongo/database.ts';
import { calculateObjectSize } from '../../store/mongo/ejson.ts';
import { pendingFrom, pendingIndex, removeEntries } from '../../store/mongo/models/outbox.ts';
import { type ChannelDoc, type MemberDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { changeServerCounts } from '../applications/app-directory.ts';
import { collectTraces } from '../events/event-traces.ts';
import { hasLifecycleEvent, type OutboxSource, type PendingBatch, removeRelayedEntries, toIdKeys } from '../events/outbox-source.ts';
import { createPlacedEvent, type PlacedEvent } from '../events/placed-events.ts';
import { loadServerAccess } from '../members/access.ts';
import { confirmMemberships } from '../members/membership.ts';
import { deleteMemberships } from '../members/memberships.ts';
import { createViewChanges } from '../members/visibility.ts';
import { type RenderedEvents, renderMemberEvents, renderServerEvents, sortEvents } from './server-events.ts';
import { toChannel } from './server-view.ts';

/** How many channels, and how many members, one batch takes, and how many of their events: about so many, because a document is taken whole. */
const batchDocuments = 100;
const batchEvents = 1_000;
const batchBytes = 4 * 2 ** 20;
/** How many documents are fetched at once. Each can have 1 MiB of events. */
const fetchedAtOnce = 10;

/** The pending events of `channels`, each with the channel's current state. */
const renderChannelEvents = (channels: readonly ChannelDoc[]): PlacedEvent[] =>
  channels.flatMap((channel) => {
    const { _id: channelId, serverId, outbox = [] } = channel;
    const data = toChannel(channel);
    return outbox.map(({ id, name }) => createPlacedEvent(serverPlace(serverId), id, name, data, { channelId }));
  });

interface Found<T> {
  documents: T[];
  areAll: boolean;
}

/** Documents of the server with events pending since `from`, or with any if it is null, oldest first: as many as one batch takes, and whether these are all. */
async function findPending<T extends ChannelDoc | MemberDoc>(
  collection: Collection<T>,
  serverId: string,
  from: Date | null,
): Promise<Found<T>> {
  const cursor = collection
    .find({ serverId, ...pendingFrom(from) } as Filter<T>)
    .sort({ outboxAt: 1 })
    .limit(batchDocuments)
    .batchSize(fetchedAtOnce)
    .hint(pendingIndex);
  const documents: T[] = [];
  let [events, bytes] = [0, 0];
  for await (const document of cursor) {
    const { outbox = [] } = document;
    documents.push(document as T);
    events += outbox.length;
    bytes += calculateObjectSize({ outbox });
    if (events >= batchEvents || bytes >= batchBytes) return { documents, areAll: false };
  }
  return { documents, areAll: documents.length < batchDocuments };
}

/**
 * Removes relayed events from the outboxes of the server, its members and its channels. If members joined or left, it first marks their number for a recount:
 * the process that should have counted them may have died.
 */
async function acknowledge(
  { db, now }: WorkerPlatform,
  server: ServerDoc,
  relayedIds: readonly string[],
  members: readonly MemberDoc[],
  channels: readonly ChannelDoc[],
): Promise<void> {
  const hasJoins = members.some(({ outbox }) => hasLifecycleEvent(outbox));
  const hasDepartures = server.outbox?.some(({ id, name }) => name === 'MEMBER_REMOVE' && relayedIds.includes(id)) ?? false;
  const recountStage = hasJoins || hasDepartures ? [{ $set: { recountAt: new Date(now()) } }] : [];
  const stages = [...(relayedIds.length > 0 ? removeEntries(relayedIds) : []), ...recountStage];
  if (stages.length > 0) await db.servers.updateOne({ _id: server._id }, stages, relaxedWriteConcern);
  const toKeysOfMembers = (some: readonly MemberDoc[]) =>
    toMemberKeys(
      [server._id],
      some.map(({ userId }) => userId),
    );
  await removeRelayedEntries(db.members, members, toKeysOfMembers);
  await removeRelayedEntries(db.channels, channels, toIdKeys);
}

/**
 * The pending events of a server, then of its members, then of its channels. Before a join or a departure is relayed, the membership of the account exists or is
 * deleted, also if the process that should have done so died (docs/store.md#members-and-memberships). Each batch continues at the `outboxAt` where the last one ended: index entries of
 * acknowledged events stay until the database cleans up, and would be read again.
 */
async function* read(platform: WorkerPlatform, serverId: string): AsyncGenerator<PendingBatch, void> {
  const { db } = platform;
  for (let [membersFrom, channelsFrom]: [Date | null, Date | null] = [null, null]; ; ) {
    const access = await loadServerAccess(platform, serverId, null);
    if (!access) return;
    const { server } = access;
    const ownEvents = await renderServerEvents(platform, server);
    const { documents: members, areAll: areAllMembers }: Found<MemberDoc> = await findPending(db.members, serverId, membersFrom);
    const departures = findDepartures(server, ownEvents);
    await deleteMemberships(platform, departures);
    await changeServerCounts(
      platform,
      departures.map(({ userId }) => userId),
      0,
    );
    await confirmMemberships(platform, serverId, members);
    const memberEvents = await renderMemberEvents(platform, server, members);
    const { documents: channels, areAll: areAllChannels }: Found<ChannelDoc> = await findPending(db.channels, serverId, channelsFrom);
    const viewChanges = await createViewChanges(access, { server, members, channels });
    const otherChannels = channels.filter(({ _id }) => !viewChanges.coveredChannelIds.has(_id));
    yield {
      events: [...sortEvents(ownEvents, memberEvents), ...viewChanges.events, ...renderChannelEvents(otherChannels)],
      traces: collectTraces([server, ...members, ...channels]),
      acknowledge: (appended) =>
        platform.acknowledge(appended, null, () => acknowledge(platform, server, ownEvents.completedIds, members, channels)),
    };
    if (areAllMembers && areAllChannels) return;
    membersFrom = members.at(-1)?.outboxAt ?? membersFrom;
    channelsFrom = channels.at(-1)?.outboxAt ?? channelsFrom;
  }
}

/** The members whose end is relayed now. */
const findDepartures = ({ _id: serverId, outbox = [] }: ServerDoc, { events }: RenderedEvents) => {
  const relayedIds = new Set(events.map(({ id }) => id));
  return outbox.flatMap(({ id, name, data }) => (name === 'MEMBER_REMOVE' && relayedIds.has(id) ? { serverId, ...data } : []));
};

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
