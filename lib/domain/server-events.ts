import { bookkeeping, trusted } from '../store/database.ts';
import { settled, undeliveredIndex } from '../store/models/outbox.ts';
import type { ChannelDoc } from '../store/models/server.ts';
import type { WorkerPlatform } from '../store/platform.ts';
import { botsThatView, loadServerNow, type ServerAccess } from './access.ts';
import { type Audience, appendInOrder, audienceUnder, type DueEvent } from './audience.ts';
import { channelOf } from './server-view.ts';

/** How many channels one batch takes. */
const batchChannels = 100;
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

/** Appends events to who may view `place` under `access`; false when access data changed meanwhile: a channel may have gone, its events with it. */
async function appendUnder(platform: WorkerPlatform, access: ServerAccess, place: string, events: readonly DueEvent[]): Promise<boolean> {
  let audience: Audience | null = audienceUnder(access, await botsThatView(access, place));
  let asked = 0;
  await appendInOrder(platform, events, () => {
    if (asked++ > 0) audience = null;
    return Promise.resolve(audience);
  });
  return audience !== null;
}

/** What a batch came to: `stale` must be begun anew; `more` may be left from `from` on. */
type Batch = { end: 'stale' } | { end: 'done' } | { end: 'more'; from: Date };

/** One batch of what has been owed since `from`: where the last one ended, as what that settled lies dead in the index until the database cleans up. */
async function drainBatch(platform: WorkerPlatform, serverId: string, from: Date): Promise<Batch> {
  const began = performance.now();
  const paused = (): boolean => performance.now() - began > batchLifeMs;
  // Before the channels are read: a channel that goes after this changes the version, and nothing of it is appended behind its CHANNEL_DELETE.
  const access = await loadServerNow(platform, serverId);
  if (!access) return { end: 'done' };
  const { collection } = platform.db.channels;
  const found = await collection
    .find({ serverId, obAt: { $gte: from } })
    .sort({ obAt: 1 })
    .limit(batchChannels)
    .hint(undeliveredIndex)
    .toArray();
  const channels = found as unknown as ChannelDoc[];
  for (const [place, events] of dueByPlace(channels)) {
    if (paused()) return { end: 'done' };
    if (!(await appendUnder(platform, access, place, events))) return { end: 'stale' };
  }
  if (paused()) return { end: 'done' };
  const eventIds = channels.flatMap(({ ob }) => (ob ?? []).map(({ id }) => id));
  await collection.updateMany({ _id: { $in: found.map(({ _id }) => _id) } }, settled(eventIds), bookkeeping);
  void platform.forget(eventIds);
  return channels.length < batchChannels ? { end: 'done' } : { end: 'more', from: channels.at(-1)?.obAt as Date };
}

/**
 * Takes what the channels of a server owe (CHANNEL_CREATE, CHANNEL_UPDATE) to who may view them, oldest first, until there is nothing; the payload is the channel
 * as it is now. Running it twice, or two at once, delivers nothing twice. Rejects while Redis or the database is away; what is owed stays.
 */
export async function drainServer(platform: WorkerPlatform, serverId: string): Promise<void> {
  let from = new Date(0);
  for (let stale = 0; stale < staleMax; ) {
    const batch = await drainBatch(platform, serverId, from);
    if (batch.end === 'done') return;
    if (batch.end === 'stale') stale++;
    else from = batch.from;
  }
  throw new Error('access data changed too often while events of channels were appended');
}

/** How old undelivered events are when the sweep takes them, in milliseconds. */
const sweepAfterMs = 2_000;

/** The servers whose channels owe events for more than 2 s: their job was lost or is late (quality 2, Sweep). */
export async function overdueServers(platform: WorkerPlatform): Promise<string[]> {
  const before = new Date(platform.now() - sweepAfterMs);
  return platform.db.channels.distinct('serverId', { obAt: trusted({ $lt: before }) });
}
