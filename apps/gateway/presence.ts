import { setTimeout as sleep } from 'node:timers/promises';
import { groupBy } from '../../lib/base/group-by.ts';
import { toParts } from '../../lib/base/parts.ts';
import type { EventData } from '../../lib/contract/events.ts';
import { loadAccounts } from '../../lib/domain/views/accounts.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import type { ControlMessage } from '../../lib/store/redis/log/reader.ts';
import { parseStoredPresence, toStoredPresence } from '../../lib/store/redis/presence.ts';
import type { GatewayNode, PresenceState, Session, WatchedAccount } from './state.ts';
import { sendUnloggedEvent } from './unlogged.ts';

/** How many presences one message from Redis holds. */
const presencesPerMessage = 500;
/** How long such a message may take to arrive, in milliseconds. */
const readTimeoutMs = 5_000;
/** How long to wait before a failed request to Redis is repeated, in milliseconds. */
const retryDelayMs = 50;

/** Creates the presence state of a node that watches no account yet. `runInCheckSlot` limits how many watch lists are checked at once. */
export const createPresenceState = (runInCheckSlot: PresenceState['runInCheckSlot']): PresenceState => ({
  watched: new Map(),
  bots: new Set(),
  pendingReads: new Map(),
  nextReadId: 1,
  interruptions: new Map(),
  runInCheckSlot,
});

/** The watchers that have already been sent the account's presence, or the answer that it is offline. */
function* informedWatchers({ watchers }: WatchedAccount): Iterable<Session> {
  for (const [session, isInformed] of watchers) if (isInformed) yield session;
}

async function requestPresences({ eventLog, presence }: GatewayNode, partition: number, ids: readonly string[]): Promise<void> {
  const id = presence.nextReadId++;
  const received = new Promise<void>((resolve, reject) => presence.pendingReads.set(id, { resolve: () => resolve(), reject }));
  received.catch(() => undefined); // it may reject before it is awaited
  const timer = setTimeout(() => presence.pendingReads.get(id)?.reject(new Error('the presences did not arrive in time')), readTimeoutMs);
  try {
    await eventLog.publishPresences(partition, id, ids);
    await received;
  } finally {
    clearTimeout(timer);
    presence.pendingReads.delete(id);
  }
}

/** Subscribes to the presences of these accounts, then reads them. In this order, no change is missed. Rejects while Redis does not answer. */
async function subscribeAndRead(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const byPartition = groupBy(ids, (id) => node.eventLog.partitionOf(accountPlace(id)));
  const readPartition = async ([partition, partitionIds]: [number, string[]]): Promise<void> => {
    await node.eventLog.watch(partition, partitionIds);
    for (const part of toParts(partitionIds, presencesPerMessage)) await requestPresences(node, partition, part);
  };
  await Promise.all([...byPartition].map(readPartition));
}

/** Makes a session a watcher of an account. The caller has checked that the session may see the account's presence. */
export function addWatcher({ presence }: GatewayNode, session: Session, accountId: string): void {
  const watched = presence.watched.get(accountId) ?? { watchers: new Map(), published: undefined, load: null };
  presence.watched.set(accountId, watched);
  if (!watched.watchers.has(session)) watched.watchers.set(session, false);
}

/** Removes a session from the watchers of an account. After the last watcher, the node unsubscribes from the account's presence. */
export function removeWatcher({ presence, eventLog }: GatewayNode, session: Session, accountId: string): void {
  const watched = presence.watched.get(accountId);
  if (!watched?.watchers.delete(session) || watched.watchers.size > 0) return;
  presence.watched.delete(accountId);
  eventLog.unwatch(accountId);
}

/** Waits until the presences of these watched accounts are known. Rejects when Redis does not answer. */
export async function loadPresences(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const watchedAccounts = ids.flatMap((id) => node.presence.watched.get(id) ?? []);
  const newIds = ids.filter((id) => {
    const watched = node.presence.watched.get(id);
    return watched?.published === undefined && watched?.load === null;
  });
  if (newIds.length > 0) {
    const load = subscribeAndRead(node, newIds);
    for (const id of newIds) {
      const watched = node.presence.watched.get(id) as WatchedAccount;
      watched.load = load.finally(() => {
        watched.load = null;
      });
      watched.load.catch(() => undefined); // the callers that await it get the error
    }
  }
  for (const { load } of watchedAccounts) await load;
}

/** Sends the account's presence, which must be known, to a new watcher. Sends nothing and returns false when the account is offline. */
export function sendPresenceTo(node: GatewayNode, session: Session, accountId: string): boolean {
  const watched = node.presence.watched.get(accountId);
  watched?.watchers.set(session, true);
  if (!watched?.published) return false;
  sendUnloggedEvent(node, [session], 'PRESENCE_UPDATE', parseStoredPresence(accountId, watched.published));
  return true;
}

function handleBotPresence(node: GatewayNode, data: EventData<'PRESENCE_UPDATE'>, servers: readonly string[]): void {
  const { bots, watched } = node.presence;
  const watchers = watched.get(data.userId)?.watchers;
  const receivers = new Set<Session>();
  for (const id of servers)
    for (const session of node.places.get(serverPlace(id))?.sessions ?? [])
      if (bots.has(session) && session.account.id !== data.userId && !watchers?.get(session)) receivers.add(session);
  if (receivers.size > 0) sendUnloggedEvent(node, receivers, 'PRESENCE_UPDATE', data);
}

/** Handles a published presence: sends it to the watchers, or with `servers` to bots in these servers. */
export function handlePresence(node: GatewayNode, { data, servers }: Extract<ControlMessage, { kind: 'presence' }>): void {
  if (servers) return handleBotPresence(node, data, servers);
  const watched = node.presence.watched.get(data.userId);
  if (!watched) return;
  watched.published = toStoredPresence(data);
  sendUnloggedEvent(node, informedWatchers(watched), 'PRESENCE_UPDATE', data);
}

/** Sends that accounts went offline during an interruption. Redis does not keep the custom status of offline accounts, so it is read from the database. */
async function sendOfflinePresences(node: GatewayNode, ids: readonly string[]): Promise<void> {
  const accounts = await loadAccounts(node.platform, ids).catch(() => null);
  for (const userId of ids) {
    const watched = node.presence.watched.get(userId);
    if (watched?.published !== null) continue;
    const customStatus = accounts?.get(userId)?.customStatus ?? null;
    sendUnloggedEvent(node, informedWatchers(watched), 'PRESENCE_UPDATE', { userId, status: 'offline', customStatus });
  }
}

/** Handles the last published presences, which this node requested. Sends those that changed during an interruption to their watchers. */
export function handlePresences(
  node: GatewayNode,
  { id, accounts, kept: presences }: Extract<ControlMessage, { kind: 'presences' }>,
): void {
  const wentOffline: string[] = [];
  for (const [index, accountId] of accounts.entries()) {
    const watched = node.presence.watched.get(accountId);
    const stored = presences[index];
    const published = stored && stored !== '?' ? stored : null;
    if (!watched || watched.published === published) continue;
    watched.published = published;
    if (published) sendUnloggedEvent(node, informedWatchers(watched), 'PRESENCE_UPDATE', parseStoredPresence(accountId, published));
    else if (!informedWatchers(watched)[Symbol.iterator]().next().done) wentOffline.push(accountId);
  }
  if (wentOffline.length > 0) void sendOfflinePresences(node, wentOffline);
  node.presence.pendingReads.get(id)?.resolve(0);
}

/** Subscribes a bot's session that asked for PRESENCE_UPDATE to the presences of its small servers. Does nothing for other sessions. */
export async function addPresenceBot({ presence, eventLog, lanes }: GatewayNode, session: Session): Promise<void> {
  if (!session.account.isBot || !session.eventFilter?.has('PRESENCE_UPDATE')) return;
  presence.bots.add(session);
  if (presence.bots.size > 1) return;
  // If the connection is down, `recoverPresences` subscribes when it is back.
  await Promise.all(lanes.map(({ partition }) => eventLog.watchForBots(partition).catch(() => undefined)));
}

/** Stops sending presences to a session. */
export function removePresences(node: GatewayNode, session: Session): void {
  const { presence, eventLog } = node;
  for (const id of session.watchList?.accounts ?? []) removeWatcher(node, session, id);
  if (presence.bots.delete(session) && presence.bots.size === 0) eventLog.unwatchForBots();
}

/** After the connection of a partition was interrupted: subscribes to all its presences, reads them, and sends what changed meanwhile. Never rejects. */
export async function recoverPresences(node: GatewayNode, partition: number): Promise<void> {
  const { presence, eventLog } = node;
  const interruptions = (presence.interruptions.get(partition) ?? 0) + 1;
  presence.interruptions.set(partition, interruptions);
  for (const { reject } of presence.pendingReads.values()) reject(new Error('interrupted'));
  while (interruptions === presence.interruptions.get(partition) && !node.isClosing)
    try {
      if (!eventLog.isUp(partition)) await sleep(retryDelayMs);
      else {
        if (presence.bots.size > 0) await eventLog.watchForBots(partition);
        await subscribeAndRead(
          node,
          [...presence.watched.keys()].filter((id) => eventLog.partitionOf(accountPlace(id)) === partition),
        );
        return;
      }
    } catch (error) {
      node.platform.log.debug({ err: error, partition }, 'reading presences failed; retrying');
      await sleep(retryDelayMs);
    }
}
