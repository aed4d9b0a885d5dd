import { limits } from '../base/limits.ts';
import { folded } from '../base/text.ts';
import type { DirectoryQuery } from '../contract/discovery.ts';

/** Where a page of Discovery or of the App Directory begins, and how long it is; `last` when nothing after it is served. */
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

/** What is shown of a page for which one more than its length was looked for. */
export const cutPage = <T>(found: readonly T[], { limit, last }: Page): { items: T[]; hasMore: boolean } => ({
  items: found.slice(0, limit),
  hasMore: !last && found.length > limit,
});

/**
 * A filter for documents one of whose `texts`, field paths of what `folded` made, holds `q`: literally, in any case, without the white space around it. Nothing
 * is asked by a blank `q`. An index of bytes and no pattern: no character means anything else than itself.
 */
export function textHolds(q: string | undefined, texts: readonly string[]): { $expr?: object } {
  const wanted = folded(q?.trim() ?? '');
  if (wanted === '') return {};
  const found = texts.map((text) => ({ $gte: [{ $indexOfBytes: [{ $ifNull: [`$${text}`, ''] }, { $literal: wanted }] }, 0] }));
  return { $expr: { $or: found } };
}
