import { forget, keep, kept } from '../ui/kept.ts';

/** A draft in the browser's storage: its text, and the meaning of each readable word in it. */
export interface StoredDraft {
  text: string;
  tokens: readonly (readonly [word: string, meaning: { content: string; option: string }])[];
}
type Entry = [channelId: string, draft: StoredDraft];

/** The maximum number of stored drafts, newest first, and the maximum length of their JSON in UTF-16 units. */
const most = { drafts: 50, length: 200_000 };
/** The delay between a change and the storing of the drafts, in milliseconds. */
const restMs = 400;

const keyOf = (accountId: string): string => `parlance.drafts.${accountId}`;

function readAll(accountId: string): Entry[] {
  try {
    return JSON.parse(kept(keyOf(accountId)) ?? '[]') as Entry[];
  } catch {
    return [];
  }
}

/** Returns the stored draft of a channel; undefined when there is none. */
export const storedDraft = (accountId: string, channelId: string): StoredDraft | undefined =>
  readAll(accountId).find(([id]) => id === channelId)?.[1];

/** Stores a draft in place of the previous one; removes it when it is empty. Reads all drafts again first, because other pages may have stored theirs. */
function store(accountId: string, channelId: string, draft: StoredDraft): void {
  const others = readAll(accountId).filter(([id]) => id !== channelId);
  const all: Entry[] = draft.text === '' ? others : [[channelId, draft], ...others];
  let left = most.length;
  const entries = all.slice(0, most.drafts).filter((entry) => {
    const { length } = JSON.stringify(entry);
    if (length > left) return false;
    left -= length;
    return true;
  });
  if (entries.length) keep(keyOf(accountId), JSON.stringify(entries));
  else forget(keyOf(accountId));
}

const waiting = new Map<string, () => void>();
let timer: ReturnType<typeof setTimeout> | undefined;

function storeWaiting(): void {
  clearTimeout(timer);
  timer = undefined;
  for (const run of waiting.values()) run();
  waiting.clear();
}

/** Stores the result of `read` after a short delay, at once when it is empty (the message was sent), and at the latest when the page is closed. */
export function storeSoon(accountId: string, channelId: string, read: () => StoredDraft): void {
  waiting.set(channelId, () => store(accountId, channelId, read()));
  if (read().text === '') storeWaiting();
  else timer ??= setTimeout(storeWaiting, restMs);
}

/** Removes all drafts of an account from this browser. */
export function forgetDrafts(accountId: string): void {
  waiting.clear();
  forget(keyOf(accountId));
}

addEventListener('pagehide', storeWaiting);
