import type { Static } from 'typebox';
import { type EventName, getEventDefinition, type LoggedData } from '../../lib/contract/events.ts';
import type { opcodes, SessionData } from '../../lib/contract/gateway.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { deriveInteractionToken } from '../../lib/store/seal.ts';

/** A frame from a client: its opcode and data, not yet checked. */
export interface ClientFrame {
  op: unknown;
  d: unknown;
}

/** Reads a client's frame; returns the reason as text if it is not a JSON object with an `op`. */
export function readFrame(data: Buffer, isBinary: boolean): ClientFrame | string {
  if (isBinary) return 'Send text messages, not binary ones.';
  try {
    const frame: unknown = JSON.parse(data.toString('utf8'));
    if (typeof frame !== 'object' || frame === null || Array.isArray(frame)) return 'A message must be a JSON object.';
    if (!('op' in frame)) return 'op is missing.';
    return { op: frame.op, d: 'd' in frame ? frame.d : undefined };
  } catch {
    return 'The message is not valid JSON.';
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

/** Encodes a dispatch about a client's own session with a position. */
export const encodeSessionDispatch = <N extends keyof SessionData>(name: N, position: string, data: SessionData[N]): Buffer[] =>
  encodeEvent(name, position, Buffer.from(JSON.stringify(data)));

/** The payload of an entry as clients receive it. The token of an interaction is added here, because no store contains it. */
export function renderPayload({ head, payload }: Entry, appKey: Buffer): Buffer {
  if (!getEventDefinition(head.name).hasToken) return payload;
  const { id } = JSON.parse(payload.toString('utf8')) as LoggedData<'INTERACTION_CREATE'>;
  return Buffer.concat([payload.subarray(0, -1), Buffer.from(`,"token":"${deriveInteractionToken(appKey, id)}"}`)]);
}

type ControlName = 'watch' | 'reconnect' | 'invalid' | 'hello' | 'ack';
/** A frame of the gateway that is not a dispatch. */
export type ControlFrame = {
  [N in ControlName]: { op: (typeof opcodes)[N]['code']; d: Static<(typeof opcodes)[N]['fromGateway']> };
}[ControlName];

/** Encodes a frame that is not a dispatch. */
export const encodeControl = (frame: ControlFrame): Buffer => Buffer.concat(encodeMessage('', Buffer.from(JSON.stringify(frame))));
