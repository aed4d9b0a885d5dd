import { setTimeout as sleep } from 'node:timers/promises';
import { isId } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
import { getEventDefinition } from '../../lib/contract/events.ts';
import { opcodes } from '../../lib/contract/gateway.ts';
import { findVisiblePresences } from '../../lib/domain/views/presence.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { addWatcher, loadPresences, removeWatcher, sendPresenceTo } from './presence.ts';
import type { GatewayNode, Session, WatchList } from './state.ts';
import { sendControl } from './writer.ts';

/** How long to wait before a watch list is checked again because a store did not answer, in milliseconds. */
const retryDelayMs = 500;

/** Reads the accounts from `d` of a watch frame; null when `watch` is not a list of at most 500 ids. */
export function readWatchedIds(data: unknown): string[] | null {
  const ids: unknown = typeof data === 'object' && data !== null && 'watch' in data ? data.watch : null;
  if (!Array.isArray(ids) || ids.length > limits.accountsWatched) return null;
  return ids.every((id) => isId(id)) ? ids : null;
}

const isClosing = ({ state }: Session): boolean => state === 'closing';

/**
 * Checks which of these accounts of the list the session may see: it watches those from now on, and not the others. Returns those that are offline and newly
 * watched.
 */
async function checkBatch(node: GatewayNode, session: Session, watchList: WatchList, ids: readonly string[]): Promise<string[]> {
  const servers = [...session.places.keys()].flatMap(({ serverId }) => serverId ?? []);
  const { id: ownId } = session.account;
  const visible = await node.presence.runInCheckSlot(() => findVisiblePresences(node.platform, ownId, servers, ids));
  if (isClosing(session)) return [];
  // The client may have sent a new list meanwhile, or a membership may have ended. Such accounts are checked next, so skip them here.
  const isCurrent = (accountId: string): boolean => watchList.accounts.has(accountId) && !watchList.unchecked.has(accountId);
  for (const accountId of ids) {
    if (!isCurrent(accountId)) continue;
    if (visible.has(accountId)) addWatcher(node, session, accountId);
    else removeWatcher(node, session, accountId);
  }
  await loadPresences(node, ids);
  const isNew = (accountId: string): boolean => node.presence.watched.get(accountId)?.watchers.get(session) === false;
  return ids.filter((accountId) => isNew(accountId) && !sendPresenceTo(node, session, accountId));
}

/** Checks the unchecked accounts of a list until none is left, one batch at a time, and answers the client. Retries while a store fails. Never rejects. */
async function checkWatchList(node: GatewayNode, session: Session, watchList: WatchList): Promise<void> {
  if (watchList.isChecking) return;
  watchList.isChecking = true;
  while ((watchList.unchecked.size > 0 || watchList.isReplyPending) && !isClosing(session)) {
    const ids = [...watchList.unchecked];
    const { isReplyPending } = watchList;
    watchList.unchecked.clear();
    watchList.isReplyPending = false;
    try {
      const offline = ids.length > 0 ? await checkBatch(node, session, watchList, ids) : [];
      // Accounts that it may see again can have gone offline while it did not watch them.
      if (isReplyPending || offline.length > 0) sendControl(node, session.socket, { op: opcodes.watch.code, d: { offline } });
    } catch (error) {
      node.platform.log.debug({ err: error, session: session.id }, 'checking a watch list failed; retrying');
      for (const id of ids) if (watchList.accounts.has(id)) watchList.unchecked.add(id);
      watchList.isReplyPending ||= isReplyPending;
      await sleep(retryDelayMs);
    }
  }
  watchList.isChecking = false;
}

/** Replaces the accounts that the session watches by `ids`. */
export function watchAccounts(node: GatewayNode, session: Session, ids: readonly string[]): void {
  session.watchList ??= { accounts: new Set(), unchecked: new Set(), isChecking: false, isReplyPending: false };
  const { watchList } = session;
  const wanted = new Set(ids);
  for (const id of watchList.accounts) {
    if (wanted.has(id)) continue;
    watchList.accounts.delete(id);
    watchList.unchecked.delete(id);
    removeWatcher(node, session, id);
  }
  for (const id of wanted) {
    if (watchList.accounts.has(id)) continue;
    watchList.accounts.add(id);
    watchList.unchecked.add(id);
  }
  watchList.isReplyPending = true;
  void checkWatchList(node, session, watchList);
}

/** Checks all watched accounts again, after the session joined or left a server. */
export function recheckWatches(node: GatewayNode, session: Session): void {
  const { watchList } = session;
  if (!watchList) return;
  for (const id of watchList.accounts) watchList.unchecked.add(id);
  void checkWatchList(node, session, watchList);
}

/** If the entry says that a member joined or left a server, checks again whether these sessions may watch that account. */
export function recheckMember(node: GatewayNode, sessions: Iterable<Session>, { head: { name, member } }: Entry): void {
  if (member === undefined || getEventDefinition(name).lifecycle === undefined) return;
  for (const session of sessions) {
    if (!session.watchList?.accounts.has(member)) continue;
    session.watchList.unchecked.add(member);
    void checkWatchList(node, session, session.watchList);
  }
}
