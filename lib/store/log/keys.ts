import { createHash } from 'node:crypto';

/** The Redis keys of one installation. What one script touches lies in one hash slot: that of a partition (docs/delivery.md, "Partitions"). */
export interface Keys {
  readonly partitions: number;
  /** The first part of every key of partition `index`. */
  partition(index: number): string;
  /** The partition of a place, or of what is kept beside one: it follows from the id at the end. */
  readonly partitionOf: (place: string) => number;
  /** The partition of all that is kept for an account: that of its place. */
  partitionOfAccount(accountId: string): number;
  /** The Pub/Sub channel of an account's presence, and those of all presences that bots receive for their servers, one in each partition. */
  presenceChannel(accountId: string): string;
  botPresenceChannel(k: number): string;
  /** The Pub/Sub channel of a place, or of a node. */
  channel(place: string): string;
  /** The place of a Pub/Sub channel. */
  placeOf(channel: string): string;
}

/** The place of a server's events, and that of an account's own. */
export const serverPlace = (serverId: string): string => `server:${serverId}`;
export const accountPlace = (accountId: string): string => `account:${accountId}`;

/** Keys under `prefix` in `partitions` slots. */
export function createKeys(prefix: string, partitions: number): Keys {
  const partition = (index: number): string => `{${prefix}-${index}}:`;
  const partitionOf = (place: string): number =>
    partitions === 1
      ? 0
      : createHash('sha1')
          .update(place.slice(place.lastIndexOf(':') + 1))
          .digest()
          .readUInt32BE(0) % partitions;
  return {
    partitions,
    partition,
    partitionOf,
    partitionOfAccount: (accountId) => partitionOf(accountPlace(accountId)),
    presenceChannel: (accountId) => `${partition(partitionOf(accountPlace(accountId)))}presence:${accountId}`,
    botPresenceChannel: (k) => `${partition(k)}presences`,
    channel: (place) => `${partition(partitionOf(place))}at:${place}`,
    placeOf: (channel) => channel.slice(channel.indexOf(':at:') + 4),
  };
}

/** The key of an access version (AccessVersions). That of a server lies in the partition of its place, where every append reads it. */
export const versionKey = (keys: Keys, id: string): string => `${keys.partition(keys.partitionOf(id))}v:${id}`;
