import { type Document, deserialize } from 'bson';
import type { Command, Handler, Lease } from '../command.ts';
import { queryRow } from '../command.ts';
import { CommandError } from '../errors.ts';
import type { PostgresConnection } from '../postgres/connection.ts';
import type { ConnectionPool } from '../postgres/pool.ts';

const idleMs = 600_000;
const maxCursors = 1000;
const pageColumns = 'cursorpage::bytea, continuation::bytea, persistconnection, cursorid';
const firstPages = {
  find: 'find_cursor_first_page',
  aggregate: 'aggregate_cursor_first_page',
  listCollections: 'list_collections_cursor_first_page',
  listIndexes: 'list_indexes_cursor_first_page',
} as const;
const getMoreStatement = {
  name: 'get_more',
  text: 'SELECT cursorpage::bytea, continuation::bytea FROM documentdb_api.cursor_get_more($1, $2, $3)',
};
const deleteStatement = { name: 'delete_cursor', text: 'SELECT documentdb_api_internal.delete_cursors(ARRAY[$1::int8])' };

interface Cursor {
  db: string;
  continuation: Buffer;
  /** The connection that the engine needs for the next pages; undefined if any connection will do. */
  held: PostgresConnection | undefined;
  usedAt: number;
}

/** The open cursors of a gateway: at most 1,000. The cursor idle longest is dropped first, and any cursor after 10 minutes without use. */
export class CursorTable {
  readonly #cursors = new Map<bigint, Cursor>();
  readonly #pool: ConnectionPool;
  readonly #sweep: NodeJS.Timeout;

  constructor(pool: ConnectionPool) {
    this.#pool = pool;
    this.#sweep = setInterval(() => this.dropIdle(Date.now() - idleMs), 30_000);
    this.#sweep.unref();
  }

  get size(): number {
    return this.#cursors.size;
  }

  /** The handlers that open, read and close cursors. */
  handlers(): Record<string, Handler> {
    const open = (name: keyof typeof firstPages): Handler => {
      const statement = { name, text: `SELECT ${pageColumns} FROM documentdb_api.${firstPages[name]}($1, $2)` };
      return async (command, lease) => {
        const [page, continuation, persist, id] = await queryRow(lease, statement, [command.db, command.spec]);
        if (!Buffer.isBuffer(page)) throw new Error(`no page of ${name}`);
        if (Buffer.isBuffer(continuation) && typeof id === 'bigint') this.#add(id, command.db, continuation, persist === true, lease);
        return page;
      };
    };
    return {
      find: open('find'),
      aggregate: open('aggregate'),
      listCollections: open('listCollections'),
      listIndexes: open('listIndexes'),
      getMore: (command, lease) => this.#getMore(command, lease),
      killCursors: (command) => Promise.resolve(this.#kill(command)),
    };
  }

  /** Closes the cursors not used since `before`, a time in ms. */
  dropIdle(before: number): void {
    for (const [id, cursor] of this.#cursors) if (cursor.usedAt <= before) this.#drop(id, cursor);
  }

  /** Stops the sweep. */
  close(): void {
    clearInterval(this.#sweep);
  }

  #add(id: bigint, db: string, continuation: Buffer, isPersistent: boolean, lease: Lease): void {
    if (isPersistent) lease.isKept = true;
    this.#cursors.set(id, { db, continuation, held: isPersistent ? lease.connection : undefined, usedAt: Date.now() });
    const [oldest] = this.#cursors;
    if (this.#cursors.size > maxCursors && oldest) this.#drop(...oldest);
  }

  async #getMore(command: Command, lease: Lease): Promise<Buffer> {
    const field = command.fields.get('getMore');
    const id = field?.type === 18 ? command.body.readBigInt64LE(field.at) : 0n;
    const cursor = this.#cursors.get(id);
    if (!cursor) throw new CommandError(43, 'CursorNotFound', `cursor id ${id} not found`);
    cursor.usedAt = Date.now();
    const source = cursor.held ? { ...lease, connection: cursor.held } : lease;
    const [page, continuation] = await queryRow(source, getMoreStatement, [cursor.db, command.spec, cursor.continuation]);
    if (!Buffer.isBuffer(page)) throw new Error('no page of getMore');
    // A used cursor moves to the end of the map, so the first cursor is the one idle longest.
    this.#cursors.delete(id);
    if (Buffer.isBuffer(continuation)) this.#cursors.set(id, { ...cursor, continuation });
    else cursor.held?.release();
    return page;
  }

  #kill(command: Command): Document {
    const ids = deserialize(command.body, { promoteLongs: false, useBigInt64: false }).cursors as { toString(): string }[];
    const cursorsKilled: unknown[] = [];
    const cursorsNotFound: unknown[] = [];
    for (const id of ids) {
      const cursor = this.#cursors.get(BigInt(id.toString()));
      if (cursor) this.#drop(BigInt(id.toString()), cursor);
      (cursor ? cursorsKilled : cursorsNotFound).push(id);
    }
    return { cursorsKilled, cursorsNotFound, cursorsAlive: [], cursorsUnknown: [], ok: 1 };
  }

  #drop(id: bigint, cursor: Cursor): void {
    this.#cursors.delete(id);
    // The engine's state of a held cursor ends with its connection.
    cursor.held?.destroy();
    this.#pool.use((connection) => connection.query(deleteStatement, [String(id)])).catch(() => undefined);
  }
}
