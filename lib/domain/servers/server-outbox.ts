import { type Collection, type Filter, relaxedWriteConcern } from '../../store/mongo/database.ts';
import { dueUntil } from '../../store/mongo/due.ts';
import { pendingIndex, removeEntries } from '../../store/mongo/models/outbox.ts';
import { type ChannelDoc, type MemberDoc, type ServerDoc, toMemberKeys } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { hasLifecycleEvent, type OutboxSource, type PendingBatch } from '../events/outbox-source.ts';
import { createPlacedEvent, type PlacedEvent } from '../events/placed-events.ts';
import { loadServerAccess } from '../members/access.ts';
import { confirmMemberships } from '../members/membership.ts';
import { deleteMemberships } from '../members/memberships.ts';
import { createViewChanges } from '../members/visibility.ts';
import { type RenderedEvents, renderMemberEvents, renderServerEvents, sortEvents } from './server-events.ts';
import { toChannel } from './server-view.ts';

/** How many channels, and how many members, one batch takes. */
const batchDocuments = 100;

/** The pending events of `channels`, each with the channel's current state. */
const renderChannelEvents = (channels: readonly ChannelDoc[]): PlacedEvent[] =>
  channels.flatMap((channel) => {
    const { _id: channelId, serverId, outbox = [] } = channel;
    const data = toChannel(channel);
    return outbox.map(({ id, name }) => createPlacedEvent(serverPlace(serverId), id, name, data, { channelId }));
  });

/** Documents of the server with events pending since `from`, oldest first. */
const findPending = <T extends ChannelDoc | MemberDoc>(collection: Collection<T>, serverId: string, from: Date): Promise<T[]> =>
  collection
    .find({ serverId, outboxAt: { $gte: from } } as Filter<T>)
    .sort({ outboxAt: 1 })
    .limit(batchDocuments)
    .hint(pendingIndex)
    .toArray() as Promise<T[]>;

const entryIdsOf = (documents: readonly (ChannelDoc | MemberDoc)[]): string[] =>
  documents.flatMap(({ outbox }) => (outbox ?? []).map(({ id }) => id));

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
  if (members.length > 0) {
    const keys = toMemberKeys(
      [server._id],
      members.map(({ userId }) => userId),
    );
    await db.members.updateMany(keys, removeEntries(entryIdsOf(members)), relaxedWriteConcern);
  }
  const $in = channels.map(({ _id }) => _id);
  if ($in.length > 0) await db.channels.updateMany({ _id: { $in } }, removeEntries(entryIdsOf(channels)), relaxedWriteConcern);
}

/**
 * The pending events of a server, then of its members, then of its channels. Before a join or a departure is relayed, the membership of the account exists or is
 * deleted, also if the process that should have done so died (docs/store.md#members-and-memberships). Each batch continues at the `outboxAt` where the last one ended: index entries of
 * acknowledged events stay until the database cleans up, and would be read again.
 */
async function* read(platform: WorkerPlatform, serverId: string): AsyncGenerator<PendingBatch, void> {
  const { db } = platform;
  for (let [membersFrom, channelsFrom] = [new Date(0), new Date(0)]; ; ) {
    const access = await loadServerAccess(platform, serverId, null);
    if (!access) return;
    const { server } = access;
    const ownEvents = await renderServerEvents(platform, server);
    const members = await findPending(db.members, serverId, membersFrom);
    await deleteMemberships(platform, findDepartures(server, ownEvents));
    await confirmMemberships(platform, serverId, members);
    const memberEvents = await renderMemberEvents(platform, server, members);
    const channels = await findPending(db.channels, serverId, channelsFrom);
    const viewChanges = await createViewChanges(access, { server, members, channels });
    const otherChannels = channels.filter(({ _id }) => !viewChanges.coveredChannelIds.has(_id));
    yield {
      events: [...sortEvents(ownEvents, memberEvents), ...viewChanges.events, ...renderChannelEvents(otherChannels)],
      acknowledge: (appended) =>
        platform.acknowledge(appended, null, () => acknowledge(platform, server, ownEvents.completedIds, members, channels)),
    };
    if (members.length < batchDocuments && channels.length < batchDocuments) return;
    membersFrom = members.at(-1)?.outboxAt ?? membersFrom;
    channelsFrom = channels.at(-1)?.outboxAt ?? channelsFrom;
  }
}

/** The members whose end is relayed now. */
const findDepartures = ({ _id: serverId, outbox = [] }: ServerDoc, { events }: RenderedEvents) => {
  const relayedIds = new Set(events.map(({ id }) => id));
  return outbox.flatMap(({ id, name, data }) => (name === 'MEMBER_REMOVE' && relayedIds.has(id) ? { serverId, ...data } : []));
};

/** The ids of servers that have overdue events, or whose members or channels have some. */
async function findOverdue({ db }: WorkerPlatform, before: Date): Promise<string[]> {
  const overdueFilter = { outboxAt: dueUntil(before) };
  const found = await Promise.all([
    db.servers.distinct('_id', overdueFilter),
    db.members.distinct('serverId', overdueFilter),
    db.channels.distinct('serverId', overdueFilter),
  ]);
  return [...new Set(found.flat())];
}

/** The outboxes of servers, each with those of its members and channels. */
export const serverOutbox: OutboxSource = { read, findOverdue, sweepConcurrency: 1 };
