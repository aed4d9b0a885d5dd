import { setTimeout as sleep } from 'node:timers/promises';
import { type Document, deserialize, serialize } from 'bson';
import { type Command, type Handler, type Lease, queryDocument, queryRow } from '../command.ts';
import { CommandError, fromSqlState, unpackSqlState } from '../errors.ts';

const createStatement = { name: 'create_indexes', text: 'SELECT documentdb_api_internal.create_indexes_non_concurrently($1, $2, true)' };
// The functions that the engine's own scheduler runs, with a wait of 0.6 to 2 s for its next tick.
const requestStatement = {
  name: 'request_indexes',
  text: 'SELECT retval::bytea, requests::bytea FROM documentdb_api.create_indexes_background($1, $2)',
};
const buildStatement = { name: 'build_index', text: 'CALL documentdb_api_internal.build_index_concurrently(1)' };
const statusStatement = {
  name: 'index_status',
  text: 'SELECT retval::bytea, complete FROM documentdb_api_internal.check_build_index_status($1)',
};
const countStatement = { name: 'count', text: 'SELECT document::bytea FROM documentdb_api.count_query($1, $2)' };
const dropStatement = { name: 'drop_indexes', text: 'CALL documentdb_api.drop_indexes($1, $2, NULL)' };

/** How long to wait for an index that another connection builds, in milliseconds. */
const retryMs = 100;

/** Whether a collection exists and has a document. */
async function hasDocuments({ db, target }: Command, lease: Lease): Promise<boolean> {
  const count = Buffer.from(serialize({ count: target, query: {}, limit: 1 }));
  return deserialize(await queryDocument(lease, countStatement, [db, count])).n > 0;
}

/** Builds indexes while the collection is read and written. */
async function createOnline({ db, spec }: Command, lease: Lease): Promise<Document> {
  const [reply, requests] = await queryRow(lease, requestStatement, [db, spec]);
  // There is no request if all indexes exist, or the command is refused.
  if (!Buffer.isBuffer(requests) || !deserialize(requests).indexRequest) return deserialize(reply as Buffer);
  for (;;) {
    await queryRow(lease, buildStatement, []);
    const [status, isComplete] = await queryRow(lease, statusStatement, [requests]);
    if (isComplete === true) return deserialize(status as Buffer);
    await sleep(retryMs); // another connection builds an index
  }
}

/**
 * `createIndexes`; the indexes are complete when it answers. Writes to the collection go on meanwhile. An empty collection takes the short
 * way, which blocks its writes for some milliseconds.
 */
export const createIndexes: Handler = async (command, lease) =>
  checked(
    (await hasDocuments(command, lease))
      ? await createOnline(command, lease)
      : deserialize(await queryDocument(lease, createStatement, [command.db, command.spec])),
  );

/** `dropIndexes`. */
export const dropIndexes: Handler = async (command, lease) =>
  checked(deserialize(await queryDocument(lease, dropStatement, [command.db, command.spec])));

/** Returns the reply of the only shard, as the engine answers per shard; throws if the reply is an error. */
function checked(reply: Document): Document {
  const only = (reply.raw ? Object.values(reply.raw as Document)[0] : reply) as Document;
  if (reply.ok) return { ...only, ok: 1 };
  const code = Number(only.code ?? reply.code ?? 1);
  const sqlState = unpackSqlState(code);
  const message = String(only.errmsg ?? reply.errmsg);
  if (sqlState) throw fromSqlState(sqlState, message);
  throw new CommandError(code, String(only.codeName ?? codeNames[code] ?? 'CannotCreateIndex'), message);
}

const codeNames: Record<number, string> = {
  26: 'NamespaceNotFound',
  27: 'IndexNotFound',
  85: 'IndexOptionsConflict',
  86: 'IndexKeySpecsConflict',
};
