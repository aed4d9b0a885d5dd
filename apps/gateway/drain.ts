import { setTimeout as sleep } from 'node:timers/promises';
import { opcodes } from '../../lib/contract/gateway.ts';
import { dropSession, releaseSession } from './disconnect.ts';
import { type GatewayNode, type GatewaySocket, monotonicMs } from './state.ts';
import { closeSocket, isOpen, sendControl } from './writer.ts';

/** The time over which a draining node spreads the reconnects of its clients, in milliseconds. It fits in the time that a process has to stop. */
export const drainMs = 20_000;
/** How often a draining node moves the next clients, in milliseconds. Each of them waits for less than this before it reconnects. */
const drainStepMs = 250;

/**
 * Sends op 7 to a client, closes its socket, and releases its session, so that the client can resume it on another node after `retryAfterMs`. Resolves when the
 * session is released.
 */
export async function moveClient(node: GatewayNode, socket: GatewaySocket, retryAfterMs: number): Promise<void> {
  const { session } = socket;
  sendControl(node, socket, { op: opcodes.reconnect.code, d: { retryAfterMs } });
  closeSocket(node, socket, 'restart', 'The gateway node is restarting.');
  if (!session) return;
  const { id, owner, account } = session;
  dropSession(node, session, 'lost');
  await releaseSession(node, { id, accountId: account.id, owner, mode: 'suspend' });
}

/**
 * Moves all clients to other nodes, in the order in which they connected, so that their reconnects are evenly spread over 20 s. A client receives its events
 * here until it is moved. The node must refuse new connections. Resolves when the last client is moved; clients that leave by themselves shorten it.
 */
export async function drainNode(node: GatewayNode): Promise<void> {
  const startMs = monotonicMs();
  const sockets = [...node.sockets];
  const moves: Promise<void>[] = [];
  for (const [index, socket] of sockets.entries()) {
    const reconnectMs = Math.floor((index * drainMs) / sockets.length);
    const retryAfterMs = reconnectMs % drainStepMs;
    const moveAtMs = startMs + reconnectMs - retryAfterMs;
    while (isOpen(socket) && monotonicMs() < moveAtMs) await sleep(Math.min(drainStepMs, moveAtMs - monotonicMs()));
    const move = moveClient(node, socket, retryAfterMs);
    move.catch(() => undefined); // thrown below
    moves.push(move);
  }
  await Promise.all(moves);
}
