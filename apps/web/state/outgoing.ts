import { signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError, call, path } from '../api/call.ts';
import { connection } from '../api/gateway.ts';
import { newKey } from '../api/key.ts';
import { upload } from '../api/upload.ts';
import { addMessage } from './histories.ts';
import { isKeySure, nextTry } from './outgoing-faults.ts';
import { may } from './rights.ts';
import { channels } from './servers.ts';
import { noteSlow } from './slowmode.ts';

/** What the composer gives to be sent. */
export interface Draft {
  content: string;
  files: readonly File[];
  replyTo: Message | null;
  /** Whether the reply pings its author. */
  mentionReply: boolean;
}

/** A message on its way: shown at once, in grey; failed ones stay until they are sent again or thrown away. */
export interface Outgoing extends Draft {
  /** The `Idempotency-Key` and nonce of every try, so that none is posted twice. */
  key: string;
  channelId: string;
  state: 'waiting' | 'sending' | 'failed';
  /** A failed one that goes again by itself when it can be expected to succeed: those written after it wait for it. */
  resends: boolean;
  /** How much of the files is sent, 0 to 1. */
  progress: number;
  error: ApiError | null;
}

/** The messages on their way, in the order of writing. */
export const outgoing = signal<readonly Outgoing[]>([]);

/** What was tried of each message: when first, how often, how the try is stopped, and the pause before the next. */
interface Trial {
  firstAt: number;
  tries: number;
  stop: AbortController;
  pause: ReturnType<typeof setTimeout> | undefined;
}
const trials = new Map<string, Trial>();

const find = (key: string): Outgoing | undefined => outgoing.value.find((one) => one.key === key);

const patch = (key: string, values: Partial<Outgoing>): void => {
  outgoing.value = outgoing.value.map((one) => (one.key === key ? { ...one, ...values } : one));
};

/** Takes a message off the list, and sends what waited behind it. */
function drop(key: string): void {
  const one = find(key);
  outgoing.value = outgoing.value.filter((other) => other.key !== key);
  endPause(key);
  trials.delete(key);
  if (one) postNext(one.channelId);
}

function endPause(key: string): void {
  const trial = trials.get(key);
  clearTimeout(trial?.pause);
  if (trial) trial.pause = undefined;
}

/** Sends a message: shown at once, posted after those of the same channel that were written before. */
export function send(channelId: string, draft: Draft): void {
  const key = newKey();
  outgoing.value = [...outgoing.value, { ...draft, key, channelId, state: 'waiting', resends: false, progress: 0, error: null }];
  postNext(channelId);
}

/**
 * Sends a failed message again, under the same key, after those before it that would go by themselves. One whose original is gone is sent as no reply: it was
 * refused, so its key is free.
 */
export function sendAgain(key: string): void {
  const one = find(key);
  if (one?.state !== 'failed') return;
  const before = outgoing.value.slice(0, outgoing.value.indexOf(one)).filter((other) => other.channelId === one.channelId && other.resends);
  for (const other of [...before, one]) {
    endPause(other.key);
    patch(other.key, { state: 'waiting', resends: false, error: null, ...(other.error?.at('/replyTo') && { replyTo: null }) });
  }
  postNext(one.channelId);
}

/** Throws a message away: a failed or waiting one, or one whose try is stopped. */
export function discard(key: string): void {
  const trial = trials.get(key);
  drop(key);
  trial?.stop.abort();
}

/** It is on the screen as a message: the event of the gateway may come before the answer of the post. */
export function arrived(nonce: string | undefined): void {
  if (nonce === undefined || !find(nonce)) return;
  posted(nonce);
}

/** Posts the oldest message of a channel that is not given up, unless it is on its way or pauses: so the order of writing is kept. */
function postNext(channelId: string): void {
  const next = outgoing.value.find((one) => one.channelId === channelId && (one.state !== 'failed' || one.resends));
  if (next?.state !== 'waiting' || trials.get(next.key)?.pause !== undefined) return;
  patch(next.key, { state: 'sending', error: null, progress: 0 });
  void post(next);
}

async function post({ key, channelId, content, files, replyTo, mentionReply }: Outgoing): Promise<void> {
  const url = path`/api/channels/${channelId}/messages`;
  const payload = { content, nonce: key, ...(replyTo && { replyTo: replyTo.id, mentionReply }) };
  const known = trials.get(key);
  const trial: Trial = {
    firstAt: known?.firstAt ?? Date.now(),
    tries: (known?.tries ?? 0) + 1,
    stop: new AbortController(),
    pause: undefined,
  };
  trials.set(key, trial);
  const { signal: stopped } = trial.stop;
  try {
    const message = await (files.length
      ? upload<Message>({ path: url, payload, files, key, onProgress: (progress) => patch(key, { progress }), signal: stopped })
      : call<Message>('POST', url, payload, { key, signal: stopped }));
    addMessage(message);
    posted(key);
  } catch (fault) {
    if (find(key)) refused(key, channelId, trial, asApiError(fault));
  }
}

/** It stands at the service: the next of its channel can go, unless slow mode makes the person wait. */
function posted(key: string): void {
  const channel = channels.value.get(find(key)?.channelId ?? '');
  if (channel?.slowmodeSecs && !skipsSlowmode(channel.id)) noteSlow(channel.id, channel.slowmodeSecs);
  drop(key);
}

/** Whether slow mode does not apply to the person in a channel (docs/behavior/messages.md#slow-mode). */
export function skipsSlowmode(channelId: string): boolean {
  const channel = channels.value.get(channelId);
  return !channel || may('Manage Messages', channel.serverId, channel) || may('Manage Channels', channel.serverId, channel);
}

/** Judges a refusal: a pause, a failure that goes again by itself, or one that waits for the person. */
function refused(key: string, channelId: string, trial: Trial, error: ApiError): void {
  if (error.code === 'slowmode') noteSlow(channelId, error.retryAfter ?? 1);
  const next = nextTry(error, Date.now() - trial.firstAt, trial.tries);
  patch(key, { state: next.again === 'soon' ? 'waiting' : 'failed', resends: next.again === 'live', error });
  if (next.again === 'click') return postNext(channelId);
  trial.pause = setTimeout(() => {
    trial.pause = undefined;
    if (next.again === 'soon') postNext(channelId);
    else if (connection.value === 'live') sendAgain(key);
  }, next.afterMs);
}

// What failed for want of a connection goes when that is back; what is too old for its key waits for the person.
connection.subscribe((now) => {
  if (now !== 'live') return;
  for (const { key, resends } of outgoing.value) {
    if (!resends) continue;
    if (isKeySure(Date.now() - (trials.get(key)?.firstAt ?? 0))) sendAgain(key);
    else patch(key, { resends: false });
  }
});

// Who closes the page while something is on its way is asked first.
addEventListener('beforeunload', (event) => {
  if (outgoing.value.length > 0) event.preventDefault();
});
