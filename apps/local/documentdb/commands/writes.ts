import { type Document, deserialize } from 'bson';
import { arrayDocuments, scanFields, splitDocuments } from '../bson-scan.ts';
import { type Command, type Handler, queryDocument } from '../command.ts';
import { hasWriteErrors, readWriteReply, sendWriteReply } from './write-errors.ts';

const insertStatement = { name: 'insert', text: 'SELECT p_result FROM documentdb_api.insert($1, $2, $3, NULL)' };
const deleteStatement = { name: 'delete', text: 'SELECT p_result FROM documentdb_api.delete($1, $2, $3, NULL)' };

/** `insert`: the documents come in the command or as its sequence. */
export const insert: Handler = async (command, lease) => {
  const reply = await queryDocument(lease, insertStatement, [command.db, command.spec, command.sequence ?? null]);
  if (!hasWriteErrors(reply)) return reply;
  const documents = statementsOf(command, 'documents');
  return sendWriteReply(command, lease, readWriteReply(reply), (index) => [decoded(documents[index])]);
};

/** `delete`. */
export const remove: Handler = async (command, lease) => {
  const reply = await queryDocument(lease, deleteStatement, [command.db, command.spec, command.sequence ?? null]);
  return hasWriteErrors(reply) ? sendWriteReply(command, lease, readWriteReply(reply), () => []) : reply;
};

/** The documents a write command carries, in its sequence or in the array field `name`. */
export function statementsOf(command: Command, name: string): Buffer[] {
  return command.sequence ? splitDocuments(command.sequence) : arrayDocuments(command.spec, scanFields(command.spec).get(name));
}

/** A document decoded, if there is one. */
export function decoded(document: Buffer | undefined): Document | undefined {
  return document && deserialize(document);
}
