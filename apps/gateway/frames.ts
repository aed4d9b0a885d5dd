import type { Envelope } from '../../lib/store/bus/envelope.ts';
import { interactionTokenOf } from '../../lib/store/seal.ts';

/** Opcodes (decisions 7). */
export const op = { dispatch: 0, heartbeat: 1, identify: 2, resume: 6, reconnect: 7, invalid: 9, hello: 10, ack: 11 } as const;

/**
 * Close codes (decisions 7). `lost`: the session is held elsewhere or cannot go on here; `restart`: the node stops; `unavailable`: a store does not
 * answer. After those three: connect again and resume.
 */
export const closeCode = {
  lost: 4000,
  unknownOp: 4001,
  notObject: 4002,
  notIdentified: 4003,
  badToken: 4004,
  alreadyIdentified: 4005,
  badSeq: 4007,
  tooFast: 4008,
  timedOut: 4009,
  tooSlow: 4010,
  badVersion: 4012,
  restart: 1012,
  unavailable: 1013,
} as const;

/** A frame from a client: its opcode and data, not yet checked. */
export interface ClientFrame {
  op: unknown;
  d: unknown;
}

/** Reads a client's frame; null when it is not a JSON object with an `op`. */
export function readFrame(data: Buffer, binary: boolean): ClientFrame | null {
  if (binary) return null;
  try {
    const frame: unknown = JSON.parse(data.toString('utf8'));
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame) || !('op' in frame)) return null;
    return { op: frame.op, d: 'd' in frame ? frame.d : undefined };
  } catch {
    return null;
  }
}

/** A sequence number as a client sends it: a whole number from 0. */
export const isSeq = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;

/** An event on its way out: made once, numbered for each session. */
export interface EventFrame {
  /** All up to the number. */
  readonly head: string;
  /** The payload and the end of the frame. */
  readonly tail: Buffer;
  /** The last number it was made for, and the bytes: sessions that began together share them. */
  s: number;
  bytes: Buffer;
}

const closing = Buffer.from('}');
/** Up to this many bytes a payload is copied behind its prefix: one buffer is written faster than two. */
const copiedBytes = 8 * 1024;

/** The event as a frame. An interaction gets its token here: it stands in no store (quality 3). */
export function frameOf({ head, payload }: Envelope, appKey: Buffer): EventFrame {
  const tail =
    head.t === 'INTERACTION_CREATE'
      ? Buffer.concat([payload.subarray(0, -1), Buffer.from(`,"token":"${tokenOf(payload, appKey)}"}}`)])
      : Buffer.concat([payload, closing]);
  return { head: `{"op":0,"t":"${head.t}","s":`, tail, s: -1, bytes: closing };
}

const tokenOf = (payload: Buffer, appKey: Buffer): string =>
  interactionTokenOf(appKey, (JSON.parse(payload.toString('utf8')) as { id: string }).id);

/** The bytes of a whole WebSocket text message whose text is `text` and then, when given, `tail`; `tail` itself is left out when it is long. */
function messageBytes(text: string, tail: Buffer): Buffer {
  const copied = tail.length <= copiedBytes;
  const length = text.length + tail.length;
  const start = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(start + text.length + (copied ? tail.length : 0));
  bytes[0] = 0x81;
  if (start === 2) bytes[1] = length;
  else if (start === 4) {
    bytes[1] = 126;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = 127;
    bytes.writeUIntBE(0, 2, 2);
    bytes.writeUIntBE(length, 4, 6);
  }
  bytes.write(text, start, 'latin1');
  if (copied) tail.copy(bytes, start + text.length);
  return bytes;
}

/** Numbers `frame` with `s` and gives its bytes to `write`, in one piece or two. */
export function writeNumbered(frame: EventFrame, s: number, write: (bytes: Buffer) => void): void {
  if (frame.s !== s) {
    frame.bytes = messageBytes(`${frame.head}${s},"d":`, frame.tail);
    frame.s = s;
  }
  write(frame.bytes);
  if (frame.tail.length > copiedBytes) write(frame.tail);
}

/** The bytes of a frame that is no event. */
export const plainBytes = (frame: object): Buffer => messageBytes('', Buffer.from(JSON.stringify(frame)));
