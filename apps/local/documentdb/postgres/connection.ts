import { Client, type ClientConfig, type CustomTypesConfig, DatabaseError } from 'pg';
import { JoiningSocket } from './joining-socket.ts';

/** A statement to prepare once a connection: a name that is unique among all statements, and its text. */
export interface Statement {
  name: string;
  text: string;
}

/** A parameter: buffers are sent in Postgres' binary form, strings as text, `null` as NULL. */
export type Parameter = Buffer | string | null;

/** A column of a result: BSON as a buffer, the rest as what it is or its text. */
type Value = Buffer | string | bigint | boolean | null;

/** One row of a result. */
export type Row = Value[];

/** An error Postgres reported; `sqlState` is its five characters. */
export class PostgresError extends Error {
  readonly sqlState: string;

  constructor(sqlState: string, message: string) {
    super(message);
    this.sqlState = sqlState;
  }
}

/** Postgres cannot be reached, or went away before it answered. */
export class PostgresAway extends Error {}

const openMs = 450;
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
 * Statements that run often select their BSON as bytea, for the engine is slower at writing its own text form. That form remains for the
 * rest; its type has another number in each database.
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

/** How to reach the server behind the unix socket in `socketDir` as the cluster's owner. */
export function clientConfig(socketDir: string, options: string): ClientConfig {
  const types = { getTypeParser: parserOf as CustomTypesConfig['getTypeParser'] };
  return { host: socketDir, port: 5432, user: 'postgres', database: 'postgres', ssl: false, options, types };
}

/** A client that gives up connecting by itself: a pool given this limit would apply it also to waiting for a free connection. */
export class ImpatientClient extends Client {
  constructor(config?: ClientConfig) {
    super({ ...config, connectionTimeoutMillis: openMs, stream: () => new JoiningSocket() });
    // What a connection dies of is told to its query, or else to the next one.
    this.on('error', () => undefined);
  }
}

const limitStatement = { name: 'limit', text: "SELECT set_config('statement_timeout', $1, false)" };
/** How long a statement may take on each connection that was ever limited, in milliseconds; 0 is for ever. */
const limits = new WeakMap<Client, number>();

/** A connection in the sole use of its holder. */
export class PostgresConnection {
  readonly #client: Client;
  readonly #giveBack: (isBroken: boolean) => void;
  #isBroken = false;
  #isOver = false;

  constructor(client: Client, giveBack: (isBroken: boolean) => void) {
    this.#client = client;
    this.#giveBack = giveBack;
  }

  /** Opens a connection outside of any pool. Rejects with `PostgresAway`. */
  static async open(socketDir: string): Promise<PostgresConnection> {
    const client = new ImpatientClient(clientConfig(socketDir, ''));
    try {
      await client.connect();
    } catch (error) {
      throw new PostgresAway((error as Error).message);
    }
    return new PostgresConnection(client, () => void client.end().catch(() => undefined));
  }

  /** Runs a statement, preparing it on first use. Rejects with `PostgresError`, or with `PostgresAway` when the outcome is unknown. */
  query({ name, text }: Statement, values: Parameter[]): Promise<Row[]> {
    return new Promise((done, failed) => {
      this.#client.query<Row, Parameter[]>({ name, text, values, rowMode: 'array' }, (error: Error | null, result) => {
        if (error) failed(this.#failure(error));
        else done(result.rows);
      });
    });
  }

  /** Lets each statement from now on, of later holders too, take at most `ms`; 0 is for ever. Asks the server only when that is another limit than before. */
  async limit(ms: number): Promise<void> {
    if ((limits.get(this.#client) ?? 0) === ms) return;
    await this.query(limitStatement, [String(ms)]);
    limits.set(this.#client, ms);
  }

  /** Ends its use: back to its pool, or closed when it has none. Once is enough. */
  release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#giveBack(this.#isBroken);
  }

  /** Ends its use and closes it; the server rolls back what is open. */
  destroy(): void {
    this.#isBroken = true;
    this.release();
  }

  #failure(error: Error): Error {
    // Of a FATAL error, such as a shutdown, the close of the connection comes only later.
    const isReported = error instanceof DatabaseError;
    if (!isReported || error.severity !== 'ERROR') this.#isBroken = true;
    return isReported ? new PostgresError(error.code ?? 'XX000', error.message) : new PostgresAway(error.message);
  }
}
