import { limits } from '../../base/limits.ts';
import { folded } from '../../base/text.ts';
import type { DirectoryQuery } from '../../contract/discovery.ts';

/** Where a page of Discovery or of the App Directory begins, and how long it is. `last` says that no page after it is served. */
export interface Page {
  skip: number;
  limit: number;
  last: boolean;
}

/** The requested page. `hasMore` is false at the last offset that is served (docs/behavior/community.md#directory-pages). */
export function pageOf({ offset = 0, limit = limits.discoveryPageDefault }: DirectoryQuery): Page {
  const most = limits.discoveryOffsetMax;
  return { skip: Math.min(offset, most), limit, last: offset >= most };
}

/** Cuts the items that were found to the length of the page. The query must have asked for one item more, which shows whether there is a next page. */
export const cutPage = <T>(found: readonly T[], { limit, last }: Page): { items: T[]; hasMore: boolean } => ({
  items: found.slice(0, limit),
  hasMore: !last && found.length > limit,
});

/**
 * Matches documents that contain `q` in one of the fields `texts`, whose text was stored through `folded`. `q` is trimmed and matched literally, in any case. A
 * blank `q` matches all documents. Uses `$indexOfBytes` and no pattern, so no character has a special meaning.
 */
export function textHolds(q: string | undefined, texts: readonly string[]): { $expr?: object } {
  const wanted = folded(q?.trim() ?? '');
  if (wanted === '') return {};
  const found = texts.map((text) => ({ $gte: [{ $indexOfBytes: [{ $ifNull: [`$${text}`, ''] }, { $literal: wanted }] }, 0] }));
  return { $expr: { $or: found } };
}
