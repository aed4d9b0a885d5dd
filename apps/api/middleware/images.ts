import type { Middleware } from 'koa';
import { readClientAddress } from '../../../lib/base/client-address.ts';
import { refuse } from '../../../lib/base/errors.ts';
import { limits } from '../../../lib/base/limits.ts';
import { createImageProxy, type ProxiedImage } from '../../../lib/domain/files/image-proxy.ts';
import { parseProxyPath } from '../../../lib/domain/views/image-links.ts';
import type { ApiPlatform } from '../../../lib/store/platform.ts';
import type { AddressCharges } from '../limits/address-charges.ts';
import type { State } from '../state.ts';

/** Headers of every answer with an image: it may be cached for a day, it cannot run scripts, and only pages of Parlance's own origin may embed it. */
const imageHeaders = {
  'Cache-Control': `public, max-age=${limits.imageProxyAgeSecs}, immutable`,
  'Content-Disposition': 'inline',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Limits the memory of images that are being sent: at most 256 MiB in all, where an image that is sent several times counts once, and 64 MiB for one caller.
 * The returned function adds an image and returns the function that removes it again. Refuses `unavailable` when a limit would be exceeded.
 */
export function createSendLimiter(): (image: ProxiedImage, caller: string) => () => void {
  const sendCounts = new Map<ProxiedImage, number>();
  const bytesByCaller = new Map<string, number>();
  let totalBytes = 0;
  const addCount = (image: ProxiedImage, caller: string, change: 1 | -1): void => {
    const { length } = image.bytes;
    const countBefore = sendCounts.get(image) ?? 0;
    const callerBytes = (bytesByCaller.get(caller) ?? 0) + change * length;
    if (countBefore + change === 0) sendCounts.delete(image);
    else sendCounts.set(image, countBefore + change);
    if (countBefore === 0 || countBefore + change === 0) totalBytes += change * length;
    if (callerBytes === 0) bytesByCaller.delete(caller);
    else bytesByCaller.set(caller, callerBytes);
  };
  return (image, caller) => {
    const { length } = image.bytes;
    const addedBytes = sendCounts.has(image) ? 0 : length;
    if (
      totalBytes + addedBytes > limits.imageProxySendingBytes ||
      (bytesByCaller.get(caller) ?? 0) + length > limits.imageProxySendingPerCallerBytes
    )
      refuse('unavailable', undefined, { retryAfter: 2 });
    addCount(image, caller, 1);
    return () => addCount(image, caller, -1);
  };
}

/**
 * Serves `GET /images/{signature}/{url}`: images of embeds, which are on other hosts, from Parlance's own origin (docs/security.md#image-proxy). It needs no
 * login, as files do not: Parlance signed the path and showed it in an embed. The answer is 404 for a path that Parlance did not sign, which is charged to the
 * address, and for a URL that gives no image, and 503 when too many fetches or answers are under way.
 */
export function serveImages(platform: ApiPlatform, charges: AddressCharges): Middleware<State> {
  const fetchImage = createImageProxy(platform);
  const addSending = createSendLimiter();
  return async (ctx, next) => {
    if (ctx.path.split('/', 2)[1] !== 'images') return next();
    ctx.state.route = '/images/{signature}/{url}';
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    const caller = readClientAddress(ctx.req, platform.config.TRUST_PROXY);
    const url = parseProxyPath(platform.config, ctx.path);
    if (url === null) {
      await charges.chargeWrong(ctx, caller);
      return refuse('not_found', { what: 'image' });
    }
    const image = await fetchImage(url, caller);
    if (ctx.res.destroyed) return;
    ctx.res.once('close', addSending(image, caller));
    ctx.set(imageHeaders);
    ctx.type = image.contentType;
    ctx.body = image.bytes;
  };
}
