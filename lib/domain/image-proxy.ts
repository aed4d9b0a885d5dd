import { LRUCache } from 'lru-cache';
import { refuse } from '../base/errors.ts';
import { createFairQueue } from '../base/fair-queue.ts';
import { limits } from '../base/limits.ts';
import { magicBytes, sniffImage } from '../base/magic.ts';
import type { Outbound, OutboundResult } from '../store/outbound.ts';
import type { ApiPlatform } from '../store/platform.ts';

/** An image of a stranger's host: its bytes as they came, and the type that its first bytes say. */
export interface ProxiedImage {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/**
 * The image at an address, for `caller`, such as a client's address. Refuses `not_found` for whatever gives no image, and `unavailable` when the fetch could not
 * begin within 10 s or too many wait.
 */
export type ImageProxy = (url: string, caller: string) => Promise<ProxiedImage>;

/** What stands in the cache for an address that gave no image, and for an origin that could not be reached. */
const nothing: ProxiedImage = { contentType: '', bytes: Buffer.alloc(0) };

/** What an entry of the cache takes besides its image and its key, in bytes. */
const entryBytes = 256;

/** The type of an image that every browser shows; undefined for any other. Never SVG, which can hold more than an image. */
function typeOf(head: Buffer): string | undefined {
  const format = sniffImage(head);
  return format === null || format === 'tiff' ? undefined : `image/${format}`;
}

/** Says of each piece of a body whether reading can end: as soon as the beginning is here and is no image's. */
function createBouncer(): (piece: Buffer) => boolean {
  let head = Buffer.alloc(0);
  return (piece) => {
    if (head.length >= magicBytes) return false;
    head = Buffer.concat([head, piece.subarray(0, magicBytes)]);
    return head.length >= magicBytes && typeOf(head) === undefined;
  };
}

/** Asks for an image as nobody in particular: no cookie, no referrer, nothing of who wants it. */
const ask = (outbound: Outbound, url: string): Promise<OutboundResult> =>
  outbound({
    url,
    headers: { accept: 'image/avif,image/webp,image/png,image/jpeg,image/gif' },
    http: true,
    redirects: limits.imageProxyRedirects,
    timeoutMs: limits.imageProxyMs,
    maxBytes: limits.imageProxyBytes,
    wants: ({ status, headers }) => status === 200 && !(Number(headers['content-length']) > limits.imageProxyBytes),
    enough: createBouncer(),
  });

/** Whether the very host that the address names could not be reached. Where a redirect led says nothing of it, nor does one slow answer. */
const isDead = (result: OutboundResult): boolean =>
  !result.ok && ['dns', 'connect', 'tls'].includes(result.step) && result.stages.filter(({ step }) => step === 'url').length === 1;

const originOf = (url: string): string => `origin ${URL.canParse(url) ? new URL(url).origin : url}`;

/**
 * Makes the image proxy of one process (docs/security.md#image-proxy). It fetches from public addresses only, at most 8 MiB and 5 s an image, 16 images at
 * once. These are shared fairly between callers and between hosts, so a slow host delays only its own images. Requests for one image at the same time fetch
 * it once. Images of up to 2 MiB are cached for an hour, 64 MiB in all. Failures, and hosts that cannot be reached, are not tried again within a minute.
 */
export function createImageProxy(platform: Pick<ApiPlatform, 'outbound' | 'log' | 'now'>): ImageProxy {
  const known = new LRUCache<string, ProxiedImage>({
    maxSize: limits.imageProxyCacheBytes,
    maxEntrySize: limits.imageProxyCachedBytes,
    sizeCalculation: ({ bytes }, key) => bytes.length + key.length + entryBytes,
    ttl: limits.imageProxyCachedMs,
    ttlResolution: 0, // the time is asked for each time, so that a clock that is set forward counts at once
    perf: { now: () => platform.now() },
  });
  const underWay = new Map<string, Promise<ProxiedImage>>();
  const isBusy = (): never => refuse('unavailable', undefined, { retryAfter: 2 });
  const slots = createFairQueue(
    {
      atOnce: limits.imageProxyAtOnce,
      waitingPerKey: limits.imageProxyWaitingPerCaller,
      waitingInAll: limits.imageProxyWaiting,
      keepsRoom: true,
    },
    isBusy,
  );
  const miss = (key: string): ProxiedImage => {
    known.set(key, nothing, { ttl: limits.imageProxyMissedMs });
    return nothing;
  };
  const look = async (url: string): Promise<ProxiedImage> => {
    if (known.has(originOf(url))) return nothing;
    const result = await ask(platform.outbound, url);
    const contentType = result.ok ? typeOf(result.body.subarray(0, magicBytes)) : undefined;
    if (result.ok && contentType !== undefined) {
      const image = { contentType, bytes: result.body };
      known.set(url, image);
      return image;
    }
    platform.log.debug({ step: result.ok ? 'image' : result.step, ms: result.ms }, 'no image'); // where it went is content, which logs never hold
    if (isDead(result)) miss(originOf(url));
    return miss(url);
  };
  const begin = (url: string, caller: string): Promise<ProxiedImage> => {
    const endsAt = platform.now() + limits.imageProxyWaitMs;
    const lookInTime = async (): Promise<ProxiedImage> => (platform.now() > endsAt ? isBusy() : look(url));
    const beginning = slots([`caller ${caller}`, originOf(url)], lookInTime).finally(() => underWay.delete(url));
    underWay.set(url, beginning);
    return beginning;
  };
  return async (url, caller) => {
    const image = known.get(url) ?? (await (underWay.get(url) ?? begin(url, caller)));
    return image === nothing ? refuse('not_found', { what: 'image' }) : image;
  };
}
