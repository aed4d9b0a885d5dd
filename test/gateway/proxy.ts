import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A TCP proxy before a store, to break connections with. */
export interface Proxy {
  port: number;
  /** Cuts every connection; new ones are let through when `open`, else refused. */
  cut(open: boolean): void;
  /** Passes nothing on in either direction, and closes nothing. New connections pass. */
  freeze(): void;
  close(): void;
}

/** A proxy to the host and port of `target`. */
export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port } = new URL(target);
  const pairs = new Set<[Socket, Socket]>();
  let letIn = true;
  const server = createServer((near) => {
    if (!letIn) {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    const pair: [Socket, Socket] = [near, far];
    pairs.add(pair);
    for (const [from, to] of [pair, [far, near] as const]) {
      from.setNoDelay();
      from.pipe(to);
      from.on('error', () => undefined);
      from.on('close', () => {
        to.destroy();
        pairs.delete(pair);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const [near, far] of pairs) {
      near.destroy();
      far.destroy();
    }
  };
  return {
    port: (server.address() as AddressInfo).port,
    cut(open) {
      letIn = open;
      cut();
    },
    freeze() {
      for (const [near, far] of pairs) {
        near.unpipe(far).pause();
        far.unpipe(near).pause();
      }
    },
    close() {
      server.close();
      cut();
    },
  };
}
