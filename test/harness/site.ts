import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, createServer as createPeer, type Server, type Socket } from 'node:net';
import type { TlsOptions } from 'node:tls';

/** A loopback server that receives outbound requests. */
export interface Peer {
  /** `127.0.0.1:port`, in the form of OUTBOUND_ALLOW. */
  pair: string;
  port: number;
  /** The number of connections opened so far. */
  opened(): number;
  /** Resolves when no connection is open. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** A peer that serves HTTP. */
export interface Site extends Peer {
  /** `http://127.0.0.1:port`, or `https://`. */
  url: string;
  /** The paths requested so far. */
  asked: string[];
}

async function listen(server: Server): Promise<Peer> {
  const sockets = new Set<Socket>();
  const waiting: (() => void)[] = [];
  let opened = 0;
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
    pair: `127.0.0.1:${port}`,
    port,
    opened: () => opened,
    quiet: () => (sockets.size === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

/** Starts a peer that handles each connection with `serve` and does nothing else with it. */
export const startPeer = (serve: (socket: Socket) => void): Promise<Peer> => listen(createPeer(serve));

/** Starts a site that responds with `handle`; it uses TLS if `tls` is given, which must contain a certificate. */
export async function startSite(handle: (request: IncomingMessage, response: ServerResponse) => void, tls?: TlsOptions): Promise<Site> {
  const asked: string[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    asked.push(request.url ?? '');
    handle(request, response);
  };
  const peer = await listen(tls ? createSecureServer(tls, listener) : createServer(listener));
  return { ...peer, url: `${tls ? 'https' : 'http'}://${peer.pair}`, asked };
}

/** An HTML page with this title. */
export const page = (title: string): string => `<!doctype html><html><head><title>${title}</title></head><body>text</body></html>`;

/** Sends a page as HTML. */
export const sendPage = (response: ServerResponse, html: string): void => {
  response.setHeader('content-type', 'text/html; charset=utf-8').end(html);
};
