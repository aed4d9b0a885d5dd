import { loadCredential } from '../../lib/domain/access/credentials.ts';
import { getEpoch } from '../../lib/store/redis/log/epochs.ts';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import type { ControlMessage } from '../../lib/store/redis/log/reader.ts';
import { dropSession, refreshSession } from './disconnect.ts';
import { advanceLane, getLane } from './lane.ts';
import { handlePresence, handlePresences } from './presence.ts';
import { interrupt } from './receive.ts';
import type { GatewayNode, LocalAccount, Session } from './state.ts';
import { sendUnloggedEvent } from './unlogged.ts';
import { closeSocket } from './writer.ts';

/** Handles a mark. Redis published it after all entries up to `n`, so an entry of these that the node has not received was missed. */
function handleMark(node: GatewayNode, { k: partition, n: number, id, active }: Extract<ControlMessage, { kind: 'mark' }>): void {
  const lane = getLane(node, { partition });
  if (lane.state === 'interrupted') return;
  if (getEpoch(number) !== lane.epoch) return interrupt(node, lane);
  const names = Array.isArray(active) ? (active as string[]) : [];
  for (const [index, name] of names.entries()) {
    const place = index % 2 === 0 ? node.places.get(name) : undefined;
    if (place && Number(names[index + 1]) > place.lastNumber) lane.gaps.set(place, place.lastNumber);
  }
  if (lane.gaps.size > 0) return interrupt(node, lane);
  lane.verifiedNumber = number;
  advanceLane(node, lane, number);
  lane.pendingMarks.get(id)?.resolve(number);
}

/** Sends an event that is in no log to the sessions in these servers and of these accounts. */
function handleBroadcast(node: GatewayNode, { name, data, servers, accounts }: Extract<ControlMessage, { kind: 'broadcast' }>): void {
  const receivers = new Set<Session>();
  for (const id of servers) for (const session of node.places.get(serverPlace(id))?.sessions ?? []) receivers.add(session);
  for (const id of accounts) for (const session of node.accounts.get(id)?.sessions ?? []) receivers.add(session);
  if (receivers.size > 0) sendUnloggedEvent(node, receivers, name, data);
}

/** Checks the token of each session again and closes the socket with 4004 if it is no longer valid. Retried each second while the database does not answer. */
export async function checkTokens(node: GatewayNode, account: LocalAccount): Promise<void> {
  try {
    for (const session of account.sessions) {
      const credential = await loadCredential(node.platform, session.token);
      if (credential?.account._id === account.id) continue;
      dropSession(node, session, 'suspend');
      closeSocket(node, session.socket, 'badToken', 'The token is no longer valid.');
    }
  } catch (error) {
    if (node.accounts.get(account.id) === account) node.needsRecheck.add(account);
    node.platform.log.debug({ err: error, accountId: account.id }, 'checking tokens failed; retrying');
  }
}

/** Handles a control message. */
export function handleControl(node: GatewayNode, message: ControlMessage): void {
  if (message.kind === 'mark') return handleMark(node, message);
  if (message.kind === 'broadcast') return handleBroadcast(node, message);
  if (message.kind === 'presence') return handlePresence(node, message);
  if (message.kind === 'presences') return handlePresences(node, message);
  const account = node.accounts.get(message.accountId);
  if (!account) return;
  if (message.kind === 'access') void checkTokens(node, account);
  else {
    // The message may be older than a later takeover by a socket of this node. So ask Redis who owns the session now.
    const session = node.sessions.get(message.session);
    if (session && session.owner !== message.owner) void refreshSession(node, session, null);
  }
}
