import { type Signal, signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError, call, path, query } from '../api/call.ts';
import { putFace } from './people.ts';

/** The loaded part of a channel's messages: without a gap, oldest first. */
export interface History {
  readonly channelId: string;
  readonly messages: Signal<readonly Message[]>;
  readonly hasOlder: Signal<boolean>;
  /** True when what is loaded does not reach the newest message: after a jump to an old one. */
  readonly hasNewer: Signal<boolean>;
  readonly status: Signal<'loading' | 'ready' | ApiError>;
}

interface Held extends History {
  /** Reads on their way, oldest first: a channel reads one page at a time. */
  turn: Promise<unknown>;
  reading: boolean;
  /** Events that came while a page was read: the page may be older than they are, so they are applied again after it. */
  late: (() => void)[];
}

/** Most messages that a channel keeps loaded, and channels that keep theirs. */
const mostLoaded = 6_000;
const mostHistories = 20;
const histories = new Map<string, Held>();

/** The history of a channel, empty and unread at first. Those not asked for the longest are forgotten. */
export function historyOf(channelId: string): History {
  return held(channelId);
}

function held(channelId: string): Held {
  const known = histories.get(channelId);
  histories.delete(channelId);
  const history = known ?? {
    channelId,
    messages: signal<readonly Message[]>([]),
    hasOlder: signal(true),
    hasNewer: signal(false),
    status: signal<History['status']['value']>('loading'),
    turn: Promise.resolve(),
    reading: false,
    late: [],
  };
  histories.set(channelId, history);
  if (histories.size > mostHistories) histories.delete(histories.keys().next().value ?? '');
  return history;
}

const page = (channelId: string, at: { before?: string; after?: string }, limit: number = limits.pageDefault): Promise<Message[]> =>
  call<Message[]>('GET', path`/api/channels/${channelId}/messages` + query({ limit, ...at }));

/** Runs one read of a channel after the others, and then applies what was heard meanwhile. A fault is told by `status` and thrown on. */
function read(history: Held, work: () => Promise<void>): Promise<void> {
  const run = async (): Promise<void> => {
    history.reading = true;
    try {
      await work();
      for (const message of history.messages.value) putFace(message.author);
      history.status.value = 'ready';
    } catch (fault) {
      history.status.value = asApiError(fault);
      throw fault;
    } finally {
      history.reading = false;
      for (const again of history.late.splice(0)) again();
    }
  };
  const result = history.turn.then(run, run);
  history.turn = result.catch(() => undefined);
  return result;
}

/** Reads the newest page; what was loaded before is replaced. Throws `ApiError`. */
export function loadNewest(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    const newest = await page(channelId, {});
    history.messages.value = newest;
    history.hasOlder.value = newest.length === limits.pageDefault;
    history.hasNewer.value = false;
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

/** Loads the surroundings of one message, wherever it stands; does nothing when it is loaded. Throws `ApiError`: 404 when it is gone. */
export function loadAround(channelId: string, messageId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    if (history.messages.value.some(({ id }) => id === messageId)) return;
    const [it, older, newer] = await Promise.all([
      call<Message>('GET', path`/api/channels/${channelId}/messages/${messageId}`),
      page(channelId, { before: messageId }),
      page(channelId, { after: messageId }),
    ]);
    history.messages.value = [...older, it, ...newer];
    history.hasOlder.value = older.length === limits.pageDefault;
    history.hasNewer.value = newer.length === limits.pageDefault;
  });
}

/**
 * Reads anew what is loaded, after a time in which events may have been missed: from the newest page back until it meets what was loaded, at most three
 * pages of a hundred. What lies further back is dropped, and is read again when someone scrolls there: no hole, and no stale message.
 */
export function refreshHistory(channelId: string): Promise<void> {
  const history = held(channelId);
  return read(history, async () => {
    if (history.hasNewer.value) return;
    const first = history.messages.value[0]?.id;
    let fresh = await page(channelId, {}, limits.pageMax);
    let more = fresh.length === limits.pageMax;
    for (let pages = 1; pages < 3 && more && first !== undefined && (fresh[0]?.id ?? '') > first; pages++) {
      const older = await page(channelId, { before: fresh[0]?.id ?? '' }, limits.pageMax);
      fresh = [...older, ...fresh];
      more = older.length === limits.pageMax;
    }
    const ephemeral = history.messages.value.filter((message) => message.ephemeral === true && message.id > (fresh[0]?.id ?? ''));
    history.messages.value = [...fresh, ...ephemeral].sort((a, b) => (a.id < b.id ? -1 : 1));
    history.hasOlder.value = more;
  });
}

/** Reads anew all that is loaded: the open channel first. */
export async function refreshHistories(open: string | undefined): Promise<void> {
  for (const channelId of histories.keys()) if (channelId !== open) histories.delete(channelId);
  if (open !== undefined && histories.has(open)) await refreshHistory(open);
}

/** Applies a change to a channel's loaded messages now, and once more after a page that is being read: so each change must be one that can be repeated. */
function change(channelId: string, apply: (messages: readonly Message[], history: Held) => readonly Message[]): void {
  const history = histories.get(channelId);
  if (!history || history.status.value === 'loading') {
    history?.late.push(() => change(channelId, apply));
    return;
  }
  history.messages.value = apply(history.messages.value, history);
  if (history.reading) history.late.push(() => change(channelId, apply));
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
      return { ...message, reactions: message.reactions.map((one) => ({ ...one, me: one.me || mine.has(one.emoji) })) };
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

/** Sets one reaction of a message: `by` 1 or -1, `mine` when it is the person's own (then it counts once, however often it is told). */
export function changeReaction(channelId: string, messageId: string, emoji: string, by: 1 | -1, mine: boolean): void {
  const history = histories.get(channelId);
  if (!history) return;
  // Counts cannot be repeated: while a page is read, the one message is read again after it.
  if (history.reading || history.status.value === 'loading') {
    history.late.push(() => void rereadMessage(channelId, messageId));
    return;
  }
  history.messages.value = history.messages.value.map((message) => {
    if (message.id !== messageId) return message;
    const known = message.reactions.find((one) => one.emoji === emoji);
    if (mine && (known?.me ?? false) === (by === 1)) return message;
    const count = (known?.count ?? 0) + by;
    const next = { emoji, count, me: mine ? by === 1 : (known?.me ?? false) };
    if (count <= 0) return { ...message, reactions: message.reactions.filter((one) => one.emoji !== emoji) };
    const reactions = known ? message.reactions.map((one) => (one.emoji === emoji ? next : one)) : [...message.reactions, next];
    return { ...message, reactions };
  });
}

/** Reads one message anew, with the reactions as the person sees them. */
async function rereadMessage(channelId: string, messageId: string): Promise<void> {
  const fresh = await call<Message>('GET', path`/api/channels/${channelId}/messages/${messageId}`).catch(() => undefined);
  if (fresh) change(channelId, (messages) => messages.map((old) => (old.id === messageId ? fresh : old)));
}

/** Forgets everything of a channel that is gone or hidden. */
export const dropHistory = (channelId: string): void => void histories.delete(channelId);
