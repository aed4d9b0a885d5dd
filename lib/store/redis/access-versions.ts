import type { ChainableCommander } from 'ioredis';
import type { Logger } from '../../base/log.ts';
import { type Keys, versionKey } from './log/keys.ts';
import { type ControlMessage, controlChannel } from './log/reader.ts';
import { groupBySlot, publishCommand, type RedisClient, readKeys } from './redis.ts';
import type { ServerChanges } from './server-changes.ts';

/** How long a version key is kept without a change, in seconds: far longer than any cached entry (30 s). */
const versionTtlSecs = 3_600;

/** A membership: a server, and the account that joins, leaves or has other roles there. */
export type Membership = readonly [serverId: string, accountId: string];

/**
 * What a write changes. `servers`: those whose roles, channels, overwrites or owner change. `accounts`: those whose profile changes, or with `credentials`
 * their tokens. `members`: the memberships that change.
 */
export interface Change {
  servers?: readonly string[];
  accounts?: readonly string[];
  members?: readonly Membership[];
  credentials?: boolean;
}

/**
 * Versions of access data. A server's version covers its roles, channels, overwrites and owner, but not its members. An account's version covers its profile,
 * credentials and memberships. A member list's version covers who is in a server and with which roles. Caches store such data under its version.
 */
export interface AccessVersions {
  /** The versions of these servers, accounts and member lists, in the order of `ids`. Null while Redis is unavailable: do not use or fill a cache then. */
  read(ids: readonly string[]): Promise<string[] | null>;
  /**
   * Runs `write`, and bumps the versions of what it changes before and after it. For the servers that it changes, also by their members, it is a change under
   * way (`ServerChanges`): refuses `unavailable`, and writes nothing, if that cannot be recorded because Redis is unavailable. Gateway nodes receive changes of
   * credentials in order with the events of the account's place.
   */
  runChange<T>(change: Change, write: () => Promise<T>): Promise<T>;
}

/** The id of a server's member list in `AccessVersions`. */
export const toMemberListId = (serverId: string): string => `members:${serverId}`;

/** What one bump does: it increments the versions of `ids`, and publishes the changes of `credentialsOf` to gateway nodes. */
interface Bump {
  readonly ids: Set<string>;
  readonly credentialsOf: readonly string[];
}

const toBump = ({ servers = [], accounts = [], members = [], credentials = false }: Change): Bump => ({
  ids: new Set([...servers, ...accounts, ...members.flatMap(([serverId, accountId]) => [accountId, toMemberListId(serverId)])]),
  credentialsOf: credentials ? accounts : [],
});

/** Binds the versions to `redis`. A bump that fails after its write is repeated when the connection is back. */
export function createAccessVersions(redis: RedisClient, keys: Keys, log: Logger, serverChanges: ServerChanges): AccessVersions {
  const pending = new Set<Bump>();
  const bump = async ({ ids, credentialsOf }: Bump): Promise<void> => {
    const publish = publishCommand(redis);
    const increments = [...ids].map((id) => {
      const key = versionKey(keys, id);
      // A new key starts at the current time, so that no version repeats after a key has expired.
      return [
        key,
        (multi: ChainableCommander) => multi.set(key, Date.now(), 'EX', versionTtlSecs, 'NX').incr(key).expire(key, versionTtlSecs),
      ] as const;
    });
    const publishTo = (channel: string, message: ControlMessage) =>
      [channel, (multi: ChainableCommander) => multi[publish](channel, JSON.stringify(message))] as const;
    const credentialMessages = credentialsOf.map((accountId) => publishTo(controlChannel(keys, accountId), { kind: 'access', accountId }));
    await Promise.all(
      groupBySlot([...increments, ...credentialMessages], ([key]) => key).map((commands) => {
        const multi = redis.multi();
        for (const [, addCommand] of commands) addCommand(multi);
        return multi.exec();
      }),
    );
  };
  for (const event of ['ready', 'refresh'])
    redis.on(event, () => {
      for (const failedBump of pending) {
        pending.delete(failedBump);
        bump(failedBump).catch(() => pending.add(failedBump));
      }
    });
  return {
    async read(ids) {
      if (redis.status !== 'ready') return null;
      try {
        return (
          await readKeys(
            redis,
            ids.map((id) => versionKey(keys, id)),
          )
        ).map((version) => version ?? '0');
      } catch {
        return null;
      }
    },
    runChange(change, write) {
      const { servers = [], members = [] } = change;
      const changeBump = toBump(change);
      return serverChanges.run([...servers, ...members.map(([serverId]) => serverId)], async () => {
        await bump({ ...changeBump, credentialsOf: [] }).catch(() => undefined); // Redis is unavailable, and then no process uses its caches
        try {
          return await write();
        } finally {
          await bump(changeBump).catch((error: unknown) => {
            pending.add(changeBump);
            log.warn({ err: error }, 'could not bump access versions; retrying when Redis is available');
          });
        }
      });
    },
  };
}
