import { type Signal, signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../api/call.ts';
import { putFace } from './people.ts';

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
export interface Held extends History {
  /** The queue of reads: each channel loads one page at a time. */
  turn: Promise<unknown>;
  reading: boolean;
  /** When the last read ended, in milliseconds of this page's clock. */
  readAt: number;
  /** The message that the user looks at; null when the user follows the newest. */
  at: string | null;
  /** Changes that arrived while a page was loading. The page may be older than they are, so they are applied again after it. */
  late: (() => void)[];
}

/** The maximum number of messages that are kept for a channel. */
export const mostLoaded = 6_000;
/** The maximum number of channels whose messages are kept. */
const mostHistories = 20;

/** The histories that are kept, least recently used first. */
export const histories = new Map<string, Held>();

/** Returns the history of a channel; a new one is empty and not loaded. When there are too many histories, the least recently used one is dropped. */
export function held(channelId: string): Held {
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
    readAt: 0,
    at: null,
    late: [],
  };
  histories.set(channelId, history);
  if (histories.size > mostHistories) histories.delete(histories.keys().next().value ?? '');
  return history;
}

/** Runs one read of a channel after those that are queued, then applies the changes that arrived meanwhile. An error is set as `status` and thrown. */
export function read(history: Held, work: () => Promise<void>): Promise<void> {
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
      history.readAt = Date.now();
      for (const again of history.late.splice(0)) again();
    }
  };
  const result = history.turn.then(run, run);
  history.turn = result.catch(() => undefined);
  return result;
}

/** Applies a change to a channel's loaded messages now, and once more after a read that is in progress. Each change must therefore be idempotent. */
export function change(channelId: string, apply: (messages: readonly Message[], history: Held) => readonly Message[]): void {
  const history = histories.get(channelId);
  if (!history || history.status.value === 'loading') {
    history?.late.push(() => change(channelId, apply));
    return;
  }
  history.messages.value = apply(history.messages.value, history);
  if (history.reading) history.late.push(() => change(channelId, apply));
}
