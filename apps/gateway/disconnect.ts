import { limits } from '../../lib/base/limits.ts';
import { op } from './frames.ts';
import { positionOfNode } from './lane.ts';
import { leavePlace } from './places.ts';
import { dropPresences } from './presence.ts';
import { type GatewayNode, type GatewaySocket, monotonic, type Session, type SessionRelease } from './state.ts';
import { closeSocket, isOpen, sendControl } from './writer.ts';

/** How many departures are remembered while Redis is away; sessions beyond them end by themselves within 6 minutes. */
const pendingReleasesMost = 20_000;

/** Tells Redis that a session was given up; tried again each second while Redis does not answer, as presence must not show who is gone. */
export async function releaseSession(node: GatewayNode, departure: SessionRelease): Promise<void> {
  try {
    await node.platform.sessions.leave(departure, departure.how);
    node.pendingReleases.delete(departure.owner);
  } catch {
    if (node.pendingReleases.size < pendingReleasesMost) node.pendingReleases.set(departure.owner, departure);
  }
}

/** Gives a session up on this node. `end`: for good; `wait`: it can be resumed; `lost`: it is no longer this socket's. The socket is the caller's to close. */
export function dropSession(node: GatewayNode, session: Session, how: 'end' | 'wait' | 'lost'): void {
  if (session.state === 'closing') return;
  if (session.state !== 'connecting') node.metrics.sockets.dec({ kind: session.account.bot ? 'bot' : 'person' });
  session.state = 'closing';
  session.socket.session = null;
  const { account } = session;
  if (node.sessions.get(session.id) === session) node.sessions.delete(session.id);
  for (const place of session.places) leavePlace(node, session, place);
  dropPresences(node, session);
  account.sessions.delete(session);
  if (account.sessions.size === 0 && node.accounts.get(account.id) === account) {
    node.accounts.delete(account.id);
    node.needsRecheck.delete(account);
  }
  if (how !== 'lost') void releaseSession(node, { id: session.id, accountId: account.id, owner: session.owner, how });
}

/** Whether the node still holds the session: it may have given it up while a store was asked. */
export const isHeld = ({ state }: Session): boolean => state !== 'closing';

/** The resume failed for good: the client gets op 9, and may identify on the same socket. */
export function refuseResume(node: GatewayNode, socket: GatewaySocket, reason: string): void {
  if (socket.session) dropSession(node, socket.session, 'lost');
  if (!isOpen(socket)) return;
  socket.stage = 'new';
  socket.deadline = monotonic() + limits.gatewayIdentifyMs;
  sendControl(node, socket, { op: op.invalid, d: { resumable: false, reason } });
}

/** Ends a session whose position is void: op 9, not resumable. The socket of one that was live is closed. */
export function invalidate(node: GatewayNode, session: Session, reason: string): void {
  const { socket, state } = session;
  if (state === 'closing') return;
  if (state === 'connecting') return refuseResume(node, socket, reason);
  dropSession(node, session, 'end');
  sendControl(node, socket, { op: op.invalid, d: { resumable: false, reason } });
  closeSocket(node, socket, 'lost', reason);
}

/** Notes what the client has received, and keeps the session alive; closes the socket of a session that another holds now. Never rejects. */
export async function refreshSession(node: GatewayNode, session: Session, received: unknown): Promise<void> {
  // What was sent after the event that the client names last is nothing: so it has been given all that the node has.
  const isUpToDate = session.state === 'live' && received === session.s;
  const noted = isUpToDate ? { s: session.s, at: positionOfNode(node) } : undefined;
  const { id, owner, account } = session;
  const kept = await node.platform.sessions.refresh({ id, accountId: account.id, owner, received: noted }).catch(() => true);
  if (!kept) loseSession(node, session);
}

/** Closes the socket of a session that another socket holds now, or that is gone. */
export function loseSession(node: GatewayNode, session: Session): void {
  if (session.state === 'closing') return;
  dropSession(node, session, 'lost');
  closeSocket(node, session.socket, 'lost', 'the session is not held here any more');
}
