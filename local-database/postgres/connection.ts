import { Client, type ClientConfig, type CustomTypesConfig, DatabaseError } from 'pg';
import { JoiningSocket } from './joining-socket.ts';

/** A statement that each connection prepares once: a name that is unique among all statements, and its text. */
export interface Statement {
  name: string;
  text: string;
}

/** A parameter: buffers are sent in Postgres' binary form, strings as text, `null` as NULL. */
export type Parameter = Buffer | string | null;

/** A column of a result: BSON and bytea as a buffer, int8 and bool as their own types, everything else as text. */
type Value = Buffer | string | bigint | boolean | null;

/** One row of a result. */
export type Row = Value[];

/** An error that Postgres reported; `sqlState` is its five-character code. */
export class PostgresError extends Error {
  readonly sqlState: string;

  constructor(sqlState: string, message: string) {
    super(message);
    this.sqlState = sqlState;
  }
}

/** Postgres cannot be reached, or the connection was lost before it responded. */
export class PostgresUnavailable extends Error {}

/** How long Postgres may take to accept a connection, in milliseconds. It starts a process for each one, which takes long on a busy machine. */
const openMs = 1_000;
const oid = { bool: 16, bytea: 17, int8: 20, text: 25, json: 114 } as const;
const byteaPrefix = String.raw`\x`;
const bsonPrefix = 'BSONHEX';

const toText = (value: string): Value => value;
const toBool = (value: string): Value => value === 't';
const toBigInt = (value: string): Value => BigInt(value);
const fromHex = (value: string, prefix: string): Buffer => Buffer.from(value.slice(prefix.length), 'hex');
const toBytes = (value: string): Value => fromHex(value, byteaPrefix);
const toDocument = (value: string): Value => (value.startsWith(bsonPrefix) ? fromHex(value, bsonPrefix) : value);

/**
 * Frequent statements select their BSON as bytea, because the engine is slower at writing its own text format. The other statements use that text format. Its
 * type has a different oid in each database, so it is the default case.
 */
function parserOf(type: number): (value: string) => Value {
  switch (type) {
    case oid.bool:
      return toBool;
    case oid.bytea:
      return toBytes;
    case oid.int8:
      return toBigInt;
    case oid.text:
    case oid.json:
      return toText;
    default:
      return toDocument;
  }
}

/** Connection settings for the server behind the unix socket in `socketDir`, as the cluster's owner. */
export function clientConfig(socketDir: string, options: string): ClientConfig {
  const types = { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
  return { host: socketDir, port: 5432, user: 'postgres', database: 'postgres', ssl: false, options, types };
}

/** A client with its own connection timeout. A pool would apply such a timeout also to waiting for a free connection. */
export class TimeoutClient extends Client {
  /** Whether the server or the socket has ended the connection. */
  isLost = false;

  constructor(config?: ClientConfig) {
    super({ ...config, connectionTimeoutMillis: openMs, stream: () => new JoiningSocket() });
    // A connection error is reported to the running query, or else to the next one.
    for (const event of ['error', 'end'] as const)
      this.on(event, () => {
        this.isLost = true;
      });
  }
}

const limitStatement = { name: 'limit', text: "SELECT set_config('statement_timeout', $1, false)" };
/** The statement timeout of each connection that ever had one, in milliseconds; 0 means no limit. */
const limits = new WeakMap<Client, number>();

/** A connection that only its holder uses. */
export class PostgresConnection {
  readonly #client: Client;
  readonly #onRelease: (isBroken: boolean) => void;
  #isBroken = false;
  #isOver = false;

  constructor(client: Client, onRelease: (isBroken: boolean) => void) {
    this.#client = client;
    this.#onRelease = onRelease;
  }

  /** Opens a connection outside of any pool. Rejects with `PostgresUnavailable`. */
  static async open(socketDir: string): Promise<PostgresConnection> {
    const client = new TimeoutClient(clientConfig(socketDir, ''));
    try {
      await client.connect();
    } catch (error) {
      throw new PostgresUnavailable((error as Error).message);
    }
    return new PostgresConnection(client, () => void client.end().catch(() => undefined));
  }

  /** Runs a statement, preparing it on first use. Rejects with `PostgresError`, or with `PostgresUnavailable` when the outcome is unknown. */
  query({ name, text }: Statement, values: Parameter[]): Promise<Row[]> {
    return new Promise((done, failed) => {
      this.#client.query<Row, Parameter[]>({ name, text, values, rowMode: 'array' }, (error: Error | null, result) => {
        if (error) failed(this.#failure(error));
        else done(result.rows);
      });
    });
  }

  /**
   * Sets how long each statement on this connection may take, in ms, also for later holders; 0 means no limit. Queries the server only if the limit changes.
   */
  async limit(ms: number): Promise<void> {
    if ((limits.get(this.#client) ?? 0) === ms) return;
    await this.query(limitStatement, [String(ms)]);
    limits.set(this.#client, ms);
  }

  /** Returns the connection to its pool, or closes it if it has none. Further calls do nothing. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#onRelease(this.#isBroken);
  }

  /** Closes the connection; the server rolls back an open transaction. */
  destroy(): void {
    this.#isBroken = true;
    this.release();
  }

  #failure(error: Error): Error {
    // After a FATAL error, such as a shutdown, the connection closes only later, so it is marked as broken here.
    const isReported = error instanceof DatabaseError;
    if (!isReported || error.severity !== 'ERROR') this.#isBroken = true;
    return isReported ? new PostgresError(error.code ?? 'XX000', error.message) : new PostgresUnavailable(error.message);
  }
}
