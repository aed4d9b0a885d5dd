import type { Message } from '../../../../lib/contract/message.ts';

/** One message of the list, with what stands above it. */
export interface MessageRow {
  message: Message;
  /** Whether it goes on where the one before ends: same author, same answer, a few minutes later. Then the author is not named again. */
  grouped: boolean;
  /** The moment whose day begins here; undefined within a day. */
  day: string | undefined;
  /** Whether it is the first that was not read. */
  fresh: boolean;
}

const groupMs = 7 * 60_000;

const dayOf = (at: string): string => new Date(at).toDateString();

const goesOn = (before: Message, message: Message): boolean =>
  before.author.id === message.author.id &&
  before.author.displayName === message.author.displayName &&
  !message.reply &&
  !message.replyDeleted &&
  !message.interaction &&
  before.ephemeral === message.ephemeral &&
  Date.parse(message.createdAt) - Date.parse(before.createdAt) < groupMs;

/**
 * The rows of a part of the messages. `hasOlder`: more stand before the first; `readTo`: the last one that was read, null when all were.
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
      grouped: !fresh && sameDay && before !== undefined && goesOn(before, message),
    };
  });
}
