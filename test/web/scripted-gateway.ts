import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** A frame as a page sends it. */
export interface ClientFrame {
  op: number;
  d: unknown;
}

/** One connection of a page to a `ScriptedGateway`. */
export interface Peer {
  /** The next frame of the page that is no watch list, and no heartbeat that was answered. */
  next(): Promise<ClientFrame>;
  /** Answers no heartbeat from now on. */
  fallSilent(): void;
  send(frame: object): void;
  close(code: number): void;
}

/** A gateway that sends the frames that a test writes, for cases that a real gateway seldom causes. */
export interface ScriptedGateway {
  url: string;
  /** The next connection, after op 10 was sent. */
  accept: () => Promise<Peer>;
  close(): void;
}

/** A queue: `take` waits for the next item. */
function queueOf<T>(): { push: (item: T) => void; take: () => Promise<T> } {
  const items: T[] = [];
  const added = new EventEmitter();
  return {
    push(item) {
      items.push(item);
      added.emit('item');
    },
    async take() {
      while (items.length === 0) await once(added, 'item');
      return items.shift() as T;
    },
  };
}

function peerOf(socket: WebSocket): Peer {
  const frames = queueOf<ClientFrame>();
  let isSilent = false;
  const send = (frame: object): void => socket.send(JSON.stringify(frame));
  socket.on('message', (data: Buffer) => {
    const frame = JSON.parse(data.toString('utf8')) as ClientFrame;
    if (frame.op === 1 && !isSilent) send({ op: 11, d: null });
    else if (frame.op !== 3) frames.push(frame);
  });
  send({ op: 10, d: { heartbeatIntervalMs: 600_000 } });
  return { next: frames.take, fallSilent: () => (isSilent = true), send, close: (code) => socket.close(code) };
}

/** Starts a scripted gateway on a free port. */
export async function startScriptedGateway(): Promise<ScriptedGateway> {
  const server = new WebSocketServer({ port: 0 });
  await once(server, 'listening');
  const peers = queueOf<Peer>();
  server.on('connection', (socket) => peers.push(peerOf(socket)));
  return {
    url: `ws://localhost:${(server.address() as AddressInfo).port}/gateway`,
    accept: peers.take,
    close() {
      for (const socket of server.clients) socket.terminate();
      server.close();
    },
  };
}
