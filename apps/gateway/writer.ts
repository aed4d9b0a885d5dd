import { limits } from '../../lib/base/limits.ts';
import { closeCode, plainBytes } from './frames.ts';
import { type GatewayNode, type GatewaySocket, monotonic, type Session, type Writer } from './state.ts';

/** Creates a writer. It calls `onSlow` with a socket for which more than 1 MiB waits to be sent. */
export function createWriter(onSlow: (socket: GatewaySocket) => void): Writer {
  let corked: GatewaySocket[] = [];
  const flush = (): void => {
    const turn = corked;
    corked = [];
    for (const socket of turn) {
      socket.corked = false;
      socket.raw.uncork();
      if (socket.raw.writableLength > limits.gatewayBufferBytes) onSlow(socket);
    }
  };
  return {
    write(socket, bytes) {
      if (!socket.corked) {
        socket.corked = true;
        socket.raw.cork();
        if (corked.push(socket) === 1) setImmediate(flush);
      }
      socket.raw.write(bytes);
    },
  };
}

/** Whether frames can still be sent on the socket. */
export const isOpen = (socket: GatewaySocket): boolean => socket.readyState === socket.OPEN && socket.stage !== 'closing';

/** Sends a frame that is not an event, in order with the events. */
export function sendControl(node: GatewayNode, socket: GatewaySocket, frame: object): void {
  if (isOpen(socket)) node.writer.write(socket, plainBytes(frame));
}

/** Sends an encoded event and notes its position `s` in the session. */
export function sendEvent(node: GatewayNode, session: Session, s: string, bytes: readonly Buffer[]): void {
  if (!isOpen(session.socket)) return;
  session.s = s;
  for (const piece of bytes) node.writer.write(session.socket, piece);
}

/** How long a client may take to answer a close before its connection is terminated, in milliseconds. */
const closingMs = 5_000;

/** Closes a socket with a code of `closeCode`, after the data that is already written. The caller drops the session. */
export function closeSocket(node: GatewayNode, socket: GatewaySocket, why: keyof typeof closeCode, reason: string): void {
  if (!isOpen(socket)) return;
  socket.stage = 'closing';
  socket.deadline = monotonic() + closingMs;
  node.metrics.closes.inc({ code: String(closeCode[why]) });
  socket.close(closeCode[why], reason);
}

/** A replay waits when more than this many bytes wait to be sent. */
const fullBytes = 256 * 1024;
/** How long a replay waits for its client to read, in milliseconds. */
const drainMs = 15_000;

/** Waits until the client has read what was sent; false if it has not within 15 s or the socket is closed. Only replays wait, so idle sockets need no timer. */
export function waitForReader({ raw }: GatewaySocket): Promise<boolean> {
  if (raw.destroyed) return Promise.resolve(false);
  if (raw.writableLength <= fullBytes) return Promise.resolve(true);
  return new Promise((resolve) => {
    const settle = (good: boolean) => (): void => {
      clearTimeout(timer);
      raw.off('drain', onDrain);
      raw.off('close', onClose);
      resolve(good);
    };
    const onDrain = settle(true);
    const onClose = settle(false);
    const timer = setTimeout(settle(false), drainMs);
    raw.on('drain', onDrain);
    raw.on('close', onClose);
  });
}
