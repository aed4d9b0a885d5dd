import { limits } from '../../../lib/base/limits.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { asApiError, call, path, query } from '../api/call.ts';
import { change, type Held, type History, held, histories, mostLoaded, read } from './history-store.ts';
import { putFace } from './people.ts';

/** The history of a channel, empty and unread at first. Those not asked for the longest are forgotten. */
export const historyOf = (channelId: string): History => held(channelId);

const page = (channelId: string, at: { before?: string; after?: string }, limit: number = limits.pageDefault): Promise<Message[]> =>
  call<Message[]>('GET', path`/api/channels/${channelId}/messages` + query({ limit, ...at }));

/** What is not stored cannot be read again: answers for this person only stay where they stood, as far as the fresh messages reach. */
function put(history: Held, fresh: readonly Message[], hasOlder: boolean, hasNewer: boolean): void {
  const [first, last] = [fresh[0]?.id ?? '', fresh.at(-1)?.id ?? ''];
  const kept = history.messages.value.filter(({ ephemeral, id }) => ephemeral === true && id > first && (!hasNewer || id < last));
  history.messages.value = kept.length ? [...fresh, ...kept].sort((a, b) => (a.id < b.id ? -1 : 1)) : fresh;
  history.hasOlder.value = hasOlder;
  history.hasNewer.value = hasNewer;
}

/** Notes which message of a channel the person looks at (null: they follow the newest), so that a refresh keeps their place. */
export function lookAt(channelId: string, messageId: string | null): void {
  const history = histories.get(channelId);
  if (history) history.at = messageId;
}

/** Reads the newest page; what was loaded before is replaced. Throws `ApiError`. */
export function loadNewest(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    const newest = await page(channelId, {});
    put(history, newest, newest.length === limits.pageDefault, false);
  });
}

/** Reads the page before what is loaded. Throws `ApiError`. */
export function loadOlder(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    const first = history.messages.value[0];
    if (!history.hasOlder.value || !first) return;
    const older = await page(channelId, { before: first.id });
    const all = [...older, ...history.messages.value];
    history.messages.value = all.slice(0, mostLoaded);
    if (all.length > mostLoaded) history.hasNewer.value = true;
    history.hasOlder.value = older.length === limits.pageDefault;
  });
}

/** Reads the page after what is loaded. Throws `ApiError`. */
export function loadNewer(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    const last = history.messages.value.at(-1);
    if (!history.hasNewer.value || !last) return;
    const newer = await page(channelId, { after: last.id });
    const all = [...history.messages.value, ...newer];
    history.messages.value = all.slice(-mostLoaded);
    if (all.length > mostLoaded) history.hasOlder.value = true;
    history.hasNewer.value = newer.length === limits.pageDefault;
  });
}

/** Reads the messages around one. `it` that is gone is left out. */
async function readAround(history: Held, id: string, limit: number, it: Promise<Message | undefined>): Promise<void> {
  const { channelId } = history;
  const [message, older, newer] = await Promise.all([it, page(channelId, { before: id }, limit), page(channelId, { after: id }, limit)]);
  put(history, [...older, ...(message ? [message] : []), ...newer], older.length === limit, newer.length === limit);
}

const one = (channelId: string, id: string): Promise<Message> => call<Message>('GET', path`/api/channels/${channelId}/messages/${id}`);

/** Loads the surroundings of one message, wherever it stands; does nothing when it is loaded. Throws `ApiError`: 404 when it is gone. */
export function loadAround(channelId: string, messageId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    if (history.messages.value.some(({ id }) => id === messageId)) return;
    await readAround(history, messageId, limits.pageDefault, one(channelId, messageId));
  });
}

/**
 * Reads anew what is loaded, after a time in which events may have been missed. Where the person follows the newest: from there back until
 * it meets what was loaded, at most three pages of a hundred; where they look at an older message: a hundred on each side of it. What lies
 * further off is dropped, and is read again when someone scrolls there: no hole, and no stale message.
 */
export function refreshHistory(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    const at = history.at ?? (history.hasNewer.value ? history.messages.value.at(-1)?.id : undefined);
    if (at !== undefined) {
      const it = one(channelId, at).catch((fault: unknown) => {
        if (asApiError(fault).status !== 404) throw fault;
        return undefined;
      });
      return readAround(history, at, limits.pageMax, it);
    }
    const first = history.messages.value[0]?.id;
    let fresh = await page(channelId, {}, limits.pageMax);
    let more = fresh.length === limits.pageMax;
    for (let pages = 1; pages < 3 && more && first !== undefined && (fresh[0]?.id ?? '') > first; pages++) {
      const older = await page(channelId, { before: fresh[0]?.id ?? '' }, limits.pageMax);
      fresh = [...older, ...fresh];
      more = older.length === limits.pageMax;
    }
    put(history, fresh, more, false);
  });
}

/** Reads anew all that is loaded: the open channel first. */
export async function refreshHistories(open: string | undefined): Promise<void> {
  for (const channelId of histories.keys()) if (channelId !== open) histories.delete(channelId);
  if (open !== undefined && histories.has(open)) await refreshHistory(open);
}

/** Takes in a new message at its place by id. Not when what is loaded does not reach so far: it is read when someone scrolls there. */
export function addMessage(message: Message): void {
  putFace(message.author);
  change(message.channelId, (messages, { hasNewer, hasOlder }) => {
    const last = messages.at(-1);
    if (hasNewer.value) return messages;
    if (!last || last.id < message.id) {
      const all = [...messages, message];
      if (all.length <= mostLoaded) return all;
      hasOlder.value = true;
      return all.slice(-mostLoaded);
    }
    const at = messages.findIndex(({ id }) => id >= message.id);
    if (messages[at]?.id === message.id) return messages;
    if (at === 0 && hasOlder.value) return messages;
    return messages.toSpliced(at, 0, message);
  });
}

/** Replaces a message by how it stands now; `me` of its reactions is kept, as events do not know who reads them. */
export function replaceMessage(message: Message): void {
  change(message.channelId, (messages) =>
    messages.map((old) => {
      if (old.id !== message.id) return old.reply?.id === message.id ? { ...old, reply: replyOf(old, message) } : old;
      const mine = new Set(old.reactions.filter(({ me }) => me).map(({ emoji }) => emoji));
      return { ...message, reactions: message.reactions.map((now) => ({ ...now, me: now.me || mine.has(now.emoji) })) };
    }),
  );
}

const replyOf = (old: Message, { content, attachments }: Message): NonNullable<Message['reply']> => ({
  ...(old.reply as NonNullable<Message['reply']>),
  content: Array.from(content).slice(0, limits.replyPreviewChars).join(''),
  hasAttachments: attachments.length > 0,
});

/** Takes a message away; replies to it say that the original is gone. */
export function removeMessage(channelId: string, messageId: string): void {
  change(channelId, (messages) =>
    messages
      .filter(({ id }) => id !== messageId)
      .map((message) => {
        if (message.reply?.id !== messageId) return message;
        const { reply: _gone, ...rest } = message;
        return { ...rest, replyDeleted: true };
      }),
  );
}

/** Changes single fields of a message, where an answer or event tells no more than that. */
export function patchMessage(channelId: string, messageId: string, values: Partial<Message>): void {
  change(channelId, (messages) => messages.map((message) => (message.id === messageId ? { ...message, ...values } : message)));
}

/**
 * Reads anew which messages of a channel are pinned: the event of a pin does not say which. A read that fails leaves the marks as they are.
 */
export async function refreshPins(channelId: string): Promise<void> {
  const pins = await call<Message[]>('GET', path`/api/channels/${channelId}/pins`).catch(() => undefined);
  if (!pins) return;
  const pinned = new Set(pins.map(({ id }) => id));
  change(channelId, (messages) =>
    messages.map((message) => (message.pinned === pinned.has(message.id) ? message : { ...message, pinned: !message.pinned })),
  );
}

/** Sets one reaction of a message: `by` 1 or -1, `mine` when it is the person's own (then it counts once, however often it is told). */
export function changeReaction(channelId: string, messageId: string, emoji: string, by: 1 | -1, mine: boolean): void {
  const history = histories.get(channelId);
  if (!history) return;
  // Counts cannot be repeated: around a read, which may know of the reaction already, the one message is read again.
  if (mine && history.reading) history.late.push(() => changeReaction(channelId, messageId, emoji, by, true));
  if (!mine && (history.reading || Date.now() - history.readAt < recountMs)) return recount(channelId, messageId);
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

/** So long after a read an event may tell what the read knew, in milliseconds. */
const recountMs = 2_000;
const recounting = new Set<string>();

/** Reads one message anew when its reactions have come to rest, with the reactions as the person sees them. */
function recount(channelId: string, messageId: string): void {
  if (recounting.has(messageId)) return;
  recounting.add(messageId);
  const reread = async (): Promise<void> => {
    recounting.delete(messageId);
    const fresh = await one(channelId, messageId).catch(() => undefined);
    if (fresh) change(channelId, (messages) => messages.map((old) => (old.id === messageId ? fresh : old)));
  };
  setTimeout(() => void reread(), recountMs / 2);
}

/** Forgets everything of a channel that is gone or hidden. */
export const dropHistory = (channelId: string): void => void histories.delete(channelId);
