import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresConnection as Connection, PostgresAway, PostgresConnection } from './connection.ts';

const sessionOptions = '-c search_path=documentdb_api_catalog,documentdb_api,public';
const retryMs = 50;

/** A bounded set of connections. */
export interface PoolOptions {
  socketDir: string;
  /** Most connections at once; who comes then waits for one. */
  max: number;
  /** How long a refused connection is tried again, default 450 ms. */
  connectMs?: number;
}

/** Hands out connections, opens them as needed and forgets those that broke. */
export class ConnectionPool {
  readonly #options: PoolOptions;
  readonly #idle: Connection[] = [];
  readonly #waiting: { done: (connection: Connection) => void; failed: (error: Error) => void }[] = [];
  #size = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  /** Gives a connection for the caller's sole use until `release`. Rejects with `PostgresAway`. */
  acquire(): Promise<Connection> {
    const idle = this.#idle.pop();
    if (idle) return Promise.resolve(idle);
    return new Promise((done, failed) => {
      this.#waiting.push({ done, failed });
      this.#grow();
    });
  }

  /** Takes a connection back. */
  release(connection: Connection): void {
    if (connection.isClosed) return;
    const next = this.#waiting.shift();
    if (next) next.done(connection);
    else this.#idle.push(connection);
  }

  /** Runs `work` with a connection and takes it back. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.acquire();
    try {
      return await work(connection);
    } finally {
      this.release(connection);
    }
  }

  /** Closes the idle connections and refuses who waits. */
  close(): void {
    this.#closed = true;
    for (const connection of this.#idle.splice(0)) connection.destroy();
    for (const { failed } of this.#waiting.splice(0)) failed(new PostgresAway('the gateway is stopping'));
  }

  #grow(): void {
    if (this.#size >= this.#options.max) return;
    this.#size++;
    this.#open().then(
      (connection) => {
        connection.onClose = () => this.#forget(connection);
        if (connection.isClosed) this.#forget(connection);
        else this.release(connection);
      },
      (error: Error) => {
        this.#size--;
        // Nobody of those who wait can be served sooner: answer them now, so that nobody waits for more than one round.
        for (const { failed } of this.#waiting.splice(0)) failed(error);
      },
    );
  }

  async #open(): Promise<Connection> {
    const giveUpAt = Date.now() + (this.#options.connectMs ?? 450);
    for (;;) {
      try {
        return await PostgresConnection.open(this.#options.socketDir, sessionOptions);
      } catch (error) {
        if (this.#closed || Date.now() > giveUpAt) throw error;
        await sleep(retryMs);
      }
    }
  }

  #forget(connection: Connection): void {
    this.#size--;
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    if (this.#waiting.length > 0) this.#grow();
  }
}
