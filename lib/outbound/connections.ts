import type { Socket } from 'node:net';
import { Client } from 'undici';
import { createInterimSkipper } from './interim-responses.ts';
import type { Target } from './target.ts';

/** A connection to an address that was checked, for one request at a time. */
export interface Connection {
  readonly client: Client;
  readonly socket: Socket;
  /** To be called before each request. */
  readonly skipInterim: () => void;
  /** When it was opened, in milliseconds by the monotonic clock. */
  readonly openedAt: number;
  /** What it was kept as; empty if it never was. */
  keptAs: string;
  /** Whether a request found it closed, and was not sent. */
  isOver: boolean;
}

const maxHeaderBytes = 16 * 1024;
/** How long a connection is kept without a request, in milliseconds, if the server names no other time, and how long at most. */
const idleMs = { usual: 4_000, most: 15_000 };
/** How long a connection is used, in milliseconds. A new one goes to an address that is looked up and checked again. */
const usedMs = 60_000;
/** How many unused connections are kept for one user of an origin, and in all. */
const maxKept = { each: 8, all: 500 };

/** Closes a connection. */
export function closeConnection({ client, socket }: Connection): void {
  socket.destroy();
  client.destroy().catch(() => undefined);
}

/** Connections, and those of them that are kept for later requests. */
export interface Connections {
  /** Creates a connection on `socket`. undici does not open connections itself, not even to reconnect. */
  create(socket: Socket, target: Target): Connection;
  /**
   * Takes the kept connection of a user to an origin that was used last. Nobody gets one of another user: a server could write an answer there before it is asked.
   */
  take(origin: string, user: string): Connection | undefined;
  /** Keeps a connection for a user while it is open, unless it is old. Beyond the limits, closes those that were kept first. */
  keep(origin: string, user: string, connection: Connection): void;
}

/** Creates an empty set of connections. */
export function createConnections(): Connections {
  /** By user and origin, the last used at the end. */
  const kept = new Map<string, Connection[]>();
  let count = 0;
  const remove = (key: string, connection: Connection): void => {
    const ofKey = kept.get(key) ?? [];
    const at = ofKey.indexOf(connection);
    if (at < 0) return;
    ofKey.splice(at, 1);
    count--;
    if (ofKey.length === 0) kept.delete(key);
  };
  const toKey = (origin: string, user: string): string => `${user} ${origin}`;
  return {
    create(socket, { url }) {
      let isOpen = true;
      const client = new Client(url.origin, {
        connect: (_options, callback) => {
          const isUsable = isOpen && !socket.destroyed;
          isOpen = false;
          connection.isOver = !isUsable;
          queueMicrotask(() => (isUsable ? callback(null, socket) : callback(new Error('the connection was closed'), null)));
        },
        maxHeaderSize: maxHeaderBytes,
        headersTimeout: 0, // the abort signal is the timeout
        bodyTimeout: 0,
        keepAliveTimeout: idleMs.usual,
        keepAliveMaxTimeout: idleMs.most,
      });
      const skipInterim = createInterimSkipper(socket, maxHeaderBytes);
      const connection: Connection = { client, socket, skipInterim, openedAt: performance.now(), keptAs: '', isOver: false };
      socket.once('close', () => remove(connection.keptAs, connection));
      return connection;
    },
    take(origin, user) {
      const found = kept.get(toKey(origin, user))?.at(-1);
      if (found) remove(found.keptAs, found);
      return found;
    },
    keep(origin, user, connection) {
      if (connection.socket.destroyed || performance.now() - connection.openedAt > usedMs) return closeConnection(connection);
      const key = toKey(origin, user);
      const ofKey = kept.get(key) ?? [];
      connection.keptAs = key;
      ofKey.push(connection);
      count++;
      kept.delete(key);
      kept.set(key, ofKey); // at the end of the order in which connections are closed
      const [ofOthers] = count > maxKept.all ? kept.values() : [];
      const surplus = ofKey.length > maxKept.each ? ofKey[0] : ofOthers?.[0];
      if (!surplus) return;
      remove(surplus.keptAs, surplus);
      closeConnection(surplus);
    },
  };
}
