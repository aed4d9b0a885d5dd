import { createHash } from 'node:crypto';
import type { TestApi } from '../../harness/api.ts';

/** Everything that stands in the database: of each collection the number of its documents and a hash of them. */
export async function snapshotOf({ platform: { db } }: TestApi): Promise<Record<string, string>> {
  const models = Object.entries(db).filter(([, value]) => 'collection' in value) as [
    string,
    { collection: typeof db.accounts.collection },
  ][];
  const found = models.map(async ([name, { collection }]) => {
    // As they came: reading what all rows left behind would be most of what a row takes.
    const documents = (await collection.find({}, { raw: true }).sort({ _id: 1 }).toArray()) as unknown as Buffer[];
    const hash = createHash('sha256');
    for (const one of documents) hash.update(one);
    return [name, `${documents.length} documents, ${hash.digest('hex')}`];
  });
  return Object.fromEntries(await Promise.all(found)) as Record<string, string>;
}
