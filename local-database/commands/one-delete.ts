import { deserialize, serialize } from 'bson';
import { arrayDocuments, numberField, scanFields, splitDocuments } from '../bson-scan.ts';
import { type Command, type Lease, option, queryDocument } from '../command.ts';
import { inSingleFile, raceAttempts } from '../single-file.ts';
import { exact } from './write-errors.ts';

const count = { name: 'count_one', text: 'SELECT document::bytea FROM documentdb_api.count_query($1, $2)' };

/** The document in a field, as bytes; undefined when it is absent. */
function inner(document: Buffer, name: string): Buffer | undefined {
  const field = scanFields(document).get(name);
  return field && document.subarray(field.at, field.end);
}

/** The query of a command that deletes at most one document: a `delete` of one statement with a limit, or a `findAndModify` that removes. */
function queryOf(command: Command): Buffer | undefined {
  if (command.name !== 'delete') return option(command, 'remove') ? inner(command.spec, 'query') : undefined;
  const deletes = scanFields(command.spec).get('deletes');
  const [statement, ...others] = command.sequence ? splitDocuments(command.sequence) : arrayDocuments(command.spec, deletes);
  if (!statement || others.length > 0) return undefined;
  return numberField(statement, scanFields(statement).get('limit')) ? inner(statement, 'q') : undefined;
}

const hasDeleted = (reply: Buffer): boolean => {
  const { n, value } = deserialize(reply) as { n?: number; value?: unknown };
  return n === undefined ? value !== null && value !== undefined : n > 0;
};

async function hasMatch(command: Command, lease: Lease, query: Buffer): Promise<boolean> {
  const spec = Buffer.from(serialize({ count: command.target, query: deserialize(query, exact), limit: 1 }));
  const { n } = deserialize(await queryDocument(lease, count, [command.db, spec])) as { n: number };
  return n > 0;
}

/**
 * Runs a command that deletes at most one document, and repeats it while it deletes none although a document matches. The engine finds the document first and
 * then deletes it only if nobody changed it in between, whereas mongod checks the changed document again. Without the repetition, a delete that races with an
 * update would report that nothing matched, and the document would stay.
 */
export async function deletingOne(command: Command, lease: Lease, run: () => Promise<Buffer>): Promise<Buffer> {
  const query = queryOf(command);
  let reply = await run();
  if (!query) return reply;
  for (let attempt = 1; attempt < raceAttempts && !hasDeleted(reply) && (await hasMatch(command, lease, query)); attempt++)
    reply = await inSingleFile(`${command.db}.${command.target} writes`, run);
  return reply;
}
