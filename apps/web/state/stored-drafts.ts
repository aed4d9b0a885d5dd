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

/** The maximum number of stored drafts, newest first, and the maximum length of their JSON in UTF-16 units. */
const max = { drafts: 50, length: 200_000 };
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

/** Stores a draft in place of the previous one; removes it when it is empty. Reads all drafts again first, because other pages may have stored theirs. */
function storeDraft(accountId: string, channelId: string, draft: StoredDraft): void {
  const others = readAll(accountId).filter(([id]) => id !== channelId);
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

function flush(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const run of pendingStores.values()) run();
  pendingStores.clear();
}

/** Stores the result of `read` after a short delay, at once when it is empty (the message was sent), and at the latest when the page is closed. */
export function storeSoon(accountId: string, channelId: string, read: () => StoredDraft): void {
  pendingStores.set(channelId, () => storeDraft(accountId, channelId, read()));
  if (isEmpty(read())) flush();
  else timer ??= setTimeout(flush, delayMs);
}

/** Adds a content to the stored draft of a channel, after the text there. */
export function addToStoredDraft(accountId: string, channelId: string, content: string): void {
  flush();
  const { text = '', ...draft } = storedDraft(accountId, channelId) ?? { tokens: [] };
  storeDraft(accountId, channelId, { ...draft, text: text === '' ? content : `${text}\n${content}` });
}

/** Removes all drafts of an account from this browser. */
export function removeDrafts(accountId: string): void {
  pendingStores.clear();
  removeStored(keyOf(accountId));
}

addEventListener('pagehide', flush);
