import { deserialize } from 'bson';
import { numberField, scanFields } from '../bson-scan.ts';
import type { Handler } from '../command.ts';
import { writtenValues } from '../duplicate-key.ts';
import { deletingOne } from './one-delete.ts';
import { type BulkWrite, runBulkWrite } from './repeat.ts';
import { sendWriteReply } from './write-errors.ts';

const inserting: BulkWrite = {
  statement: { name: 'insert', text: 'SELECT p_result::bytea FROM documentdb_api.insert($1, $2, $3, NULL)' },
  field: 'documents',
};
const deleting: BulkWrite = {
  statement: { name: 'delete', text: 'SELECT p_result::bytea FROM documentdb_api.delete($1, $2, $3, NULL)' },
  field: 'deletes',
};
// Unique indexes are exclusion constraints, so one of two racing upserts fails as a duplicate. When it is run again, it finds the other's document, as in
// mongod.
const updating: BulkWrite = {
  statement: { name: 'update', text: 'SELECT p_result::bytea FROM documentdb_api.update($1, $2, $3, NULL)' },
  field: 'updates',
  mayRepeat: (error, statement) => error.code === 11000 && Boolean(numberField(statement, scanFields(statement).get('upsert'))),
};

/** `insert`; the documents come in the command or as a document sequence. */
export const insert: Handler = async (command, lease) => {
  const outcome = await runBulkWrite(command, lease, inserting);
  if ('bytes' in outcome) return outcome.bytes;
  return sendWriteReply(command, lease, outcome.reply, (index) =>
    outcome.statements.slice(index, index + 1).map((document) => deserialize(document)),
  );
};

/** `update`. */
export const update: Handler = async (command, lease) => {
  const outcome = await runBulkWrite(command, lease, updating);
  if ('bytes' in outcome) return outcome.bytes;
  return sendWriteReply(command, lease, outcome.reply, (index) => {
    const statement = outcome.statements[index];
    if (!statement) return [];
    const { q, u } = deserialize(statement);
    return writtenValues(q, u);
  });
};

/** `delete`. */
export const remove: Handler = (command, lease) =>
  deletingOne(command, lease, async () => {
    const outcome = await runBulkWrite(command, lease, deleting);
    return 'bytes' in outcome ? outcome.bytes : sendWriteReply(command, lease, outcome.reply, () => []);
  });
