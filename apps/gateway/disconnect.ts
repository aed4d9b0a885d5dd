import { limits } from '../../lib/base/limits.ts';
import { opcodes } from '../../lib/contract/gateway.ts';
import { getNodePosition } from './lane.ts';
import { leavePlace } from './places.ts';
import { removePresences } from './presence.ts';
import { type GatewayNode, type GatewaySocket, monotonicMs, type Session, type SessionRelease } from './state.ts';
import { closeSocket, isOpen, sendControl } from './writer.ts';

/** How many releases are kept for a retry while Redis does not answer. Sessions beyond that expire in Redis within `limits.sessionRetentionMs`. */
const maxPendingReleases = 20_000;

/** Releases a session in Redis. Retried each second while Redis does not answer, because presence must not show an account that is gone as online. */
export async function releaseSession(node: GatewayNode, release: SessionRelease): Promise<void> {
  try {
    await node.platform.sessions.release(release, release.mode);
    node.pendingReleases.delete(release.owner);
  } catch {
    if (node.pendingReleases.size < maxPendingReleases) node.pendingReleases.set(release.owner, release);
  }
}

/**
 * Removes a session from this node. `end`: the session is over. `suspend`: it can be resumed. `lost`: it is not released in Redis, because another socket owns
 * it, it is gone, or the caller releases it. The caller closes the socket.
 */
export function dropSession(node: GatewayNode, session: Session, mode: 'end' | 'suspend' | 'lost'): void {
  if (session.state === 'closing') return;
  if (session.state !== 'connecting') node.metrics.sockets.dec({ kind: session.account.isBot ? 'bot' : 'person' });
  session.state = 'closing';
  session.socket.session = null;
  const { account } = session;
  if (node.sessions.get(session.id) === session) node.sessions.delete(session.id);
  for (const place of session.places.keys()) leavePlace(node, session, place);
  removePresences(node, session);
  account.sessions.delete(session);
  if (account.sessions.size === 0 && node.accounts.get(account.id) === account) {
    node.accounts.delete(account.id);
    node.needsRecheck.delete(account);
  }
  if (mode !== 'lost') void releaseSession(node, { id: session.id, accountId: account.id, owner: session.owner, mode });
}

/** Whether the node still holds the session. Check this after each call of a store, because the session may have been dropped meanwhile. */
export const isActive = ({ state }: Session): boolean => state !== 'closing';

/** Why a session cannot continue: the label `reason` of the metric, and the text that op 9 tells the client. */
export const invalidReasons = {
  id_missing: 'sessionId is missing or is not text.',
  session_unknown: 'The session does not exist.',
  position_unknown: 'The position is unknown.',
  events_lost: 'Earlier events were lost.',
  too_many_missed: 'Too many events were missed.',
} as const;

/** A reason of op 9. */
export type InvalidReason = keyof typeof invalidReasons;

function sendInvalid(node: GatewayNode, socket: GatewaySocket, reason: InvalidReason): void {
  node.metrics.invalidSessions.inc({ reason });
  sendControl(node, socket, { op: opcodes.invalid.code, d: { resumable: false, reason: invalidReasons[reason] } });
}

/** Refuses a resume that cannot succeed: sends op 9. The client may then identify on the same socket. */
export function refuseResume(node: GatewayNode, socket: GatewaySocket, reason: InvalidReason): void {
  if (socket.session) dropSession(node, socket.session, 'lost');
  if (!isOpen(socket)) return;
  socket.stage = 'new';
  socket.deadlineMs = monotonicMs() + limits.gatewayIdentifyMs;
  sendInvalid(node, socket, reason);
}

/** Ends a session that cannot continue from its position: sends op 9, not resumable. Unless the session is still connecting, its socket is closed as well. */
export function invalidateSession(node: GatewayNode, session: Session, reason: InvalidReason): void {
  const { socket, state } = session;
  if (state === 'closing') return;
  if (state === 'connecting') return refuseResume(node, socket, reason);
  dropSession(node, session, 'end');
  sendInvalid(node, socket, reason);
  closeSocket(node, socket, 'lost', invalidReasons[reason]);
}

/** Extends the session's life in Redis and stores what the client has received. Closes the socket if another one owns the session now. Never rejects. */
export async function refreshSession(node: GatewayNode, session: Session, clientPosition: unknown): Promise<void> {
  // The client names the last event that was sent to it, so it has received everything up to the node's position.
  const isUpToDate = session.state === 'live' && clientPosition === session.lastPosition;
  const receivedPosition = isUpToDate ? { lastPosition: session.lastPosition, nodePosition: getNodePosition(node) } : undefined;
  const { id, owner, account } = session;
  const isStillOwner = await node.platform.sessions.refresh({ id, accountId: account.id, owner, receivedPosition }).catch(() => true);
  if (!isStillOwner) closeLostSession(node, session);
}

/** Closes the socket of a session that another socket owns now, or that is gone. */
export function closeLostSession(node: GatewayNode, session: Session): void {
  if (session.state === 'closing') return;
  dropSession(node, session, 'lost');
  closeSocket(node, session.socket, 'lost', 'Another socket has resumed the session, or it has ended.');
}
