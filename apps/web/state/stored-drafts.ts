import { readStored, removeStored, writeStored } from '../ui/browser-storage.ts';

/** A text that is being written, and the meaning of each readable word in it. */
interface WrittenText {
  text: string;
  tokens: readonly (readonly [word: string, meaning: { content: string; option: string }])[];
}

/** A half-written edit of a message. */
export interface StoredEdit extends WrittenText {
  messageId: string;
}

/** The draft of a channel in the browser's storage: a new message, and the half-written edits. */
export interface StoredDraft extends WrittenText {
  /** Oldest first. Absent in drafts that an earlier version stored. */
  edits?: readonly StoredEdit[];
}
type Entry = [channelId: string, draft: StoredDraft];

/** The maximum number of stored drafts, newest first, of half-written edits in each, and the maximum length of their JSON in UTF-16 units. */
const max = { drafts: 50, edits: 10, length: 200_000 };
/** The delay between a change and the storing of the drafts, in milliseconds. */
const delayMs = 400;

const keyOf = (accountId: string): string => `parlance.drafts.${accountId}`;

function readAll(accountId: string): Entry[] {
  try {
    return JSON.parse(readStored(keyOf(accountId)) ?? '[]') as Entry[];
  } catch {
    return [];
  }
}

const isEmpty = ({ text, edits = [] }: StoredDraft): boolean => text === '' && edits.length === 0;

/** Returns the stored draft of a channel; undefined when there is none. */
export const storedDraft = (accountId: string, channelId: string): StoredDraft | undefined =>
  readAll(accountId).find(([id]) => id === channelId)?.[1];

/** Changes the stored draft of a channel; removes it when it is empty. Reads all drafts again first, because other pages may have stored theirs. */
function changeDraft(accountId: string, channelId: string, change: (stored: StoredDraft) => StoredDraft): void {
  const stored = readAll(accountId);
  const others = stored.filter(([id]) => id !== channelId);
  const draft = change(stored.find(([id]) => id === channelId)?.[1] ?? { text: '', tokens: [] });
  const all: Entry[] = isEmpty(draft) ? others : [[channelId, draft], ...others];
  let remaining = max.length;
  const entries = all.slice(0, max.drafts).filter((entry) => {
    const { length } = JSON.stringify(entry);
    if (length > remaining) return false;
    remaining -= length;
    return true;
  });
  if (entries.length) writeStored(keyOf(accountId), JSON.stringify(entries));
  else removeStored(keyOf(accountId));
}

const pendingStores = new Map<string, () => void>();
let timer: ReturnType<typeof setTimeout> | undefined;
let isClosed = false;

function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const run of pendingStores.values()) run();
  pendingStores.clear();
}

/** Stores a change soon, or at once if it `isUrgent`, and at the latest when the page is closed. `part` names what it changes in the draft of the channel. */
function changeSoon(
  accountId: string,
  channelId: string,
  part: string,
  isUrgent: boolean,
  change: (stored: StoredDraft) => StoredDraft,
): void {
  if (isClosed) return;
  pendingStores.set(`${channelId} ${part}`, () => changeDraft(accountId, channelId, change));
  if (isUrgent) flush();
  else timer ??= setTimeout(flush, delayMs);
}

/** Stores the text of a new message that `read` returns, after a short delay, or at once when it is empty (the message was sent). */
export const storeText = (accountId: string, channelId: string, read: () => WrittenText): void =>
  changeSoon(accountId, channelId, 'text', read().text === '', (stored) => ({ ...stored, ...read() }));

/** Stores a half-written edit in place of the previous one of the same message, after a short delay. Without `edit`, removes it at once. */
export const storeEdit = (accountId: string, channelId: string, messageId: string, edit?: StoredEdit): void =>
  changeSoon(accountId, channelId, messageId, !edit, (stored) => ({ ...stored, edits: withEdit(stored.edits, messageId, edit) }));

/** Returns edits with `edit` in place of that of the same message; without `edit`, there is none. The oldest is dropped beyond ten. */
export function withEdit(edits: readonly StoredEdit[] = [], messageId: string, edit?: StoredEdit): readonly StoredEdit[] {
  const others = edits.filter((one) => one.messageId !== messageId);
  return edit ? [...others, edit].slice(-max.edits) : others;
}

/** Adds a content to the stored draft of a channel, after the text there. The page is left, so nothing that it still changes is stored over that. */
export function addLastDraft(accountId: string, channelId: string, content: string): void {
  flush();
  isClosed = true;
  changeDraft(accountId, channelId, ({ text, ...draft }) => ({ ...draft, text: text === '' ? content : `${text}\n${content}` }));
}

/** Removes all drafts of an account from this browser. */
export function removeDrafts(accountId: string): void {
  pendingStores.clear();
  removeStored(keyOf(accountId));
}

addEventListener('pagehide', flush);
