import type { Logger } from '../../base/log.ts';
import { perTurn } from '../../base/per-turn.ts';
import { type Keys, versionKey } from './log/keys.ts';
import { type ControlMessage, controlChannel } from './log/reader.ts';
import { bindScript, groupBySlot, type RedisClient, readKeys } from './redis.ts';
import type { ServerChanges } from './server-changes.ts';

/** How long a version key is kept without a change, in seconds: far longer than any cached entry (30 s). */
const versionTtlSecs = 3_600;

// Increments versions and publishes messages. A new version starts at the current time, so that none repeats after its key has expired. KEYS: those of the
// versions, then channels. ARGV: the time in milliseconds, how many versions there are, and a message for each channel.
const bumpLua = `
local versions = tonumber(ARGV[2])
for i = 1, versions do
  if redis.call('INCR', KEYS[i]) == 1 then
    redis.call('SET', KEYS[i], ARGV[1], 'EX', ${versionTtlSecs})
  else
    redis.call('EXPIRE', KEYS[i], ${versionTtlSecs})
  end
end
for i = versions + 1, #KEYS do redis.call('PUBLISH', KEYS[i], ARGV[2 + i - versions]) end
`;

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
  const bumpScript = bindScript<null>(redis, 'parlanceBumpVersions', bumpLua);
  const bump = async ({ ids, credentialsOf }: Bump): Promise<void> => {
    const toMessage = (accountId: string): string => JSON.stringify({ kind: 'access', accountId } satisfies ControlMessage);
    const parts: { key: string; message?: string }[] = [
      ...[...ids].map((id) => ({ key: versionKey(keys, id) })),
      ...credentialsOf.map((accountId) => ({ key: controlChannel(keys, accountId), message: toMessage(accountId) })),
    ];
    await Promise.all(
      groupBySlot(parts, ({ key }) => key).map((ofSlot) => {
        const messages = ofSlot.flatMap(({ message }) => message ?? []);
        return bumpScript(
          ofSlot.map(({ key }) => key),
          [Date.now(), ofSlot.length - messages.length, ...messages],
        );
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
  /** Those that are asked for in one turn of the event loop are read together. */
  const readTogether = perTurn<readonly string[], string[]>(async (asked) => {
    const ids = [...new Set(asked.flat())];
    const versions = await readKeys(
      redis,
      ids.map((id) => versionKey(keys, id)),
    );
    const byId = new Map(ids.map((id, at) => [id, versions[at] ?? '0']));
    return asked.map((some) => some.map((id) => byId.get(id) as string));
  });
  return {
    read: async (ids) => (redis.status === 'ready' ? readTogether(ids).catch(() => null) : null),
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
