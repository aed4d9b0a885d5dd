import { createHash } from 'node:crypto';

/** The Redis keys of one installation. Everything of a session lies in its shard's hash slot (quality 2). */
export interface Keys {
  readonly shards: number;
  /** The first part of every key of shard `index`; scripts append to it. */
  shard(index: number): string;
  /** The shard that holds the sessions of `accountId`. */
  shardOf(accountId: string): number;
  /** The Pub/Sub channel of a topic: `server:<id>`, `user:<id>` or `control`. */
  topic(name: string): string;
  /** The topic of a Pub/Sub channel. */
  topicOf(channel: string): string;
}

/** Keys under `prefix` in `shards` slots. */
export function createKeys(prefix: string, shards: number): Keys {
  const topics = `${prefix}:topic:`;
  return {
    shards,
    shard: (index) => `{${prefix}-${index}}:`,
    shardOf: (accountId) => (shards === 1 ? 0 : createHash('sha1').update(accountId).digest().readUInt32BE(0) % shards),
    topic: (name) => topics + name,
    topicOf: (channel) => channel.slice(topics.length),
  };
}
