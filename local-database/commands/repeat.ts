import type { Document } from 'bson';
import { arrayDocuments, numberField, scanFields, splitDocuments, withoutFields } from '../bson-scan.ts';
import { type Command, type Lease, queryDocument } from '../command.ts';
import type { Statement } from '../postgres/connection.ts';
import { inSingleFile, raceAttempts } from '../single-file.ts';
import { hasWriteErrors, readWriteReply, type WriteError, type WriteReply } from './write-errors.ts';

const upsertAttempts = 10;
const lostRaceCode = 112;

/** A write with several statements. */
export interface BulkWrite {
  statement: Statement;
  /** The array field that contains its statements, unless they come as a document sequence. */
  field: string;
  /** Whether a statement that failed with this error may succeed when it is run again. */
  mayRepeat?: (error: WriteError, statement: Buffer) => boolean;
}

/** The outcome of a write: the engine's bytes if every statement succeeded, else the decoded reply and the statements that its errors refer to by index. */
export type BulkOutcome = { bytes: Buffer } | { reply: WriteReply; statements: Buffer[] };

/**
 * Runs a write. The engine reports a deadlock in one statement as that statement's error and keeps the effects of the others. Such statements
 * are run again here; in an ordered write, so are the statements after the first of them.
 */
export async function runBulkWrite(command: Command, lease: Lease, write: BulkWrite): Promise<BulkOutcome> {
  const bytes = await queryDocument(lease, write.statement, [command.db, command.spec, command.sequence ?? null]);
  if (!hasWriteErrors(bytes)) return { bytes };
  const reply = readWriteReply(bytes);
  const fields = scanFields(command.spec);
  const statements = command.sequence ? splitDocuments(command.sequence) : arrayDocuments(command.spec, fields.get(write.field));
  const isOrdered = numberField(command.spec, fields.get('ordered')) !== 0;
  const spec = withoutFields(command.spec, fields, new Set([write.field]));
  let attempt = 1;
  const isLost = (error: WriteError) => {
    const statement = statements[error.index];
    if (error.code === lostRaceCode) return true;
    return attempt < upsertAttempts && statement !== undefined && write.mayRepeat?.(error, statement) === true;
  };
  for (; attempt < raceAttempts; attempt++) {
    const lost = reply.writeErrors.filter(isLost).map(({ index }) => index);
    const first = lost[0];
    if (first === undefined) break;
    const again = isOrdered ? statements.map((_, index) => index).slice(first) : lost;
    const sequence = Buffer.concat(again.flatMap((index) => statements[index] ?? []));
    const run = () => queryDocument(lease, write.statement, [command.db, spec, sequence]);
    merge(reply, readWriteReply(await inSingleFile(`${command.db}.${command.target} writes`, run)), again);
  }
  return { reply, statements };
}

/** Merges the outcome of the statements that were run again; `again` contains their indexes in the command. */
function merge(into: WriteReply, reply: WriteReply, again: number[]): void {
  const place = (entry: Document) => ({ ...entry, index: again[Number(entry.index)] ?? Number(entry.index) });
  const upserted = [...listOf(into.upserted), ...listOf(reply.upserted).map(place)];
  into.n = Number(into.n ?? 0) + Number(reply.n ?? 0);
  if (into.nModified !== undefined) into.nModified = Number(into.nModified) + Number(reply.nModified ?? 0);
  if (upserted.length > 0) into.upserted = upserted;
  const errors = reply.writeErrors.map((error) => ({ ...error, ...place(error) }));
  into.writeErrors = [...into.writeErrors.filter(({ index }) => !again.includes(index)), ...errors].toSorted((a, b) => a.index - b.index);
}

function listOf(value: unknown): Document[] {
  return Array.isArray(value) ? value : [];
}
