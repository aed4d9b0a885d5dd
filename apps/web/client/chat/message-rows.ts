import type { Message } from '../../../../lib/contract/message.ts';
import { indexAfter } from './slice.ts';

/** One message of the list, with the lines above it. */
export interface MessageRow {
  message: Message;
  /** Whether the message is grouped with the one before: same author, a few minutes later, and no reply or command. The author is then not shown again. */
  grouped: boolean;
  /** The time whose date is shown above the message; undefined when the message before is of the same day. */
  day: string | undefined;
  /** Whether it is the first unread message. */
  fresh: boolean;
}

const groupMs = 7 * 60_000;

const dayOf = (at: string): string => new Date(at).toDateString();

const isGrouped = (before: Message, message: Message): boolean =>
  before.author.id === message.author.id &&
  before.author.displayName === message.author.displayName &&
  !message.reply &&
  !message.replyDeleted &&
  !message.interaction &&
  before.ephemeral === message.ephemeral &&
  Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupMs;

/**
 * Returns the first loaded unread message of somebody else, above which the line "new" stands; undefined when it is not loaded or unknown. `readTo` is the read
 * mark, null when everything is read. `hasOlder`: there are messages before the first loaded one.
 */
export function firstUnreadOf(messages: readonly Message[], hasOlder: boolean, readTo: string | null, ownId: string): Message | undefined {
  if (readTo === null) return undefined;
  const from = indexAfter(messages, readTo);
  if (from === 0 && hasOlder) return undefined;
  for (let at = from; at < messages.length; at++) {
    const message = messages[at];
    if (message && message.author.id !== ownId && !message.ephemeral) return message;
  }
  return undefined;
}

/** Returns the rows for a range of messages. `hasOlder`, `readTo` and `ownId` decide about the line "new" as in `firstUnreadOf`. */
export function rowsOf(
  messages: readonly Message[],
  from: number,
  to: number,
  hasOlder: boolean,
  readTo: string | null,
  ownId = '',
): MessageRow[] {
  const unreadId = firstUnreadOf(messages, hasOlder, readTo, ownId)?.id;
  return messages.slice(from, to).map((message, index) => {
    const before = messages[from + index - 1];
    const sameDay = before ? dayOf(before.createdAt) === dayOf(message.createdAt) : hasOlder;
    const fresh = message.id === unreadId;
    return {
      message,
      fresh,
      day: sameDay ? undefined : message.createdAt,
      grouped: !fresh && sameDay && before !== undefined && isGrouped(before, message),
    };
  });
}
