import type { Keys } from './log/keys.ts';
import { bindScript, groupBySlot, type RedisClient } from './redis.ts';

/** How long an entry is kept after it was written, in seconds: 30 days. */
const entryTtlSecs = 30 * 24 * 3_600;
/** How long nothing can be recorded for a forgotten channel, in milliseconds: longer than a caller takes from its read of the database to its `record`. */
const forgetBlockMs = 10_000;
/** The value of a forgotten channel's key. While the key has it, nothing can be recorded for the channel. */
const forgottenMark = '?';

/** The Redis key of a channel's newest message. */
export const newestKey = (keys: Keys, channelId: string): string =>
  `${keys.partitionPrefix(keys.partitionOf(channelId))}newest:${channelId}`;

/** The Redis key of the state of the channel's partition, which holds the partition's epoch. */
export const newestStateKey = (keys: Keys, channelId: string): string => `${keys.partitionPrefix(keys.partitionOf(channelId))}state`;

/**
 * Lua: `readNewest(state, key)` returns the id of a channel's newest message, '' for none, nil when it is unknown. An entry of another epoch counts as unknown,
 * because Redis may have lost a later one. `noteNewest(state, key, id, isNew)` records a message, unless an equally new or newer one is known. While the newest
 * message is unknown, it records only a message that was just posted or a result from the database (`isNew`). Otherwise it marks the channel as forgotten,
 * because another process may be about to record an older result from the database.
 */
export const newestLua = `
local function readNewest(state, key)
  local epoch, id = string.match(redis.call('GET', key) or '', '^(%d+):(.*)$')
  if epoch and epoch == (redis.call('HGET', state, 'epoch') or '0') then return id end
end
local function noteNewest(state, key, id, isNew)
  local known = readNewest(state, key)
  if redis.call('GET', key) == '${forgottenMark}' or known and known >= id then return end
  if not known and not isNew then redis.call('SET', key, '${forgottenMark}', 'PX', ${forgetBlockMs})
  else redis.call('SET', key, (redis.call('HGET', state, 'epoch') or '0')..':'..id, 'EX', ${entryTtlSecs}) end
end
`;

/**
 * The id of the newest message of each channel. It is kept in Redis so that the unread marks of many channels take one command for each partition. It is only a
 * cache: a caller that finds no entry reads the database and records the result.
 */
export interface NewestMessages {
  /**
   * The newest messages of these channels, in order: null for a channel without messages, undefined when unknown. While Redis is unavailable all are unknown.
   */
  read(channelIds: readonly string[]): Promise<(string | null | undefined)[]>;
  /** Records the newest message of a channel according to the database; null for none. Does nothing when a newer one is known. Never rejects. */
  record(channelId: string, messageId: string | null): Promise<void>;
  /** Records a message if it is newer than the known one. If none is known, it forgets the channel instead. Rejects while Redis is unavailable. */
  recordIfNewer(channelId: string, messageId: string): Promise<void>;
  /** Deletes the entry of a channel, after a message was deleted there, and blocks new ones for 10 s. Never rejects. */
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
  const record = async (channelId: string, messageId: string, isNew: boolean): Promise<void> => {
    await noteScript([newestStateKey(keys, channelId), keyOf(channelId)], [messageId, isNew ? 1 : 0]);
  };
  const readPartition = async (channelIds: readonly string[]): Promise<[string, string | null | undefined][]> => {
    const found = await readScript([newestStateKey(keys, channelIds[0] as string), ...channelIds.map(keyOf)], []);
    return channelIds.map((id, index) => [id, found[index] === '' ? null : (found[index] ?? undefined)]);
  };
  return {
    async read(channelIds) {
      if (channelIds.length === 0 || redis.status !== 'ready') return channelIds.map(() => undefined);
      const groups = groupBySlot(channelIds, keyOf);
      const found = new Map((await Promise.all(groups.map(readPartition)).catch(() => [])).flat());
      return channelIds.map((id) => found.get(id));
    },
    record: (channelId, messageId) => record(channelId, messageId ?? '', true).catch(() => undefined),
    recordIfNewer: (channelId, messageId) => record(channelId, messageId, false),
    async forget(channelId) {
      await redis.set(keyOf(channelId), forgottenMark, 'PX', forgetBlockMs).catch(() => undefined);
    },
  };
}
