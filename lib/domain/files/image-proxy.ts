import { LRUCache } from 'lru-cache';
import { refuse } from '../../base/errors.ts';
import { createFairQueue } from '../../base/fair-queue.ts';
import { limits } from '../../base/limits.ts';
import { magicBytes, sniffImage } from '../../base/magic.ts';
import type { Outbound, OutboundResult } from '../../outbound/request.ts';
import type { ApiPlatform } from '../../store/platform.ts';

/** An image from another host: its bytes as received, and the content type found in its first bytes. */
export interface ProxiedImage {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * Fetches the image at `url` for `caller`, such as a client address. Refuses with `not_found` if there is no image, and with `unavailable` if the fetch could
 * not begin within 10 s or too many requests wait.
 */
export type ImageProxy = (url: string, caller: string) => Promise<ProxiedImage>;

/** The cache entry of a URL that gave no image, and of an origin that could not be reached. */
const noImage: ProxiedImage = { contentType: '', bytes: Buffer.alloc(0) };

/** The size of a cache entry besides its image and its key, in bytes. */
const entryBytes = 256;

/** The content type of an image that every browser shows; undefined for anything else. Never SVG, which can contain more than an image. */
function getImageType(head: Buffer): string | undefined {
  const format = sniffImage(head);
  return format === null || format === 'tiff' ? undefined : `image/${format}`;
}

/** Returns the check that ends reading a body as soon as its first bytes have arrived and are not those of an image. */
function createImageCheck(): (piece: Buffer) => boolean {
  let head = Buffer.alloc(0);
  return (piece) => {
    if (head.length >= magicBytes) return false;
    head = Buffer.concat([head, piece.subarray(0, magicBytes)]);
    return head.length >= magicBytes && getImageType(head) === undefined;
  };
}

/** Requests an image anonymously: without cookies, referrer or anything else about the reader. */
const requestImage = (outbound: Outbound, url: string): Promise<OutboundResult> =>
  outbound({
    url,
    headers: { accept: 'image/avif,image/webp,image/png,image/jpeg,image/gif' },
    isHttpAllowed: true,
    maxRedirects: limits.imageProxyRedirects,
    timeoutMs: limits.imageProxyMs,
    maxBytes: limits.imageProxyBytes,
    shouldReadBody: ({ status, headers }) => status === 200 && !(Number(headers['content-length']) > limits.imageProxyBytes),
    shouldStop: createImageCheck(),
  });

/**
 * Whether the host of the URL itself could not be reached. A failure after a redirect does not count, because it says nothing about that host; nor does a
 * timeout.
 */
const isUnreachable = (result: OutboundResult): boolean =>
  !result.ok && ['dns', 'connect', 'tls'].includes(result.step) && result.stages.filter(({ step }) => step === 'url').length === 1;

const toOriginKey = (url: string): string => `origin ${URL.canParse(url) ? new URL(url).origin : url}`;

/**
 * Makes the image proxy of one process (docs/security.md#image-proxy). It fetches from public addresses only: at most 8 MiB and 5 s per image, 16 images at
 * once. These slots are shared fairly between callers and between hosts, so a slow host delays only its own images. Simultaneous requests for one image fetch
 * it once. Images of up to 2 MiB are cached for an hour, 64 MiB in total. Failures and unreachable hosts are not tried again for a minute.
 */
export function createImageProxy(platform: Pick<ApiPlatform, 'outbound' | 'log' | 'now'>): ImageProxy {
  const cache = new LRUCache<string, ProxiedImage>({
    maxSize: limits.imageProxyCacheBytes,
    maxEntrySize: limits.imageProxyCachedBytes,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length + entryBytes,
    ttl: limits.imageProxyCachedMs,
    ttlResolution: 0, // reads the time on every lookup, so that setting the clock forward takes effect at once
    perf: { now: () => platform.now() },
  });
  const inFlight = new Map<string, Promise<ProxiedImage>>();
  const refuseBusy = (): never => refuse('unavailable', undefined, { retryAfter: 2 });
  const slots = createFairQueue(
    {
      maxRunning: limits.imageProxyAtOnce,
      maxWaitingPerKey: limits.imageProxyWaitingPerCaller,
      maxWaiting: limits.imageProxyWaiting,
      reservesSlots: true,
    },
    refuseBusy,
  );
  const cacheMiss = (key: string): ProxiedImage => {
    cache.set(key, noImage, { ttl: limits.imageProxyMissedMs });
    return noImage;
  };
  const fetchImage = async (url: string): Promise<ProxiedImage> => {
    if (cache.has(toOriginKey(url))) return noImage;
    const result = await requestImage(platform.outbound, url);
    const contentType = result.ok ? getImageType(result.body.subarray(0, magicBytes)) : undefined;
    if (result.ok && contentType !== undefined) {
      const image = { contentType, bytes: result.body };
      cache.set(url, image);
      return image;
    }
    // Without the URL, because it is content, which is never logged.
    platform.log.debug({ step: result.ok ? 'image' : result.step, ms: result.ms }, 'could not load an image for the proxy');
    if (isUnreachable(result)) cacheMiss(toOriginKey(url));
    return cacheMiss(url);
  };
  const startFetch = (url: string, caller: string): Promise<ProxiedImage> => {
    const deadline = platform.now() + limits.imageProxyWaitMs;
    const fetchInTime = async (): Promise<ProxiedImage> => (platform.now() > deadline ? refuseBusy() : fetchImage(url));
    const fetching = slots([`caller ${caller}`, toOriginKey(url)], fetchInTime).finally(() => inFlight.delete(url));
    inFlight.set(url, fetching);
    return fetching;
  };
  return async (url, caller) => {
    const image = cache.get(url) ?? (await (inFlight.get(url) ?? startFetch(url, caller)));
    return image === noImage ? refuse('not_found', { what: 'image' }) : image;
  };
}
