import { Cluster, type Redis } from 'ioredis';
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
  /** Subscribes to channels of one partition. Rejects while the node that serves it is away. */
  subscribe(partition: number, channels: readonly string[]): Promise<void>;
  /** Never rejects. */
  unsubscribe(partition: number, channel: string): void;
  /** Whether the node that serves a partition is connected. */
  isUp(partition: number): boolean;
  close(): void;
}

/** Opens a connection to a node of a cluster, or to the single Redis. */
export type ConnectNode = (node: { host: string; port: number } | null) => Redis;

/** How often a ping is sent on each connection, in milliseconds. A dead connection is noticed because nothing comes back. */
const pingMs = 1_000;
/** How many channels are subscribed to in one command. */
const channelsAtOnce = 1_000;

function parseNode(key: string): { host: string; port: number } {
  const colon = key.lastIndexOf(':');
  return { host: key.slice(0, colon), port: Number(key.slice(colon + 1)) };
}

/** Creates a subscriber. `connect` opens its connections; `commands` says which nodes serve the partitions. */
export function createSubscriber(commands: RedisClient, keys: Keys, connect: ConnectNode, listener: SubscriberListener): Subscriber {
  const cluster = commands instanceof Cluster ? commands : null;
  const partitions = [...Array(keys.partitions).keys()];
  const findOwner = (k: number): string | undefined => (cluster ? cluster.slots[keys.slot(k)]?.[0] : 'single');
  let owners = partitions.map(findOwner);
  const connections = new Map<string, Redis>();

  const connectionOf = (owner: string): Redis => {
    const known = connections.get(owner);
    if (known) return known;
    const redis = connect(cluster ? parseNode(owner) : null);
    connections.set(owner, redis);
    const interrupt = (): void => {
      if (connections.get(owner) === redis) for (const k of partitions) if (owners[k] === owner) listener.onInterrupted(k);
    };
    redis.on(cluster ? 'smessageBuffer' : 'messageBuffer', (name: Buffer, message: Buffer) => {
      const channel = name.toString();
      if (owners[keys.partitionOfChannel(channel)] === owner) listener.onMessage(channel, message);
    });
    redis.on('close', interrupt);
    redis.on('ready', interrupt);
    // The node ended subscriptions or refused one, because it no longer serves the slot.
    redis.on('moved', () => {
      cluster?.refreshSlotsCache();
      interrupt();
    });
    return redis;
  };
  const ownerConnection = (k: number): Redis | null => {
    const owner = owners[k];
    return owner === undefined ? null : connectionOf(owner);
  };

  const updateOwners = (): void => {
    const before = owners;
    owners = partitions.map(findOwner);
    for (const [owner, redis] of connections)
      if (!owners.includes(owner)) {
        connections.delete(owner);
        redis.disconnect();
      }
    for (const k of partitions) if (owners[k] !== before[k]) listener.onInterrupted(k);
  };
  cluster?.on('refresh', updateOwners);
  const pings = setInterval(() => {
    for (const redis of connections.values()) if (redis.status === 'ready') redis.ping().catch(() => undefined);
  }, pingMs);
  pings.unref();

  return {
    async subscribe(k, channels) {
      const redis = ownerConnection(k);
      if (!redis) throw new Error(`no node serves partition ${k}`);
      const all: Promise<unknown>[] = [];
      for (let from = 0; from < channels.length; from += channelsAtOnce) {
        const some = channels.slice(from, from + channelsAtOnce);
        all.push(cluster ? redis.ssubscribe(...some) : redis.subscribe(...some));
      }
      await Promise.all(all);
    },
    unsubscribe(k, channel) {
      const redis = ownerConnection(k);
      void (cluster ? redis?.sunsubscribe(channel) : redis?.unsubscribe(channel))?.catch(() => undefined);
    },
    isUp: (k) => ownerConnection(k)?.status === 'ready',
    close() {
      clearInterval(pings);
      cluster?.off('refresh', updateOwners);
      for (const redis of connections.values()) redis.disconnect();
    },
  };
}
