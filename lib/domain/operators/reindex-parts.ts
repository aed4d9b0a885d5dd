/** What is derived from other documents, by the collection whose documents are checked, in the order in which it is checked. */
export const reindexParts = ['servers', 'applications', 'members', 'memberships', 'threads', 'dms', 'storage'] as const;
export type ReindexPart = (typeof reindexParts)[number];

/** Where a run begins: with a part, after the document with the id `after`. */
export interface ReindexStart {
  part: ReindexPart;
  after: string;
}
