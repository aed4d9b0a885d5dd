import { LRUCache } from 'lru-cache';
import PQueue from 'p-queue';
import { createFairQueue, type FairQueue } from '../../base/fair-queue.ts';
import { limits } from '../../base/limits.ts';
import type { Embed } from '../../contract/embed.ts';
import type { Outbound } from '../../outbound/request.ts';
import { each, sweepDue } from '../../store/mongo/due.ts';
import { type MessageDoc, toMessageKey } from '../../store/mongo/models/message.ts';
import type { WorkerPlatform } from '../../store/platform.ts';
import { addEvent } from '../events/pending.ts';
import { findExistingPreviews, findPreviewLinks } from './links.ts';
import { createHeadReader, type HeadReader } from './page-head.ts';
import { toPagePreview } from './page-preview.ts';
import { getPreviewAccountId, reenqueuePreviews } from './queue.ts';

/** How long this process reuses the preview of a link, and for how long it does not retry a link that gave none, in milliseconds. */
const cacheMs = 5 * 60_000;
const missCacheMs = 30_000;

/** How many links of one host are fetched at once. */
const fetchesPerHost = 4;

/** When to run a job again if there was no free slot for its account, in milliseconds. */
const retryMs = 1_000;
const noSlot = new Error('no free slot');

/** The previews that this process has fetched, and the limits on its fetches. Each `Outbound` has one. */
interface PreviewState {
  pages: LRUCache<string, Promise<Embed | null>>;
  /** Limits the fetches from one host at the same time. */
  hosts: Map<string, PQueue>;
  slots: FairQueue;
}
const stateByOutbound = new WeakMap<Outbound, PreviewState>();

function getState(outbound: Outbound): PreviewState {
  const state = stateByOutbound.get(outbound) ?? {
    pages: new LRUCache({ max: 500, ttl: cacheMs }),
    hosts: new Map(),
    slots: createFairQueue({ maxRunning: limits.previewsAtOnce, maxWaitingPerKey: 0, maxWaiting: 0, reservesSlots: true }, () => {
      throw noSlot;
    }),
  };
  stateByOutbound.set(outbound, state);
  return state;
}

const isPage = (contentType: string | undefined): boolean => /^\s*(text\/html|application\/xhtml\+xml)\s*(;|$)/i.test(contentType ?? '');

/** Fetches the preview of one link, or null (docs/behavior/messages.md#link-previews): public addresses only, at most 512 KiB of HTML and 3 redirects. */
async function fetchPreview({ outbound, log }: WorkerPlatform, link: string, timeoutMs: number): Promise<Embed | null> {
  if (timeoutMs <= 0) return null;
  let reader: HeadReader | undefined;
  const result = await outbound({
    url: link,
    headers: { accept: 'text/html,application/xhtml+xml' },
    isHttpAllowed: true,
    maxRedirects: limits.previewRedirects,
    timeoutMs,
    maxBytes: limits.previewBytes,
    overflow: 'cut',
    shouldReadBody: ({ status, headers }) => {
      if (status === 200 && isPage(headers['content-type'])) reader = createHeadReader(headers['content-type'] ?? '');
      return reader !== undefined;
    },
    shouldStop: (piece) => reader?.write(piece) ?? true,
  });
  if (result.ok && reader) return toPagePreview(reader.end(), link, result.url);
  // The URL is not logged, because it is message content.
  if (!result.ok) log.debug({ step: result.step, ms: result.ms }, 'could not fetch a link preview');
  return null;
}

/** The preview of a link. Messages of this process with the same link share one fetch for 5 minutes. It takes 3 s at most, including the wait for its host. */
async function getPreview(platform: WorkerPlatform, link: string): Promise<Embed | null> {
  const { pages, hosts } = getState(platform.outbound);
  const cached = pages.get(link);
  if (cached) return cached;
  const deadlineMs = performance.now() + limits.previewMs;
  const { host } = new URL(link);
  let queue = hosts.get(host);
  if (!queue) {
    queue = new PQueue({ concurrency: fetchesPerHost });
    queue.once('idle', () => hosts.delete(host));
    hosts.set(host, queue);
  }
  const fetching = queue.add(() => fetchPreview(platform, link, deadlineMs - performance.now())).catch(() => null);
  pages.set(link, fetching);
  const preview = await fetching;
  if (!preview) pages.set(link, fetching, { ttl: missCacheMs });
  return preview;
}

/**
 * Fetches the missing previews of a message's links and adds them in one write (docs/behavior/messages.md#link-previews). The write applies only while the
 * message has this content: a later edit or delete wins. `editedAt` stays. Links that fail are not tried again, so the mark is removed in any case. Repeated
 * and concurrent runs change nothing more. An account gets at most half of the slots of this process, so slow pages delay only its own messages. Returns after
 * how many milliseconds to run again if no slot was free, else null. Rejects while the database is unavailable.
 */
export async function fetchPreviews(platform: WorkerPlatform, messageId: string, channelId?: string): Promise<number | null> {
  const { messages } = platform.db;
  const pendingFilter = { previewsAt: { $exists: true }, deleted: { $exists: false } };
  const message = await messages.findOne({ ...toMessageKey(messageId, channelId), ...pendingFilter });
  if (!message) return null;
  const links = findPreviewLinks(message.content);
  const existing = findExistingPreviews(message.previews, links);
  const add = (): Promise<void> => addPreviews(platform, message, links);
  try {
    await (existing.length === links.length ? add() : getState(platform.outbound).slots(getPreviewAccountId(message), add));
  } catch (error) {
    if (error === noSlot) return retryMs;
    throw error;
  }
  return null;
}

async function addPreviews(platform: WorkerPlatform, message: MessageDoc, links: readonly string[]): Promise<void> {
  const { messages } = platform.db;
  const { _id: messageId, content, channelId, previews: existing = [] } = message;
  const results = await Promise.all(links.map(async (link) => findExistingPreviews(existing, [link])[0] ?? getPreview(platform, link)));
  const previews = results.filter((one) => one !== null);
  const hasChanged = previews.length > existing.length;
  const pendingEvent = addEvent(platform, { name: 'MESSAGE_UPDATE' });
  const { modifiedCount } = await messages.updateOne(
    { _id: messageId, channelId, content, previewsAt: { $exists: true }, deleted: { $exists: false } },
    {
      $unset: { previewsAt: 1 },
      ...(hasChanged ? { ...pendingEvent, $set: { previews } } : {}),
    },
  );
  if (modifiedCount === 1 && hasChanged) platform.wake('relay-channel', { channelId });
}

/** Enqueues again the preview jobs of messages whose mark is older than 10 s: the job was lost, or its worker died. */
export const sweepPreviews = sweepDue({
  collection: 'messages',
  due: 'previewsAt',
  afterMs: 10_000,
  max: 100,
  run: each(reenqueuePreviews),
});
