import { forget, keep, kept } from '../ui/kept.ts';

/** What this browser keeps of a message that is being written: its text, and what the readable words of it stand for. */
export interface StoredDraft {
  text: string;
  tokens: readonly (readonly [word: string, meaning: { content: string; option: string }])[];
}
type Entry = [channelId: string, draft: StoredDraft];

/** Drafts that are kept at most, the newest first, and the length of their JSON in UTF-16 units. */
const most = { drafts: 50, length: 200_000 };
/** A draft is stored this long after its last change, in milliseconds. */
const restMs = 400;

const keyOf = (accountId: string): string => `parlance.drafts.${accountId}`;

function readAll(accountId: string): Entry[] {
  try {
    return JSON.parse(kept(keyOf(accountId)) ?? '[]') as Entry[];
  } catch {
    return [];
  }
}

/** The draft that this browser keeps of a channel; undefined when it keeps none. */
export const storedDraft = (accountId: string, channelId: string): StoredDraft | undefined =>
  readAll(accountId).find(([id]) => id === channelId)?.[1];

/** Stores a draft over the one before; an empty one is removed. Other pages may have stored theirs meanwhile, so all are read anew. */
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

/** Stores what `read` answers soon: at once when it is empty, as then it was sent, and at the latest when the page is left. */
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
