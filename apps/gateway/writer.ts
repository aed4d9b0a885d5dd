import { limits } from '../../lib/base/limits.ts';
import { type CloseCodeName, closeCodes } from '../../lib/contract/close-codes.ts';
import { type ControlFrame, encodeControl } from './frames.ts';
import { type GatewayNode, type GatewaySocket, monotonicMs, type Session, type Writer } from './state.ts';

/** Creates a writer. It calls `onSlow` with a socket for which more than 1 MiB waits to be sent. */
export function createWriter(onSlow: (socket: GatewaySocket) => void): Writer {
  let corked: GatewaySocket[] = [];
  const flush = (): void => {
    const batch = corked;
    corked = [];
    for (const socket of batch) {
      socket.isCorked = false;
      socket.tcpSocket.uncork();
      if (socket.tcpSocket.writableLength > limits.gatewayBufferBytes) onSlow(socket);
    }
  };
  return {
    write(socket, bytes) {
      if (!socket.isCorked) {
        socket.isCorked = true;
        socket.tcpSocket.cork();
        if (corked.push(socket) === 1) setImmediate(flush);
      }
      socket.tcpSocket.write(bytes);
    },
  };
}

/** Whether frames can still be sent on the socket. */
export const isOpen = (socket: GatewaySocket): boolean => socket.readyState === socket.OPEN && socket.stage !== 'closing';

/** Sends a frame that is not a dispatch, in order with the events. */
export function sendControl(node: GatewayNode, socket: GatewaySocket, frame: ControlFrame): void {
  if (isOpen(socket)) node.writer.write(socket, encodeControl(frame));
}

/** Sends an encoded event and stores its position in the session. */
export function sendEvent(node: GatewayNode, session: Session, position: string, bytes: readonly Buffer[]): void {
  if (!isOpen(session.socket)) return;
  session.lastPosition = position;
  for (const chunk of bytes) node.writer.write(session.socket, chunk);
}

/** How long a client may take to answer a close before its connection is terminated, in milliseconds. */
const closeTimeoutMs = 5_000;

/**
 * Closes a socket with a code of `closeCodes`, after the data that is already written. The reason is a sentence of at most 123 bytes of UTF-8. The caller drops
 * the session.
 */
export function closeSocket(node: GatewayNode, socket: GatewaySocket, code: CloseCodeName, reason: string): void {
  if (!isOpen(socket)) return;
  socket.stage = 'closing';
  socket.deadlineMs = monotonicMs() + closeTimeoutMs;
  node.metrics.closes.inc({ code: String(closeCodes[code].code) });
  socket.close(closeCodes[code].code, reason);
}

/** A replay waits when more than this many bytes wait to be sent. */
const replayBufferBytes = 256 * 1024;
/** How long a replay waits for its client to read, in milliseconds. */
const drainTimeoutMs = 15_000;

/** Waits until the client has read what was sent; false if it has not within 15 s or the socket is closed. Only replays wait, so idle sockets need no timer. */
export function waitForReader({ tcpSocket }: GatewaySocket): Promise<boolean> {
  if (tcpSocket.destroyed) return Promise.resolve(false);
  if (tcpSocket.writableLength <= replayBufferBytes) return Promise.resolve(true);
  return new Promise((resolve) => {
    const finish = (isDrained: boolean) => (): void => {
      clearTimeout(timer);
      tcpSocket.off('drain', onDrain);
      tcpSocket.off('close', onClose);
      resolve(isDrained);
    };
    const onDrain = finish(true);
    const onClose = finish(false);
    const timer = setTimeout(finish(false), drainTimeoutMs);
    tcpSocket.on('drain', onDrain);
    tcpSocket.on('close', onClose);
  });
}
