import type { CloseCodeName } from '../../lib/contract/close-codes.ts';
import { botEvents, type EventName, optInEvents } from '../../lib/contract/events.ts';
import { getOpcode, type OpcodeName, opcodes } from '../../lib/contract/gateway.ts';
import { type Position, readPosition } from '../../lib/store/redis/log/position.ts';

/** The longest reason of a WebSocket close, in bytes of UTF-8. */
const maxReasonBytes = 123;

/** A frame that the gateway does not accept: the close code, and the reason as a sentence that names the field. */
export interface FrameFault {
  code: CloseCodeName;
  reason: string;
}

/** A client that identifies. `token` has no `Bot ` or `Bearer ` before it. */
interface IdentifyLogin {
  kind: 'identify';
  token: string;
  /** The events that it asks for, not yet compared with those that exist. */
  events: readonly string[];
}

/** A client that resumes from a position; `seq` is that position as the client sent it. `sessionId` is null if it is missing or not text. */
interface ResumeLogin {
  kind: 'resume';
  token: string;
  sessionId: string | null;
  seq: unknown;
  position: Position;
}

/** An identify or resume whose fields have the right types. */
export type Login = IdentifyLogin | ResumeLogin;

/** The token of an identify or resume. Without one, it is that of the cookie of the upgrade request. */
function readToken(token: unknown, cookieToken: string | null): string | FrameFault {
  if (token === undefined || token === null) return cookieToken ?? { code: 'badToken', reason: 'token is missing.' };
  return typeof token === 'string' ? token.replace(/^(?:Bot|Bearer) /, '') : { code: 'badToken', reason: 'token must be text.' };
}

const isTextList = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every((one) => typeof one === 'string');

/** Reads `d` of an identify or resume. */
export function readLogin(
  kind: Login['kind'],
  data: unknown,
  { cookieToken, partitions }: { cookieToken: string | null; partitions: number },
): Login | FrameFault {
  const fields: Record<string, unknown> = typeof data === 'object' && data !== null ? { ...data } : {};
  const position = readPosition(fields.seq, partitions);
  if (kind === 'resume' && !position) return { code: 'badSeq', reason: 'seq must be the last s that you received.' };
  const token = readToken(fields.token, cookieToken);
  if (typeof token !== 'string') return token;
  if (position && kind === 'resume')
    return { kind: 'resume', token, sessionId: typeof fields.sessionId === 'string' ? fields.sessionId : null, seq: fields.seq, position };
  const { events = [] } = fields;
  return isTextList(events)
    ? { kind: 'identify', token, events }
    : { code: 'badFrame', reason: 'events must be a list of the names of events.' };
}

/** Quotes `text` as JSON, cut to at most `maxBytes` bytes. */
function quoteShort(text: string, maxBytes: number): string {
  let quoted = '';
  for (const character of text) {
    const next = quoted + JSON.stringify(character).slice(1, -1);
    if (Buffer.byteLength(next) > maxBytes) return `"${quoted}…"`;
    quoted = next;
  }
  return `"${quoted}"`;
}

/** Names the first of the events that do not exist, as many as fit into the reason of a close. */
function toUnknownEventsReason(names: readonly string[]): string {
  let text = 'Bots cannot ask for these events: ';
  let listed = 0;
  for (const name of names) {
    const next = `${text}${listed > 0 ? ', ' : ''}${quoteShort(name, 40)}`;
    if (Buffer.byteLength(next) > maxReasonBytes - ' and 99999 more.'.length) break;
    text = next;
    listed++;
  }
  return `${text}${listed < names.length ? ` and ${names.length - listed} more` : ''}.`;
}

const botEventNames: ReadonlySet<string> = new Set([...botEvents, ...optInEvents]);

/** The events that a bot receives: those that every bot receives, and those that it asks for by name. */
export function selectBotEvents(requested: readonly string[]): readonly EventName[] | FrameFault {
  const names = new Set(requested);
  const unknown = [...names].filter((name) => !botEventNames.has(name));
  if (unknown.length > 0) return { code: 'badFrame', reason: toUnknownEventsReason(unknown) };
  return [...botEvents, ...optInEvents.filter((name) => names.has(name))];
}

const clientOpcodes = (Object.keys(opcodes) as OpcodeName[]).filter((name) => getOpcode(name).fromClient).map((name) => opcodes[name].code);

/** Why a frame with this `op` is not accepted. */
export const toUnknownOpReason = (op: unknown): string =>
  `${typeof op === 'number' ? `op ${op} is unknown` : 'op must be a number'}. Clients send ${clientOpcodes.join(', ')}.`;
