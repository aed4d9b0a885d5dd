import { credentialOf } from '../../lib/domain/accounts/credentials.ts';
import { epochOf } from '../../lib/store/redis/log/epochs.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import type { Control } from '../../lib/store/redis/log/reader.ts';
import { dropSession, refreshSession } from './disconnect.ts';
import { advance, laneOf } from './lane.ts';
import { receivePresence, receivePresences } from './presence.ts';
import { applyInOrder, interrupt } from './receive.ts';
import type { GatewayNode, LocalAccount, Session } from './state.ts';
import { sendUnlogged } from './unlogged.ts';
import { forgetMember } from './visibility.ts';
import { closeSocket } from './writer.ts';

/** Handles a change of an account's membership of a server. */
function receiveMember(node: GatewayNode, { place: name, accountId }: Extract<Control, { kind: 'member' }>): void {
  const place = node.places.get(name);
  if (!place || !(node.accounts.has(accountId) || place.members.has(accountId))) return;
  const lane = laneOf(node, place);
  if (lane.state === 'held') return; // all access data is reloaded when the lane is live again
  applyInOrder(node, lane, () => forgetMember(node, place, accountId));
}

/** Handles a mark. Redis published it after all entries up to `n`, so an entry of these that the node has not received was missed. */
function receiveMark(node: GatewayNode, { k, n, id, active }: Extract<Control, { kind: 'mark' }>): void {
  const lane = laneOf(node, { k });
  if (lane.state === 'held') return;
  if (epochOf(n) !== lane.epoch) return interrupt(node, lane);
  const names = Array.isArray(active) ? (active as string[]) : [];
  for (const [at, name] of names.entries()) {
    const place = at % 2 === 0 ? node.places.get(name) : undefined;
    if (place && Number(names[at + 1]) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  }
  if (lane.gaps.size > 0) return interrupt(node, lane);
  lane.checked = n;
  lane.known = Math.max(lane.known, n);
  lane.marks.get(id)?.arrived?.();
  applyInOrder(node, lane, () => {
    advance(node, lane, n);
    lane.marks.get(id)?.resolve(n);
  });
}

/** Sends an event that is in no log to the sessions in these servers and of these accounts. */
function receiveBroadcast(node: GatewayNode, { name, data, servers, accounts }: Extract<Control, { kind: 'broadcast' }>): void {
  const receivers = new Set<Session>();
  for (const id of servers) for (const session of node.places.get(serverPlace(id))?.sessions ?? []) receivers.add(session);
  for (const id of accounts) for (const session of node.accounts.get(id)?.sessions ?? []) receivers.add(session);
  if (receivers.size > 0) sendUnlogged(node, receivers, name, data);
}

/** Checks the token of each session again and closes the socket with 4004 if it is no longer valid. Retried each second while the database does not answer. */
export async function checkTokens(node: GatewayNode, account: LocalAccount): Promise<void> {
  try {
    for (const session of account.sessions) {
      const credential = await credentialOf(node.platform, session.token);
      if (credential?.account._id === account.id) continue;
      dropSession(node, session, 'wait');
      closeSocket(node, session.socket, 'badToken', 'the token is no longer valid');
    }
  } catch (error) {
    if (node.accounts.get(account.id) === account) node.needsRecheck.add(account);
    node.platform.log.debug({ err: error, accountId: account.id }, 'checking tokens failed; retrying');
  }
}

/** Handles a control message. */
export function receiveControl(node: GatewayNode, message: Control): void {
  if (message.kind === 'mark') return receiveMark(node, message);
  if (message.kind === 'member') return receiveMember(node, message);
  if (message.kind === 'broadcast') return receiveBroadcast(node, message);
  if (message.kind === 'presence') return receivePresence(node, message);
  if (message.kind === 'presences') return receivePresences(node, message);
  const account = node.accounts.get(message.accountId);
  if (!account) return;
  if (message.kind === 'access') void checkTokens(node, account);
  else {
    // The message may be older than a later takeover by a socket of this node. So ask Redis who owns the session now.
    const session = node.sessions.get(message.session);
    if (session && session.owner !== message.owner) void refreshSession(node, session, null);
  }
}
