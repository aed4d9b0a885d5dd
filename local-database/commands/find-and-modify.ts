import { deserialize } from 'bson';
import { type Handler, option, queryDocument } from '../command.ts';
import { describeDuplicate, writtenValues } from '../duplicate-key.ts';
import { isDuplicate, toCommandError } from '../errors.ts';
import { deletingOne } from './one-delete.ts';

const statement = { name: 'find_and_modify', text: 'SELECT p_result::bytea FROM documentdb_api.find_and_modify($1, $2, NULL)' };
const upsertAttempts = 5;

/** `findAndModify`. An upsert that loses the race for a unique key is run again and then finds the winner's document. */
export const findAndModify: Handler = async (command, lease) => {
  const isUpsert = Boolean(option(command, 'upsert'));
  for (let attempt = 1; ; attempt++) {
    try {
      return await deletingOne(command, lease, () => queryDocument(lease, statement, [command.db, command.spec]));
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      if (isUpsert && attempt < upsertAttempts) continue;
      const refusal = toCommandError(error);
      const { query, update } = deserialize(command.spec);
      const namespace = { db: command.db, collection: command.target };
      const lookUp = lease.connection.query.bind(lease.connection);
      const described = await describeDuplicate(lookUp, namespace, refusal.message, writtenValues(query, update));
      if (described) {
        refusal.message = described.errmsg;
        refusal.extra = { keyPattern: described.keyPattern, keyValue: described.keyValue };
      }
      throw refusal;
    }
  }
};
