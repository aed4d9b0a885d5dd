import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import { call, path } from '../api/call.ts';

/** The users that are typing, by channel, with the time until which that is shown (milliseconds of this page's clock). */
export const typing = signal<ReadonlyMap<string, ReadonlyMap<string, number>>>(new Map());

function set(channelId: string, userId: string, until: number | undefined): void {
  const now = Date.now();
  const users = new Map([...(typing.value.get(channelId) ?? [])].filter(([, end]) => end > now));
  if (until === undefined) users.delete(userId);
  else users.set(userId, until);
  const next = new Map(typing.value);
  if (users.size) next.set(channelId, users);
  else next.delete(channelId);
  typing.value = next;
}

/** Records that a user is typing. It is shown for about 9 seconds. */
export function noteTyping(channelId: string, userId: string): void {
  set(channelId, userId, Date.now() + limits.typingMs);
  setTimeout(() => set(channelId, userId, typing.value.get(channelId)?.get(userId)), limits.typingMs + 50);
}

/** Stops showing that a user is typing, because the message arrived. */
export const stopTyping = (channelId: string, userId: string): void => {
  if (typing.value.get(channelId)?.has(userId)) set(channelId, userId, undefined);
};

let lastSent = { channelId: '', at: 0 };

/** The user's own message was posted, which ended the typing state; the next key press is reported at once. */
export const resetTyping = (): void => {
  lastSent = { channelId: '', at: 0 };
};

/** Reports to the service that the user is typing, at most once per half `limits.typingMs`. */
export function sendTyping(channelId: string): void {
  if (lastSent.channelId === channelId && Date.now() - lastSent.at < limits.typingMs / 2) return;
  lastSent = { channelId, at: Date.now() };
  call('POST', path`/api/channels/${channelId}/typing`).catch(() => undefined);
}
