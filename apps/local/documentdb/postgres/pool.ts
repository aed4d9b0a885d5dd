import { Pool } from 'pg';
import { clientConfig, PostgresConnection, PostgresUnavailable, TimeoutClient } from './connection.ts';

const searchPath = '-c search_path=documentdb_api_catalog,documentdb_api,public';
const retryMs = 50;
const connectMs = 450;

/** A bounded set of connections. */
export interface PoolOptions {
  socketDir: string;
  /** Maximum number of connections; further callers wait for one. */
  max: number;
  /** If true, commits do not wait for the disk. A crash of Postgres may lose the most recent ones, but never one that a durable commit followed. */
  isRelaxed?: boolean;
}

interface Waiter {
  done: (connection: PostgresConnection) => void;
  failed: (error: PostgresUnavailable) => void;
  giveUpAt: number;
}

/** Hands out connections, opens them as needed and drops broken ones. */
export class ConnectionPool {
  readonly #pool: Pool;
  readonly #waiting = new Set<Waiter>();

  constructor({ socketDir, max, isRelaxed = false }: PoolOptions) {
    const options = isRelaxed ? `${searchPath} -c synchronous_commit=off` : searchPath;
    this.#pool = new Pool({ ...clientConfig(socketDir, options), max, idleTimeoutMillis: 0, Client: TimeoutClient });
    // The pool has already removed an idle connection that broke.
    this.#pool.on('error', () => undefined);
  }

  /** Returns a connection for the caller's sole use until its `release`. Tries for 450 ms, then rejects with `PostgresUnavailable`. */
  acquire(): Promise<PostgresConnection> {
    return new Promise((done, failed) => {
      const waiter: Waiter = { done, failed, giveUpAt: Date.now() + connectMs };
      this.#waiting.add(waiter);
      this.#connect(waiter);
    });
  }

  /** Runs `work` with a connection and releases it afterwards. */
  async use<T>(work: (connection: PostgresConnection) => Promise<T>): Promise<T> {
    const connection = await this.acquire();
    try {
      return await work(connection);
    } finally {
      connection.release();
    }
  }

  /** Closes idle connections now and the others on release, and rejects all waiting callers. */
  close(): void {
    this.#rejectWaiting('the gateway is stopping');
    this.#pool.end().catch(() => undefined);
  }

  #connect(waiter: Waiter): void {
    this.#pool.connect((error, client, release) => {
      const isWaiting = this.#waiting.has(waiter);
      if (client) {
        this.#waiting.delete(waiter);
        if (isWaiting) waiter.done(new PostgresConnection(client, release));
        else release();
      } else if (isWaiting && Date.now() < waiter.giveUpAt) setTimeout(() => this.#connect(waiter), retryMs);
      // No waiting caller can be served sooner. All are rejected now, so that nobody waits for more than one round.
      else if (isWaiting) this.#rejectWaiting(error?.message ?? 'no connection is available');
    });
  }

  #rejectWaiting(reason: string): void {
    for (const { failed } of this.#waiting) failed(new PostgresUnavailable(reason));
    this.#waiting.clear();
  }
}
