import { setTimeout as pause } from 'node:timers/promises';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { type BotClient, connectBot, type Dispatch } from '../harness/bot-client.ts';
import { startNode, startParlance, type TestNode, type TestParlance } from '../harness/parlance.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';
import { type SeededServer, seedServer } from '../harness/seed.ts';

/** A client under test, with the messages that it received and those that it read from the API after op 9. */
export interface Listener {
  client: BotClient;
  seeded: SeededServer;
  accountId: string;
  /** The ids of received messages in order, one list per session. */
  received: string[][];
  /** Ids of messages that the client read after op 9. */
  synced: Set<string>;
  /** All events of all sessions. */
  events: Dispatch[];
}

const post = async (
  parlance: TestParlance,
  { channelIds: [channelId], ownerToken }: SeededServer,
  content: string,
): Promise<string | null> => {
  const path = `/api/channels/${channelId}/messages`;
  const headers = { 'Idempotency-Key': `${channelId} ${content}` };
  const sent = await parlance
    .call<{ id: string }>('POST', path, { as: `Bearer ${ownerToken}`, body: { content }, headers })
    .catch(() => null);
  return sent?.status === 201 ? sent.body.id : null;
};

/** Reads the newest messages of a channel, as a client does after op 9. */
async function sync(parlance: TestParlance, { channelIds: [channelId], ownerToken }: SeededServer): Promise<string[]> {
  for (;;) {
    const path = `/api/channels/${channelId}/messages?limit=100`;
    const read = await parlance.call<{ id: string }[]>('GET', path, { as: `Bearer ${ownerToken}` });
    if (read.status === 200) return read.body.map(({ id }) => id);
    await pause(50);
  }
}

/** Describes messages that a client lost, received twice or received out of order; '' if there are none. */
function describeErrors({ received, synced }: Listener, posted: readonly string[]): string {
  const known = new Set([...received.flat(), ...synced]);
  const lost = posted.filter((id) => !known.has(id));
  const twice = received.flatMap((ids) => ids.filter((id, at) => ids.indexOf(id) !== at));
  const outOfOrder = received.flatMap((ids) => ids.filter((id, at) => at > 0 && BigInt(id) < BigInt(ids[at - 1] as string)));
  return lost.length + twice.length + outOfOrder.length === 0
    ? ''
    : `lost ${lost.length}, twice ${twice.length}, out of order ${outOfOrder.length}`;
}

function listenTo(
  parlance: TestParlance,
  nodes: readonly TestNode[],
  seeded: SeededServer,
  accountId: string,
  token: string,
  first: number,
): Listener {
  const listener: Listener = {
    seeded,
    accountId,
    received: [],
    synced: new Set(),
    events: [],
    client: connectBot({
      urlOf: (attempt) => nodes[(first + attempt) % nodes.length]?.gatewayUrl ?? '',
      token,
      onEvent: (event) => {
        listener.events.push(event);
        if (event.t === 'MESSAGE_CREATE') listener.received.at(-1)?.push(String(event.d.id));
      },
      onReady: () => {
        listener.received.push([]);
        if (listener.received.length > 1) void sync(parlance, seeded).then((ids) => ids.forEach((id) => listener.synced.add(id)));
      },
    }),
  };
  return listener;
}

/** Starts a cluster, an API, a worker and two gateway nodes, and makes servers with a connected person and bot in each. */
export async function startClusterFixture(serverCount = 6) {
  const redis = await startRedisCluster();
  const parlance = await startParlance({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '2' });
  const { REDIS_PREFIX, LOG_PARTITIONS } = parlance.platform.config;
  const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
  const nodes = [parlance, await startNode(parlance.platform.config)];
  const servers: SeededServer[] = [];
  for (let at = 0; at < serverCount; at++) servers.push(await seedServer(parlance.platform, { bots: 1, channels: 1 }));
  const listeners = servers.flatMap((seeded, at) => {
    const [bot] = seeded.bots as [SeededServer['bots'][number]];
    return [
      listenTo(parlance, nodes, seeded, seeded.ownerId, seeded.ownerToken, at),
      listenTo(parlance, nodes, seeded, bot.id, bot.token, at),
    ];
  });
  await Promise.all(listeners.map(({ client }) => client.ready));
  const posted = new Map(servers.map((seeded) => [seeded, [] as string[]]));
  const tryToPost = async (seeded: SeededServer, content: string): Promise<string | null> => {
    const id = await post(parlance, seeded, content);
    if (id !== null) posted.get(seeded)?.push(id);
    return id;
  };
  const invalidations = (): number => listeners.reduce((sum, { client }) => sum + client.stats.invalidated, 0);
  const untilComplete = async (): Promise<void> => {
    const errors = (): string =>
      listeners
        .map((one) => describeErrors(one, posted.get(one.seeded) ?? []))
        .filter(Boolean)
        .join('; ');
    for (const giveUpAt = performance.now() + 60_000; errors() !== ''; await pause(50))
      if (performance.now() > giveUpAt) throw new Error(errors());
  };
  let run = 0;
  return {
    redis,
    parlance,
    nodes,
    servers,
    /** The owner and the bot of each server, in this order. Both first connect to the same node. */
    listeners,
    /** The prefix of all keys of a server's log. */
    logKey: (serverId: string): string => keys.partitionPrefix(keys.partitionOf(serverId)),
    /** Posts a message in a server; returns its id, and throws if the post fails. */
    async post(seeded: SeededServer, content: string): Promise<string> {
      const id = await tryToPost(seeded, content);
      if (id === null) throw new Error('the post was refused');
      return id;
    },
    /**
     * Posts in every server before, during and after `act`. Resolves when every client has every message that was posted with 201, with the number of posts and
     * of sessions that ended with op 9.
     */
    async postDuring(act: () => Promise<unknown>): Promise<{ posted: number; invalidated: number }> {
      const before = { posted: [...posted.values()].flat().length, invalidated: invalidations() };
      const name = `run ${++run}`;
      let isOver = false;
      const postIn = async (seeded: SeededServer): Promise<void> => {
        for (let n = 0; !isOver; n++) {
          await tryToPost(seeded, `${name} post ${n}`);
          await pause(20);
        }
        await tryToPost(seeded, `${name} last`);
      };
      await Promise.all(servers.map((seeded) => tryToPost(seeded, `${name} first`)));
      const posting = servers.map(postIn);
      await act().finally(() => {
        isOver = true;
      });
      await Promise.all(posting);
      await untilComplete();
      return { posted: [...posted.values()].flat().length - before.posted, invalidated: invalidations() - before.invalidated };
    },
    async close(): Promise<void> {
      await Promise.all(listeners.map(({ client }) => client.close()));
      await nodes[1]?.close();
      await parlance.close();
      await redis.close();
    },
  };
}
