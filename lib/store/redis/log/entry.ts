import type { Overwrite } from '../../../base/permissions.ts';
import type { EventName } from '../../../contract/events.ts';

/** A value before and after a change; null where it did not exist or no longer exists. */
export interface BeforeAfter<T> {
  before: T | null;
  after: T | null;
}

/**
 * What an event changes in the rules for who can view which channels of its server: the permissions of a role, the owner, the overwrites of a channel, or the
 * roles of a member. A membership has the id of its join.
 */
export interface RulesChange {
  role?: { id: string } & BeforeAfter<number>;
  owner?: BeforeAfter<string>;
  channel?: { id: string } & BeforeAfter<readonly Overwrite[]>;
  member?: { id: string } & BeforeAfter<{ roles: readonly string[]; joinId: string }>;
}

/** The fields of an event that decide who may see it. */
export interface Visibility {
  /** The channel whose viewers receive the event: of a thread, its parent. */
  channelId?: string;
  /** The overwrites that decide instead of those of the channel, which is deleted. */
  overwrites?: readonly Overwrite[];
  /** What the event changes in the rules. */
  change?: RulesChange;
  /** The only account that receives the event. */
  onlyAccount?: string;
  /** The only session that receives the event. */
  onlySession?: string;
  /** The account that does not receive the event, because it caused it. */
  exceptAccount?: string;
  /** The account whose membership the event is about. */
  member?: string;
  /** Set in servers of more than 1,000 members: only `member`, managers, bots that asked for the event, and sessions that watch the account receive it. */
  concernedOnly?: true;
  /** For SERVER_CREATE: the id of the join, and the number of the join's entry in the server's place. */
  join?: { id: string; number?: number };
}

/** The head of an entry: the event, its numbers, and the fields that decide who may see it. */
export interface EntryHead extends Visibility {
  /** The event's id. It is in the log of a place only once. */
  id: string;
  name: EventName;
  /** The entry's number in the partition, and the number of the previous entry in the same place; 0 when that is unknown. */
  number: number;
  previous: number;
  /** The traceparent of the append, if the event is traced. It may be ignored. */
  trace?: string;
  /** The format of the entry, from 2 on. Without it, the format is 1. */
  format?: number;
}

/**
 * The format of events of changes of a server, which say what they change in the rules. The version before cannot read it: its nodes end the sessions of the
 * place with op 9 (docs/operations/upgrade.md#formats).
 */
export const changeFormat = 2;
/** The newest format that this version reads. */
const newestFormat = 2;

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

/** The head as JSON without its numbers and closing brace, which the append script adds. */
export const serializeHeadStart = (head: Omit<EntryHead, 'number' | 'previous'>): string => JSON.stringify(head).slice(0, -1);
