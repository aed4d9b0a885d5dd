import { bookkeeping, trusted } from '../store/database.ts';
import { serverPlace } from '../store/log/keys.ts';
import { settled, undeliveredIndex } from '../store/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../store/models/server.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { loadServer } from './access.ts';
import { appendInOrder, forgetAll, type PlacedEvent } from './audience.ts';
import { inOrder, newsOfMembers, newsOfServer } from './server-news.ts';
import { channelOf } from './server-view.ts';
import { viewChangesIn } from './visibility.ts';

/** How many channels, and how many members, one batch takes. */
const batchDocuments = 100;
/** A batch older than this was paused; another worker has taken over (quality 2). In milliseconds. */
const batchLifeMs = 5_000;

/** What `channels` owe, each as it is now. */
const newsOfChannels = (channels: readonly ChannelDoc[]): PlacedEvent[] =>
  channels.flatMap((channel) => {
    const { _id: channelId, serverId, ob = [] } = channel;
    const payload = JSON.stringify(channelOf(channel));
    return ob.map(({ id, name }) => ({ id, name, payload, channelId, place: serverPlace(serverId) }));
  });

/** A place that a batch left off at, in the order of `obAt`. What was settled lies dead in the index until the database cleans up. */
interface From {
  members: Date;
  channels: Date;
}

/** Where more may be left after a batch; null when nothing is. */
type Rest = From | null;

/** Documents of the server that have owed something since `from`, oldest first. */
async function documentsOwing<T>(collection: WorkerPlatform['db']['channels']['collection'], serverId: string, from: Date): Promise<T[]> {
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
 * Takes delivered events off the server and its members. Where members came or went the count is marked first: when a process died before it counted them,
 * nothing else would say so.
 */
async function settleNews(
  platform: WorkerPlatform,
  server: ServerDoc,
  done: readonly string[],
  members: readonly MemberDoc[],
): Promise<void> {
  const came = members.some(({ ob }) => ob?.some(({ name }) => name === 'MEMBER_ADD'));
  const went = server.ob?.some(({ name, id }) => name === 'MEMBER_REMOVE' && done.includes(id)) ?? false;
  const marked = came || went ? [{ $set: { recountAt: new Date(platform.now()) } }] : [];
  const stages = [...(done.length > 0 ? settled(done) : []), ...marked];
  if (stages.length > 0) await platform.db.servers.collection.updateOne({ _id: server._id as never }, stages, bookkeeping);
  const memberIds = members.map(({ _id }) => _id as never);
  if (memberIds.length > 0)
    await platform.db.members.collection.updateMany({ _id: { $in: memberIds } }, settled(idsIn(members)), bookkeeping);
}

/** One batch of what has been owed since `from`: the server's own news first, then its members', then its channels'. */
async function drainBatch(platform: WorkerPlatform, serverId: string, from: From): Promise<Rest> {
  const began = performance.now();
  const { members: inServer, channels: ofServer } = platform.db;
  const access = await loadServer(platform, serverId, null);
  if (!access) return null;
  const { server } = access;
  const own = await newsOfServer(platform, server);
  const members = await documentsOwing<MemberDoc>(inServer.collection, serverId, from.members);
  const theirs = await newsOfMembers(platform, server, members);
  const channels = await documentsOwing<ChannelDoc>(ofServer.collection, serverId, from.channels);
  const turns = await viewChangesIn(access, { server, members, channels });
  const events = [...inOrder(own, theirs), ...turns.events, ...newsOfChannels(channels.filter(({ _id }) => !turns.told.has(_id)))];
  if (performance.now() - began > batchLifeMs) return null;
  await platform.confirm(await appendInOrder(platform, events));
  if (performance.now() - began > batchLifeMs) return null;
  await settleNews(platform, server, own.done, members);
  const channelIds = channels.map(({ _id }) => _id as never);
  if (channelIds.length > 0) await ofServer.collection.updateMany({ _id: { $in: channelIds } }, settled(idsIn(channels)), bookkeeping);
  void forgetAll(platform, events);
  if (members.length < batchDocuments && channels.length < batchDocuments) return null;
  return { members: members.at(-1)?.obAt ?? from.members, channels: channels.at(-1)?.obAt ?? from.channels };
}

/**
 * Takes what a server, its members and its channels owe to the log, oldest first, until there is nothing; what an event shows is shown as it is now.
 * Running it twice, or two at once, delivers nothing twice. Rejects while Redis or the database is away; what is owed stays.
 */
export async function drainServer(platform: WorkerPlatform, serverId: string): Promise<void> {
  for (let from: Rest = { members: new Date(0), channels: new Date(0) }; from; ) from = await drainBatch(platform, serverId, from);
}

/** How old undelivered events are when the sweep takes them, in milliseconds. */
const sweepAfterMs = 2_000;

/** The servers that owe events for more than 2 s, or whose members or channels do: their job was lost or is late (quality 2, Sweep). */
export async function overdueServers({ db, now }: WorkerPlatform): Promise<string[]> {
  const late = { obAt: trusted({ $lt: new Date(now() - sweepAfterMs) }) };
  const found = await Promise.all([
    db.servers.distinct('_id', late),
    db.members.distinct('serverId', late),
    db.channels.distinct('serverId', late),
  ]);
  return [...new Set(found.flat())];
}
