import { setTimeout as sleep } from 'node:timers/promises';
import { isId } from '../../lib/base/ids.ts';
import { limits } from '../../lib/base/limits.ts';
import { traitsOf } from '../../lib/contract/events.ts';
import { presencesVisibleTo } from '../../lib/domain/accounts/presence.ts';
import type { Entry } from '../../lib/store/redis/log/entry.ts';
import { op } from './frames.ts';
import { addWatcher, informWatcher, knowPresences, removeWatcher } from './presence.ts';
import type { GatewayNode, Session, WatchList } from './state.ts';
import { sendControl } from './writer.ts';

/** How long to wait before a watch list is checked again because a store did not answer, in milliseconds. */
const againMs = 500;

/** Reads the accounts from `d` of a watch frame; null when `watch` is not a list of at most 500 ids. */
export function readWatch(d: unknown): string[] | null {
  const ids: unknown = typeof d === 'object' && d !== null && 'watch' in d ? d.watch : null;
  if (!Array.isArray(ids) || ids.length > limits.accountsWatched) return null;
  return ids.every((id) => isId(id)) ? ids : null;
}

const isClosing = ({ state }: Session): boolean => state === 'closing';

/**
 * Checks which of these accounts of the list the session may see: it watches those from now on, and not the others. Returns those that are offline and newly
 * watched.
 */
async function checkSome(node: GatewayNode, session: Session, watch: WatchList, ids: readonly string[]): Promise<string[]> {
  const servers = [...session.places].flatMap(({ serverId }) => serverId ?? []);
  const { id } = session.account;
  const visible = await node.presence.inCheckSlot(() => presencesVisibleTo(node.platform, id, servers, ids));
  if (isClosing(session)) return [];
  // The client may have sent a new list meanwhile, or a membership may have ended. Such accounts are checked next, so skip them here.
  const isSettled = (one: string): boolean => watch.accounts.has(one) && !watch.unchecked.has(one);
  for (const one of ids) {
    if (!isSettled(one)) continue;
    if (visible.has(one)) addWatcher(node, session, one);
    else removeWatcher(node, session, one);
  }
  await knowPresences(node, ids);
  const isNew = (one: string): boolean => node.presence.watched.get(one)?.watchers.get(session) === false;
  return ids.filter((one) => isNew(one) && !informWatcher(node, session, one));
}

/** Checks the unchecked accounts of a list until none is left, one batch at a time, and answers the client. Retries while a store fails. Never rejects. */
async function check(node: GatewayNode, session: Session, watch: WatchList): Promise<void> {
  if (watch.isChecking) return;
  watch.isChecking = true;
  while ((watch.unchecked.size > 0 || watch.isAsked) && !isClosing(session)) {
    const ids = [...watch.unchecked];
    const { isAsked } = watch;
    watch.unchecked.clear();
    watch.isAsked = false;
    try {
      const offline = ids.length > 0 ? await checkSome(node, session, watch, ids) : [];
      if (isAsked) sendControl(node, session.socket, { op: op.watch, d: { offline } });
    } catch (error) {
      node.platform.log.debug({ err: error, session: session.id }, 'checking a watch list failed; retrying');
      for (const id of ids) if (watch.accounts.has(id)) watch.unchecked.add(id);
      watch.isAsked ||= isAsked;
      await sleep(againMs);
    }
  }
  watch.isChecking = false;
}

/** Replaces the accounts that the session watches by `ids`. */
export function watchAccounts(node: GatewayNode, session: Session, ids: readonly string[]): void {
  session.watch ??= { accounts: new Set(), unchecked: new Set(), isChecking: false, isAsked: false };
  const { watch } = session;
  const wanted = new Set(ids);
  for (const id of watch.accounts) {
    if (wanted.has(id)) continue;
    watch.accounts.delete(id);
    watch.unchecked.delete(id);
    removeWatcher(node, session, id);
  }
  for (const id of wanted) {
    if (watch.accounts.has(id)) continue;
    watch.accounts.add(id);
    watch.unchecked.add(id);
  }
  watch.isAsked = true;
  void check(node, session, watch);
}

/** Checks all watched accounts again, after the session joined or left a server. */
export function recheckWatches(node: GatewayNode, session: Session): void {
  const { watch } = session;
  if (!watch) return;
  for (const id of watch.accounts) watch.unchecked.add(id);
  void check(node, session, watch);
}

/** If the entry says that a member joined or left a server, checks again whether these sessions may watch that account. */
export function recheckMember(node: GatewayNode, sessions: Iterable<Session>, { head: { name, member } }: Entry): void {
  if (member === undefined || traitsOf(name).life === undefined) return;
  for (const session of sessions) {
    if (!session.watch?.accounts.has(member)) continue;
    session.watch.unchecked.add(member);
    void check(node, session, session.watch);
  }
}
