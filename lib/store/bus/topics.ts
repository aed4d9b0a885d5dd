import type { Redis } from 'ioredis';
import { type Envelope, readEnvelope } from './envelope.ts';
import type { Keys } from './keys.ts';

/**
 * What is said to gateway nodes beside events. `generation`: acknowledged data are gone, every session must begin anew. `access`: an account's
 * servers, roles or credentials changed; `credentials` says that its tokens did.
 */
export type Control = { kind: 'generation' } | { kind: 'access'; accountId: string; credentials?: boolean };

/** A gateway node's ear on the bus. */
export interface Topics {
  /** Hears a topic from now on; resolves when Redis has confirmed it. Counted: each `leave` undoes one `join`. */
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

/** Subscribes with a connection of its own, `redis`, and always to the topic `control`. */
export async function createTopics(redis: Redis, keys: Keys, listener: Listener): Promise<Topics> {
  const wanted = new Map<string, number>();
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
    const channels = [...wanted.keys()].map(keys.topic);
    redis.subscribe(...channels).then(
      () => {
        away = false;
        listener.onRestored();
      },
      () => undefined, // away again: the next `ready` tries anew
    );
  });
  const join = async (topic: string): Promise<void> => {
    wanted.set(topic, (wanted.get(topic) ?? 0) + 1);
    if (wanted.get(topic) === 1 && !away) await redis.subscribe(keys.topic(topic));
  };
  await join('control');
  return {
    join,
    async leave(topic) {
      const count = (wanted.get(topic) ?? 0) - 1;
      if (count > 0) wanted.set(topic, count);
      else if (wanted.delete(topic)) await redis.unsubscribe(keys.topic(topic)).catch(() => undefined);
    },
    close: async () => {
      redis.disconnect();
    },
  };
}
