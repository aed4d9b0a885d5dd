import { type Signal, signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../api/call.ts';
import { mergeUsersOf } from './people.ts';

/** The loaded part of a channel's messages, oldest first, without gaps. */
export interface History {
  readonly channelId: string;
  readonly messages: Signal<readonly Message[]>;
  readonly hasOlder: Signal<boolean>;
  /** True when the loaded messages do not include the newest one, as after a jump to an old message. */
  readonly hasNewer: Signal<boolean>;
  readonly status: Signal<'loading' | 'ready' | ApiError>;
}

/** A history with the fields that only this module and `histories.ts` change. */
export interface StoredHistory extends History {
  /** The queue of reads: each channel loads one page at a time. */
  queue: Promise<unknown>;
  isLoading: boolean;
  /** When the last read ended, in milliseconds of this page's clock. */
  loadedAt: number;
  /** The message that the user looks at; null when the user follows the newest. */
  viewedId: string | null;
  /** Changes that arrived while a page was loading. The page may be older than they are, so they are applied again after it. */
  lateChanges: (() => void)[];
}

/** The maximum number of messages that are kept for a channel. */
export const maxMessages = 6_000;
/** The maximum number of channels whose messages are kept. */
const maxHistories = 20;

/** The histories that are kept, least recently used first. */
export const histories = new Map<string, StoredHistory>();

/** Returns the history of a channel; a new one is empty and not loaded. When there are too many histories, the least recently used one is dropped. */
export function storedHistory(channelId: string): StoredHistory {
  const known = histories.get(channelId);
  histories.delete(channelId);
  const history = known ?? {
    channelId,
    messages: signal<readonly Message[]>([]),
    hasOlder: signal(true),
    hasNewer: signal(false),
    status: signal<History['status']['value']>('loading'),
    queue: Promise.resolve(),
    isLoading: false,
    loadedAt: 0,
    viewedId: null,
    lateChanges: [],
  };
  histories.set(channelId, history);
  if (histories.size > maxHistories) histories.delete(histories.keys().next().value ?? '');
  return history;
}

/** Runs one read of a channel after those that are queued, then applies the changes that arrived meanwhile. An error is set as `status` and thrown. */
export function enqueueLoad(history: StoredHistory, load: () => Promise<void>): Promise<void> {
  const run = async (): Promise<void> => {
    history.isLoading = true;
    try {
      await load();
      for (const message of history.messages.value) mergeUsersOf(message);
      history.status.value = 'ready';
    } catch (fault) {
      history.status.value = asApiError(fault);
      throw fault;
    } finally {
      history.isLoading = false;
      history.loadedAt = performance.now();
      for (const apply of history.lateChanges.splice(0)) apply();
    }
  };
  const result = history.queue.then(run, run);
  history.queue = result.catch(() => undefined);
  return result;
}

/** Applies a change to a channel's loaded messages now, and once more after a read that is in progress. Each change must therefore be idempotent. */
export function changeMessages(
  channelId: string,
  apply: (messages: readonly Message[], history: StoredHistory) => readonly Message[],
): void {
  const history = histories.get(channelId);
  if (!history || history.status.value === 'loading') {
    history?.lateChanges.push(() => changeMessages(channelId, apply));
    return;
  }
  history.messages.value = apply(history.messages.value, history);
  if (history.isLoading) history.lateChanges.push(() => changeMessages(channelId, apply));
}
