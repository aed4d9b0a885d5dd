import { limits } from '../../base/limits.ts';
import { toPlainText } from '../../base/plain-text.ts';
import type { Embed } from '../../contract/embed.ts';
import type { PageHead } from './page-head.ts';

/** The value of the first of these `meta` names that the page has. */
const getFirstMeta = ({ metas }: PageHead, ...names: readonly string[]): string | undefined =>
  names.map((name) => metas.get(name)).find((text) => text !== undefined);

/** The absolute URL of an image if an embed may have it: http or https, without user info, at most 2,048 characters. Else undefined. */
function toImageUrl(address: string | undefined, base: string): string | undefined {
  if (address === undefined || !URL.canParse(address.trim(), base)) return undefined;
  const url = new URL(address.trim(), base);
  const isAllowed = /^https?:$/.test(url.protocol) && url.username === '' && url.password === '' && url.href.length <= 2_048;
  return isAllowed ? url.href : undefined;
}

/** The URL to which addresses in a page are relative: its `<base>` if that is http or https, else its own. */
function toImageBase(declared: string | undefined, pageUrl: string): string {
  const base = declared !== undefined && URL.canParse(declared, pageUrl) ? new URL(declared, pageUrl) : null;
  return base && /^https?:$/.test(base.protocol) ? base.href : pageUrl;
}

/**
 * Makes the preview of a page from its Open Graph fields, else its Twitter card fields, else its title and description. `link` is the link in the message, so
 * that a page cannot be shown under another address. `pageUrl` is the page's URL after redirects. Null when there is neither title nor description.
 */
export function toPagePreview(head: PageHead, link: string, pageUrl: string): Embed | null {
  const title = toPlainText(getFirstMeta(head, 'og:title', 'twitter:title') ?? head.title, limits.embedTitleChars);
  const descriptionText = getFirstMeta(head, 'og:description', 'twitter:description', 'description') ?? '';
  const description = toPlainText(descriptionText, limits.embedDescriptionChars);
  if (title === '' && description === '') return null;
  const site = toPlainText(getFirstMeta(head, 'og:site_name') ?? '', limits.embedAuthorChars);
  const base = toImageBase(head.base, pageUrl);
  const image = toImageUrl(
    getFirstMeta(head, 'og:image:secure_url', 'og:image', 'og:image:url', 'twitter:image', 'twitter:image:src'),
    base,
  );
  const large = getFirstMeta(head, 'twitter:card')?.trim().toLowerCase() === 'summary_large_image';
  return {
    url: link,
    ...(title === '' ? {} : { title }),
    ...(description === '' ? {} : { description }),
    ...(site === '' ? {} : { author: { name: site } }),
    ...(image === undefined ? {} : large ? { image: { url: image } } : { thumbnail: { url: image } }),
  };
}
