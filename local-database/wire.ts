import { serialize } from 'bson';
import { MalformedBson } from './bson-scan.ts';

/** Maximum size of one message in bytes, as in mongod. */
export const maxMessageBytes = 48_000_000;

const opReply = 1;
const opQuery = 2004;
const opMessage = 2013;
const flagChecksum = 1;
const flagMoreToCome = 2;
/** Up to this size, header and document are joined in one buffer: copying is cheaper than a second write. */
const joinBytes = 65_536;

/** One request. `sequence` contains the concatenated documents of a document sequence. */
export interface Request {
  id: number;
  body: Buffer;
  sequence: Buffer | undefined;
  /** The client expects no reply. */
  isUnanswered: boolean;
  /** The request uses the legacy OP_QUERY, as the first hello of a connection may. */
  isLegacy: boolean;
}

/** The size of the message at offset `at`; throws if the size is invalid. */
export function messageSize(chunk: Buffer, at: number): number {
  const size = chunk.readInt32LE(at);
  if (size < 16 || size > maxMessageBytes) throw new MalformedBson(`invalid message size: ${size} bytes`);
  return size;
}

/** Parses a whole message. Throws if it is neither OP_MSG nor OP_QUERY. */
export function parseRequest(message: Buffer): Request {
  const id = message.readInt32LE(4);
  const operation = message.readInt32LE(12);
  if (operation === opQuery) {
    const nameEnd = message.indexOf(0, 20);
    return { id, body: message.subarray(nameEnd + 9), sequence: undefined, isUnanswered: false, isLegacy: true };
  }
  if (operation !== opMessage || message.length < 26) throw new MalformedBson(`unsupported operation ${operation}`);
  const flags = message.readUInt32LE(16);
  const end = message.length - (flags & flagChecksum ? 4 : 0);
  let body: Buffer | undefined;
  let sequence: Buffer | undefined;
  for (let at = 20; at < end; ) {
    const kind = message[at++];
    const size = at + 4 <= end ? message.readInt32LE(at) : -1;
    if (size < 5 || at + size > end || (kind !== 0 && kind !== 1)) throw new MalformedBson('invalid section');
    if (kind === 0) body = message.subarray(at, at + size);
    else sequence = message.subarray(message.indexOf(0, at + 4) + 1, at + size);
    at += size;
  }
  if (!body) throw new MalformedBson('the message has no body');
  return { id, body, sequence, isUnanswered: (flags & flagMoreToCome) !== 0, isLegacy: false };
}

let lastId = 0;

/** The buffers of a reply, to be written in this order. */
export function replyTo(request: Request, reply: Buffer | Record<string, unknown>): Buffer[] {
  const document = Buffer.isBuffer(reply) ? reply : Buffer.from(serialize(reply));
  const headBytes = request.isLegacy ? 36 : 21;
  const size = headBytes + document.length;
  const head = Buffer.allocUnsafe(document.length <= joinBytes ? size : headBytes);
  lastId = (lastId + 1) | 0;
  head.writeInt32LE(size, 0);
  head.writeInt32LE(lastId, 4);
  head.writeInt32LE(request.id, 8);
  head.writeInt32LE(request.isLegacy ? opReply : opMessage, 12);
  head.fill(0, 16, headBytes);
  if (request.isLegacy) {
    head.writeInt32LE(8, 16);
    head.writeInt32LE(1, 32);
  }
  if (head.length === headBytes) return [head, document];
  document.copy(head, headBytes);
  return [head];
}
