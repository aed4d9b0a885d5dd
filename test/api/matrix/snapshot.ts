import { createHash } from 'node:crypto';
import type { TestApi } from '../../harness/api.ts';

/** The content of the database, to compare: the number of documents of each collection and their hash. */
export async function snapshotOf({ platform: { db } }: TestApi): Promise<Record<string, string>> {
  const models = Object.entries(db).filter(([, value]) => 'collection' in value) as [
    string,
    { collection: typeof db.accounts.collection },
  ][];
  const found = models.map(async ([name, { collection }]) => {
    // Raw, because parsing the documents that all rows leave would take most of a row's time.
    const documents = (await collection.find({}, { raw: true }).sort({ _id: 1 }).toArray()) as unknown as Buffer[];
    const hash = createHash('sha256');
    for (const one of documents) hash.update(one);
    return [name, `${documents.length} documents, ${hash.digest('hex')}`];
  });
  return Object.fromEntries(await Promise.all(found)) as Record<string, string>;
}
