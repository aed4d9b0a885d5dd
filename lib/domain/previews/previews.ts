import { LRUCache } from 'lru-cache';
import { createFairQueue, type FairQueue } from '../../base/fair-queue.ts';
import { limits } from '../../base/limits.ts';
import { createTurns, type Turns } from '../../base/turns.ts';
import type { Embed } from '../../contract/message.ts';
import type { Outbound } from '../../outbound/request.ts';
import { trusted } from '../../store/mongo/database.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { owes } from '../events/pending-events.ts';
import { createHeadReader, type HeadReader } from './page-head.ts';
import { pagePreview } from './page-preview.ts';
import { previewLinks, standingPreviews } from './preview-links.ts';
import { nudgePreviewsAgain, previewsAccountOf } from './preview-queue.ts';

/** How long this process reuses the preview of a link, and for how long it does not retry a link that gave none, in milliseconds. */
const keptMs = 5 * 60_000;
const missedMs = 30_000;

/** How many links of one host are fetched at once. */
const perHost = 4;

/** When to run a job again if there was no free slot for its account, in milliseconds. */
const busyMs = 1_000;
const noSlot = new Error('no free slot');

/** The previews that this process has fetched, and the limits on its fetches. Each `Outbound` has one. */
interface Known {
  pages: LRUCache<string, Promise<Embed | null>>;
  turns: Turns;
  slots: FairQueue;
}
const knownBy = new WeakMap<Outbound, Known>();

function knownOf(outbound: Outbound): Known {
  const known = knownBy.get(outbound) ?? {
    pages: new LRUCache({ max: 500, ttl: keptMs }),
    turns: createTurns(perHost),
    slots: createFairQueue({ atOnce: limits.previewsAtOnce, waitingPerKey: 0, waitingInAll: 0, keepsRoom: true }, () => {
      throw noSlot;
    }),
  };
  knownBy.set(outbound, known);
  return known;
}

const isPage = (contentType: string | undefined): boolean => /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType ?? '');

/** Fetches the preview of one link, or null (docs/behavior/messages.md#link-previews): public addresses only, at most 512 KiB of HTML and 3 redirects. */
async function lookAt({ outbound, log }: WorkerPlatform, link: string, timeoutMs: number): Promise<Embed | null> {
  if (timeoutMs <= 0) return null;
  let reader: HeadReader | undefined;
  const result = await outbound({
    url: link,
    headers: { accept: 'text/html,application/xhtml+xml' },
    http: true,
    redirects: limits.previewRedirects,
    timeoutMs,
    maxBytes: limits.previewBytes,
    overflow: 'cut',
    wants: ({ status, headers }) => {
      if (status === 200 && isPage(headers['content-type'])) reader = createHeadReader(headers['content-type'] ?? '');
      return reader !== undefined;
    },
    enough: (piece) => reader?.write(piece) ?? true,
  });
  if (result.ok && reader) return pagePreview(reader.end(), link, result.url);
  if (!result.ok) log.debug({ step: result.step, ms: result.ms }, 'no preview'); // without the URL: it is message content, which is never logged
  return null;
}

/** The preview of a link. Messages of this process with the same link share one fetch for 5 minutes. It takes 3 s at most, including the wait for its host. */
async function previewOf(platform: WorkerPlatform, link: string): Promise<Embed | null> {
  const { pages, turns } = knownOf(platform.outbound);
  const known = pages.get(link);
  if (known) return known;
  const endsAt = performance.now() + limits.previewMs;
  const looking = turns(new URL(link).host, () => lookAt(platform, link, endsAt - performance.now())).catch(() => null);
  pages.set(link, looking);
  const found = await looking;
  if (!found) pages.set(link, looking, { ttl: missedMs });
  return found;
}

/**
 * Fetches the missing previews of a message's links and adds them in one write (docs/behavior/messages.md#link-previews). The write applies only while the
 * message has this content: a later edit or delete wins. `editedAt` stays. Links that fail are not tried again, so the mark is removed in any case. Repeated
 * and concurrent runs change nothing more. An account gets at most half of the slots of this process, so slow pages delay only its own messages. Returns after
 * how many milliseconds to run again if no slot was free, else null. Rejects while the database is unavailable.
 */
export async function fetchPreviews(platform: WorkerPlatform, messageId: string): Promise<number | null> {
  const { messages } = platform.db;
  const pending = { previewsAt: trusted({ $exists: true }), deleted: trusted({ $exists: false }) };
  const message = (await messages.findOne({ _id: messageId, ...pending }).lean()) as MessageDoc | null;
  if (!message) return null;
  const links = previewLinks(message.content);
  const standing = standingPreviews(message.previews, links);
  const add = (): Promise<void> => addPreviews(platform, message, links);
  try {
    await (standing.length === links.length ? add() : knownOf(platform.outbound).slots(previewsAccountOf(message), add));
  } catch (error) {
    if (error === noSlot) return busyMs;
    throw error;
  }
  return null;
}

async function addPreviews(platform: WorkerPlatform, message: MessageDoc, links: readonly string[]): Promise<void> {
  const { messages } = platform.db;
  const { _id: messageId, content, channelId, previews: before = [] } = message;
  const found = await Promise.all(links.map(async (link) => standingPreviews(before, [link])[0] ?? previewOf(platform, link)));
  const previews = found.filter((one) => one !== null);
  const changed = previews.length > before.length;
  const owed = owes(platform, { name: 'MESSAGE_UPDATE' });
  const { modifiedCount } = await messages.collection.updateOne(
    { _id: messageId, content, previewsAt: { $exists: true }, deleted: { $exists: false } } as never,
    {
      $unset: { previewsAt: 1 },
      ...(changed ? { ...owed, $set: { previews } } : {}),
    },
  );
  if (modifiedCount === 1 && changed) platform.nudge('relay-channel', { channelId });
}

/** The age of a mark at which the sweep enqueues its job again, in milliseconds: the job was lost, or its worker died. */
const sweepAfterMs = 10_000;
/** How many messages one sweep takes. */
const sweepMax = 100;

/** Enqueues again the preview jobs of messages whose mark is older than 10 s, oldest first. */
export async function sweepPreviews(platform: WorkerPlatform): Promise<void> {
  const before = new Date(platform.now() - sweepAfterMs);
  const overdue = await platform.db.messages
    .find({ previewsAt: trusted({ $lt: before }) })
    .sort({ previewsAt: 1 })
    .limit(sweepMax)
    .lean();
  for (const message of overdue as MessageDoc[]) await nudgePreviewsAgain(platform, message);
}
