import { bsonType, eachElement } from './bson-scan.ts';

/*
 * DocumentDB rejects `$$NOW` in queries, updates and findAndModify, so the gateway inserts the time of its own clock, as mongod does. It does so only where
 * mongod evaluates expressions, because a document may contain the text `$$NOW`.
 */

const variable = Buffer.from('$$NOW');
const variableValue = Buffer.from('\x06\0\0\0$$NOW\0', 'latin1');

type Context = 'command' | 'statements' | 'statement' | 'query' | 'queries' | 'expression';

interface Found {
  /** The offsets of the elements whose value is the variable, and of these values. */
  hits: { start: number; at: number }[];
  /** The number of hits in each document, by the document's offset. */
  within: Map<number, number>;
}

/**
 * Replaces each `$$NOW` with `nowMs` where a pipeline or a query's `$expr` evaluates it; returns the same bytes if there is none. `context` says what the bytes
 * are: a whole `command`, or the concatenated `statement` documents of an update.
 */
export function withNow(bytes: Buffer, context: 'command' | 'statement', nowMs: number): Buffer {
  if (!bytes.includes(variable)) return bytes;
  const found: Found = { hits: [], within: new Map() };
  for (let at = 0; at < bytes.length; at += bytes.readInt32LE(at)) walk(bytes, at, context, [at], found);
  return found.hits.length === 0 ? bytes : replace(bytes, found, nowMs);
}

function walk(bytes: Buffer, start: number, context: Context, containers: number[], found: Found): void {
  eachElement(bytes, start, (name, { type, start: elementAt, at, end }) => {
    const inner = contextOf(context, name, type);
    if (!inner) return;
    if (type === bsonType.document || type === bsonType.array) walk(bytes, at, inner, [...containers, at], found);
    else if (inner === 'expression' && type === bsonType.string && bytes.subarray(at, end).equals(variableValue)) {
      found.hits.push({ start: elementAt, at });
      for (const container of containers) found.within.set(container, (found.within.get(container) ?? 0) + 1);
    }
  });
}

/** What an element of `context` contains; undefined if it is never evaluated. */
function contextOf(context: Context, name: string, type: number): Context | undefined {
  switch (context) {
    case 'command':
      if (name === 'updates' || name === 'deletes') return 'statements';
      if (name === 'filter') return 'query';
      if (name === 'pipeline') return 'expression';
      return contextOf('statement', name, type);
    case 'statements':
      return 'statement';
    case 'statement':
      if (name === 'q' || name === 'query') return 'query';
      return (name === 'u' || name === 'update') && type === bsonType.array ? 'expression' : undefined;
    case 'query':
      if (name === '$expr') return 'expression';
      return name === '$and' || name === '$or' || name === '$nor' ? 'queries' : undefined;
    case 'queries':
      return 'query';
    case 'expression':
      if (name === '$literal') return undefined;
      return name === '$match' ? 'query' : 'expression';
  }
}

function replace(bytes: Buffer, { hits, within }: Found, nowMs: number): Buffer {
  const now = Buffer.alloc(8);
  now.writeBigInt64LE(BigInt(nowMs));
  const shrinks = variableValue.length - now.length;
  const source = Buffer.from(bytes);
  for (const [at, count] of within) source.writeInt32LE(source.readInt32LE(at) - count * shrinks, at);
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, at } of hits) {
    source[start] = bsonType.date;
    parts.push(source.subarray(from, at), now);
    from = at + variableValue.length;
  }
  parts.push(source.subarray(from));
  return Buffer.concat(parts);
}
