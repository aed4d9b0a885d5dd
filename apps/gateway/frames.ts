import { traitsOf } from '../../lib/contract/events.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { interactionTokenOf } from '../../lib/store/seal.ts';

/**
 * Opcodes (docs/delivery.md#opcodes). `watch` names the accounts whose presence the session receives: `{ watch: [ids] }`, at most 500. It replaces the previous
 * list. The gateway answers with a PRESENCE_UPDATE for each new account that is not offline, then with `{ offline: [ids] }` for the others. It leaves out
 * accounts that share neither a server nor a DM with the session's account, and sends their presence once they share a server. The list is lost with the
 * socket: a client sends it again after READY and RESUMED.
 */
export const op = { dispatch: 0, heartbeat: 1, identify: 2, watch: 3, resume: 6, reconnect: 7, invalid: 9, hello: 10, ack: 11 } as const;

/**
 * Close codes (docs/delivery.md#close-codes). `badWatch`: not a list of at most 500 ids. `lost`: another socket owns the session, or it cannot continue here.
 * `restart`: the node stops. `unavailable`: a store does not answer. After those three the client connects again and resumes.
 */
export const closeCode = {
  lost: 4000,
  unknownOp: 4001,
  notObject: 4002,
  notIdentified: 4003,
  badToken: 4004,
  alreadyIdentified: 4005,
  badWatch: 4006,
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

const closing = Buffer.from('}');
/** A payload of at most this many bytes is copied into one buffer with its prefix, because one buffer is written faster than two. */
const copiedBytes = 16 * 1024;

/** Encodes an unmasked WebSocket text message with `text` followed by `tail`, as one buffer or two. */
function messageBytes(text: string, tail: Buffer): Buffer[] {
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
  return copied ? [bytes] : [bytes, tail];
}

/** Encodes an event with the position `s`. `payload` is JSON. */
export const eventBytes = (name: string, s: string, payload: Buffer): Buffer[] =>
  messageBytes(`{"op":0,"t":"${name}","s":"${s}","d":`, Buffer.concat([payload, closing]));

/** The payload of an entry as clients receive it. The token of an interaction is added here, because no store contains it. */
export function payloadOf({ head, payload }: Entry, appKey: Buffer): Buffer {
  if (!traitsOf(head.name).hasToken) return payload;
  const { id } = JSON.parse(payload.toString('utf8')) as { id: string };
  return Buffer.concat([payload.subarray(0, -1), Buffer.from(`,"token":"${interactionTokenOf(appKey, id)}"}`)]);
}

/** Encodes a frame that is not an event. */
export const plainBytes = (frame: object): Buffer => Buffer.concat(messageBytes('', Buffer.from(JSON.stringify(frame))));
