/** A top-level field of a BSON document: its type, and the offsets of its element, its value and the end of its value. */
export interface Field {
  type: number;
  start: number;
  at: number;
  end: number;
}

/** The top-level fields of a document, in order. */
export type Fields = Map<string, Field>;

/** The BSON element types that the gateway reads. */
export const bsonType = { double: 1, string: 2, document: 3, array: 4, bool: 8, date: 9, int32: 16, int64: 18 } as const;

/** Thrown for bytes that are not a BSON document. */
export class MalformedBson extends Error {}

const fixedSizes: Record<number, number> = { 1: 8, 6: 0, 7: 12, 8: 1, 9: 8, 10: 0, 16: 4, 17: 8, 18: 8, 19: 16, 127: 0, 255: 0 };

/** The size in bytes of the value of `type` at offset `at`. */
function valueSize(bytes: Buffer, type: number, at: number): number {
  const fixed = fixedSizes[type];
  if (fixed !== undefined) return fixed;
  switch (type) {
    case 2:
    case 13:
    case 14:
      return 4 + lengthAt(bytes, at);
    case 3:
    case 4:
    case 15:
      return lengthAt(bytes, at);
    case 5:
      return 5 + lengthAt(bytes, at);
    case 11:
      return nameEnd(bytes, nameEnd(bytes, at) + 1) + 1 - at;
    case 12:
      return 16 + lengthAt(bytes, at);
    default:
      throw new MalformedBson(`unknown element type ${type}`);
  }
}

/** Calls `visit` for each element of the document at offset `start`, with its name and offsets. */
export function eachElement(bytes: Buffer, start: number, visit: (name: string, field: Field) => void): void {
  const size = lengthAt(bytes, start);
  const last = start + size - 1;
  if (size < 5 || last >= bytes.length || bytes[last] !== 0) throw new MalformedBson('invalid document length');
  let at = start + 4;
  while (at < last) {
    const type = bytes[at] ?? 0;
    const nameStop = nameEnd(bytes, at + 1);
    const valueAt = nameStop + 1;
    const end = valueAt + valueSize(bytes, type, valueAt);
    if (end > last) throw new MalformedBson('a value exceeds its document');
    visit(bytes.toString('latin1', at + 1, nameStop), { type, start: at, at: valueAt, end });
    at = end;
  }
}

/** The top-level fields of the document at offset `start`, without decoding their values. Names are decoded as Latin-1. */
export function scanFields(bytes: Buffer, start = 0): Fields {
  const fields: Fields = new Map();
  eachElement(bytes, start, (name, field) => fields.set(name, field));
  return fields;
}

/** The document without the top-level fields in `names`. */
export function withoutFields(document: Buffer, fields: Fields, names: ReadonlySet<string>): Buffer {
  const parts: Buffer[] = [];
  let from = 0;
  for (const [name, field] of fields) {
    if (!names.has(name)) continue;
    parts.push(document.subarray(from, field.start));
    from = field.end;
  }
  if (from === 0) return document;
  parts.push(document.subarray(from));
  const result = Buffer.concat(parts);
  result.writeInt32LE(result.length, 0);
  return result;
}

/** The text of a string field; undefined when it is absent or of another type. */
export function stringField(document: Buffer, field: Field | undefined): string | undefined {
  return field?.type === bsonType.string ? document.toString('utf8', field.at + 4, field.end - 1) : undefined;
}

/** The value of a numeric or boolean field as a number; undefined when it is absent or of another type. */
export function numberField(document: Buffer, field: Field | undefined): number | undefined {
  switch (field?.type) {
    case bsonType.int32:
      return document.readInt32LE(field.at);
    case bsonType.int64:
      return Number(document.readBigInt64LE(field.at));
    case bsonType.double:
      return document.readDoubleLE(field.at);
    case bsonType.bool:
      return document[field.at];
    default:
      return undefined;
  }
}

/** Splits `bytes` into the documents that follow one another in it, as views. */
export function splitDocuments(bytes: Buffer): Buffer[] {
  const documents: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const size = lengthAt(bytes, at);
    if (size < 5 || at + size > bytes.length) throw new MalformedBson('invalid document length');
    documents.push(bytes.subarray(at, at + size));
    at += size;
  }
  return documents;
}

/** The documents in an array field, as views; none when it is absent. */
export function arrayDocuments(document: Buffer, field: Field | undefined): Buffer[] {
  const documents: Buffer[] = [];
  if (field?.type !== bsonType.array) return documents;
  eachElement(document, field.at, (_, item) => {
    if (item.type === bsonType.document) documents.push(document.subarray(item.at, item.end));
  });
  return documents;
}

function lengthAt(bytes: Buffer, at: number): number {
  if (at + 4 > bytes.length) throw new MalformedBson('unexpected end of data');
  const length = bytes.readInt32LE(at);
  if (length < 0) throw new MalformedBson('negative length');
  return length;
}

function nameEnd(bytes: Buffer, at: number): number {
  const end = bytes.indexOf(0, at);
  if (end < 0) throw new MalformedBson('a name is not terminated');
  return end;
}
