import { limits } from '../../../lib/base/limits.ts';
import { connection, sendWatch } from '../api/gateway.ts';
import { presenceOf, putPresence, setWatched } from './people.ts';
import { myId } from './session.ts';

/** How long changes are collected before a frame is sent, in milliseconds. */
const collectMs = 100;
/** `burst` frames may be sent at once, then one every `intervalMs` milliseconds. The gateway closes a connection that sends more. */
const burst = 5;
const intervalMs = 3_000;

/** The accounts that each part of the page shows. */
const shownAccounts = new Map<symbol, readonly string[]>();
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the last frame would have been sent if all frames were `intervalMs` apart. */
let evenAt = Number.NEGATIVE_INFINITY;
/** The account ids in the last frame of this connection. */
let lastSent = '';

function send(): void {
  clearTimeout(timer);
  timer = undefined;
  if (connection.value !== 'live') return;
  const ids = [...new Set([...shownAccounts.values()].flat())].slice(0, limits.accountsWatched).sort();
  if (ids.join() === lastSent) return;
  lastSent = ids.join();
  evenAt = Math.max(evenAt + intervalMs, performance.now() - (burst - 1) * intervalMs);
  setWatched(ids);
  sendWatch(ids);
}

const sendSoon = (): void => {
  timer ??= setTimeout(send, Math.max(collectMs, evenAt + intervalMs - performance.now()));
};

/** Keeps the presences of these accounts up to date while `part` of the page shows them. An empty list means that the part shows no accounts. */
export function showPresences(part: symbol, userIds: readonly string[]): void {
  if (userIds.length > 0) shownAccounts.set(part, userIds);
  else shownAccounts.delete(part);
  sendSoon();
}

/** Sends the list of watched accounts on a new connection, which has none yet. */
export function sendWatchAgain(): void {
  lastSent = '';
  setWatched([]);
  send();
}

/** Marks accounts as offline, except the user's own, whose connection may not have been published yet. */
export function putOffline(userIds: readonly string[]): void {
  for (const id of userIds) {
    if (id === myId()) continue;
    const known = presenceOf(id);
    if (known?.status !== 'offline') putPresence(id, { status: 'offline', customStatus: known?.customStatus ?? null });
  }
}
