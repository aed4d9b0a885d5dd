import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP address in front of several servers: each connection goes to the first one that accepts it. */
export interface Balancer {
  port: number;
  /** Breaks all connections without a closing handshake. */
  cut(): void;
  close(): Promise<void>;
}

/** Starts a balancer on `port`. `targets` returns the ports of the servers, the preferred one first. */
export async function startBalancer(port: number, targets: () => readonly number[]): Promise<Balancer> {
  const sockets = new Set<Socket>();
  const hold = (socket: Socket): Socket => {
    sockets.add(socket);
    return socket.on('error', () => socket.destroy()).on('close', () => sockets.delete(socket));
  };
  const server = createServer((near) => {
    hold(near);
    const [...left] = targets();
    const connectNext = (): void => {
      const target = left.shift();
      if (target === undefined) return void near.destroy();
      let isOpen = false;
      const far = hold(connect(target, '127.0.0.1'));
      far.on('connect', () => {
        isOpen = true;
        near.pipe(far).pipe(near);
      });
      far.on('close', () => (isOpen ? near.destroy() : connectNext()));
      near.on('close', () => far.destroy());
    };
    connectNext();
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        cut();
      }),
  };
}
