import type { Overwrite } from '../../../base/permissions.ts';
import type { EventName } from '../../../contract/events.ts';

/** The old rules for who can view a channel, as far as a change has replaced them: the channel's overwrites, roles of its server, and the owner. */
export interface PreviousRules {
  overwrites?: readonly Overwrite[];
  roles?: readonly { id: string; permissions: number }[];
  owner?: string;
}

/** The fields of an event that decide who may see it. */
export interface Visibility {
  /** The channel that the event belongs to. Only accounts that may view it receive the event. */
  channelId?: string;
  /** The overwrites of a deleted channel, which say who could view it. */
  overwrites?: readonly Overwrite[];
  /** The old rules, for a change of who may view the channel. Recipients are computed from the old and the new rules. */
  before?: PreviousRules;
  /** The only account that receives the event. */
  onlyAccount?: string;
  /** The only session that receives the event. */
  onlySession?: string;
  /** The account that does not receive the event, because it caused it. */
  exceptAccount?: string;
  /** The account whose membership the event is about. Gateway nodes reload that membership. */
  member?: string;
  /** Set in servers of more than 1,000 members: only `member`, managers, bots that asked for the event, and sessions that watch the account receive it. */
  concernedOnly?: true;
  /** For SERVER_CREATE: the last number of the server's partition when the account joined. */
  serverNumber?: number;
}

/** The head of an entry: the event, its numbers, and the fields that decide who may see it. */
export interface EntryHead extends Visibility {
  /** The event's id. It is in the log of a place only once. */
  id: string;
  name: EventName;
  /** The version of the server's access data at the moment of the append. It means nothing in the place of an account. */
  rulesVersion: string;
  /** The entry's number in the partition, and the number of the previous entry in the same place; 0 when that is unknown. */
  number: number;
  previous: number;
  /** The traceparent of the append, if the event is traced. It may be ignored. */
  trace?: string;
  /** The format of the entry, from 2 on. Without it, the format is 1. */
  format?: number;
}

/** The newest format that this version reads. A format is written only when the version before reads it, too (docs/operations/upgrade.md#formats). */
const newestFormat = 1;

/** One event in the log of a place. */
export interface Entry {
  head: EntryHead;
  /** The payload as JSON, as clients receive it. */
  payload: Buffer;
}

const newline = 0x0a;

/** Whether a message on a place's channel is an entry. An entry contains a line break; control messages are JSON on one line. */
export const isEntry = (message: Buffer): boolean => message.includes(newline);

/** Parses an entry: the head is before the first line break, the payload after it. Null if a newer version wrote it, in a format that is not known here. */
export function readEntry(message: Buffer): Entry | null {
  const headEnd = message.indexOf(newline);
  const head = JSON.parse(message.toString('utf8', 0, headEnd)) as EntryHead;
  return (head.format ?? 1) <= newestFormat ? { head, payload: message.subarray(headEnd + 1) } : null;
}

/** The head as JSON without its version, numbers and closing brace, which the append script adds. */
export const serializeHeadStart = (head: Omit<EntryHead, 'rulesVersion' | 'number' | 'previous' | 'format'>): string =>
  JSON.stringify(head).slice(0, -1);
