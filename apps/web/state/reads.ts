import { signal } from '@preact/signals';
import { composeId, idEpochMs } from '../../../lib/base/ids.ts';
import { limits } from '../../../lib/base/limits.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { ReadState } from '../../../lib/contract/read.ts';
import { asApiError, call, path, query } from '../api/call.ts';
import { isTemporary } from '../ui/use-retry.ts';
import { withEntry } from './servers.ts';

/** The user's read marks, by channel. */
export const reads = signal<ReadonlyMap<string, ReadState>>(new Map());

/** An id before those of all messages. */
const beforeAllIds = composeId(idEpochMs, 0, 0);
const idBefore = (id: string): string => (BigInt(id) - 1n).toString().padStart(id.length, '0');

/** Replaces all read marks of the user. */
export function setReads(all: readonly ReadState[]): void {
  reads.value = new Map(all.map((one) => [one.channelId, one]));
  for (const [channelId, messageId] of unsentMarks) noteRead(channelId, messageId);
}

/** Messages of others in a channel with greater ids are unread. */
export const unreadAfter = (channelId: string): string => reads.value.get(channelId)?.unreadAfterId ?? beforeAllIds;

/** Whether a channel has unread messages. */
export function isUnread(channelId: string): boolean {
  const state = reads.value.get(channelId);
  return state !== undefined && (state.lastMessageId ?? '') > state.unreadAfterId;
}

/** The unread messages of a channel that mention the user, oldest first. */
export const unreadMentions = (channelId: string): readonly string[] => reads.value.get(channelId)?.mentionMessageIds ?? [];

/** The number of unread messages of a channel that mention the user. */
export const mentionsIn = (channelId: string): number => unreadMentions(channelId).length;

const stateOf = (channelId: string, unreadAfterId: string): ReadState =>
  reads.value.get(channelId) ?? { channelId, readMessageId: null, unreadAfterId, lastMessageId: null, mentions: 0, mentionMessageIds: [] };

const putMentions = (state: ReadState, mentionMessageIds: string[]): void => {
  reads.value = withEntry(reads.value, state.channelId, { ...state, mentionMessageIds, mentions: mentionMessageIds.length });
};

/** Records whether an unread message mentions the user, when it arrives and when it is edited. */
export function noteMention(channelId: string, messageId: string, mentionsMe: boolean): void {
  const state = reads.value.get(channelId);
  if (!state) return;
  const others = state.mentionMessageIds.filter((id) => id !== messageId);
  const isUnreadMention = mentionsMe && messageId > state.unreadAfterId;
  if (!isUnreadMention && others.length === state.mentionMessageIds.length) return;
  putMentions(state, isUnreadMention ? [...others, messageId].sort().slice(-limits.mentionCountMax) : others);
}

/** Records a new message: it is unread, unless it is the user's own. In a channel without a read state, the messages before it are read. */
export function noteMessage(channelId: string, messageId: string, mine: boolean, mentionsMe: boolean): void {
  const state = stateOf(channelId, idBefore(messageId));
  if (messageId > (state.lastMessageId ?? '')) putMentions({ ...state, lastMessageId: messageId }, state.mentionMessageIds);
  if (mine) noteRead(channelId, messageId);
  else noteMention(channelId, messageId, mentionsMe);
}

/** How long the page waits before it asks which message is now the newest, in milliseconds; at most twice as long, so that not all pages ask at once. */
const newestDelayMs = 500;

/** Records that a message was deleted: it is no longer an unread mention. If it was the newest message and unread, the page asks which one is now. */
export function noteDeleted(channelId: string, messageId: string): void {
  noteMention(channelId, messageId, false);
  const isNewest = (): boolean => isUnread(channelId) && reads.value.get(channelId)?.lastMessageId === messageId;
  const ask = async (): Promise<void> => {
    if (!isNewest()) return;
    const [newest] = await call<Message[]>('GET', path`/api/channels/${channelId}/messages` + query({ limit: 1 }));
    const state = reads.value.get(channelId);
    if (state && isNewest()) putMentions({ ...state, lastMessageId: newest?.id ?? null }, state.mentionMessageIds);
  };
  // If the request fails, the channel stays unread until it is opened.
  if (isNewest()) setTimeout(() => void ask().catch(() => undefined), newestDelayMs * (1 + Math.random()));
}

/** Records that the user read a channel up to a message, on this page or another. */
export function noteRead(channelId: string, messageId: string): void {
  const state = stateOf(channelId, beforeAllIds);
  if (messageId <= state.unreadAfterId) return;
  const unread = state.mentionMessageIds.filter((id) => id > messageId);
  putMentions({ ...state, readMessageId: messageId, unreadAfterId: messageId }, unread);
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

/** Marks a channel as read up to a message, by default its newest, on this page and on the server. Does nothing when it is read that far. */
export function markRead(channelId: string, messageId = reads.value.get(channelId)?.lastMessageId ?? ''): void {
  if (!isUnread(channelId) || messageId <= unreadAfter(channelId)) return;
  noteRead(channelId, messageId);
  if (!sentMarks.has(channelId)) sendMarks(channelId);
}

window.addEventListener('pagehide', () => {
  for (const channelId of sentMarks.keys()) sendMark(channelId);
});
