import { leaveTopics } from './audience.ts';
import { op } from './frames.ts';
import { closeSocket, say } from './outlet.ts';
import type { Departure, GatewayNode, Session } from './state.ts';

/** How many departures are remembered while Redis is away; sessions beyond them end by themselves within 6 minutes. */
const owedMost = 20_000;

/** Tells Redis that a session was given up; tried again each second while Redis does not answer, as presence must not show who is gone (quality 1, P12). */
export async function depart(node: GatewayNode, departure: Departure): Promise<void> {
  try {
    await node.platform.sessions.leave(departure, departure.how);
    node.owed.delete(departure.owner);
  } catch {
    if (node.owed.size < owedMost) node.owed.set(departure.owner, departure);
  }
}

/**
 * Gives a session up on this node. `end`: for good; `wait`: it can be resumed; `lost`: it is no longer this socket's. A person's session always ends.
 * The socket is the caller's to close.
 */
export function drop(node: GatewayNode, session: Session, how: 'end' | 'wait' | 'lost'): void {
  if (!session.open) return;
  session.open = false;
  session.socket.session = null;
  const { account } = session;
  if (node.sessions.get(session.id) === session) node.sessions.delete(session.id);
  node.behind.delete(session);
  account.sessions.delete(session);
  if (session.ready) node.metrics.sockets.dec({ kind: account.bot ? 'bot' : 'person' });
  if (account.sessions.size === 0) leaveTopics(node, account);
  if (how === 'lost') return;
  void depart(node, { id: session.id, accountId: account.id, owner: session.owner, how: account.bot ? how : 'end' });
}

/** Ends a session whose continuity cannot be proven: op 9, not resumable, and the socket is closed (quality 1, P2). */
export function invalidate(node: GatewayNode, session: Session, reason: string): void {
  if (!session.open) return;
  drop(node, session, 'end');
  say(node, session.socket, { op: op.invalid, d: false });
  closeSocket(node, session.socket, 'lost', reason);
}

/** Sends a client elsewhere: op 7, and the socket is closed; a bot's session waits to be resumed. */
export function sendAway(node: GatewayNode, session: Session, why: 'lost' | 'restart', reason: string): void {
  if (!session.open) return;
  drop(node, session, 'wait');
  say(node, session.socket, { op: op.reconnect, d: null });
  closeSocket(node, session.socket, why, reason);
}
