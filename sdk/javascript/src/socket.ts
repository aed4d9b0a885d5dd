/** The part of the WebSocket interface that the kit uses; browsers, Node from version 22 and the package `ws` have it. */
interface PlainSocket {
  readonly readyState: number;
  send(text: string): void;
  close(code: number): void;
  addEventListener(name: 'message', listener: (event: { data: unknown }) => void): void;
  addEventListener(name: 'close', listener: (event: { code: number; reason: string }) => void): void;
  addEventListener(name: 'error', listener: () => void): void;
}
type SocketClass = new (url: string) => PlainSocket;

/** A frame of the gateway. Only dispatches have an event's name `t` and a position `s`. */
export interface Frame {
  op: number;
  d: unknown;
  s?: string;
  t?: string;
}

/** A connection to the gateway. */
export interface Socket {
  send(op: number, d: unknown): void;
  /** Closes the connection. Nothing is received any more, and `onClose` is called at once with this code. */
  close(code: number): void;
}

/** The package `ws` is loaded only where there is no global WebSocket: in Node 20 and 21. */
async function findSocketClass(): Promise<SocketClass> {
  const { WebSocket } = globalThis as { WebSocket?: SocketClass };
  return WebSocket ?? (await import('ws')).WebSocket;
}

const openState = 1;

/** Connects to `url`. `onClose` is called exactly once, also if the connection fails (1006). */
export async function openSocket(
  url: string,
  onMessage: (text: unknown) => void,
  onClose: (code: number, reason: string) => void,
): Promise<Socket> {
  const SocketClass = await findSocketClass();
  const socket = new SocketClass(url);
  let isOver = false;
  const end = (code: number, reason: string): void => {
    if (isOver) return;
    isOver = true;
    onClose(code, reason);
  };
  socket.addEventListener('message', ({ data }) => {
    if (!isOver) onMessage(data);
  });
  socket.addEventListener('close', ({ code, reason }) => end(code, reason));
  socket.addEventListener('error', () => undefined); // the close event follows
  return {
    send: (op, d) => {
      if (!isOver && socket.readyState === openState) socket.send(JSON.stringify({ op, d }));
    },
    // A dead connection may never answer the closing handshake, so nobody waits for it.
    close: (code) => {
      socket.close(code);
      end(code, 'closed by the bot');
    },
  };
}
