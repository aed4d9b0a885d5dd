import { createHash } from 'node:crypto';

/** The Redis keys of one installation. All keys that one script touches are in one hash slot, the slot of a partition (docs/delivery.md#partitions). */
export interface Keys {
  readonly partitions: number;
  /** The prefix of every key of partition `index`. */
  partitionPrefix(index: number): string;
  /** The hash slot of partition `index` on a Redis Cluster. */
  slot(index: number): number;
  /** The partition of a place, or of data that is kept beside it. It is a hash of the id at the end, after the last colon. */
  readonly partitionOf: (place: string) => number;
  /** The partition of everything that is kept for an account, which is that of the account's place. */
  partitionOfAccount(accountId: string): number;
  /** The Pub/Sub channel of an account's presence, and that of the presences of `partition` that bots receive for their servers. */
  presenceChannel(accountId: string): string;
  botPresenceChannel(index: number): string;
  /** The Pub/Sub channel of a place, or of a node. */
  channel(place: string): string;
  /** The partition of a Pub/Sub channel. */
  partitionOfChannel(channel: string): number;
  /** The place of a Pub/Sub channel. */
  placeOf(channel: string): string;
}

/** The place of a server's events, and the place of an account's own events. */
export const serverPlace = (serverId: string): string => `server:${serverId}`;
export const accountPlace = (accountId: string): string => `account:${accountId}`;

const slotCount = 16_384;

/** The hash slot of a tag, as Redis Cluster computes it (CRC16, XMODEM). */
export function computeSlot(tag: string): number {
  let crc = 0;
  for (const byte of Buffer.from(tag)) {
    crc ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff;
  }
  return crc % slotCount;
}

/** The hash tag of partition k. It is chosen so that its slot is in the k-th part of all slots, which spreads the partitions evenly over the masters. */
function findTag(prefix: string, partitions: number, index: number): string {
  for (let attempts = 0, tag = `${prefix}-${index}`; ; tag = `${prefix}-${index}.${++attempts}`)
    if (Math.floor((computeSlot(tag) * partitions) / slotCount) === index) return tag;
}

/** Creates the keys with `prefix` in their hash tags, for `partitions` partitions. */
export function createKeys(prefix: string, partitions: number): Keys {
  const tags = Array.from({ length: partitions }, (_, index) => findTag(prefix, partitions, index));
  const byTag = new Map(tags.map((tag, index) => [tag, index]));
  const partitionPrefix = (index: number): string => `{${tags[index]}}:`;
  const partitionOf = (place: string): number =>
    partitions === 1
      ? 0
      : createHash('sha1')
          .update(place.slice(place.lastIndexOf(':') + 1))
          .digest()
          .readUInt32BE(0) % partitions;
  return {
    partitions,
    partitionPrefix,
    slot: (index) => computeSlot(tags[index] as string),
    partitionOfChannel: (channel) => byTag.get(channel.slice(1, channel.indexOf('}:'))) ?? -1,
    partitionOf,
    partitionOfAccount: (accountId) => partitionOf(accountPlace(accountId)),
    presenceChannel: (accountId) => `${partitionPrefix(partitionOf(accountPlace(accountId)))}presence:${accountId}`,
    botPresenceChannel: (index) => `${partitionPrefix(index)}presences`,
    channel: (place) => `${partitionPrefix(partitionOf(place))}at:${place}`,
    placeOf: (channel) => channel.slice(channel.indexOf(':at:') + 4),
  };
}

/** The key of an access version (`AccessVersions`). The version of a server is in the partition of the server's place, where every append reads it. */
export const versionKey = (keys: Keys, id: string): string => `${keys.partitionPrefix(keys.partitionOf(id))}v:${id}`;
