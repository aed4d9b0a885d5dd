import { type Command, option } from './command.ts';
import { CommandError } from './errors.ts';
import type { PostgresConnection, Statement } from './postgres/connection.ts';
import type { ConnectionPool } from './postgres/pool.ts';

// READ COMMITTED would lose updates.
const begin: Statement = { name: 'begin', text: 'BEGIN ISOLATION LEVEL REPEATABLE READ' };
const commit: Statement = { name: 'commit', text: 'COMMIT' };
const rollback: Statement = { name: 'rollback', text: 'ROLLBACK' };

interface Transaction {
  number: number;
  /** Set while the transaction is open. */
  connection: PostgresConnection | undefined;
  isCommitted: boolean;
  owner: object;
  idle: NodeJS.Timeout;
}

/** The transactions of a gateway, by session. They use a separate pool: if they shared one with reads outside transactions, both could hang. */
export class TransactionTable {
  readonly #pool: ConnectionPool;
  readonly #idleMs: number;
  readonly #bySession = new Map<string, Transaction>();

  /** An open transaction is rolled back after `idleMs` without use. */
  constructor(pool: ConnectionPool, idleMs: number) {
    this.#pool = pool;
    this.#idleMs = idleMs;
  }

  get size(): number {
    return this.#bySession.size;
  }

  /** The connection for a command of a transaction; begins the transaction if the command has `startTransaction`. `owner` identifies the client's socket. */
  async connectionFor(command: Command, owner: object): Promise<PostgresConnection> {
    const session = sessionOf(command);
    const number = option(command, 'txnNumber') ?? 0;
    if (option(command, 'startTransaction')) {
      await this.#end(session, false);
      const connection = await this.#pool.acquire();
      await connection.query(begin, []);
      const idle = setTimeout(() => void this.#end(session, true), this.#idleMs);
      this.#bySession.set(session, { number, connection, isCommitted: false, owner, idle });
      return connection;
    }
    const found = this.#bySession.get(session);
    if (!found?.connection || found.number !== number) throw noTransaction('the transaction is not open');
    found.idle.refresh();
    return found.connection;
  }

  /** Rolls back the transaction, for `abortTransaction` or after a failed command. */
  async abort(command: Command): Promise<void> {
    await this.#end(sessionOf(command), true);
  }

  /** `commitTransaction`; a repeated commit succeeds. */
  async commit(command: Command): Promise<void> {
    const found = this.#bySession.get(sessionOf(command));
    if (!found || found.number !== option(command, 'txnNumber')) throw noTransaction('no such transaction');
    if (found.isCommitted) return;
    const { connection } = found;
    if (!connection) throw noTransaction('the transaction was rolled back');
    clearTimeout(found.idle);
    found.connection = undefined;
    try {
      await connection.query(commit, []);
      found.isCommitted = true;
    } catch (error) {
      await connection.query(rollback, []).catch(() => undefined);
      throw error;
    } finally {
      connection.release();
    }
  }

  /** Rolls back and removes the transactions of a client that disconnected. */
  async dropOwner(owner: object): Promise<void> {
    for (const [session, transaction] of this.#bySession) if (transaction.owner === owner) await this.#end(session, false);
  }

  async #end(session: string, isRemembered: boolean): Promise<void> {
    const found = this.#bySession.get(session);
    if (!found) return;
    clearTimeout(found.idle);
    if (!isRemembered) this.#bySession.delete(session);
    const { connection } = found;
    found.connection = undefined;
    if (!connection) return;
    await connection.query(rollback, []).catch(() => connection.destroy());
    connection.release();
  }
}

function sessionOf(command: Command): string {
  const field = command.fields.get('lsid');
  return field ? command.body.toString('latin1', field.at, field.end) : '';
}

function noTransaction(message: string): CommandError {
  const error = new CommandError(251, 'NoSuchTransaction', message);
  error.labels = ['TransientTransactionError'];
  return error;
}
