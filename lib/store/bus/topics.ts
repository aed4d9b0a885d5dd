import type { Redis } from 'ioredis';
import { type ConnectOptions, impatient } from '../redis.ts';
import { type Envelope, readEnvelope } from './envelope.ts';
import type { Keys } from './keys.ts';

/**
 * What is said to gateway nodes beside events. `generation`: acknowledged data are gone, every session must begin anew. `access`: an account's
 * servers, roles or credentials changed; `credentials` says that its tokens did. `taken`: a session has another owner now, or none (empty).
 */
export type Control =
  | { kind: 'generation' }
  | { kind: 'access'; accountId: string; credentials?: boolean }
  | { kind: 'taken'; session: string; owner: string };

/** The topic that every node hears of presence on: who of its people an event is for stands in the event. */
export const presenceTopic = 'presence';

/** A gateway node's ear on the bus. */
export interface Topics {
  /**
   * Hears a topic from now on; resolves when Redis has confirmed it. While the connection is away it resolves at once: the topic is heard from
   * `onRestored` on. Counted: each `leave` undoes one `join`. Never rejects.
   */
  join(topic: string): Promise<void>;
  /** Stops hearing a topic when nobody else here wants it. Never rejects. */
  leave(topic: string): Promise<void>;
  close(): Promise<void>;
}

/** What a node does with what it hears. */
export interface Listener {
  onEvent(topic: string, event: Envelope): void;
  onControl(message: Control): void;
  /** The subscription was away and is back: whatever was said meanwhile was missed. */
  onRestored(): void;
}

/** How often the connection must show that it lives, in milliseconds. */
const pingMs = 1_000;

/**
 * Options of a subscribing connection. A command that the connection dies under fails at once: what must be heard is subscribed anew as a whole. One
 * that has gone silent is given up, as nothing else would ever say that events are being missed.
 */
export const earOptions: ConnectOptions = {
  enableOfflineQueue: false,
  autoResubscribe: false,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  socketTimeout: impatient.socketTimeout,
  connectTimeout: impatient.connectTimeout,
  retryStrategy: impatient.retryStrategy,
};

interface Wanted {
  count: number;
  /** Settles when the subscription that the first one asked for is confirmed: later ones wait for it too. */
  heard: Promise<void>;
}

/** Subscribes with a connection of its own, `redis`, and always to the topic `control`. */
export async function createTopics(redis: Redis, keys: Keys, listener: Listener): Promise<Topics> {
  const wanted = new Map<string, Wanted>();
  let away = false;
  redis.on('messageBuffer', (channel: Buffer, message: Buffer) => {
    const topic = keys.topicOf(channel.toString());
    // Control messages are JSON objects on one line; events always hold a line break after their head.
    if (message.includes(0x0a)) listener.onEvent(topic, readEnvelope(message));
    else listener.onControl(JSON.parse(message.toString()) as Control);
  });
  redis.on('close', () => {
    away = true;
  });
  redis.on('ready', () => {
    if (!away) return;
    // From here on joins subscribe for themselves; those made before are in the list.
    away = false;
    redis.subscribe(...[...wanted.keys()].map((topic) => keys.topic(topic))).then(
      () => listener.onRestored(),
      () => undefined, // away again: the next `ready` tries anew
    );
  });
  const pings = setInterval(() => {
    if (redis.status === 'ready') redis.ping().catch(() => undefined);
  }, pingMs);
  pings.unref();
  const subscribe = async (topic: string): Promise<void> => {
    if (!away) await redis.subscribe(keys.topic(topic)).catch(() => undefined);
  };
  const topics: Topics = {
    join(topic) {
      const known = wanted.get(topic);
      if (known) {
        known.count++;
        return known.heard;
      }
      const heard = subscribe(topic);
      wanted.set(topic, { count: 1, heard });
      return heard;
    },
    async leave(topic) {
      const known = wanted.get(topic);
      if (!known || --known.count > 0) return;
      wanted.delete(topic);
      if (!away) await redis.unsubscribe(keys.topic(topic)).catch(() => undefined);
    },
    close: async () => {
      clearInterval(pings);
      redis.disconnect();
    },
  };
  await topics.join('control');
  return topics;
}
