import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { type BotClient, connectBot, type Dispatch } from '../harness/bot-client.ts';
import { type RedisCluster, startRedisCluster } from '../harness/redis-cluster.ts';
import { startNode, startWhole, type TestNode, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** A client under test: what it has been given of its channel, and what it has read from the API after op 9. */
export interface Listener {
  client: BotClient;
  world: World;
  accountId: string;
  /** By session, ids of messages in the order in which they came. */
  received: string[][];
  /** Ids that the client read when it had to begin anew. */
  synced: Set<string>;
  /** Every event, of all sessions. */
  events: Dispatch[];
}

/** The whole product on a Redis Cluster, with posts under way and sessions that keep account of them. */
export interface ClusterFixture {
  redis: RedisCluster;
  whole: Whole;
  nodes: TestNode[];
  worlds: World[];
  /** The owner and the bot of each server, in this order; those of a server first use the same node. */
  listeners: Listener[];
  /** What every key of a server's log begins with. */
  logKey(serverId: string): string;
  /** Posts in a server once; answers the id of a message that was answered with 201. */
  post(world: World, content: string): Promise<string>;
  /**
   * Posts in every server, also while `act` runs; resolves when every client has every post that was answered with 201. Answers how many posts there were, and how
   * many sessions were ended by op 9.
   */
  postDuring(act: () => Promise<unknown>): Promise<{ posted: number; invalidated: number }>;
  close(): Promise<void>;
}

const post = async (whole: Whole, { channelIds: [channelId], ownerToken }: World, content: string): Promise<string | null> => {
  const path = `/api/channels/${channelId}/messages`;
  const headers = { 'Idempotency-Key': `${channelId} ${content}` };
  const sent = await whole.call<{ id: string }>('POST', path, { as: `Bearer ${ownerToken}`, body: { content }, headers }).catch(() => null);
  return sent?.status === 201 ? sent.body.id : null;
};

/** The newest messages of a channel, as a client reads them after op 9. */
async function sync(whole: Whole, { channelIds: [channelId], ownerToken }: World): Promise<string[]> {
  for (;;) {
    const path = `/api/channels/${channelId}/messages?limit=100`;
    const read = await whole.call<{ id: string }[]>('GET', path, { as: `Bearer ${ownerToken}` });
    if (read.status === 200) return read.body.map(({ id }) => id);
    await pause(50);
  }
}

/** What is wrong with what a client was given, as text; '' when nothing is. */
function faultOf({ received, synced }: Listener, posted: readonly string[]): string {
  const known = new Set([...received.flat(), ...synced]);
  const lost = posted.filter((id) => !known.has(id));
  const twice = received.flatMap((ids) => ids.filter((id, at) => ids.indexOf(id) !== at));
  const early = received.flatMap((ids) => ids.filter((id, at) => at > 0 && BigInt(id) < BigInt(ids[at - 1] as string)));
  return lost.length + twice.length + early.length === 0 ? '' : `lost ${lost.length}, twice ${twice.length}, out of order ${early.length}`;
}

function listenTo(whole: Whole, nodes: readonly TestNode[], world: World, accountId: string, token: string, first: number): Listener {
  const listener: Listener = {
    world,
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
        if (listener.received.length > 1) void sync(whole, world).then((ids) => ids.forEach((id) => listener.synced.add(id)));
      },
    }),
  };
  return listener;
}

/** Starts a cluster and everything on it: an API, a worker, two gateway nodes, and servers with a person and a bot connected in each. */
export async function startClusterFixture(servers = 6): Promise<ClusterFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-cluster-'));
  const redis = await startRedisCluster(folder);
  const whole = await startWhole({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_PATIENCE: '2' });
  const { REDIS_PREFIX, LOG_PARTITIONS } = whole.platform.config;
  const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
  const nodes = [whole, await startNode(whole.platform.config)];
  const worlds: World[] = [];
  for (let at = 0; at < servers; at++) worlds.push(await makeWorld(whole.platform, { bots: 1, channels: 1 }));
  const listeners = worlds.flatMap((world, at) => {
    const [bot] = world.bots as [World['bots'][number]];
    return [listenTo(whole, nodes, world, world.ownerId, world.ownerToken, at), listenTo(whole, nodes, world, bot.id, bot.token, at)];
  });
  await Promise.all(listeners.map(({ client }) => client.ready));
  const posted = new Map(worlds.map((world) => [world, [] as string[]]));
  const tryToPost = async (world: World, content: string): Promise<string | null> => {
    const id = await post(whole, world, content);
    if (id !== null) posted.get(world)?.push(id);
    return id;
  };
  const invalidations = (): number => listeners.reduce((sum, { client }) => sum + client.stats.invalidated, 0);
  const untilComplete = async (): Promise<void> => {
    const faults = (): string =>
      listeners
        .map((one) => faultOf(one, posted.get(one.world) ?? []))
        .filter(Boolean)
        .join('; ');
    for (const until = performance.now() + 60_000; faults() !== ''; await pause(50))
      if (performance.now() > until) throw new Error(faults());
  };
  let run = 0;
  return {
    redis,
    whole,
    nodes,
    worlds,
    listeners,
    logKey: (serverId) => keys.partition(keys.partitionOf(serverId)),
    async post(world, content) {
      const id = await tryToPost(world, content);
      if (id === null) throw new Error('the post was refused');
      return id;
    },
    async postDuring(act) {
      const before = { posted: [...posted.values()].flat().length, invalidated: invalidations() };
      const name = `run ${++run}`;
      let isOver = false;
      const postIn = async (world: World): Promise<void> => {
        for (let n = 0; !isOver; n++) {
          await tryToPost(world, `${name} post ${n}`);
          await pause(20);
        }
        await tryToPost(world, `${name} last`);
      };
      await Promise.all(worlds.map((world) => tryToPost(world, `${name} first`)));
      const posting = worlds.map(postIn);
      await act().finally(() => {
        isOver = true;
      });
      await Promise.all(posting);
      await untilComplete();
      return { posted: [...posted.values()].flat().length - before.posted, invalidated: invalidations() - before.invalidated };
    },
    async close() {
      await Promise.all(listeners.map(({ client }) => client.close()));
      await nodes[1]?.close();
      await whole.close();
      await redis.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
