import { type Document, deserialize, type Int32, serialize } from 'bson';
import { type Command, type Lease } from '../command.ts';
import { describeDuplicate } from '../duplicate-key.ts';
import { CommandError, fromSqlState, unpackSqlState } from '../errors.ts';

/** Options that preserve the number types of a reply when it is decoded and encoded. */
export const exact = { promoteValues: false, promoteBuffers: false, bsonRegExp: true } as const;

/** One entry of a reply's `writeErrors`, in MongoDB's terms. */
export interface WriteError extends Document {
  index: number;
  code: number;
  errmsg: string;
}

/** The decoded reply of a write. */
export type WriteReply = Document & { writeErrors: WriteError[] };

const marker = Buffer.from('\x04writeErrors\0', 'latin1');

/** Whether the reply of a write reports errors of single statements; searches the bytes without decoding them. */
export function hasWriteErrors(reply: Buffer): boolean {
  return reply.includes(marker);
}

/** Decodes a reply and converts the packed SQLSTATEs of its errors to MongoDB's codes. */
export function readWriteReply(reply: Buffer): WriteReply {
  const decoded = deserialize(reply, exact);
  const errors = (decoded.writeErrors ?? []) as { index: Int32; code: Int32; errmsg: string }[];
  const writeErrors = errors.map((entry) => {
    const code = Number(entry.code);
    const sqlState = unpackSqlState(code);
    const translated = sqlState ? fromSqlState(sqlState, entry.errmsg) : new CommandError(code, '', entry.errmsg);
    return { ...entry, index: Number(entry.index), code: translated.code, errmsg: translated.message };
  });
  return { ...decoded, writeErrors };
}

/**
 * Encodes a decoded reply. Duplicate key errors are described with the documents that `candidatesOf` returns for a statement.
 */
export async function sendWriteReply(
  command: Command,
  lease: Lease,
  reply: WriteReply,
  candidatesOf: (index: number) => (Document | undefined)[],
): Promise<Buffer> {
  const namespace = { db: command.db, collection: command.target };
  const lookUp = lease.connection.query.bind(lease.connection);
  for (const entry of reply.writeErrors) {
    if (entry.code !== 11000) continue;
    Object.assign(entry, await describeDuplicate(lookUp, namespace, entry.errmsg, candidatesOf(entry.index)));
  }
  const { writeErrors, ...rest } = reply;
  return Buffer.from(serialize(writeErrors.length > 0 ? { ...rest, writeErrors } : rest));
}
