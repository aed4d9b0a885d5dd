import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../../lib/base/group-by.ts';
import type { EventData } from '../../lib/contract/events.ts';
import { accountsOf } from '../../lib/domain/accounts/public-profiles.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { keptPresence, readKeptPresence } from '../../lib/store/redis/log/presence.ts';
import type { Control } from '../../lib/store/redis/log/reader.ts';
import type { GatewayNode, PresenceState, Session, WatchedAccount } from './state.ts';
import { sendUnlogged } from './unlogged.ts';

/** How many presences one message from Redis holds. */
const presencesAtOnce = 500;
/** How long such a message may take to arrive, in milliseconds. */
const readMs = 5_000;
/** How long to wait before a failed request to Redis is repeated, in milliseconds. */
const againMs = 50;

/** Creates the presence state of a node that watches no account yet. `inCheckSlot` limits how many watch lists are checked at once. */
export const createPresenceState = (inCheckSlot: PresenceState['inCheckSlot']): PresenceState => ({
  watched: new Map(),
  bots: new Set(),
  reads: new Map(),
  nextRead: 1,
  generations: new Map(),
  inCheckSlot,
});

/** The watchers that have already been sent the account's presence, or the answer that it is offline. */
function* informed({ watchers }: WatchedAccount): Iterable<Session> {
  for (const [session, isInformed] of watchers) if (isInformed) yield session;
}

async function readSome({ log, presence }: GatewayNode, k: number, ids: readonly string[]): Promise<void> {
  const id = presence.nextRead++;
  const reading = new Promise<void>((resolve, reject) => presence.reads.set(id, { resolve: () => resolve(), reject }));
  reading.catch(() => undefined); // it may reject before it is awaited
  const late = setTimeout(() => presence.reads.get(id)?.reject(new Error('presences did not come')), readMs);
  try {
    await log.sendPresences(k, id, ids);
    await reading;
  } finally {
    clearTimeout(late);
    presence.reads.delete(id);
  }
}

/** Subscribes to the presences of these accounts, then reads them. In this order, no change is missed. Rejects while Redis does not answer. */
async function subscribeThenRead(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const byPartition = groupBy(ids, (id) => node.log.partitionOf(accountPlace(id)));
  const readPart = async ([k, part]: [number, string[]]): Promise<void> => {
    await node.log.watch(k, part);
    for (let from = 0; from < part.length; from += presencesAtOnce) await readSome(node, k, part.slice(from, from + presencesAtOnce));
  };
  await Promise.all([...byPartition].map(readPart));
}

/** Makes a session a watcher of an account. The caller has checked that the session may see the account's presence. */
export function addWatcher({ presence }: GatewayNode, session: Session, accountId: string): void {
  const watched = presence.watched.get(accountId) ?? { watchers: new Map(), kept: undefined, loading: null };
  presence.watched.set(accountId, watched);
  if (!watched.watchers.has(session)) watched.watchers.set(session, false);
}

/** Removes a session from the watchers of an account. After the last watcher, the node unsubscribes from the account's presence. */
export function removeWatcher({ presence, log }: GatewayNode, session: Session, accountId: string): void {
  const watched = presence.watched.get(accountId);
  if (!watched?.watchers.delete(session) || watched.watchers.size > 0) return;
  presence.watched.delete(accountId);
  log.unwatch(accountId);
}

/** Waits until the presences of these watched accounts are known. Rejects when Redis does not answer. */
export async function knowPresences(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const known = ids.flatMap((id) => node.presence.watched.get(id) ?? []);
  const fresh = ids.filter((id) => {
    const watched = node.presence.watched.get(id);
    return watched?.kept === undefined && watched?.loading === null;
  });
  if (fresh.length > 0) {
    const loading = subscribeThenRead(node, fresh);
    for (const id of fresh) {
      const watched = node.presence.watched.get(id) as WatchedAccount;
      watched.loading = loading.finally(() => {
        watched.loading = null;
      });
      watched.loading.catch(() => undefined); // the callers that await it get the error
    }
  }
  for (const { loading } of known) await loading;
}

/** Sends the account's presence, which must be known, to a new watcher. Sends nothing and returns false when the account is offline. */
export function informWatcher(node: GatewayNode, session: Session, accountId: string): boolean {
  const watched = node.presence.watched.get(accountId);
  watched?.watchers.set(session, true);
  if (!watched?.kept) return false;
  sendUnlogged(node, [session], 'PRESENCE_UPDATE', readKeptPresence(accountId, watched.kept));
  return true;
}

function receiveForBots(node: GatewayNode, data: EventData<'PRESENCE_UPDATE'>, servers: readonly string[]): void {
  const { bots, watched } = node.presence;
  const watchers = watched.get(data.userId)?.watchers;
  const receivers = new Set<Session>();
  for (const id of servers)
    for (const session of node.places.get(serverPlace(id))?.sessions ?? [])
      if (bots.has(session) && session.account.id !== data.userId && !watchers?.get(session)) receivers.add(session);
  if (receivers.size > 0) sendUnlogged(node, receivers, 'PRESENCE_UPDATE', data);
}

/** Handles a published presence: sends it to the watchers, or with `servers` to bots in these servers. */
export function receivePresence(node: GatewayNode, { data, servers }: Extract<Control, { kind: 'presence' }>): void {
  if (servers) return receiveForBots(node, data, servers);
  const watched = node.presence.watched.get(data.userId);
  if (!watched) return;
  watched.kept = keptPresence(data);
  sendUnlogged(node, informed(watched), 'PRESENCE_UPDATE', data);
}

/** Sends that accounts went offline during an interruption. Redis does not keep the custom status of offline accounts, so it is read from the database. */
async function sendOffline(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const accounts = await accountsOf(node.platform, ids).catch(() => null);
  for (const userId of ids) {
    const watched = node.presence.watched.get(userId);
    if (watched?.kept !== null) continue;
    const customStatus = accounts?.get(userId)?.customStatus ?? null;
    sendUnlogged(node, informed(watched), 'PRESENCE_UPDATE', { userId, status: 'offline', customStatus });
  }
}

/** Handles the last published presences, which this node requested. Sends those that changed during an interruption to their watchers. */
export function receivePresences(node: GatewayNode, { id, accounts, kept }: Extract<Control, { kind: 'presences' }>): void {
  const wentOffline: string[] = [];
  for (const [at, accountId] of accounts.entries()) {
    const watched = node.presence.watched.get(accountId);
    const value = kept[at];
    const now = value && value !== '?' ? value : null;
    if (!watched || watched.kept === now) continue;
    watched.kept = now;
    if (now) sendUnlogged(node, informed(watched), 'PRESENCE_UPDATE', readKeptPresence(accountId, now));
    else if (!informed(watched)[Symbol.iterator]().next().done) wentOffline.push(accountId);
  }
  if (wentOffline.length > 0) void sendOffline(node, wentOffline);
  node.presence.reads.get(id)?.resolve(0);
}

/** Subscribes a bot's session that asked for PRESENCE_UPDATE to the presences of its small servers. Does nothing for other sessions. */
export async function addPresenceBot({ presence, log, lanes }: GatewayNode, session: Session): Promise<void> {
  if (!session.account.bot || !session.events?.has('PRESENCE_UPDATE')) return;
  presence.bots.add(session);
  if (presence.bots.size > 1) return;
  // If the connection is down, `recoverPresences` subscribes when it is back.
  await Promise.all(lanes.map(({ k }) => log.watchForBots(k).catch(() => undefined)));
}

/** Stops sending presences to a session. */
export function dropPresences(node: GatewayNode, session: Session): void {
  const { presence, log } = node;
  for (const id of session.watch?.accounts ?? []) removeWatcher(node, session, id);
  if (presence.bots.delete(session) && presence.bots.size === 0) log.unwatchForBots();
}

/** After the connection of a partition was interrupted: subscribes to all its presences, reads them, and sends what changed meanwhile. Never rejects. */
export async function recoverPresences(node: GatewayNode, k: number): Promise<void> {
  const { presence, log } = node;
  const generation = (presence.generations.get(k) ?? 0) + 1;
  presence.generations.set(k, generation);
  for (const { reject } of presence.reads.values()) reject(new Error('interrupted'));
  while (generation === presence.generations.get(k) && !node.closing)
    try {
      if (!log.isUp(k)) await sleep(againMs);
      else {
        if (presence.bots.size > 0) await log.watchForBots(k);
        await subscribeThenRead(
          node,
          [...presence.watched.keys()].filter((id) => log.partitionOf(accountPlace(id)) === k),
        );
        return;
      }
    } catch (error) {
      node.platform.log.debug({ err: error, partition: k }, 'reading presences failed; retrying');
      await sleep(againMs);
    }
}
