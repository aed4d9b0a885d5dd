import { limits } from '../../base/limits.ts';
import { findLinks } from '../../base/markup.ts';
import type { Embed } from '../../contract/embed.ts';
import type { MessageDoc } from '../../store/mongo/models/message.ts';

/** The page that a link leads to: its URL without the part after `#`. Null when the link is not a URL. */
function toPageUrl(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const url = new URL(link);
  url.hash = '';
  return url.href;
}

/**
 * The links in `content` that get a preview, as normalized URLs: those of the first five pages that are linked outside `<…>` and code, each page once, in order
 * (docs/behavior/messages.md#link-previews). A preview has its link as `url`.
 */
export function findPreviewLinks(content: string): string[] {
  const links = new Map<string, string>();
  for (const link of findLinks(content)) {
    const page = toPageUrl(link);
    if (page !== null && !links.has(page)) links.set(page, new URL(link).href);
  }
  return [...links.values()].slice(0, limits.previewsPerMessage);
}

/** The `previewsAt` mark of a new message that has links to preview; empty when it has none. */
export const createPreviewMark = (content: string, now: Date): Pick<MessageDoc, 'previewsAt'> =>
  findPreviewLinks(content).length ? { previewsAt: now } : {};

/** The previews of `links` that exist already, in the order of the links. */
export const findExistingPreviews = (previews: readonly Embed[] | undefined, links: readonly string[]): Embed[] =>
  links.flatMap((link) => previews?.find(({ url }) => url === link) ?? []);

/**
 * How an edit to `content` changes a message's previews: those of removed links are removed, the others stay, and the mark is set if a link has none
 * (docs/behavior/messages.md#link-previews).
 */
export function editPreviews(
  { previews }: Pick<MessageDoc, 'previews'>,
  content: string,
  now: Date,
): { set: Pick<MessageDoc, 'previews' | 'previewsAt'>; unset: Partial<Record<'previews' | 'previewsAt', 1>> } {
  const links = findPreviewLinks(content);
  const kept = findExistingPreviews(previews, links);
  return {
    set: { ...(kept.length ? { previews: kept } : {}), ...(kept.length < links.length ? { previewsAt: now } : {}) },
    unset: { ...(kept.length ? {} : { previews: 1 }), ...(kept.length < links.length ? {} : { previewsAt: 1 }) },
  };
}
