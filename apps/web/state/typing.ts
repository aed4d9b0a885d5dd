import { signal } from '@preact/signals';
import { limits } from '../../../lib/base/limits.ts';
import { call, path } from '../api/call.ts';
import { withEntry } from './servers.ts';

/** The users that are typing, by channel, with the time until which that is shown (by `performance.now()`, which no change of the clock moves). */
export const typing = signal<ReadonlyMap<string, ReadonlyMap<string, number>>>(new Map());

/** Replaces the users that are typing in a channel, without those whose time is over. */
function put(channelId: string, users: ReadonlyMap<string, number>): void {
  const now = performance.now();
  const current = new Map([...users].filter(([, until]) => until > now));
  typing.value = withEntry(typing.value, channelId, current.size > 0 ? current : undefined);
}

const usersIn = (channelId: string): ReadonlyMap<string, number> => typing.value.get(channelId) ?? new Map();

/** Records that a user is typing. It is shown for about 9 seconds. */
export function noteTyping(channelId: string, userId: string): void {
  put(channelId, withEntry(usersIn(channelId), userId, performance.now() + limits.typingMs));
  setTimeout(() => put(channelId, usersIn(channelId)), limits.typingMs + 50);
}

/** Stops showing that a user is typing, because the message arrived. */
export const stopTyping = (channelId: string, userId: string): void => {
  if (usersIn(channelId).has(userId)) put(channelId, withEntry(usersIn(channelId), userId, undefined));
};

let lastSent = { channelId: '', at: 0 };

/** The user's own message was posted, which ended the typing state; the next key press is reported at once. */
export const resetTyping = (): void => {
  lastSent = { channelId: '', at: 0 };
};

/** Reports to the service that the user is typing, at most once per half `limits.typingMs`. */
export function sendTyping(channelId: string): void {
  if (lastSent.channelId === channelId && performance.now() - lastSent.at < limits.typingMs / 2) return;
  lastSent = { channelId, at: performance.now() };
  call('POST', path`/api/channels/${channelId}/typing`).catch(() => undefined);
}
