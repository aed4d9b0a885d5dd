import type { Keys } from './log/keys.ts';
import { bindScript, groupBySlot, type RedisClient } from './redis.ts';

/** How long an entry lives after it was written, in seconds: 30 days. */
const keptSecs = 30 * 24 * 3_600;
/** How long a forgotten channel has no entry, in milliseconds: longer than anybody takes from a read of the database to `note`. */
const forgottenMs = 10_000;
/** Stands for a forgotten channel: nothing is noted. */
const forgotten = '?';

/** The Redis key of a channel's newest message. */
export const newestKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}newest:${channelId}`;

/** The Redis key of the state of the channel's partition, where its epoch stands. */
export const newestStateKey = (keys: Keys, channelId: string): string => `${keys.partition(keys.partitionOf(channelId))}state`;

/**
 * Lua: `readNewest(state, key)` gives the newest message of a channel, '' for none, nil where it is not known. `noteNewest(state, key, id, isNew)` notes it; an
 * older one than is known changes nothing. Where none is known only a message that was just posted, or what the database says, is noted (`isNew`); for another one
 * the channel is forgotten, as somebody may be about to note what the database said before it. An entry of another epoch is not known: Redis may have lost a later one.
 */
export const newestLua = `
local function readNewest(state, key)
  local epoch, id = string.match(redis.call('GET', key) or '', '^(%d+):(.*)$')
  if epoch and epoch == (redis.call('HGET', state, 'epoch') or '0') then return id end
end
local function noteNewest(state, key, id, isNew)
  local known = readNewest(state, key)
  if redis.call('GET', key) == '${forgotten}' or known and known >= id then return end
  if not known and not isNew then redis.call('SET', key, '${forgotten}', 'PX', ${forgottenMs})
  else redis.call('SET', key, (redis.call('HGET', state, 'epoch') or '0')..':'..id, 'EX', ${keptSecs}) end
end
`;

/**
 * The id of the newest message of each channel, kept in Redis so that unread marks of many channels take one command for each partition. A copy only: whoever
 * finds no entry reads the database and notes what it found.
 */
export interface NewestMessages {
  /** The newest messages of these channels, in order: null for a channel without any, undefined where it is not known. All unknown while Redis is away. */
  read(channelIds: readonly string[]): Promise<(string | null | undefined)[]>;
  /** Notes the newest message of a channel as the database says, null for none. An older one than is known changes nothing. Never rejects. */
  note(channelId: string, messageId: string | null): Promise<void>;
  /** Notes a message that may be newer than what is known; where nothing is known the channel is forgotten. Rejects while Redis is away. */
  raise(channelId: string, messageId: string): Promise<void>;
  /** Forgets what is known of a channel, after a message was deleted. Never rejects. */
  forget(channelId: string): Promise<void>;
}

/** Binds the newest messages to `redis`. */
export function createNewestMessages(redis: RedisClient, keys: Keys): NewestMessages {
  const keyOf = (channelId: string): string => newestKey(keys, channelId);
  const noteScript = bindScript<null>(redis, 'parlanceNoteNewest', `${newestLua}noteNewest(KEYS[1], KEYS[2], ARGV[1], ARGV[2] == '1')`);
  const readScript = bindScript<(string | null)[]>(
    redis,
    'parlanceReadNewest',
    `${newestLua}
    local found = {}
    for i = 2, #KEYS do found[i - 1] = readNewest(KEYS[1], KEYS[i]) or false end
    return found`,
  );
  const note = async (channelId: string, messageId: string, isNew: boolean): Promise<void> => {
    await noteScript([newestStateKey(keys, channelId), keyOf(channelId)], [messageId, isNew ? 1 : 0]);
  };
  const readPart = async (channelIds: readonly string[]): Promise<[string, string | null | undefined][]> => {
    const found = await readScript([newestStateKey(keys, channelIds[0] as string), ...channelIds.map(keyOf)], []);
    return channelIds.map((id, at) => [id, found[at] === '' ? null : (found[at] ?? undefined)]);
  };
  return {
    async read(channelIds) {
      if (channelIds.length === 0 || redis.status !== 'ready') return channelIds.map(() => undefined);
      const parts = groupBySlot(channelIds, keyOf);
      const found = new Map((await Promise.all(parts.map(readPart)).catch(() => [])).flat());
      return channelIds.map((id) => found.get(id));
    },
    note: (channelId, messageId) => note(channelId, messageId ?? '', true).catch(() => undefined),
    raise: (channelId, messageId) => note(channelId, messageId, false),
    async forget(channelId) {
      await redis.set(keyOf(channelId), forgotten, 'PX', forgottenMs).catch(() => undefined);
    },
  };
}
