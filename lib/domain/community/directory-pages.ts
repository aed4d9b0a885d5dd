import { limits } from '../../base/limits.ts';
import { toNeedles } from '../../base/text.ts';
import type { DirectoryQuery } from '../../contract/discovery.ts';

/** Where a page of Discovery or of the App Directory begins, and how long it is. `isLast` says that no page after it is served. */
export interface PageRange {
  skip: number;
  limit: number;
  isLast: boolean;
}

/** The requested page. `hasMore` is false at the last offset that is served (docs/behavior/community.md#directory-pages). */
export function toPageRange({ offset = 0, limit = limits.discoveryPageDefault }: DirectoryQuery): PageRange {
  const maxOffset = limits.discoveryOffsetMax;
  return { skip: Math.min(offset, maxOffset), limit, isLast: offset >= maxOffset };
}

/** Cuts the items that were found to the length of the page. The query must have asked for one item more, which shows whether there is a next page. */
export const toPage = <T>(found: readonly T[], { limit, isLast }: PageRange): { items: T[]; hasMore: boolean } => ({
  items: found.slice(0, limit),
  hasMore: !isLast && found.length > limit,
});

/**
 * Matches documents that contain `q` in one of `fields`, whose text was stored through `foldSearch`. `q` is trimmed and matched literally, in any
 * case and with or without accents. A blank `q` matches all documents. Uses `$indexOfBytes` and no pattern, so no character has a special meaning.
 */
export function textFilter(q: string | undefined, fields: readonly string[]): { $expr?: object } {
  const needles = toNeedles(q?.trim() ?? '');
  if (needles.includes('')) return {};
  const conditions = fields.flatMap((field) =>
    needles.map((needle) => ({ $gte: [{ $indexOfBytes: [{ $ifNull: [`$${field}`, ''] }, { $literal: needle }] }, 0] })),
  );
  return { $expr: { $or: conditions } };
}
