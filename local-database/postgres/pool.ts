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

  /**
   * Returns a connection for the caller's sole use until its `release`: the first that is released or opened. Rejects with `PostgresUnavailable` when none can be
   * opened for 450 ms, in at least two tries.
   */
  acquire(): Promise<PostgresConnection> {
    return new Promise((done, failed) => {
      this.#waiting.add({ done, failed });
      this.#connect(Date.now() + connectMs);
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

  #connect(giveUpAt: number, tries = 1): void {
    this.#pool.connect((error, client, release) => {
      if (client) this.#handOver(client as object as TimeoutClient, release);
      // The first try also fails if this process stood still while the connection was opened. That says nothing about Postgres.
      else if (tries === 1 || Date.now() < giveUpAt) setTimeout(() => this.#connect(giveUpAt, tries + 1), retryMs);
      // No waiting caller can be served sooner. All are rejected now, so that nobody waits for more than one round.
      else this.#rejectWaiting(error?.message ?? 'no connection is available');
    });
  }

  /** Gives a connection to the caller that has waited longest, or back to the pool. */
  #handOver(client: TimeoutClient, release: (isBroken?: boolean) => void): void {
    const [waiter] = this.#waiting;
    if (!waiter) return release();
    this.#waiting.delete(waiter);
    waiter.done(
      new PostgresConnection(client, (isBroken) => (isBroken || client.isLost ? release(true) : this.#handOver(client, release))),
    );
  }

  #rejectWaiting(reason: string): void {
    for (const { failed } of this.#waiting) failed(new PostgresUnavailable(reason));
    this.#waiting.clear();
  }
}
