import type { Document, Int32 } from 'bson';
import { numberField, scanFields, withoutFields } from '../bson-scan.ts';
import { type Handler, type Lease, queryDocument } from '../command.ts';
import { writtenValues } from '../duplicate-key.ts';
import { hasWriteErrors, readWriteReply, sendWriteReply, type WriteError } from './write-errors.ts';
import { decoded, statementsOf } from './writes.ts';

const updateStatement = { name: 'update', text: 'SELECT p_result FROM documentdb_api.update($1, $2, $3, NULL)' };
const upsertAttempts = 5;
const updatesField = new Set(['updates']);

type WriteReply = Document & { writeErrors: WriteError[] };

/**
 * `update`. Unique indexes are exclusion constraints, so of two upserts that race one is refused as a duplicate; run again it finds the
 * other's document, as it does in mongod.
 */
export const update: Handler = async (command, lease) => {
  const bytes = await queryDocument(lease, updateStatement, [command.db, command.spec, command.sequence ?? null]);
  if (!hasWriteErrors(bytes)) return bytes;
  const reply = readWriteReply(bytes);
  const statements = statementsOf(command, 'updates');
  const fields = scanFields(command.spec);
  const isOrdered = numberField(command.spec, fields.get('ordered')) !== 0;
  const spec = withoutFields(command.spec, fields, updatesField);
  for (let attempt = 1; attempt < upsertAttempts && !lease.inTransaction; attempt++) {
    const lost = reply.writeErrors.filter(({ code, index }) => code === 11000 && isUpsert(statements[index])).map(({ index }) => index);
    const first = lost[0];
    if (first === undefined) break;
    // An ordered command ended at its first error: what came after is still to do.
    const again = isOrdered ? statements.map((_, index) => index).slice(first) : lost;
    await runAgain(lease, command.db, spec, statements, again, reply);
  }
  return sendWriteReply(command, lease, reply, (index) => {
    const statement = decoded(statements[index]);
    return writtenValues(statement?.q, statement?.u);
  });
};

async function runAgain(lease: Lease, db: string, spec: Buffer, statements: Buffer[], again: number[], into: WriteReply): Promise<void> {
  const sequence = Buffer.concat(again.map((index) => statements[index] ?? Buffer.alloc(0)));
  const reply = readWriteReply(await queryDocument(lease, updateStatement, [db, spec, sequence]));
  const original = (index: number | Int32) => again[Number(index)] ?? Number(index);
  const upserted = ((reply.upserted ?? []) as Document[]).map((entry) => ({ ...entry, index: original(entry.index as Int32) }));
  const errors = reply.writeErrors.map((entry) => ({ ...entry, index: original(entry.index) }));
  into.n = Number(into.n ?? 0) + Number(reply.n ?? 0);
  into.nModified = Number(into.nModified ?? 0) + Number(reply.nModified ?? 0);
  if (upserted.length > 0) into.upserted = [...((into.upserted ?? []) as Document[]), ...upserted];
  into.writeErrors = [...into.writeErrors.filter(({ index }) => !again.includes(index)), ...errors].toSorted((a, b) => a.index - b.index);
}

function isUpsert(statement: Buffer | undefined): boolean {
  return statement !== undefined && Boolean(numberField(statement, scanFields(statement).get('upsert')));
}
