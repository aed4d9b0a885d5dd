import type { AddressInfo } from 'node:net';
import { connect, createServer, type Socket } from 'node:net';
import { Transform } from 'node:stream';

/** A TCP proxy in front of a store, with which a test makes the store unavailable to a single process. */
export interface TcpProxy {
  /** `url` with the proxy's address in place of the store's. */
  url: string;
  /** Closes every connection and refuses new ones. */
  cut(): void;
  /** Forwards nothing in either direction and closes nothing, like a peer that hangs. New connections hang too, unless `which` is `open`. */
  freeze(which?: 'all' | 'open'): void;
  /** Forwards everything with this delay in milliseconds; 0 means no delay. */
  delay(ms: number): void;
  /** Accepts connections again, and forwards the data held on frozen ones. */
  mend(): void;
  close(): Promise<void>;
}

/** Connects to the store at `url`: a unix socket in the form of MongoDB's drivers, or a host and port. */
export const connectTo = ({ hostname, port }: URL, fallbackPort: number): Socket =>
  hostname.endsWith('.sock') ? connect(decodeURIComponent(hostname)) : connect(Number(port || fallbackPort), hostname);

/** Starts a proxy to the host and port of `url`; `fallbackPort` is used if the URL has no port. */
export async function startTcpProxy(url: string, fallbackPort: number): Promise<TcpProxy> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let open = true;
  let frozen = false;
  let delayMs = 0;
  const late = (): Transform =>
    new Transform({ transform: (bytes, _, pass) => void (delayMs > 0 ? setTimeout(pass, delayMs, null, bytes) : pass(null, bytes)) });
  const hold = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    if (!open) return near.destroy();
    const far = hold(connectTo(target, fallbackPort));
    hold(near).pipe(late()).pipe(far).pipe(late()).pipe(near);
    if (frozen) for (const socket of [near, far]) socket.pause();
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxied = new URL(url);
  proxied.hostname = '127.0.0.1';
  proxied.port = String((server.address() as AddressInfo).port);
  const breakAll = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: proxied.href,
    cut: () => {
      open = false;
      breakAll();
    },
    freeze: (which = 'all') => {
      frozen = which === 'all';
      for (const socket of sockets) socket.pause();
    },
    delay: (ms) => {
      delayMs = ms;
    },
    mend: () => {
      open = true;
      frozen = false;
      for (const socket of sockets) socket.resume();
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        breakAll();
      }),
  };
}
