import { signal } from '@preact/signals';
import type { ReadState } from '../../../lib/contract/read.ts';
import { asApiError, call, path } from '../api/call.ts';
import { isTemporary } from '../ui/use-retry.ts';
import { withEntry } from './servers.ts';

/** The user's read marks, by channel. */
export const reads = signal<ReadonlyMap<string, ReadState>>(new Map());

/** Replaces all read marks of the user. */
export function setReads(all: readonly ReadState[]): void {
  reads.value = new Map(all.map((one) => [one.channelId, one]));
  for (const [channelId, messageId] of unsentMarks) noteRead(channelId, messageId);
}

/** Whether a channel has unread messages. */
export function isUnread(channelId: string): boolean {
  const state = reads.value.get(channelId);
  return state !== undefined && state.lastMessageId !== null && state.lastMessageId > (state.readMessageId ?? '');
}

/** The number of unread messages of a channel that mention the user. */
export const mentionsIn = (channelId: string): number => reads.value.get(channelId)?.mentions ?? 0;

const patchReadState = (channelId: string, patch: Partial<ReadState>): void => {
  const known = reads.value.get(channelId) ?? { channelId, readMessageId: null, lastMessageId: null, mentions: 0 };
  reads.value = withEntry(reads.value, channelId, { ...known, ...patch });
};

/** Records a new message: it is unread, unless it is the user's own. */
export function noteMessage(channelId: string, messageId: string, mine: boolean, mentionsMe: boolean): void {
  const known = reads.value.get(channelId);
  if (messageId <= (known?.lastMessageId ?? '')) {
    // The loaded read state already includes this message.
    if (mine) noteRead(channelId, messageId);
    return;
  }
  const isRead = messageId <= (known?.readMessageId ?? '');
  patchReadState(channelId, {
    lastMessageId: messageId,
    ...(mine && { readMessageId: messageId }),
    mentions: mine ? 0 : (known?.mentions ?? 0) + (mentionsMe && !isRead ? 1 : 0),
  });
}

/** Records that the user read a channel up to a message, on this page or another. */
export function noteRead(channelId: string, messageId: string): void {
  const known = reads.value.get(channelId);
  if (messageId <= (known?.readMessageId ?? '')) return;
  patchReadState(channelId, { readMessageId: messageId, ...(messageId >= (known?.lastMessageId ?? '') && { mentions: 0 }) });
}

/** The last mark that was sent, for each channel with a mark sent within the last second. */
const sentMarks = new Map<string, string>();
/** Marks that could not be sent, by channel. They are sent when the connection is back. */
const unsentMarks = new Map<string, string>();
/** The interval between two marks of one channel, in milliseconds, so that an open, busy channel costs one request a second. */
const markEveryMs = 1_000;

function putMark(channelId: string, messageId: string): void {
  unsentMarks.delete(channelId);
  call('PUT', path`/api/channels/${channelId}/read`, { messageId }, { keepalive: true }).catch((fault: unknown) => {
    if (isTemporary(asApiError(fault))) unsentMarks.set(channelId, messageId);
  });
}

/** Sends a channel's mark if it moved since the last one that was sent. Returns whether it was sent. */
function sendMark(channelId: string): boolean {
  const messageId = reads.value.get(channelId)?.readMessageId;
  if (!messageId || sentMarks.get(channelId) === messageId) return false;
  sentMarks.set(channelId, messageId);
  putMark(channelId, messageId);
  return true;
}

/** Sends a channel's mark now, and repeats it every second while the mark moves. */
function sendMarks(channelId: string): void {
  if (sendMark(channelId)) setTimeout(() => sendMarks(channelId), markEveryMs);
  else sentMarks.delete(channelId);
}

/** Sends the marks that could not be sent before. */
export function sendUnsentMarks(): void {
  const marks = [...unsentMarks];
  for (const [channelId, messageId] of marks) putMark(channelId, messageId);
}

/** Marks a channel as read up to its newest message, on this page and on the server. */
export function markRead(channelId: string): void {
  const state = reads.value.get(channelId);
  if (!state || state.lastMessageId === null || !isUnread(channelId)) return;
  patchReadState(channelId, { readMessageId: state.lastMessageId, mentions: 0 });
  if (!sentMarks.has(channelId)) sendMarks(channelId);
}

window.addEventListener('pagehide', () => {
  for (const channelId of sentMarks.keys()) sendMark(channelId);
});
