import { createHash } from 'node:crypto';
import { collectionsOf, type TestApi } from '../../harness/api.ts';

/** The content of the database, to compare: the number of documents of each collection and their hash. */
export async function snapshotOf({ platform: { db } }: TestApi): Promise<Record<string, string>> {
  const found = collectionsOf(db).map(async (collection) => {
    // Raw, because parsing the documents that all rows leave would take most of a row's time.
    const documents = (await collection.find({}, { raw: true }).sort({ _id: 1 }).toArray()) as unknown as Buffer[];
    const hash = createHash('sha256');
    for (const one of documents) hash.update(one);
    return [collection.collectionName, `${documents.length} documents, ${hash.digest('hex')}`];
  });
  return Object.fromEntries(await Promise.all(found)) as Record<string, string>;
}
