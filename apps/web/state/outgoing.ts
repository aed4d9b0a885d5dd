import { signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError, call, path } from '../api/call.ts';
import { upload } from '../api/upload.ts';
import { addMessage } from './histories.ts';

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
  /** How much of the files is sent, 0 to 1. */
  progress: number;
  error: ApiError | null;
}

/** The messages on their way, in the order of writing. */
export const outgoing = signal<readonly Outgoing[]>([]);

/** Stops the upload of each message that is being sent. */
const stops = new Map<string, AbortController>();

const patch = (key: string, values: Partial<Outgoing>): void => {
  outgoing.value = outgoing.value.map((one) => (one.key === key ? { ...one, ...values } : one));
};

const drop = (key: string): void => {
  outgoing.value = outgoing.value.filter((one) => one.key !== key);
  stops.delete(key);
};

/** Sends a message: shown at once, posted after those of the same channel that were written before. */
export function send(channelId: string, draft: Draft): void {
  const key = crypto.randomUUID();
  outgoing.value = [...outgoing.value, { ...draft, key, channelId, state: 'waiting', progress: 0, error: null }];
  postNext(channelId);
}

/** Sends a failed message again, under the same key. */
export function sendAgain(key: string): void {
  const one = outgoing.value.find((other) => other.key === key);
  if (one?.state !== 'failed') return;
  patch(key, { state: 'waiting', error: null, progress: 0 });
  postNext(one.channelId);
}

/** Throws a message away: a failed or waiting one, or one whose upload is stopped. */
export function discard(key: string): void {
  stops.get(key)?.abort();
  drop(key);
}

/** It is on the screen as a message: the event of the gateway may come before the answer of the post. */
export function arrived(nonce: string | undefined): void {
  if (nonce !== undefined && outgoing.value.some((one) => one.key === nonce)) drop(nonce);
}

function postNext(channelId: string): void {
  const waiting = outgoing.value.filter((one) => one.channelId === channelId);
  const [first] = waiting.filter(({ state }) => state === 'waiting');
  if (!first || waiting.some(({ state }) => state === 'sending')) return;
  patch(first.key, { state: 'sending' });
  void post(first).then(() => postNext(channelId));
}

async function post({ key, channelId, content, files, replyTo, mentionReply }: Outgoing): Promise<void> {
  const url = path`/api/channels/${channelId}/messages`;
  const payload = { content, nonce: key, ...(replyTo && { replyTo: replyTo.id, mentionReply }) };
  const stop = new AbortController();
  stops.set(key, stop);
  try {
    const message = await (files.length
      ? upload<Message>({ path: url, payload, files, key, onProgress: (progress) => patch(key, { progress }), signal: stop.signal })
      : call<Message>('POST', url, payload, { key }));
    addMessage(message);
    drop(key);
  } catch (fault) {
    patch(key, { state: 'failed', error: asApiError(fault) });
  }
}
