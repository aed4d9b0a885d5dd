import type { Middleware } from 'koa';
import { clientAddress } from '../../lib/base/client-address.ts';
import { refuse } from '../../lib/base/errors.ts';
import { limits } from '../../lib/base/limits.ts';
import { imageAddressOf } from '../../lib/domain/files/image-links.ts';
import { createImageProxy, type ProxiedImage } from '../../lib/domain/files/image-proxy.ts';
import type { ApiPlatform } from '../../lib/store/platform.ts';
import type { State } from './state.ts';

/** Headers of every answer with an image: it may be cached for a day, it cannot run scripts, and only pages of Parlance's own origin may embed it. */
const headers = {
  'Cache-Control': `public, max-age=${limits.imageProxyAgeSecs}, immutable`,
  'Content-Disposition': 'inline',
  'Content-Security-Policy': "sandbox; default-src 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/**
 * Limits the memory of images that are being sent: at most 256 MiB in all, where an image that is sent several times counts once, and 64 MiB for one caller.
 * The returned function adds an image and returns the function that removes it again. Refuses `unavailable` when a limit would be exceeded.
 */
export function createSending(): (image: ProxiedImage, caller: string) => () => void {
  const readers = new Map<ProxiedImage, number>();
  const ofCaller = new Map<string, number>();
  let all = 0;
  const count = (image: ProxiedImage, caller: string, by: 1 | -1): void => {
    const { length } = image.bytes;
    const before = readers.get(image) ?? 0;
    const own = (ofCaller.get(caller) ?? 0) + by * length;
    if (before + by === 0) readers.delete(image);
    else readers.set(image, before + by);
    if (before === 0 || before + by === 0) all += by * length;
    if (own === 0) ofCaller.delete(caller);
    else ofCaller.set(caller, own);
  };
  return (image, caller) => {
    const { length } = image.bytes;
    const more = readers.has(image) ? 0 : length;
    if (all + more > limits.imageProxySendingBytes || (ofCaller.get(caller) ?? 0) + length > limits.imageProxySendingPerCallerBytes)
      refuse('unavailable', undefined, { retryAfter: 2 });
    count(image, caller, 1);
    return () => count(image, caller, -1);
  };
}

/**
 * Serves `GET /images/{signature}/{url}`: images of embeds, which are on other hosts, from Parlance's own origin (docs/security.md#image-proxy). It needs no
 * login, as files do not: Parlance signed the path and showed it in an embed. The answer is 404 for a path that Parlance did not sign and for a URL that gives
 * no image, and 503 when too many fetches or answers are under way.
 */
export function serveImages(platform: ApiPlatform): Middleware<State> {
  const imageAt = createImageProxy(platform);
  const send = createSending();
  return async (ctx, next) => {
    if (ctx.path.split('/', 2)[1] !== 'images') return next();
    ctx.state.route = '/images/{signature}/{url}';
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') refuse('method_not_allowed', { allowed: 'GET' }, { allow: ['GET'] });
    const url = imageAddressOf(platform.config, ctx.path) ?? refuse('not_found', { what: 'image' });
    const caller = clientAddress(ctx.get('X-Forwarded-For'), ctx.req.socket.remoteAddress, platform.config.TRUST_PROXY);
    const image = await imageAt(url, caller);
    if (ctx.res.destroyed) return;
    ctx.res.once('close', send(image, caller));
    ctx.set(headers);
    ctx.type = image.contentType;
    ctx.body = image.bytes;
  };
}
