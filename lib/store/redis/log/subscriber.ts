import { Cluster, type Redis } from 'ioredis';
import { toParts } from '../../../base/parts.ts';
import type { RedisClient } from '../redis.ts';
import type { Keys } from './keys.ts';

/** The callbacks of a subscriber. */
export interface SubscriberListener {
  onMessage(channel: string, message: Buffer): void;
  /** The subscriptions of a partition were lost, have moved to another node, or can be made again: messages may have been missed. */
  onInterrupted(partition: number): void;
}

/**
 * Subscribes to Pub/Sub channels: on a single Redis, or on the master that serves the partition, with one connection to each master. Messages from a node that
 * no longer serves the partition are dropped.
 */
export interface Subscriber {
  /** Subscribes to channels of one partition. Rejects while the node that serves it is unavailable. */
  subscribe(partition: number, channels: readonly string[]): Promise<void>;
  /** Unsubscribes from channels of one partition. Never rejects. */
  unsubscribe(partition: number, channels: readonly string[]): void;
  /** Whether the node that serves a partition is connected. */
  isUp(partition: number): boolean;
  close(): void;
}

/** Opens a connection to a node of a cluster, or to the single Redis. */
export type ConnectNode = (node: { host: string; port: number } | null) => Redis;

/** How often a ping is sent on each connection, in milliseconds. A dead connection is noticed because nothing comes back. */
const pingIntervalMs = 1_000;
/** How many channels one command names. */
const channelsPerCommand = 1_000;

function parseNode(key: string): { host: string; port: number } {
  const colon = key.lastIndexOf(':');
  return { host: key.slice(0, colon), port: Number(key.slice(colon + 1)) };
}

/** Creates a subscriber. `connect` opens its connections; `commands` says which nodes serve the partitions. */
export function createSubscriber(commands: RedisClient, keys: Keys, connect: ConnectNode, listener: SubscriberListener): Subscriber {
  const cluster = commands instanceof Cluster ? commands : null;
  const partitions = [...Array(keys.partitions).keys()];
  const findOwner = (partition: number): string | undefined => (cluster ? cluster.slots[keys.slot(partition)]?.[0] : 'single');
  let owners = partitions.map(findOwner);
  const connections = new Map<string, Redis>();

  const getConnection = (owner: string): Redis => {
    const existing = connections.get(owner);
    if (existing) return existing;
    const redis = connect(cluster ? parseNode(owner) : null);
    connections.set(owner, redis);
    redis.on(cluster ? 'smessageBuffer' : 'messageBuffer', (name: Buffer, message: Buffer) => {
      const channel = name.toString();
      if (owners[keys.partitionOfChannel(channel)] === owner) listener.onMessage(channel, message);
    });
    for (const event of ['ready', 'close', 'moved'])
      redis.on(event, () => {
        if (connections.get(owner) !== redis) return;
        // The node is down, or no longer serves the slot. `commands` must ask which node does: a command that was redirected there causes a refresh, but that can fail.
        // A node that is down causes one after each attempt to reconnect.
        if (event !== 'ready') cluster?.refreshSlotsCache();
        for (const partition of partitions) if (owners[partition] === owner) listener.onInterrupted(partition);
      });
    return redis;
  };
  const getOwnerConnection = (partition: number): Redis | null => {
    const owner = owners[partition];
    return owner === undefined ? null : getConnection(owner);
  };

  const updateOwners = (): void => {
    const oldOwners = owners;
    owners = partitions.map(findOwner);
    for (const [owner, redis] of connections)
      if (!owners.includes(owner)) {
        connections.delete(owner);
        redis.disconnect();
      }
    for (const partition of partitions) if (owners[partition] !== oldOwners[partition]) listener.onInterrupted(partition);
  };
  cluster?.on('refresh', updateOwners);
  const pingTimer = setInterval(() => {
    for (const redis of connections.values()) if (redis.status === 'ready') redis.ping().catch(() => undefined);
  }, pingIntervalMs);
  pingTimer.unref();

  return {
    async subscribe(partition, channels) {
      const redis = getOwnerConnection(partition);
      if (!redis) throw new Error(`no node serves partition ${partition}`);
      const batches = toParts(channels, channelsPerCommand);
      await Promise.all(batches.map((batch) => (cluster ? redis.ssubscribe(...batch) : redis.subscribe(...batch))));
    },
    unsubscribe(partition, channels) {
      const redis = getOwnerConnection(partition);
      for (const batch of toParts(channels, channelsPerCommand))
        void (cluster ? redis?.sunsubscribe(...batch) : redis?.unsubscribe(...batch))?.catch(() => undefined);
    },
    isUp: (partition) => getOwnerConnection(partition)?.status === 'ready',
    close() {
      clearInterval(pingTimer);
      cluster?.off('refresh', updateOwners);
      for (const redis of connections.values()) redis.disconnect();
    },
  };
}
