import { type Fields, numberField, scanFields, stringField, withoutFields } from './bson-scan.ts';
import { withNow } from './now.ts';
import type { Parameter, PostgresConnection, Row, Statement } from './postgres/connection.ts';

/** A reply: BSON from the engine, or a document to encode. */
export type Reply = Buffer | Record<string, unknown>;

/** A parsed command. */
export interface Command {
  name: string;
  db: string;
  /** The text of the first field: for most commands, the collection. */
  target: string;
  /** The command as received, and its top-level fields. */
  body: Buffer;
  fields: Fields;
  /** The command in the form that the engine accepts: without the fields of sessions. */
  spec: Buffer;
  sequence: Buffer | undefined;
}

/** The connection that a handler uses. */
export interface Lease {
  connection: PostgresConnection;
  /** Set by a handler that keeps the connection for a cursor. */
  isKept: boolean;
}

/** Runs one command. */
export type Handler = (command: Command, lease: Lease) => Promise<Reply>;

const sessionFields = new Set([
  'maxTimeMS',
  'lsid',
  'txnNumber',
  'autocommit',
  'startTransaction',
  '$clusterTime',
  '$readPreference',
  'recoveryToken',
  'apiVersion',
  'apiStrict',
  'apiDeprecationErrors',
]);
const commandsWithExpressions = new Set(['find', 'aggregate', 'count', 'distinct', 'update', 'delete', 'findAndModify', 'findandmodify']);

/** Parses the parts that all commands have in common. */
export function parseCommand(body: Buffer, sequence: Buffer | undefined): Command {
  const fields = scanFields(body);
  const name = fields.keys().next().value ?? '';
  let spec = withoutFields(body, fields, sessionFields);
  let statements = sequence;
  if (commandsWithExpressions.has(name)) {
    const nowMs = Date.now();
    spec = withNow(spec, 'command', nowMs);
    if (sequence) statements = withNow(sequence, 'statement', nowMs);
  }
  return {
    name,
    db: stringField(body, fields.get('$db')) ?? 'test',
    target: stringField(body, fields.get(name)) ?? '',
    body,
    fields,
    spec,
    sequence: statements,
  };
}

/** A flag or number of the command; undefined when it is absent. */
export function option(command: Command, name: string): number | undefined {
  return numberField(command.body, command.fields.get(name));
}

/** Runs a statement that returns one row. */
export async function queryRow(lease: Lease, statement: Statement, parameters: Parameter[]): Promise<Row> {
  const rows = await lease.connection.query(statement, parameters);
  return rows[0] ?? [];
}

/** Runs a statement that returns one document. */
export async function queryDocument(lease: Lease, statement: Statement, parameters: Parameter[]): Promise<Buffer> {
  const [document] = await queryRow(lease, statement, parameters);
  if (!Buffer.isBuffer(document)) throw new Error(`the statement ${statement.name} returned no document`);
  return document;
}
