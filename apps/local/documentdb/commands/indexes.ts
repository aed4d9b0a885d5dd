import { type Document, deserialize } from 'bson';
import { type Handler, queryDocument } from '../command.ts';
import { CommandError, fromSqlState, unpackSqlState } from '../errors.ts';

// The engine's public function waits 0.6 to 2 s for the next tick of a scheduler.
const createStatement = { name: 'create_indexes', text: 'SELECT documentdb_api_internal.create_indexes_non_concurrently($1, $2, true)' };
const dropStatement = { name: 'drop_indexes', text: 'CALL documentdb_api.drop_indexes($1, $2, NULL)' };

/** `createIndexes`; the indexes are complete when it answers. */
export const createIndexes: Handler = async (command, lease) =>
  checked(deserialize(await queryDocument(lease, createStatement, [command.db, command.spec])));

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
