import type { Message } from '../../../../lib/contract/message.ts';

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
 * Returns the rows for a range of messages. `hasOlder`: there are messages before the first loaded one. `readTo`: the last read message, null when all are
 * read.
 */
export function rowsOf(messages: readonly Message[], from: number, to: number, hasOlder: boolean, readTo: string | null): MessageRow[] {
  return messages.slice(from, to).map((message, index) => {
    const before = messages[from + index - 1];
    const sameDay = before ? dayOf(before.createdAt) === dayOf(message.createdAt) : hasOlder;
    const fresh = readTo !== null && message.id > readTo && (before?.id ?? '') <= readTo;
    return {
      message,
      fresh,
      day: sameDay ? undefined : message.createdAt,
      grouped: !fresh && sameDay && before !== undefined && isGrouped(before, message),
    };
  });
}
