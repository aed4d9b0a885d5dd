import type { Keys } from './log/keys.ts';
import { bindScript, type RedisClient, readKeys } from './redis.ts';

/** How long an entry lives after it was written, in seconds: 30 days. */
const keptSecs = 30 * 24 * 3_600;
/** How long a forgotten channel has no entry, in milliseconds: longer than anybody takes from a read of the database to `note`. */
const forgottenMs = 10_000;
/** Stands for a forgotten channel. It sorts above every id, so `note` leaves it. */
const forgotten = '?';

/** The Redis key of a channel's newest message. */
export const newestKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}newest:${channelId}`;

/** Lua: `noteNewest(key, id)` notes the newest message of a channel, '' for none. An older one than is known changes nothing. */
export const noteNewestLua = `
local function noteNewest(key, id)
  local known = redis.call('GET', key)
  if not known or known < id then redis.call('SET', key, id, 'EX', ${keptSecs}) end
end
`;

/**
 * The id of the newest message of each channel, kept in Redis so that unread marks of many channels take one command. A copy only: whoever finds no entry reads
 * the database and notes what it found. After a crash of Redis that lost its last writes, an entry may be older than the database until the next message.
 */
export interface NewestMessages {
  /** The newest messages of these channels, in order: null for a channel without any, undefined where it is not known. All unknown while Redis is away. */
  read(channelIds: readonly string[]): Promise<(string | null | undefined)[]>;
  /** Notes the newest message of a channel, null for none. An older one than is known changes nothing. Never rejects. */
  note(channelId: string, messageId: string | null): Promise<void>;
  /** Forgets what is known of a channel, after a message was deleted. Never rejects. */
  forget(channelId: string): Promise<void>;
}

/** Binds the newest messages to `redis`. */
export function createNewestMessages(redis: RedisClient, keys: Keys): NewestMessages {
  const keyOf = (channelId: string): string => newestKey(keys, channelId);
  const noteScript = bindScript<null>(redis, 'parlanceNoteNewest', `${noteNewestLua}noteNewest(KEYS[1], ARGV[1])`);
  return {
    async read(channelIds) {
      const unknown = channelIds.map(() => undefined);
      if (channelIds.length === 0 || redis.status !== 'ready') return unknown;
      const found = await readKeys(redis, channelIds.map(keyOf)).catch(() => unknown);
      return found.map((id) => (id === forgotten ? undefined : id === '' ? null : (id ?? undefined)));
    },
    async note(channelId, messageId) {
      await noteScript([keyOf(channelId)], [messageId ?? '']).catch(() => undefined);
    },
    async forget(channelId) {
      await redis.set(keyOf(channelId), forgotten, 'PX', forgottenMs).catch(() => undefined);
    },
  };
}
