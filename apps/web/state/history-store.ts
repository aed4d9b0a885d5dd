import { type Signal, signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError } from '../api/call.ts';
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

/** A history with what only its keepers change. */
export interface Held extends History {
  /** Reads on their way, oldest first: a channel reads one page at a time. */
  turn: Promise<unknown>;
  reading: boolean;
  /** When the last read ended, in milliseconds of this page's clock. */
  readAt: number;
  /** The message that the person looks at; null when they follow the newest. */
  at: string | null;
  /** Events that came while a page was read: the page may be older than they are, so they are applied again after it. */
  late: (() => void)[];
}

/** Most messages that a channel keeps loaded. */
export const mostLoaded = 6_000;
/** Most channels that keep theirs. */
const mostHistories = 20;

/** The histories that are kept, those asked for last at the end. */
export const histories = new Map<string, Held>();

/** The history of a channel, empty and unread at first. Those not asked for the longest are forgotten. */
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

/** Runs one read of a channel after the others, and then applies what was heard meanwhile. A fault is told by `status` and thrown on. */
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

/**
 * Applies a change to a channel's loaded messages now, and once more after a page that is being read: so each change must be one that can
 * be repeated.
 */
export function change(channelId: string, apply: (messages: readonly Message[], history: Held) => readonly Message[]): void {
  const history = histories.get(channelId);
  if (!history || history.status.value === 'loading') {
    history?.late.push(() => change(channelId, apply));
    return;
  }
  history.messages.value = apply(history.messages.value, history);
  if (history.reading) history.late.push(() => change(channelId, apply));
}
