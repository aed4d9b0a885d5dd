import type { Overwrite } from '../../base/permissions.ts';
import type { EventName } from '../../contract/events.ts';

/** What decided who could view a channel before a change, as far as it differs from now: its overwrites, roles of its server, and the owner. */
export interface Before {
  ow?: readonly Overwrite[];
  roles?: readonly { id: string; permissions: number }[];
  owner?: string;
}

/** The people who hear an event of no one place: the members of these servers, `[id, access version]`, and these accounts. */
export interface Hearers {
  servers: readonly [string, string][];
  users: readonly string[];
}

/** What stands before a payload on the bus: which event it is, whose, and the number it has in each session. */
export interface EnvelopeHead {
  /** Event id: its delivery happens once. */
  e: string;
  t: EventName;
  /** The server it belongs to, with the access version its audience was computed with; absent for DMs and personal events. */
  srv?: string;
  v?: string;
  /** The channel it belongs to; its readers are who may view that. */
  ch?: string;
  /** The overwrites of a channel that is gone; they say who could view it. */
  ow?: readonly Overwrite[];
  /** For a change of who may view the channel: what stood before. It is for those to whom it means what it says. */
  was?: Before;
  /** The account that does not hear it: who caused it. */
  no?: string;
  /** On the topic of presence: the people who hear it. */
  hear?: Hearers;
  /** How many appends there were, this one included; tells lost data (quality 2). */
  n: number;
  /** The run of Redis that counted it; a counter means nothing under another. */
  r: string;
  /** Bot sessions that got it: `[session id, s]`. */
  to: [string, number][];
}

/** An event on the bus: the head, and the payload as JSON bytes already shaped for the wire. */
export interface Envelope {
  head: EnvelopeHead;
  payload: Buffer;
}

const newline = 0x0a;

/** Splits a bus message at its first line break: head line, then payload. */
export function readEnvelope(message: Buffer): Envelope {
  const end = message.indexOf(newline);
  return { head: JSON.parse(message.toString('utf8', 0, end)) as EnvelopeHead, payload: message.subarray(end + 1) };
}

/** The head without `n`, `r` and `to`, as the open JSON object that the append script completes. */
export const openHead = (head: Omit<EnvelopeHead, 'n' | 'r' | 'to'>): string => JSON.stringify(head).slice(0, -1);
