import type { Embed, EmbedView } from '../../contract/embed.ts';
import type { Platform } from '../../store/platform.ts';
import { isSameSecret, listKeys, signImageUrl } from '../../store/seal.ts';

type Config = Platform['config'];

const toProxyPath = (key: Buffer, url: string): string => `/images/${signImageUrl(key, url)}/${Buffer.from(url).toString('base64url')}`;

const ownFilePath = /^\/files\/[0-9a-f]{32}\/[\w.~!*'()%-]+$/;

/** The URL from which clients load the image at `url`: the image proxy (docs/security.md#image-proxy), or `url` itself for one of Parlance's own files. */
export const toImageUrl = (config: Config, url: string): string =>
  url.startsWith(config.baseUrl) && ownFilePath.test(url.slice(config.baseUrl.length))
    ? url
    : config.baseUrl + toProxyPath(config.APP_KEY, url);

/** The URL of the image that a path of the image proxy names, or null if none of our keys signed the path. A wrong path takes as long as a right one. */
export function parseProxyPath(config: Config, path: string): string | null {
  const [, , , encoded = ''] = path.split('/');
  const url = Buffer.from(encoded, 'base64url').toString();
  const matches = listKeys(config).map((key) => isSameSecret(path, toProxyPath(key, url)));
  return matches.includes(true) ? url : null;
}

/** An embed as it is shown: each image gets a second URL, on our own origin. */
export function toShownEmbed(config: Config, embed: Embed): EmbedView {
  const { author, image, thumbnail } = embed;
  const toShownImage = (url: string): { url: string; proxyUrl: string } => ({ url, proxyUrl: toImageUrl(config, url) });
  return {
    ...embed,
    ...(author?.iconUrl ? { author: { ...author, proxyIconUrl: toImageUrl(config, author.iconUrl) } } : {}),
    ...(image ? { image: toShownImage(image.url) } : {}),
    ...(thumbnail ? { thumbnail: toShownImage(thumbnail.url) } : {}),
  } as EmbedView;
}
