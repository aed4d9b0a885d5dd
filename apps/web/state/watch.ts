import { limits } from '../../../lib/base/limits.ts';
import { connection, sendWatch } from '../api/gateway.ts';
import { presenceOf, putPresence, setReceived } from './people.ts';
import { myId } from './session.ts';

/** How long changes are collected before a frame is sent, in milliseconds. */
const collectMs = 100;
/** So many frames may be sent at once, then one in so many milliseconds: the gateway closes a connection that sends too much. */
const burst = 5;
const apartMs = 3_000;

/** The accounts that each part of the page shows. */
const shown = new Map<symbol, readonly string[]>();
let timer: ReturnType<typeof setTimeout> | undefined;
/** When the last frame would have been sent if all were `apartMs` apart. */
let evenAt = Number.NEGATIVE_INFINITY;
/** What the last frame on this connection named. */
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

/** Notes accounts that are offline; not the page's own, whose connection may not have been published yet. */
export function putOffline(userIds: readonly string[]): void {
  for (const id of userIds) {
    if (id === myId()) continue;
    const known = presenceOf(id);
    if (known?.status !== 'offline') putPresence(id, { status: 'offline', customStatus: known?.customStatus ?? null });
  }
}
