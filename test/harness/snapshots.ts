import { createHash } from 'node:crypto';
import { createRequire } from 'node:module';
import type { mongo } from 'mongoose';

interface Operation {
  commandName: string;
  ns: mongo.MongoDBNamespace;
  /** Of `findAndModify`, whose `ns` does not name it. */
  collection?: mongo.Collection;
}

/** Commands that change no document. An aggregation may store its result; nothing here does so. */
const reads = ['find', 'aggregate', 'getMore', 'count', 'distinct', 'killCursors', 'endSessions', 'listIndexes', 'createIndexes'];

/** How often a write to a collection has begun or ended in this process, by `<database>.<collection>`. */
const writes = new Map<string, number>();
/** The same for all other commands, which may change any collection. */
let otherWrites = 0;

function noteWrite({ commandName, ns, collection }: Operation): void {
  const namespace = commandName === 'findAndModify' ? collection?.namespace : ns.toString();
  if (namespace && ['findAndModify', 'insert', 'update', 'delete'].includes(commandName))
    writes.set(namespace, (writes.get(namespace) ?? 0) + 1);
  else otherWrites++;
}

// All methods of the driver send their commands through this function, as test/queries/recorder.ts says.
const require = createRequire(createRequire(import.meta.url).resolve('mongoose'));
const driver = require('mongodb/lib/operations/execute_operation.js') as {
  executeOperation(client: object, operation: Operation, timeout?: object): Promise<unknown>;
};
const { executeOperation } = driver;
driver.executeOperation = async (client, operation, timeout) => {
  if (reads.includes(operation.commandName)) return executeOperation(client, operation, timeout);
  noteWrite(operation);
  try {
    return await executeOperation(client, operation, timeout);
  } finally {
    noteWrite(operation);
  }
};

/**
 * Returns a function that reads all documents of these collections: by the name of each, their number and their hash, to compare with those of another time. A
 * collection is read again only if this process has sent a write for it since the last time, or one that had not ended then: no other process may write to it.
 */
export function createSnapshots(collections: readonly mongo.Collection<{ _id: string }>[]): () => Promise<Record<string, string>> {
  const known = new Map<string, { state: string; content: string }>();
  const read = async (collection: mongo.Collection<{ _id: string }>): Promise<string> => {
    const { namespace } = collection;
    const state = `${writes.get(namespace) ?? 0} ${otherWrites}`;
    const last = known.get(namespace);
    if (last?.state === state) return last.content;
    // Raw, because parsing the documents would take longer than reading them.
    const documents = (await collection.find({}, { raw: true }).sort({ _id: 1 }).toArray()) as unknown as Buffer[];
    const hash = createHash('sha256');
    for (const one of documents) hash.update(one);
    const content = `${documents.length} documents, ${hash.digest('hex')}`;
    known.set(namespace, { state, content });
    return content;
  };
  return async () => {
    const contents = await Promise.all(collections.map(async (one) => [one.collectionName, await read(one)] as const));
    return Object.fromEntries(contents);
  };
}
