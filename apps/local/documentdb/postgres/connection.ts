import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { FrameReader } from '../frames.ts';
import { errorFields, executeMessage, type Parameter, parseMessage, rowColumns, type Statement, startupMessage } from './messages.ts';

/** One row of a result: columns in Postgres' binary form, `null` for NULL. */
export type Row = (Buffer | null)[];

/** An error Postgres reported; `sqlState` is its five characters. */
export class PostgresError extends Error {
  readonly sqlState: string;
  readonly detail: string;

  constructor(sqlState: string, message: string, detail = '') {
    super(message);
    this.sqlState = sqlState;
    this.detail = detail;
  }
}

/** Postgres cannot be reached, or went away before it answered. */
export class PostgresAway extends Error {}

const openMs = 450;

interface Pending {
  statement: Statement;
  rows: Row[];
  error: PostgresError | undefined;
  done: (rows: Row[]) => void;
  failed: (error: Error) => void;
}

/**
 * A connection that speaks the part of Postgres' protocol the gateway uses: named prepared statements with binary parameters and results,
 * answered in order. (The usual client reads results as text, which would double every document and convert it twice.)
 */
export class PostgresConnection {
  readonly #socket: Socket;
  readonly #prepared = new Set<string>();
  readonly #pending: Pending[] = [];
  #head = 0;
  #closed = false;
  /** Called once when the connection is gone. */
  onClose: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
  }

  /** Opens a connection through the unix socket in `socketDir` as the cluster's owner. Rejects with `PostgresAway`. */
  static open(socketDir: string, options: string): Promise<PostgresConnection> {
    return new Promise((done, failed) => {
      const socket = connect(join(socketDir, '.s.PGSQL.5432'));
      const connection = new PostgresConnection(socket);
      const away = (reason: string) => failed(new PostgresAway(reason));
      let isReady = false;
      socket.setTimeout(openMs, () => !isReady && socket.destroy());
      const reader = new FrameReader(5, (chunk, at) => 1 + chunk.readInt32BE(at + 1));
      socket.on('connect', () => socket.write(startupMessage({ user: 'postgres', database: 'postgres', options })));
      socket.on('data', (chunk: Buffer) =>
        reader.push(chunk, (frame) => {
          if (isReady) connection.#take(frame);
          else if (frame[0] === 0x5a) {
            isReady = true;
            socket.setTimeout(0);
            done(connection);
          } else if (frame[0] === 0x45) away(errorFields(frame).M ?? 'refused');
        }),
      );
      socket.on('error', (error) => away(error.message));
      socket.on('close', () => {
        away('closed');
        connection.#end();
      });
    });
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  /** Runs a statement, preparing it on first use. Rejects with `PostgresError`, or with `PostgresAway` when the outcome is unknown. */
  query(statement: Statement, parameters: readonly Parameter[]): Promise<Row[]> {
    if (this.#closed) return Promise.reject(new PostgresAway('closed'));
    return new Promise((done, failed) => {
      this.#pending.push({ statement, rows: [], error: undefined, done, failed });
      const execute = executeMessage(statement.name, parameters);
      this.#socket.write(this.#prepared.has(statement.name) ? execute : Buffer.concat([parseMessage(statement), execute]));
    });
  }

  /** Closes it at once; the server rolls back what is open. */
  destroy(): void {
    this.#socket.destroy();
    this.#end();
  }

  #take(frame: Buffer): void {
    const current = this.#pending[this.#head];
    if (!current) return;
    switch (frame[0]) {
      case 0x44:
        current.rows.push(rowColumns(frame));
        break;
      case 0x31:
        this.#prepared.add(current.statement.name);
        break;
      case 0x45: {
        const fields = errorFields(frame);
        current.error = new PostgresError(fields.C ?? 'XX000', fields.M ?? 'unknown error', fields.D);
        break;
      }
      case 0x5a:
        this.#next();
        if (current.error) current.failed(current.error);
        else current.done(current.rows);
        break;
      default:
        break;
    }
  }

  #next(): void {
    this.#head++;
    if (this.#head < this.#pending.length) return;
    this.#pending.length = 0;
    this.#head = 0;
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    const left = this.#pending.splice(0).slice(this.#head);
    // A FATAL error, such as a shutdown, comes before the close and says more than the close.
    for (const { error, failed } of left) failed(error ?? new PostgresAway('the connection to Postgres was lost'));
    this.onClose();
  }
}
