import type { IncomingMessage, ServerResponse } from 'node:http';
import { toImageUrl } from '../../../lib/domain/views/image-links.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { startSite } from '../../harness/site.ts';

/** The first bytes of a file of each format, with some more bytes. */
export const samples = {
  png: Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(200, 1)]),
  jpeg: Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), Buffer.alloc(200, 2)]),
  webp: Buffer.concat([Buffer.from('RIFF\x10\0\0\0WEBPVP8 ', 'latin1'), Buffer.alloc(200, 3)]),
  gif: Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(200, 4)]),
  avif: Buffer.concat([Buffer.from('\0\0\0\x18ftypavif\0\0\0\0mif1avif', 'latin1'), Buffer.alloc(200, 5)]),
  tiff: Buffer.concat([Buffer.from('49492a00', 'hex'), Buffer.alloc(200, 6)]),
};

/** A PNG signature with so many bytes in all. */
export const pngOfBytes = (bytes: number): Buffer => Buffer.concat([samples.png.subarray(0, 8), Buffer.alloc(bytes - 8, 7)]);

/** A response with its body as bytes. */
export type BinaryAnswer = Answer<Buffer>;

/**
 * Starts an API and a site that it may request images from, which responds with `handle`. The site holds requests for paths that begin with `/held` until the
 * test answers them. `allow` has more pairs for OUTBOUND_ALLOW.
 */
export async function startImageProxyFixture(
  handle: (request: IncomingMessage, response: ServerResponse) => unknown,
  allow: readonly string[] = [],
) {
  const held: { path: string; answer: () => void }[] = [];
  const site = await startSite((request, response) => {
    const path = request.url ?? '';
    if (!path.startsWith('/held')) return void handle(request, response);
    const one = { path, answer: () => void handle(request, response) };
    held.push(one);
    response.once('close', () => held.includes(one) && held.splice(held.indexOf(one), 1));
  });
  const api = await startTestApi({ OUTBOUND_ALLOW: [site.pair, ...allow].join(','), TRUST_PROXY: '1' });
  const { config } = api.platform;
  /** The path on our origin of the image at `url`, or at a path of the site. */
  const pathOf = (url: string): string => toImageUrl(config, url.startsWith('/') ? site.url + url : url).slice(config.baseUrl.length);
  /** Requests a path on our origin, as the caller with this address. */
  const get = async (
    path: string,
    { method = 'GET', caller = '192.0.2.1', headers = {} }: { method?: string; caller?: string; headers?: Record<string, string> } = {},
  ): Promise<BinaryAnswer> => {
    const response = await fetch(api.url + path, { method, headers: { 'X-Forwarded-For': caller, ...headers } });
    return { status: response.status, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
  };
  return {
    api,
    site,
    /** The held requests. */
    held,
    pathOf,
    get,
    /** Requests the image at a path of the site. */
    image: (path: string, caller?: string): Promise<BinaryAnswer> => get(pathOf(path), caller === undefined ? {} : { caller }),
    close: () => api.close().then(site.close),
  };
}
