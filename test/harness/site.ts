import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Certificate } from './certificate.ts';

/** A site on loopback that outbound requests are sent to. */
export interface Site {
  /** `http://127.0.0.1:port`, or `https://`. */
  url: string;
  /** `127.0.0.1:port`, as OUTBOUND_ALLOW names it. */
  pair: string;
  port: number;
  /** The paths asked for so far. */
  asked: string[];
  /** How many connections were opened so far. */
  opened(): number;
  /** Resolves once no connection is open. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a site that answers by `handle`, over TLS when it has a certificate. */
export async function startSite(
  handle: (request: IncomingMessage, response: ServerResponse) => void,
  certificate?: Certificate,
): Promise<Site> {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let opened = 0;
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(request.url ?? '');
    handle(request, response);
  };
  const server = certificate ? createSecureServer({ ...certificate }, listener) : createServer(listener);
  server.on('connection', (socket: Socket) => {
    opened++;
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.on('close', () => {
      sockets.delete(socket);
      if (sockets.size === 0) for (const resolve of waiting.splice(0)) resolve();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `${certificate ? 'https' : 'http'}://127.0.0.1:${port}`,
    pair: `127.0.0.1:${port}`,
    port,
    asked,
    opened: () => opened,
    quiet: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
