import { bookkeeping, trusted } from '../store/database.ts';
import { settled, undeliveredIndex } from '../store/models/outbox.ts';
import type { ChannelDoc, MemberDoc, ServerDoc } from '../store/models/server.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { accessUnsettled } from '../store/queue.ts';
import { botsThatView, loadServerNow, type ServerAccess } from './access.ts';
import { type Audience, appendInOrder, audienceUnder, type DueEvent } from './audience.ts';
import { inOrder, newsOfMembers, newsOfServer } from './server-news.ts';
import { channelOf } from './server-view.ts';
import { turnsIn } from './visibility.ts';

/** How many channels, and how many members, one batch takes. */
const batchDocuments = 100;
/** A batch older than this was paused; another worker has taken over (quality 2). In milliseconds. */
const batchLifeMs = 5_000;
/** How often a batch is begun anew while access data keep changing. */
const staleMax = 20;

/** What `channels` owe, by the channel whose readers hear it: a thread's events and its parent's go to the same. */
function dueByPlace(channels: readonly ChannelDoc[]): Map<string, DueEvent[]> {
  const places = new Map<string, DueEvent[]>();
  for (const channel of channels) {
    const { _id: channelId, kind, parentId, ob = [] } = channel;
    const payload = JSON.stringify(channelOf(channel));
    const place = kind === 'thread' && parentId ? parentId : channelId;
    const events = ob.map(({ id, name }): DueEvent => ({ id, name, payload, channelId }));
    places.set(place, [...(places.get(place) ?? []), ...events]);
  }
  return places;
}

/** Appends events to these bots and the people of the server under `access`; false when access data changed meanwhile: what was looked at may be gone. */
async function appendUnder(
  platform: WorkerPlatform,
  access: ServerAccess,
  bots: readonly string[],
  events: readonly DueEvent[],
): Promise<boolean> {
  let audience: Audience | null = audienceUnder(access, bots);
  let asked = 0;
  await appendInOrder(platform, events, () => {
    if (asked++ > 0) audience = null;
    return Promise.resolve(audience);
  });
  return audience !== null;
}

/** A place that a batch left off at, in the order of `obAt`. What was settled lies dead in the index until the database cleans up. */
interface From {
  members: Date;
  channels: Date;
}

/** What a batch came to: `stale` must be begun anew; `more` may be left from `from` on. */
type Batch = { end: 'stale' } | { end: 'done' } | { end: 'more'; from: From };

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
async function drainBatch(platform: WorkerPlatform, serverId: string, from: From): Promise<Batch> {
  const began = performance.now();
  const paused = (): boolean => performance.now() - began > batchLifeMs;
  const { servers, members: inServer, channels: ofServer } = platform.db;
  // Before the documents are read: what changes after this changes the version, and nothing is appended behind the news of that.
  const access = await loadServerNow(platform, serverId);
  const server: ServerDoc | null = access && (await servers.findOne({ _id: serverId }).lean());
  if (!access || !server) return { end: 'done' };
  // Cached while a change was under way: who sees what is compared with what stands now.
  if (access.server.rolesVersion !== server.rolesVersion || access.server.ownerId !== server.ownerId) return { end: 'stale' };
  const own = await newsOfServer(platform, server);
  const members = await documentsOwing<MemberDoc>(inServer.collection, serverId, from.members);
  const theirs = await newsOfMembers(platform, access, members);
  const news = inOrder(own, theirs);
  if (news.length > 0) {
    const bots = (await access.bots()).map(({ userId }) => userId);
    if (paused()) return { end: 'done' };
    if (!(await appendUnder(platform, access, bots, news))) return { end: 'stale' };
  }
  const channels = await documentsOwing<ChannelDoc>(ofServer.collection, serverId, from.channels);
  const turns = await turnsIn(access, { server, members, channels });
  for (const { event, bots } of [...turns.own.map((one) => ({ event: one, bots: [] })), ...turns.channels]) {
    if (paused()) return { end: 'done' };
    if (!(await appendUnder(platform, access, bots, [event]))) return { end: 'stale' };
  }
  for (const [place, events] of dueByPlace(channels.filter(({ _id }) => !turns.told.has(_id)))) {
    if (paused()) return { end: 'done' };
    if (!(await appendUnder(platform, access, await botsThatView(access, place), events))) return { end: 'stale' };
  }
  if (paused()) return { end: 'done' };
  await settleNews(platform, server, own.done, members);
  const channelIds = channels.map(({ _id }) => _id as never);
  if (channelIds.length > 0) await ofServer.collection.updateMany({ _id: { $in: channelIds } }, settled(idsIn(channels)), bookkeeping);
  const turned = [...turns.own, ...turns.channels.map((one) => one.event)];
  void platform.forget([...[...news, ...turned].map(({ id }) => id), ...idsIn(channels)]);
  if (members.length < batchDocuments && channels.length < batchDocuments) return { end: 'done' };
  return { end: 'more', from: { members: members.at(-1)?.obAt ?? from.members, channels: channels.at(-1)?.obAt ?? from.channels } };
}

/**
 * Takes what a server, its members and its channels owe to who may hear it, oldest first, until there is nothing; what an event shows is shown as it is now.
 * Running it twice, or two at once, delivers nothing twice. Rejects while Redis or the database is away; what is owed stays.
 */
export async function drainServer(platform: WorkerPlatform, serverId: string): Promise<void> {
  let from: From = { members: new Date(0), channels: new Date(0) };
  for (let stale = 0; stale < staleMax; ) {
    const batch = await drainBatch(platform, serverId, from);
    if (batch.end === 'done') return;
    if (batch.end === 'stale') stale++;
    else from = batch.from;
  }
  throw accessUnsettled();
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
