import { setTimeout as sleep } from 'node:timers/promises';
import mongoose, { type Connection, type ConnectOptions, mongo, type Schema } from 'mongoose';
import type { Config } from '../../../config/index.ts';
import type { Logger } from '../../base/log.ts';
import { firstConnectMs } from '../../base/process.ts';
import { patchConnectionClose, WaitQueueTimeoutError } from './driver.ts';
import { accountSchema, applicationSchema, tokenSchema } from './models/account.ts';
import { cooldownSchema } from './models/cooldown.ts';
import { deliverySchema } from './models/delivery.ts';
import { dmSchema } from './models/dm.ts';
import { exportSchema } from './models/export.ts';
import { fileSchema } from './models/file.ts';
import { followSchema } from './models/follow.ts';
import { commandsSchema, idempotencySchema, interactionSchema } from './models/interaction.ts';
import { logSchema } from './models/log.ts';
import { loginCodeSchema } from './models/login-code.ts';
import { membershipSchema } from './models/membership.ts';
import { messageSchema } from './models/message.ts';
import { metaSchema, migrationSchema } from './models/meta.ts';
import { auditSchema, banSchema, inviteSchema } from './models/moderation.ts';
import { noticeSchema } from './models/notice.ts';
import { operatorAuditSchema } from './models/operator-audit.ts';
import { passwordResetSchema } from './models/password-reset.ts';
import { reactionSchema } from './models/reaction.ts';
import { readSchema } from './models/read.ts';
import { removalSchema } from './models/removal.ts';
import { channelSchema, memberSchema, serverSchema } from './models/server.ts';
import { webhookSchema } from './models/webhook.ts';

patchConnectionClose();

/** A collection of the database driver whose documents are `T`. */
export type Collection<T extends { _id: string }> = mongo.Collection<T>;

/** A filter of documents `T`. */
export type Filter<T> = mongo.Filter<T>;
/** An update of documents `T`. */
export type Update<T> = mongo.UpdateFilter<T>;

/** What is stored: the collections with their documents, indexes and shard keys. */
export const schemas = {
  accounts: accountSchema,
  tokens: tokenSchema,
  loginCodes: loginCodeSchema,
  passwordResets: passwordResetSchema,
  applications: applicationSchema,
  servers: serverSchema,
  channels: channelSchema,
  members: memberSchema,
  memberships: membershipSchema,
  bans: banSchema,
  invites: inviteSchema,
  audit: auditSchema,
  messages: messageSchema,
  reactions: reactionSchema,
  files: fileSchema,
  exports: exportSchema,
  dms: dmSchema,
  notices: noticeSchema,
  removals: removalSchema,
  follows: followSchema,
  cooldowns: cooldownSchema,
  webhooks: webhookSchema,
  deliveries: deliverySchema,
  reads: readSchema,
  commands: commandsSchema,
  interactions: interactionSchema,
  idempotency: idempotencySchema,
  meta: metaSchema,
  migrations: migrationSchema,
  log: logSchema,
  operatorAudit: operatorAuditSchema,
} as const;

type Schemas = typeof schemas;
type Document<S> = S extends Schema<infer T extends { _id: string }> ? T : never;

/** What each collection stores. */
export type Documents = { readonly [Name in keyof Schemas]: Document<Schemas[Name]> };

/** The collections. Queries are those of the database driver: what is written is stored as it is. */
export type Collections = { readonly [Name in keyof Documents]: Collection<Documents[Name]> };

/** One of several collections, typed by the fields `F` that their documents share. */
export const withSharedFields = <F extends object>(collection: Collections[keyof Collections]): Collection<F & { _id: string }> =>
  collection as unknown as Collection<F & { _id: string }>;

/** Whether a document matches `filter`. */
export const exists = async <T extends { _id: string }>(collection: Collection<T>, filter: Filter<NoInfer<T>>): Promise<boolean> =>
  (await collection.findOne(filter, { projection: { _id: 1 } })) !== null;

const getCollections = (connection: Connection): Collections => {
  const database = connection.getClient().db(connection.name);
  const entries = Object.entries(schemas).map(([name, schema]) => [name, database.collection(schema.get('collection') as string)]);
  return Object.fromEntries(entries) as Collections;
};

/** The database of one process. */
export interface Database extends Collections {
  /** Writes a document, for the readiness check. Rejects when the database cannot be written. */
  checkWritable(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Options of a write that resolves before it is on disk, for marks that some work is done. A crash of the database may lose such a mark. The work is then found
 * and done again, which changes nothing.
 */
export const relaxedWriteConcern = { writeConcern: { w: 1, journal: false } } as const;

/**
 * The timeout of a database operation in milliseconds, times STORE_TIMEOUT_FACTOR. With it the API answers 503 within 2.5 s
 * (docs/guarantees.md#p10-degraded-operation).
 */
const operationTimeoutMs = 2_000;

const connectionOptions = {
  autoIndex: false,
  autoCreate: false,
  bufferCommands: false,
  maxPoolSize: 32,
  minPoolSize: 2,
  heartbeatFrequencyMS: 1_000,
  retryReads: false,
  retryWrites: false,
  writeConcern: { w: 'majority', journal: true },
} satisfies ConnectOptions;

/** Connects to the database, and retries for 5 s (times STORE_TIMEOUT_FACTOR). */
async function connectWithRetry({ MONGODB_URL, STORE_TIMEOUT_FACTOR }: Config, isPatient: boolean): Promise<Connection> {
  const timeoutMs = operationTimeoutMs * STORE_TIMEOUT_FACTOR;
  const timeouts = {
    serverSelectionTimeoutMS: timeoutMs,
    connectTimeoutMS: timeoutMs,
    socketTimeoutMS: isPatient ? 0 : timeoutMs,
    waitQueueTimeoutMS: timeoutMs,
  };
  for (const deadlineMs = performance.now() + firstConnectMs * STORE_TIMEOUT_FACTOR; ; ) {
    const connection = mongoose.createConnection(MONGODB_URL, { ...connectionOptions, ...timeouts });
    try {
      return await connection.asPromise();
    } catch (error) {
      await connection.destroy(true).catch(() => undefined);
      if (performance.now() > deadlineMs) throw error;
      await sleep(100);
    }
  }
}

/**
 * Connects to MongoDB. Each write waits until the majority has it in its journal (docs/guarantees.md#p1-durable-writes). Operations are not buffered while the
 * database is unavailable. With `isPatient` an operation may take any time, as the build of an index does.
 */
export async function openDatabase(config: Config, log: Logger, { isPatient = false } = {}): Promise<Database> {
  const connection = await connectWithRetry(config, isPatient);
  connection.on('error', (error: Error) => log.warn({ err: error }, 'database connection error'));
  const collections = getCollections(connection);
  return {
    ...collections,
    async checkWritable() {
      await connection
        .collection<{ _id: string; at: Date }>('probe')
        .updateOne({ _id: 'probe' }, { $set: { at: new Date() } }, { upsert: true });
    },
    close: () => connection.close(),
  };
}

/** Whether `error` says that a unique index refused a duplicate. */
export const isDuplicateKey = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === 11000;

const writeConflictCode = 112;

/** Whether `error` says that a write conflicted with a concurrent one and wrote nothing, so that it may be retried. */
export const isWriteConflict = (error: unknown): boolean => (error as { code?: unknown } | null)?.code === writeConflictCode;

/** Whether `error` comes from the database or its driver. */
export const isDatabaseError = (error: unknown): boolean => error instanceof mongo.MongoError || error instanceof mongoose.Error;

/** The driver's errors when the server cannot be reached, does not answer in time, or cannot confirm a write. */
const unavailableErrors = [
  mongo.MongoNetworkError, // also of a connection pool that was cleared
  mongo.MongoServerSelectionError,
  mongoose.Error.MongooseServerSelectionError, // when connecting
  WaitQueueTimeoutError,
  mongo.MongoNotConnectedError,
  mongo.MongoTopologyClosedError,
  mongo.MongoExpiredSessionError,
  mongo.MongoOperationTimeoutError,
  mongo.MongoWriteConcernError,
];

/** The server's codes MaxTimeMSExpired, ShutdownInProgress, PrimarySteppedDown and InterruptedAtShutdown, and that of a write conflict. */
const unavailableCodes: readonly unknown[] = [50, 91, 189, 11600, writeConflictCode];

/** Whether `error` says that the database could not be reached or did not answer in time. */
export function isUnavailable(error: unknown): boolean {
  if (unavailableErrors.some((unavailableError) => error instanceof unavailableError)) return true;
  const { code, syscall } = (error ?? {}) as { code?: unknown; syscall?: unknown };
  // `insertMany` and `bulkWrite` throw every error of the driver as one of this class. What the server says has a code.
  if (error instanceof mongo.MongoBulkWriteError && code === undefined) return true;
  // The driver passes on the error of a socket that was closed while a command was written.
  return unavailableCodes.includes(code) || ((code === 'EPIPE' || code === 'ECONNRESET') && syscall === 'write');
}
