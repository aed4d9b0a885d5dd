import type { ChainableCommander } from 'ioredis';
import type { Logger } from '../base/log.ts';
import { type Keys, serverPlace, versionKey } from './log/keys.ts';
import { type Control, controlChannel } from './log/reader.ts';
import { groupBySlot, publishCommand, type RedisClient, readKeys } from './redis.ts';

/** How long a version key is kept without a change, in seconds: far longer than any cached entry (30 s). */
const keptSecs = 3_600;

/** A membership: a server, and the account that joins, leaves or has other roles there. */
export type Membership = readonly [serverId: string, accountId: string];

/** What a write changes. `rules`: roles, channels and overwrites of a server, or its owner. `credentials`: tokens of `accounts`. */
export interface Change {
  servers?: readonly string[];
  accounts?: readonly string[];
  members?: readonly Membership[];
  credentials?: boolean;
}

/**
 * Versions of access data. A server's version covers its roles, channels, overwrites and owner, and not its members; an account's covers its profile, its
 * credentials and its memberships; a member list's covers who is in a server, with which roles. Whoever caches such data keeps it under its version.
 */
export interface AccessVersions {
  /** The versions of these servers, accounts and member lists, in order; null while Redis is away, and then nothing may be cached or taken from a cache. */
  read(ids: readonly string[]): Promise<string[] | null>;
  /**
   * Runs `write` with the versions of what it changes bumped before and after it. Gateway nodes receive changes of members and of credentials in order with the
   * events of their place: what is appended after the answer is judged by the new state.
   */
  changing<T>(what: Change, write: () => Promise<T>): Promise<T>;
}

/** The id under which `AccessVersions` knows the member list of a server. */
export const memberListOf = (serverId: string): string => `members:${serverId}`;

/** What one bump does: the ids whose versions rise, and the changes that are published to gateway nodes. */
interface Bump {
  readonly ids: Set<string>;
  readonly members: readonly Membership[];
  readonly credentialsOf: readonly string[];
}

const bumpOf = ({ servers = [], accounts = [], members = [], credentials = false }: Change): Bump => ({
  ids: new Set([...servers, ...accounts, ...members.flatMap(([serverId, accountId]) => [accountId, memberListOf(serverId)])]),
  members,
  credentialsOf: credentials ? accounts : [],
});

/** Binds the versions to `redis`. Bumps that fail are repeated when the connection is back. */
export function createAccessVersions(redis: RedisClient, keys: Keys, log: Logger): AccessVersions {
  const pending = new Set<Bump>();
  const bump = async ({ ids, members, credentialsOf }: Bump): Promise<void> => {
    const publish = publishCommand(redis);
    const rises = [...ids].map((id) => {
      const key = versionKey(keys, id);
      // Begins at the time, so that a version never comes back after its key expired.
      return [
        key,
        (multi: ChainableCommander) => multi.set(key, Date.now(), 'EX', keptSecs, 'NX').incr(key).expire(key, keptSecs),
      ] as const;
    });
    const tell = (channel: string, message: Control) =>
      [channel, (multi: ChainableCommander) => multi[publish](channel, JSON.stringify(message))] as const;
    const changes = members.map(([serverId, accountId]) => {
      const place = serverPlace(serverId);
      return tell(keys.channel(place), { kind: 'member', place, accountId });
    });
    const resets = credentialsOf.map((accountId) => tell(controlChannel(keys, accountId), { kind: 'access', accountId }));
    await Promise.all(
      groupBySlot([...rises, ...changes, ...resets], ([key]) => key).map((commands) => {
        const multi = redis.multi();
        for (const [, add] of commands) add(multi);
        return multi.exec();
      }),
    );
  };
  for (const event of ['ready', 'refresh'])
    redis.on(event, () => {
      for (const one of pending) {
        pending.delete(one);
        bump(one).catch(() => pending.add(one));
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
    async changing(what, write) {
      const change = bumpOf(what);
      await bump({ ...change, credentialsOf: [] }).catch(() => undefined); // Redis away: nobody uses the caches now
      try {
        return await write();
      } finally {
        await bump(change).catch((error: unknown) => {
          pending.add(change);
          log.warn({ err: error }, 'access versions could not be bumped; retrying when Redis is back');
        });
      }
    },
  };
}
