import type { Embed, ShownEmbed } from '../../contract/message.ts';
import type { Platform } from '../../store/platform.ts';
import { imageSignatureOf, keysOf, sameSecret } from '../../store/seal.ts';

type Config = Platform['config'];

const pathOf = (key: Buffer, url: string): string => `/images/${imageSignatureOf(key, url)}/${Buffer.from(url).toString('base64url')}`;

const ownFile = /^\/files\/[0-9a-f]{32}\/[\w.~!*'()%-]+$/;

/** The URL from which clients load the image at `url`: the image proxy (docs/security.md#image-proxy), or `url` itself for one of Parlance's own files. */
export const imageLink = (config: Config, url: string): string =>
  url.startsWith(config.baseUrl) && ownFile.test(url.slice(config.baseUrl.length)) ? url : config.baseUrl + pathOf(config.APP_KEY, url);

/** The URL of the image that a path of the image proxy names, or null if none of our keys signed the path. A wrong path takes as long as a right one. */
export function imageAddressOf(config: Config, path: string): string | null {
  const [, , , encoded = ''] = path.split('/');
  const url = Buffer.from(encoded, 'base64url').toString();
  const matches = keysOf(config).map((key) => sameSecret(path, pathOf(key, url)));
  return matches.includes(true) ? url : null;
}

/** An embed as it is shown: each image gets a second URL, on our own origin. */
export function showEmbed(config: Config, embed: Embed): ShownEmbed {
  const { author, image, thumbnail } = embed;
  const shown = (url: string): { url: string; proxyUrl: string } => ({ url, proxyUrl: imageLink(config, url) });
  return {
    ...embed,
    ...(author?.iconUrl ? { author: { ...author, proxyIconUrl: imageLink(config, author.iconUrl) } } : {}),
    ...(image ? { image: shown(image.url) } : {}),
    ...(thumbnail ? { thumbnail: shown(thumbnail.url) } : {}),
  } as ShownEmbed;
}
