import { limits } from '../../lib/base/limits.ts';
import { closeCode, plainBytes } from './frames.ts';
import { type GatewayNode, type GatewaySocket, monotonic, type Session, type Writer } from './state.ts';

/** Creates a writer. `onSlow` is called with a socket whose reader is more than 1 MiB behind. */
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

/** Whether the socket still takes frames. */
export const isOpen = (socket: GatewaySocket): boolean => socket.readyState === socket.OPEN && socket.stage !== 'closing';

/** Sends a frame that is no event, in order with the events. */
export function sendControl(node: GatewayNode, socket: GatewaySocket, frame: object): void {
  if (isOpen(socket)) node.writer.write(socket, plainBytes(frame));
}

/** Sends the bytes of an event. */
export function sendEvent(node: GatewayNode, session: Session, s: string, bytes: readonly Buffer[]): void {
  if (!isOpen(session.socket)) return;
  session.s = s;
  for (const piece of bytes) node.writer.write(session.socket, piece);
}

/** How long a client may take to answer a close before its socket is cut, in milliseconds. */
const closingMs = 5_000;

/** Closes a socket with one of ours. What was written before still goes out first. The session is the caller's to give up. */
export function closeSocket(node: GatewayNode, socket: GatewaySocket, why: keyof typeof closeCode, reason: string): void {
  if (!isOpen(socket)) return;
  socket.stage = 'closing';
  socket.deadline = monotonic() + closingMs;
  node.metrics.closes.inc({ code: String(closeCode[why]) });
  socket.close(closeCode[why], reason);
}

/** How full a socket may be before a replay waits for it, in bytes. */
const fullBytes = 256 * 1024;
/** How long a replay waits for its reader, in milliseconds. */
const drainMs = 15_000;

/** Waits until the reader has caught up; false when it did not in 15 s, or the socket is gone. Only replays wait, so only they pay for a timer. */
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
