import { type EventName, getEventDefinition, type LoggedData } from '../../lib/contract/events.ts';
import type { PublicUser } from '../../lib/contract/user.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { deriveInteractionToken } from '../../lib/store/seal.ts';

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
export function readFrame(data: Buffer, isBinary: boolean): ClientFrame | null {
  if (isBinary) return null;
  try {
    const frame: unknown = JSON.parse(data.toString('utf8'));
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame) || !('op' in frame)) return null;
    return { op: frame.op, d: 'd' in frame ? frame.d : undefined };
  } catch {
    return null;
  }
}

const closingBrace = Buffer.from('}');
/** A payload of at most this many bytes is copied into one buffer with its prefix, because one buffer is written faster than two. */
const maxCopiedBytes = 16 * 1024;

/** Encodes an unmasked WebSocket text message with `text` followed by `payload`, as one buffer or two. */
function encodeMessage(text: string, payload: Buffer): Buffer[] {
  const isCopied = payload.length <= maxCopiedBytes;
  const length = text.length + payload.length;
  const headerLength = length < 126 ? 2 : length < 65_536 ? 4 : 10;
  const bytes = Buffer.allocUnsafe(headerLength + text.length + (isCopied ? payload.length : 0));
  bytes[0] = 0x81;
  if (headerLength === 2) bytes[1] = length;
  else if (headerLength === 4) {
    bytes[1] = 126;
    bytes.writeUInt16BE(length, 2);
  } else {
    bytes[1] = 127;
    bytes.writeUIntBE(0, 2, 2);
    bytes.writeUIntBE(length, 4, 6);
  }
  bytes.write(text, headerLength, 'latin1');
  if (isCopied) payload.copy(bytes, headerLength + text.length);
  return isCopied ? [bytes] : [bytes, payload];
}

/** Encodes an event with a position. `payload` is JSON. */
export const encodeEvent = (name: EventName | keyof SessionData, position: string, payload: Buffer): Buffer[] =>
  encodeMessage(`{"op":0,"t":"${name}","s":"${position}","d":`, Buffer.concat([payload, closingBrace]));

/** The payloads of the dispatches about a client's own session, which are not events (docs/delivery.md#connecting). */
export interface SessionData {
  READY: { v: 1; user: PublicUser; sessionId: string; resumeUrl: string; applicationId?: string; servers: readonly string[] };
  RESUMED: { replayed: number };
}

/** Encodes a dispatch about a client's own session with a position. */
export const encodeSessionDispatch = <N extends keyof SessionData>(name: N, position: string, data: SessionData[N]): Buffer[] =>
  encodeEvent(name, position, Buffer.from(JSON.stringify(data)));

/** The payload of an entry as clients receive it. The token of an interaction is added here, because no store contains it. */
export function renderPayload({ head, payload }: Entry, appKey: Buffer): Buffer {
  if (!getEventDefinition(head.name).hasToken) return payload;
  const { id } = JSON.parse(payload.toString('utf8')) as LoggedData<'INTERACTION_CREATE'>;
  return Buffer.concat([payload.subarray(0, -1), Buffer.from(`,"token":"${deriveInteractionToken(appKey, id)}"}`)]);
}

/** A frame of the gateway that is not a dispatch. */
export type ControlFrame =
  | { op: typeof op.watch; d: { offline: readonly string[] } }
  | { op: typeof op.reconnect; d: { retryAfterMs: number } }
  | { op: typeof op.invalid; d: { resumable: false; reason: string } }
  | { op: typeof op.hello; d: { heartbeatIntervalMs: number } }
  | { op: typeof op.ack; d: null };

/** Encodes a frame that is not a dispatch. */
export const encodeControl = (frame: ControlFrame): Buffer => Buffer.concat(encodeMessage('', Buffer.from(JSON.stringify(frame))));
