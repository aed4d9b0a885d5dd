import { signal } from '@preact/signals';
import type { Message } from '../../../lib/contract/message.ts';
import { type ApiError, asApiError, call, path } from '../api/call.ts';
import { connection } from '../api/gateway.ts';
import { newKey } from '../api/key.ts';
import { upload } from '../api/upload.ts';
import { addMessage } from './histories.ts';
import { isKeyValid, nextTry } from './outgoing-faults.ts';
import { may } from './rights.ts';
import { channels } from './servers.ts';
import { isOver, myId } from './session.ts';
import { startCooldown } from './slowmode.ts';
import { addLastDraft } from './stored-drafts.ts';

/** A message that the composer submits. */
export interface Draft {
  content: string;
  files: readonly File[];
  replyTo: Message | null;
  /** Whether the reply pings the author of the original. */
  mentionReply: boolean;
}

/** A message that is being sent. It is shown in gray at once. A failed message stays until it is sent again or discarded. */
export interface Outgoing extends Draft {
  /** The `Idempotency-Key` and nonce of every try, so that the message is not posted twice. */
  key: string;
  channelId: string;
  state: 'waiting' | 'sending' | 'failed';
  /** Whether a failed message is sent again automatically. Messages written after it wait for it. */
  resends: boolean;
  /** The part of the files that is uploaded, 0 to 1. */
  progress: number;
  error: ApiError | null;
}

/** The messages that are being sent, in the order in which they were written. */
export const outgoing = signal<readonly Outgoing[]>([]);

/** The last message or command that the user sent. The list of its channel then goes to its end. */
export const lastSent = signal<{ channelId: string } | null>(null);

/** A moment by two clocks, in milliseconds: the user can set back the first, and the second may stand still while the machine sleeps. */
interface Moment {
  clock: number;
  page: number;
}
const momentNow = (): Moment => ({ clock: Date.now(), page: performance.now() });
const ageOf = ({ clock, page }: Moment): number => Math.max(Date.now() - clock, performance.now() - page);

/** The tries of a message: the time of the first, their number, how to abort the current one, and the pause before the next. */
interface Attempts {
  firstAt: Moment;
  tries: number;
  stop: AbortController;
  pause: ReturnType<typeof setTimeout> | undefined;
}
const attemptsByKey = new Map<string, Attempts>();

const find = (key: string): Outgoing | undefined => outgoing.value.find((one) => one.key === key);

const patch = (key: string, values: Partial<Outgoing>): void => {
  outgoing.value = outgoing.value.map((one) => (one.key === key ? { ...one, ...values } : one));
};

/** Removes a message from the list, and sends the next one that waited for it. */
function drop(key: string): void {
  const one = find(key);
  outgoing.value = outgoing.value.filter((other) => other.key !== key);
  clearPause(key);
  attemptsByKey.delete(key);
  if (one) postNext(one.channelId);
}

function clearPause(key: string): void {
  const attempts = attemptsByKey.get(key);
  clearTimeout(attempts?.pause);
  if (attempts) attempts.pause = undefined;
}

/** Sends a message. It is shown at once and posted after the earlier messages of the same channel. */
export function send(channelId: string, draft: Draft): void {
  const key = newKey();
  lastSent.value = { channelId };
  outgoing.value = [...outgoing.value, { ...draft, key, channelId, state: 'waiting', resends: false, progress: 0, error: null }];
  postNext(channelId);
}

/**
 * Sends a failed message again with the same key, after the earlier ones that are resent automatically. If the original of a reply is deleted, the message is
 * sent without the reply; the request was refused, so the key can be used again.
 */
export function sendAgain(key: string): void {
  const one = find(key);
  if (one?.state !== 'failed') return;
  const before = outgoing.value.slice(0, outgoing.value.indexOf(one)).filter((other) => other.channelId === one.channelId && other.resends);
  for (const other of [...before, one]) {
    clearPause(other.key);
    patch(other.key, { state: 'waiting', resends: false, error: null, ...(other.error?.at('/replyTo') && { replyTo: null }) });
  }
  postNext(one.channelId);
}

/** Discards a failed or waiting message, or one that is being sent, whose request is then aborted. */
export function discard(key: string): void {
  const attempts = attemptsByKey.get(key);
  drop(key);
  attempts?.stop.abort();
}

/** Removes the message whose stored version has arrived by the gateway, which can be before the response to the post. */
export function removeDelivered(nonce: string | undefined): void {
  if (nonce === undefined || !find(nonce)) return;
  finishSending(nonce);
}

/** Posts the oldest message of a channel that waits or will be resent, unless it is already being sent or its pause has not ended, so that the order is kept. */
function postNext(channelId: string): void {
  const next = outgoing.value.find((one) => one.channelId === channelId && (one.state !== 'failed' || one.resends));
  if (next?.state !== 'waiting' || attemptsByKey.get(next.key)?.pause !== undefined) return;
  patch(next.key, { state: 'sending', error: null, progress: 0 });
  void post(next);
}

async function post({ key, channelId, content, files, replyTo, mentionReply }: Outgoing): Promise<void> {
  const url = path`/api/channels/${channelId}/messages`;
  const payload = { content, nonce: key, ...(replyTo && { replyTo: replyTo.id, mentionReply }) };
  const earlier = attemptsByKey.get(key);
  const attempts: Attempts = {
    firstAt: earlier?.firstAt ?? momentNow(),
    tries: (earlier?.tries ?? 0) + 1,
    stop: new AbortController(),
    pause: undefined,
  };
  attemptsByKey.set(key, attempts);
  const { signal: stopped } = attempts.stop;
  try {
    const message = await (files.length
      ? upload<Message>({ path: url, payload, files, key, onProgress: (progress) => patch(key, { progress }), signal: stopped })
      : call<Message>('POST', url, payload, { key, signal: stopped }));
    addMessage(message);
    finishSending(key);
  } catch (fault) {
    if (find(key)) handleFailure(key, channelId, attempts, asApiError(fault));
  }
}

/** Called when the service has stored a message: starts the slow mode cooldown if it applies to the user, and sends the next message. */
function finishSending(key: string): void {
  const channel = channels.value.get(find(key)?.channelId ?? '');
  if (channel?.slowmodeSecs && !skipsSlowmode(channel.id)) startCooldown(channel.id, channel.slowmodeSecs);
  drop(key);
}

/** Whether the user is exempt from slow mode in a channel (docs/behavior/messages.md#slow-mode). */
export function skipsSlowmode(channelId: string): boolean {
  const channel = channels.value.get(channelId);
  return !channel || may('Manage Messages', channel.serverId, channel) || may('Manage Channels', channel.serverId, channel);
}

/** Handles a refused post: the message pauses, fails and is resent automatically, or fails and waits for the user. */
function handleFailure(key: string, channelId: string, attempts: Attempts, error: ApiError): void {
  if (error.code === 'slowmode') startCooldown(channelId, error.retryAfter ?? 1);
  const next = nextTry(error, ageOf(attempts.firstAt), attempts.tries);
  patch(key, { state: next.again === 'soon' ? 'waiting' : 'failed', resends: next.again === 'live', error });
  if (next.again === 'click') return postNext(channelId);
  attempts.pause = setTimeout(() => {
    attempts.pause = undefined;
    if (next.again === 'soon') postNext(channelId);
    else if (connection.value === 'live') sendAgain(key);
  }, next.afterMs);
}

// Messages that failed because of the connection are sent again when it returns. A message that is too old for its key waits for the user.
connection.subscribe((now) => {
  if (now !== 'live') return;
  for (const { key, resends } of outgoing.value) {
    if (!resends) continue;
    const first = attemptsByKey.get(key)?.firstAt;
    if (first && isKeyValid(ageOf(first))) sendAgain(key);
    else patch(key, { resends: false });
  }
});

// What is not sent when the session ends becomes the draft of its channel, for the next login. Files cannot be kept.
isOver.subscribe((over) => {
  if (over) for (const { channelId, content } of outgoing.value) addLastDraft(myId(), channelId, content);
});

// The browser asks for confirmation when the user closes the page while a message is being sent.
addEventListener('beforeunload', (event) => {
  if (outgoing.value.length > 0) event.preventDefault();
});
