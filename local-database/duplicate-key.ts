import { type Document, deserialize } from 'bson';
import type { Parameter, Row, Statement } from './postgres/connection.ts';

/** MongoDB's description of a duplicate key. */
export interface DuplicateKey {
  errmsg: string;
  keyPattern: Document;
  keyValue: Document;
}

/** Runs a query, such as a connection's `query`. */
export type LookUp = (statement: Statement, parameters: Parameter[]) => Promise<Row[]>;

const from = `SELECT (i.index_spec).index_name, (i.index_spec).index_key FROM documentdb_api_catalog.collection_indexes i
JOIN documentdb_api_catalog.collections k USING (collection_id) WHERE k.database_name = $1 AND k.collection_name = $2 AND `;
const byId: Statement = { name: 'index_by_id', text: `${from} i.index_id = $3::text::int` };
const byName: Statement = { name: 'index_by_name', text: `${from} (i.index_spec).index_name = $3` };

/**
 * Builds MongoDB's message, `keyPattern` and `keyValue` from the engine's message, the index catalog and the documents that may contain the duplicate values.
 * For each path, the first document with a value wins. Undefined if the message names no index or the index no longer exists.
 */
export async function describeDuplicate(
  lookUp: LookUp,
  namespace: { db: string; collection: string },
  message: string,
  candidates: readonly (Document | undefined)[],
): Promise<DuplicateKey | undefined> {
  const index = await violatedIndex(lookUp, namespace, message);
  if (!index) return undefined;
  const keyValue: Document = {};
  for (const path of Object.keys(index.key)) {
    const values = candidates.map((candidate) => candidate && valueAt(candidate, path));
    keyValue[path] = values.find((value) => value !== undefined && value !== null) ?? null;
  }
  const shown = Object.entries(keyValue).map(([path, value]) => `${path}: ${showValue(value)}`);
  return {
    errmsg: `E11000 duplicate key error collection: ${namespace.db}.${namespace.collection} index: ${index.name} dup key: { ${shown.join(', ')} }`,
    keyPattern: index.key,
    keyValue,
  };
}

/** The documents of an update that may contain the value it wrote: first what it sets, then the equalities of its query. */
export function writtenValues(query: unknown, update: unknown): (Document | undefined)[] {
  const q = query as Document | undefined;
  if (Array.isArray(update)) return [...update.map((stage: Document) => (stage.$set ?? stage.$addFields) as Document | undefined), q];
  const u = update as Document | undefined;
  return [u?.$set, u?.$setOnInsert, u, q];
}

async function violatedIndex(lookUp: LookUp, { db, collection }: { db: string; collection: string }, message: string) {
  const id = /documents_rum_index_(\d+)/.exec(message)?.[1];
  const name = /Index '([^']+)'/.exec(message)?.[1];
  if (name === '_id_' || /collection_pk_/.test(message)) return { name: '_id_', key: { _id: 1 } as Document };
  if (!id && !name) return undefined;
  const [row] = await lookUp(id ? byId : byName, [db, collection, id ?? name ?? '']);
  const [indexName, key] = row ?? [];
  return typeof indexName === 'string' && Buffer.isBuffer(key) ? { name: indexName, key: deserialize(key) } : undefined;
}

function valueAt(document: Document, path: string): unknown {
  if (document[path] !== undefined) return document[path];
  return path.split('.').reduce<unknown>((value, step) => {
    const inner = Array.isArray(value) && !/^\d+$/.test(step) ? (value[0] as unknown) : value;
    return inner === null || inner === undefined ? undefined : (inner as Document)[step];
  }, document);
}

function showValue(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  const kind = (value as { _bsontype?: string } | null)?._bsontype;
  return kind === 'ObjectId' ? `ObjectId('${String(value)}')` : String(value);
}
