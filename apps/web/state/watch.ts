import { limits } from '../../../lib/base/limits.ts';
import { connection, sendWatch } from '../api/gateway.ts';
import { presenceOf, putPresence, setReceived } from './people.ts';

/** How long changes are collected before the gateway is told, in milliseconds. */
const collectMs = 100;
/** It may be told so often at once, and then once in so many milliseconds: it closes a connection that sends too much. */
const burst = 5;
const apartMs = 3_000;

/** The accounts that each part of the page shows. */
const shown = new Map<symbol, readonly string[]>();
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the gateway would have been told last if it were told as evenly as it may be. */
let evenAt = Number.NEGATIVE_INFINITY;
/** What the gateway was told last on this connection. */
let sent = '';

function send(): void {
  clearTimeout(timer);
  timer = undefined;
  if (connection.value !== 'live') return;
  const ids = [...new Set([...shown.values()].flat())].slice(0, limits.accountsWatched).sort();
  if (ids.join() === sent) return;
  sent = ids.join();
  evenAt = Math.max(evenAt + apartMs, performance.now() - (burst - 1) * apartMs);
  setReceived(ids);
  sendWatch(ids);
}

const sendSoon = (): void => {
  timer ??= setTimeout(send, Math.max(collectMs, evenAt + apartMs - performance.now()));
};

/** Has the presences of these accounts kept up to date while `part` of the page shows them; none: it shows nobody any more. */
export function showPresences(part: symbol, userIds: readonly string[]): void {
  if (userIds.length > 0) shown.set(part, userIds);
  else shown.delete(part);
  sendSoon();
}

/** A connection is live that knows of no watched account. */
export function watchAnew(): void {
  sent = '';
  setReceived([]);
  send();
}

/** Notes accounts that are offline. */
export function putOffline(userIds: readonly string[]): void {
  for (const id of userIds) {
    const known = presenceOf(id);
    if (known?.status !== 'offline') putPresence(id, { status: 'offline', customStatus: known?.customStatus ?? null });
  }
}
