import { rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { Dispatcher } from './dispatch.ts';
import { FrameReader } from './frames.ts';
import { maxMessageBytes, messageSize, parseRequest, replyTo } from './wire.ts';

/** Unanswered requests per client at which the gateway stops reading from the client. */
const maxQueued = 32;
const maxClients = 2000;

/** Where the gateway listens and which Postgres it uses. */
export interface WireGatewayOptions {
  /** Folder of Postgres' unix socket. */
  socketDir: string;
  /** Path of the unix socket to listen on, at most 107 bytes; an existing socket is replaced. Default: a free TCP port of 127.0.0.1. */
  path?: string;
}

/** A running gateway. */
export interface WireGateway {
  /** The URL for MongoDB drivers, without a database name. */
  url: string;
  /** Its TCP port; 0 when it listens on a unix socket. */
  port: number;
  /** The number of stored cursors; for tests. */
  countCursors(): number;
  /** Stops listening and closes every connection. */
  close(): Promise<void>;
}

/** Starts a gateway that speaks MongoDB's wire protocol. Rejects if it cannot listen. Postgres does not have to run yet. */
export async function startWireGateway(options: WireGatewayOptions): Promise<WireGateway> {
  const dispatcher = new Dispatcher(options.socketDir);
  const sockets = new Set<Socket>();
  let address = '';
  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
    serve(socket, dispatcher, address);
  });
  server.maxConnections = maxClients;
  const port = await listen(server, options.path);
  address = options.path ?? `127.0.0.1:${port}`;
  return {
    url: gatewayUrl(address),
    port,
    countCursors: () => dispatcher.cursors.size,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        for (const socket of sockets) socket.destroy();
        dispatcher.close();
      }),
  };
}

/** The URL of a gateway at a path or `host:port`. Drivers must not retry writes, because the gateway does not recognize a repeated write. */
export function gatewayUrl(address: string): string {
  return `mongodb://${address.startsWith('/') ? encodeURIComponent(address) : address}/?directConnection=true&retryWrites=false`;
}

function serve(socket: Socket, dispatcher: Dispatcher, address: string): void {
  const reader = new FrameReader(4, messageSize);
  const queue: Buffer[] = [];
  let isBusy = false;
  const work = async () => {
    isBusy = true;
    for (let message = queue.shift(); message && !socket.destroyed; message = queue.shift()) {
      const request = parseRequest(message);
      const reply = await dispatcher.answer(request, address);
      if (queue.length < maxQueued && socket.isPaused()) socket.resume();
      if (request.isUnanswered || socket.destroyed) continue;
      const parts = replyTo(request, reply);
      if (parts.length > 1) socket.cork();
      let isFlushed = true;
      for (const part of parts) isFlushed = socket.write(part);
      if (parts.length > 1) socket.uncork();
      if (!isFlushed && socket.writableLength > maxMessageBytes) await drained(socket);
    }
    isBusy = false;
  };
  socket.on('data', (chunk: Buffer) => {
    try {
      reader.push(chunk, (message) => queue.push(message));
    } catch {
      socket.destroy();
      return;
    }
    if (queue.length >= maxQueued) socket.pause();
    if (!isBusy && queue.length > 0) work().catch(() => socket.destroy());
  });
  socket.on('error', () => socket.destroy());
}

function drained(socket: Socket): Promise<void> {
  return new Promise((done) => {
    socket.once('drain', done);
    socket.once('close', () => done());
  });
}

/** Listens on the unix socket `path`, else on any loopback port. Resolves with the port, or 0 for a socket. */
async function listen(server: Server, path?: string): Promise<number> {
  if (path !== undefined) await rm(path, { force: true });
  return new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(path === undefined ? { port: 0, host: '127.0.0.1' } : { path }, () => {
      server.off('error', failed);
      const bound = server.address();
      done(typeof bound === 'object' && bound ? bound.port : 0);
    });
  });
}
