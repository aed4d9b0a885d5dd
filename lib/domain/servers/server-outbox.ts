import { bookkeeping, trusted } from '../../store/mongo/database.ts';
import { settled, undeliveredIndex } from '../../store/mongo/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../../store/mongo/models/server.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { serverPlace } from '../../store/redis/log/keys.ts';
import { hasBirthOrEnd, type OutboxSource, type PendingEvents } from '../events/outbox-source.ts';
import { type PlacedEvent, placedEvent } from '../events/placed-events.ts';
import { loadServer } from '../members/access.ts';
import { isDeparture } from '../members/membership.ts';
import { viewChangesIn } from '../members/visibility.ts';
import { inOrder, renderMemberEvents, renderServerEvents } from './server-events.ts';
import { channelOf } from './server-view.ts';

/** How many channels, and how many members, one batch takes. */
const batchDocuments = 100;

type ChannelEvent = 'CHANNEL_CREATE' | 'CHANNEL_UPDATE';

/** The pending events of `channels`, each with the channel's current state. */
const channelEvents = (channels: readonly ChannelDoc[]): PlacedEvent[] =>
  channels.flatMap((channel) => {
    const { _id: channelId, serverId, ob = [] } = channel;
    const data = channelOf(channel);
    return ob.map(({ id, name }) => placedEvent(serverPlace(serverId), id, name as ChannelEvent, data, { channelId }));
  });

/** Documents of the server with events pending since `from`, oldest first. */
async function pendingIn<T>(collection: WorkerPlatform['db']['channels']['collection'], serverId: string, from: Date): Promise<T[]> {
  const found = await collection
    .find({ serverId, obAt: { $gte: from } })
    .sort({ obAt: 1 })
    .limit(batchDocuments)
    .hint(undeliveredIndex)
    .toArray();
  return found as unknown as T[];
}

const idsIn = (documents: readonly (ChannelDoc | MemberDoc)[]): string[] => documents.flatMap(({ ob }) => (ob ?? []).map(({ id }) => id));

/**
 * Removes relayed events from the outboxes of the server, its members and its channels. If members joined or left, it first marks their number for a recount:
 * the process that should have counted them may have died.
 */
async function acknowledge(
  { db, now }: WorkerPlatform,
  server: ServerDoc,
  done: readonly string[],
  members: readonly MemberDoc[],
  channels: readonly ChannelDoc[],
): Promise<void> {
  const came = members.some(({ ob }) => hasBirthOrEnd(ob));
  const went = server.ob?.some((entry) => isDeparture(entry) && done.includes(entry.id)) ?? false;
  const marked = came || went ? [{ $set: { recountAt: new Date(now()) } }] : [];
  const stages = [...(done.length > 0 ? settled(done) : []), ...marked];
  if (stages.length > 0) await db.servers.collection.updateOne({ _id: server._id as never }, stages, bookkeeping);
  const parts = [
    [db.members.collection, members],
    [db.channels.collection, channels],
  ] as const;
  for (const [collection, documents] of parts) {
    const $in = documents.map(({ _id }) => _id as never);
    if ($in.length > 0) await collection.updateMany({ _id: { $in } }, settled(idsIn(documents)), bookkeeping);
  }
}

/**
 * The pending events of a server, then of its members, then of its channels. Each batch continues at the `obAt` where the last one ended: index entries of
 * acknowledged events stay until the database cleans up, and would be read again.
 */
async function* read(platform: WorkerPlatform, serverId: string): AsyncGenerator<PendingEvents, void> {
  const { db } = platform;
  for (let [membersFrom, channelsFrom] = [new Date(0), new Date(0)]; ; ) {
    const access = await loadServer(platform, serverId, null);
    if (!access) return;
    const { server } = access;
    const own = await renderServerEvents(platform, server);
    const members = await pendingIn<MemberDoc>(db.members.collection, serverId, membersFrom);
    const theirs = await renderMemberEvents(platform, server, members);
    const channels = await pendingIn<ChannelDoc>(db.channels.collection, serverId, channelsFrom);
    const changes = await viewChangesIn(access, { server, members, channels });
    const others = channels.filter(({ _id }) => !changes.covered.has(_id));
    yield {
      events: [...inOrder(own, theirs), ...changes.events, ...channelEvents(others)],
      acknowledge: () => acknowledge(platform, server, own.done, members, channels),
    };
    if (members.length < batchDocuments && channels.length < batchDocuments) return;
    membersFrom = members.at(-1)?.obAt ?? membersFrom;
    channelsFrom = channels.at(-1)?.obAt ?? channelsFrom;
  }
}

/** The ids of servers that have overdue events, or whose members or channels have some. */
async function overdue({ db }: WorkerPlatform, $lt: Date): Promise<string[]> {
  const late = { obAt: trusted({ $lt }) };
  const found = await Promise.all([
    db.servers.distinct('_id', late),
    db.members.distinct('serverId', late),
    db.channels.distinct('serverId', late),
  ]);
  return [...new Set(found.flat())];
}

/** The outboxes of servers, each with those of its members and channels. */
export const serverOutbox: OutboxSource = { read, overdue, sweptAtOnce: 1 };
