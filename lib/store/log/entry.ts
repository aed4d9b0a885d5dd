import type { Overwrite } from '../../base/permissions.ts';
import type { EventName } from '../../contract/events.ts';

/** What decided who could view a channel before a change, as far as it differs from now: its overwrites, roles of its server, and the owner. */
export interface Before {
  overwrites?: readonly Overwrite[];
  roles?: readonly { id: string; permissions: number }[];
  owner?: string;
}

/** What an event says about who may see it. */
export interface Visibility {
  /** The channel it belongs to: for who may view that. */
  channelId?: string;
  /** The overwrites of a channel that is gone; they say who could view it. */
  overwrites?: readonly Overwrite[];
  /** For a change of who may view the channel: the old rules. Recipients are computed from the old and the new ones. */
  before?: Before;
  /** The only account that it is for. */
  onlyAccount?: string;
  /** The only session that it is for. */
  onlySession?: string;
  /** The account that does not get it: who caused it. */
  exceptAccount?: string;
  /** The account whose membership it is about: gateway nodes load that anew. */
  member?: string;
  /** In a server of more than 1,000 members it is for that member, managers, bots that asked for it, and who watches the account. */
  concernedOnly?: true;
  /** Of SERVER_CREATE: the number that the server's partition had when the account joined. */
  serverNumber?: number;
}

/** The head of an entry: which event it is, its numbers, and what visibility needs. */
export interface EntryHead extends Visibility {
  /** Event id: it is appended to a place once. */
  id: string;
  name: EventName;
  /** The version of the server's access data at the moment of the append; "0" in an account's place. */
  rulesVersion: string;
  /** Its number in the partition, and the number of the entry before it in the same place; 0 when that is not known. */
  number: number;
  previous: number;
}

/** One event in the log of a place. */
export interface Entry {
  head: EntryHead;
  /** The payload as JSON, shaped for the wire. */
  payload: Buffer;
}

const newline = 0x0a;

/** Whether a message of a place's channel is an entry: control messages are JSON on one line. */
export const isEntry = (message: Buffer): boolean => message.includes(newline);

/** Splits a message at its first line break: head, then payload. */
export function readEntry(message: Buffer): Entry {
  const end = message.indexOf(newline);
  return { head: JSON.parse(message.toString('utf8', 0, end)) as EntryHead, payload: message.subarray(end + 1) };
}

/** The head without its numbers, as the open JSON object that the append script completes. */
export const openHead = (head: Omit<EntryHead, 'rulesVersion' | 'number' | 'previous'>): string => JSON.stringify(head).slice(0, -1);
