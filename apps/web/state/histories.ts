import { isId } from '../../../lib/base/ids.ts';
import { limits } from '../../../lib/base/limits.ts';
import { truncateMarkup } from '../../../lib/base/markup-truncate.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { ApiError, asApiError, call, path, query } from '../api/call.ts';
import { changeMessages, enqueueLoad, type History, histories, maxMessages, type StoredHistory, storedHistory } from './history-store.ts';
import { mergeUsersOf } from './people.ts';

/** Returns the history of a channel; a new one is empty and not loaded. When there are too many histories, the least recently used ones are dropped. */
export const historyOf = (channelId: string): History => storedHistory(channelId);

const loadPage = (
  channelId: string,
  position: { before?: string; after?: string },
  limit: number = limits.pageDefault,
): Promise<Message[]> => call<Message[]>('GET', path`/api/channels/${channelId}/messages` + query({ limit, ...position }));

/**
 * Replaces the loaded messages. Ephemeral messages are not stored and cannot be loaded again, so those within the range of the new messages are kept at their
 * position.
 */
function replaceMessages(history: StoredHistory, fresh: readonly Message[], hasOlder: boolean, hasNewer: boolean): void {
  const [first, last] = [fresh[0]?.id ?? '', fresh.at(-1)?.id ?? ''];
  const ephemeralMessages = history.messages.value.filter(
    ({ ephemeral, id }) => ephemeral === true && id > first && (!hasNewer || id < last),
  );
  history.messages.value = ephemeralMessages.length ? [...fresh, ...ephemeralMessages].sort((a, b) => (a.id < b.id ? -1 : 1)) : fresh;
  history.hasOlder.value = hasOlder;
  history.hasNewer.value = hasNewer;
}

/** Records which message of a channel the user looks at, so that a refresh keeps the scroll position. null means that the user follows the newest message. */
export function setViewedMessage(channelId: string, messageId: string | null): void {
  const history = histories.get(channelId);
  if (history) history.viewedId = messageId;
}

/** Loads the newest page; it replaces what was loaded before. Throws `ApiError`. */
export function loadNewest(channelId: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    const newest = await loadPage(channelId, {});
    replaceMessages(history, newest, newest.length === limits.pageDefault, false);
  });
}

/** Loads the page before the loaded messages. Throws `ApiError`. */
export function loadOlder(channelId: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    const first = history.messages.value[0];
    if (!history.hasOlder.value || !first) return;
    const older = await loadPage(channelId, { before: first.id });
    const all = [...older, ...history.messages.value];
    history.messages.value = all.slice(0, maxMessages);
    if (all.length > maxMessages) history.hasNewer.value = true;
    history.hasOlder.value = older.length === limits.pageDefault;
  });
}

/** Loads the page after the loaded messages. Throws `ApiError`. */
export function loadNewer(channelId: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    const last = history.messages.value.at(-1);
    if (!history.hasNewer.value || !last) return;
    const newer = await loadPage(channelId, { after: last.id });
    const all = [...history.messages.value, ...newer];
    history.messages.value = all.slice(-maxMessages);
    if (all.length > maxMessages) history.hasOlder.value = true;
    history.hasNewer.value = newer.length === limits.pageDefault;
  });
}

/**
 * Loads the messages on both sides of a read mark, whose message may be deleted; does nothing when they are loaded. `readTo` is the id of the newest read
 * message. Throws `ApiError`.
 */
export function loadAroundMark(channelId: string, readTo: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    if (isMarkLoaded(history, readTo)) return;
    const limit = limits.pageDefault;
    const afterMark = (BigInt(readTo) + 1n).toString().padStart(readTo.length, '0');
    const [read, unread] = await Promise.all([
      loadPage(channelId, { before: afterMark }, limit),
      loadPage(channelId, { after: readTo }, limit),
    ]);
    replaceMessages(history, [...read, ...unread], read.length === limit, unread.length === limit);
  });
}

/** Whether the first unread message is loaded, so that its position is known. */
export function isMarkLoaded({ messages, hasOlder, hasNewer }: History, readTo: string): boolean {
  const [first, last] = [messages.peek()[0], messages.peek().at(-1)];
  if (!first || !last) return false;
  return (first.id <= readTo || !hasOlder.peek()) && (last.id > readTo || !hasNewer.peek());
}

/** Loads the messages around the message `id`. If `target` resolves to undefined (the message is deleted), that message is left out. */
async function loadPagesAround(history: StoredHistory, id: string, limit: number, target: Promise<Message | undefined>): Promise<void> {
  const { channelId } = history;
  const [message, older, newer] = await Promise.all([
    target,
    loadPage(channelId, { before: id }, limit),
    loadPage(channelId, { after: id }, limit),
  ]);
  replaceMessages(history, [...older, ...(message ? [message] : []), ...newer], older.length === limit, newer.length === limit);
}

const loadMessage = (channelId: string, id: string): Promise<Message> =>
  call<Message>('GET', path`/api/channels/${channelId}/messages/${id}`);

/** Loads one message and the messages around it; does nothing when it is already loaded. Throws `ApiError`: 404 when the message is deleted. */
export function loadAround(channelId: string, messageId: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    if (history.messages.value.some(({ id }) => id === messageId)) return;
    // The id may come from a link that was typed or cut.
    if (!isId(messageId)) throw new ApiError(404, { code: 'not_found', message: 'This message doesn’t exist or you don’t have access.' });
    await loadPagesAround(history, messageId, limits.pageDefault, loadMessage(channelId, messageId));
  });
}

/**
 * Reloads a history after a time in which events may have been missed. When the user follows the newest messages, it loads backward from the newest until it
 * reaches the oldest loaded message, at most three pages of 100. When the user looks at an older message, it loads 100 messages on each side of it. Messages
 * further away are dropped and loaded again when the user scrolls there, so the history has no gap and no outdated message.
 */
export function refreshHistory(channelId: string): Promise<void> {
  const history = storedHistory(channelId);
  return enqueueLoad(history, async () => {
    const at = history.viewedId ?? (history.hasNewer.value ? history.messages.value.at(-1)?.id : undefined);
    if (at !== undefined) {
      const target = loadMessage(channelId, at).catch((fault: unknown) => {
        if (asApiError(fault).status !== 404) throw fault;
        return undefined;
      });
      return loadPagesAround(history, at, limits.pageMax, target);
    }
    const first = history.messages.value[0]?.id;
    let fresh = await loadPage(channelId, {}, limits.pageMax);
    let hasMore = fresh.length === limits.pageMax;
    for (let pages = 1; pages < 3 && hasMore && first !== undefined && (fresh[0]?.id ?? '') > first; pages++) {
      const older = await loadPage(channelId, { before: fresh[0]?.id ?? '' }, limits.pageMax);
      fresh = [...older, ...fresh];
      hasMore = older.length === limits.pageMax;
    }
    replaceMessages(history, fresh, hasMore, false);
  });
}

/** Reloads the history of the open channel, and drops all others, which are loaded again when they are opened. */
export async function refreshHistories(open: string | undefined): Promise<void> {
  for (const channelId of histories.keys()) if (channelId !== open) histories.delete(channelId);
  if (open !== undefined && histories.has(open)) await refreshHistory(open);
}

/**
 * Inserts a new message at its position by id. Does nothing when the loaded range does not extend that far; the message is then loaded when the user scrolls
 * there.
 */
export function addMessage(message: Message): void {
  mergeUsersOf(message);
  changeMessages(message.channelId, (messages, { hasNewer, hasOlder }) => {
    const last = messages.at(-1);
    if (hasNewer.value) return messages;
    if (!last || last.id < message.id) {
      const all = [...messages, message];
      if (all.length <= maxMessages) return all;
      hasOlder.value = true;
      return all.slice(-maxMessages);
    }
    const at = messages.findIndex(({ id }) => id >= message.id);
    if (messages[at]?.id === message.id) return messages;
    if (at === 0 && hasOlder.value) return messages;
    return messages.toSpliced(at, 0, message);
  });
}

/** Replaces a message by its new version. Keeps `me` of its reactions, because events do not depend on who receives them. */
export function replaceMessage(message: Message): void {
  mergeUsersOf(message);
  changeMessages(message.channelId, (messages) =>
    messages.map((old) => {
      if (old.id !== message.id) return old.reply?.id === message.id ? { ...old, reply: replyOf(old, message) } : old;
      const mine = new Set(old.reactions.filter(({ me }) => me).map(({ emoji }) => emoji));
      return { ...message, reactions: message.reactions.map((now) => ({ ...now, me: now.me || mine.has(now.emoji) })) };
    }),
  );
}

const replyOf = (old: Message, { content, attachments }: Message): NonNullable<Message['reply']> => ({
  ...(old.reply as NonNullable<Message['reply']>),
  content: truncateMarkup(content, limits.replyPreviewChars),
  hasAttachments: attachments.length > 0,
});

/** Removes a message. Replies to it show that the original is deleted. */
export function removeMessage(channelId: string, messageId: string): void {
  changeMessages(channelId, (messages) =>
    messages
      .filter(({ id }) => id !== messageId)
      .map((message) => {
        if (message.reply?.id !== messageId) return message;
        const { reply: _gone, ...rest } = message;
        return { ...rest, replyDeleted: true };
      }),
  );
}

/** Changes single fields of a message, when a response or event contains only those. */
export function patchMessage(channelId: string, messageId: string, values: Partial<Message>): void {
  changeMessages(channelId, (messages) => messages.map((message) => (message.id === messageId ? { ...message, ...values } : message)));
}

/**
 * Reloads which messages of a channel are pinned, because the pin event does not say which message changed. If the request fails, the pin marks stay
 * unchanged.
 */
export async function refreshPins(channelId: string): Promise<void> {
  const pins = await call<Message[]>('GET', path`/api/channels/${channelId}/pins`).catch(() => undefined);
  if (!pins) return;
  const pinned = new Set(pins.map(({ id }) => id));
  changeMessages(channelId, (messages) =>
    messages.map((message) => (message.pinned === pinned.has(message.id) ? message : { ...message, pinned: !message.pinned })),
  );
}

/** Changes one reaction of a message. `by` is 1 or -1. `mine` is true for the user's own reaction, which counts once even if it is applied several times. */
export function changeReaction(channelId: string, messageId: string, emoji: string, by: 1 | -1, mine: boolean): void {
  const history = histories.get(channelId);
  if (!history) return;
  // Applying a count twice gives a wrong count. During and shortly after a read, whose result may already include the reaction, the message is loaded again
  // instead.
  if (mine && history.isLoading) history.lateChanges.push(() => changeReaction(channelId, messageId, emoji, by, true));
  if (!mine && (history.isLoading || performance.now() - history.loadedAt < uncertainMs)) return reloadMessage(channelId, messageId);
  history.messages.value = history.messages.value.map((message) => {
    if (message.id !== messageId) return message;
    const known = message.reactions.find((reaction) => reaction.emoji === emoji);
    if (mine && (known?.me ?? false) === (by === 1)) return message;
    const count = (known?.count ?? 0) + by;
    const next = { emoji, count, me: mine ? by === 1 : (known?.me ?? false) };
    if (count <= 0) return { ...message, reactions: message.reactions.filter((other) => other.emoji !== emoji) };
    const reactions = known ? message.reactions.map((other) => (other.emoji === emoji ? next : other)) : [...message.reactions, next];
    return { ...message, reactions };
  });
}

/** How long after a read an event may report a reaction that the read already included, in milliseconds. */
const uncertainMs = 2_000;
const reloading = new Set<string>();

/** Loads one message again after a short delay, with the reactions as the user sees them. Calls during the delay are merged into one request. */
function reloadMessage(channelId: string, messageId: string): void {
  if (reloading.has(messageId)) return;
  reloading.add(messageId);
  const reload = async (): Promise<void> => {
    reloading.delete(messageId);
    const fresh = await loadMessage(channelId, messageId).catch(() => undefined);
    if (fresh) changeMessages(channelId, (messages) => messages.map((old) => (old.id === messageId ? fresh : old)));
  };
  setTimeout(() => void reload(), uncertainMs / 2);
}

/** Drops the history of a channel that was deleted or hidden. */
export const dropHistory = (channelId: string): void => void histories.delete(channelId);
