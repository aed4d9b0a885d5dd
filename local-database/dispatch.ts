import { type Command, type Handler, type Lease, option, parseCommand, type Reply } from './command.ts';
import { adminHandlers } from './commands/admin.ts';
import { CursorTable } from './commands/cursors.ts';
import { explain } from './commands/explain.ts';
import { findAndModify } from './commands/find-and-modify.ts';
import { createIndexes, dropIndexes } from './commands/indexes.ts';
import { localReply } from './commands/server-info.ts';
import { insert, remove, update } from './commands/writes.ts';
import { CommandError, isLostRace, toCommandError } from './errors.ts';
import { ConnectionPool } from './postgres/pool.ts';
import { isRelaxedWrite } from './relaxed.ts';
import { inSingleFile, raceAttempts } from './single-file.ts';
import type { Request } from './wire.ts';

const plainConnections = 24;
const relaxedConnections = 8;
const limitedConnections = 24;
/** Time limits above one second are rounded up to a multiple of this, in milliseconds, so that most commands of one kind share a limit. */
const limitStepMs = 100;

/** Runs commands against one Postgres. */
export class Dispatcher {
  readonly #pool: ConnectionPool;
  readonly #relaxedPool: ConnectionPool;
  /** Connections for commands with a time limit. A connection keeps its limit, so the limit rarely has to be set. */
  readonly #limitedPool: ConnectionPool;
  readonly #handlers: Map<string, Handler>;
  readonly cursors: CursorTable;

  constructor(socketDir: string) {
    this.#pool = new ConnectionPool({ socketDir, max: plainConnections });
    this.#relaxedPool = new ConnectionPool({ socketDir, max: relaxedConnections, isRelaxed: true });
    this.#limitedPool = new ConnectionPool({ socketDir, max: limitedConnections });
    this.cursors = new CursorTable(this.#pool);
    const named = { insert, update, delete: remove, findAndModify, findandmodify: findAndModify, createIndexes, dropIndexes, explain };
    this.#handlers = new Map(Object.entries<Handler>({ ...named, ...adminHandlers, ...this.cursors.handlers() }));
  }

  /** Answers one request; never rejects. */
  async answer(request: Request, address: string): Promise<Reply> {
    try {
      const command = parseCommand(request.body, request.sequence);
      const local = localReply(command.name, address);
      if (local) return local;
      if (request.isLegacy) throw new CommandError(352, 'UnsupportedOpQueryCommand', 'OP_QUERY supports only hello');
      if (option(command, 'autocommit') === 0) throw new CommandError(20, 'IllegalOperation', 'there are no transactions');
      return await this.#run(command);
    } catch (error) {
      return toCommandError(error).toReply();
    }
  }

  /** Closes all connections. */
  close(): void {
    this.cursors.close();
    this.#pool.close();
    this.#relaxedPool.close();
    this.#limitedPool.close();
  }

  async #run(command: Command): Promise<Reply> {
    const handler = this.#handlerOf(command);
    const pool = isRelaxedWrite(command) ? this.#relaxedPool : limitOf(command) > 0 ? this.#limitedPool : this.#pool;
    const once = async () => {
      const lease: Lease = { connection: await pool.acquire(), isKept: false };
      try {
        return await runLimited(handler, command, lease);
      } finally {
        if (!lease.isKept) lease.connection.release();
      }
    };
    for (let attempt = 1; ; attempt++) {
      try {
        return await (attempt === 1 ? once() : inSingleFile(`${command.db}.${command.target}`, once));
      } catch (error) {
        if (!isLostRace(error) || attempt >= raceAttempts) throw error;
      }
    }
  }

  #handlerOf(command: Command): Handler {
    const handler = this.#handlers.get(command.name);
    if (!handler) throw new CommandError(59, 'CommandNotFound', `no such command: '${command.name}'`);
    return handler;
  }
}

/** The `maxTimeMS` of a command, in milliseconds; 0 without one. */
function limitOf(command: Command): number {
  const ms = option(command, 'maxTimeMS') ?? 0;
  return ms > 1_000 ? Math.ceil(ms / limitStepMs) * limitStepMs : Math.max(0, Math.ceil(ms));
}

/** Runs a command with its `maxTimeMS`, or without a limit. */
async function runLimited(handler: Handler, command: Command, lease: Lease): Promise<Reply> {
  await lease.connection.limit(limitOf(command));
  try {
    return await handler(command, lease);
  } finally {
    if (lease.isKept) await lease.connection.limit(0).catch(() => undefined);
  }
}
