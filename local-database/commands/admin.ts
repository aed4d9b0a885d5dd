import { deserialize } from 'bson';
import { type Handler, option, queryDocument } from '../command.ts';

const call = (name: string, text: string) => ({ name, text: `SELECT documentdb_api.${text}` });
const count = { name: 'count', text: 'SELECT document::bytea FROM documentdb_api.count_query($1, $2)' };
const distinct = { name: 'distinct', text: 'SELECT document::bytea FROM documentdb_api.distinct_query($1, $2)' };
const create = call('create', 'create_collection_view($1, $2)');
const collMod = call('coll_mod', 'coll_mod($1, $2, $3)');
const drop = call('drop', 'drop_collection($1, $2)');
const dropDatabase = call('drop_database', 'drop_database($1)');
const rename = call('rename', 'rename_collection($1, $2, $3, $4::text::bool)');
const collStats = call('coll_stats', 'coll_stats($1, $2, 1)');
const dbStats = call('db_stats', 'db_stats($1, 1, false)');
const listDatabases = call('list_databases', 'list_databases($1)');
const validate = { name: 'validate', text: 'SELECT document FROM documentdb_api.validate($1, $2)' };

const bySpec =
  (statement: { name: string; text: string }): Handler =>
  (command, lease) =>
    queryDocument(lease, statement, [command.db, command.spec]);

/** Handlers for counting, collections and databases. */
export const adminHandlers: Record<string, Handler> = {
  count: bySpec(count),
  distinct: bySpec(distinct),
  validate: bySpec(validate),
  create: async (command, lease) => okAsNumber(await queryDocument(lease, create, [command.db, command.spec])),
  collMod: async (command, lease) => okAsNumber(await queryDocument(lease, collMod, [command.db, command.target, command.spec])),
  collStats: (command, lease) => queryDocument(lease, collStats, [command.db, command.target]),
  dbStats: (command, lease) => queryDocument(lease, dbStats, [command.db]),
  listDatabases: (command, lease) => queryDocument(lease, listDatabases, [command.spec]),
  drop: async (command, lease) => {
    await lease.connection.query(drop, [command.db, command.target]);
    return { ns: `${command.db}.${command.target}`, ok: 1 };
  },
  dropDatabase: async (command, lease) => {
    await lease.connection.query(dropDatabase, [command.db]);
    return { dropped: command.db, ok: 1 };
  },
  renameCollection: async (command, lease) => {
    const to = String(deserialize(command.body).to);
    const [db, name] = splitNamespace(command.target);
    await lease.connection.query(rename, [db, name, splitNamespace(to)[1], String(Boolean(option(command, 'dropTarget')))]);
    return { ok: 1 };
  },
};

function splitNamespace(namespace: string): [db: string, collection: string] {
  const dot = namespace.indexOf('.');
  return [namespace.slice(0, dot), namespace.slice(dot + 1)];
}

function okAsNumber(reply: Buffer): Record<string, unknown> {
  const decoded = deserialize(reply);
  return { ...decoded, ok: decoded.ok ? 1 : 0 };
}
