import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type BotClient, connectBot } from '../harness/bot-client.ts';
import { type RedisCluster, startRedisCluster } from '../harness/redis-cluster.ts';
import { startNode, startWhole, type TestNode, type Whole } from '../harness/whole.ts';
import { makeWorld, type World } from '../harness/world.ts';

/** A session under test: what its client has been given of each channel, and what it has read from the API after op 9. */
interface Listener {
  client: BotClient;
  world: World;
  /** Ids of messages, in the order in which they came. */
  received: string[];
  /** Ids that the client read when it had to begin anew. */
  synced: Set<string>;
}

/** The whole product on a Redis Cluster, with posts under way and sessions that keep account of them. */
export interface ClusterFixture {
  redis: RedisCluster;
  whole: Whole;
  nodes: TestNode[];
  worlds: World[];
  /** Posts in every server until `act` has ended and its own time after that is over; resolves when every session has every post that was answered with 201. */
  postDuring(act: () => Promise<unknown>): Promise<{ posted: number; invalidated: number }>;
  close(): Promise<void>;
}

const post = async (whole: Whole, { channelIds: [channelId], ownerToken }: World, content: string): Promise<string | null> => {
  const path = `/api/channels/${channelId}/messages`;
  const headers = { 'Idempotency-Key': content };
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

/** What is wrong with what a session was given, as text; '' when nothing is. */
function faultOf({ received, synced }: Listener, posted: readonly string[]): string {
  const lost = posted.filter((id) => !received.includes(id) && !synced.has(id));
  const twice = received.filter((id, at) => received.indexOf(id) !== at);
  const early = received.filter((id, at) => at > 0 && BigInt(id) < BigInt(received[at - 1] as string));
  return lost.length + twice.length + early.length === 0 ? '' : `lost ${lost.length}, twice ${twice.length}, out of order ${early.length}`;
}

function listenTo(fixture: Pick<ClusterFixture, 'whole' | 'nodes'>, world: World, token: string, first: number): Listener {
  const { whole, nodes } = fixture;
  let sessions = 0;
  const listener: Listener = {
    world,
    received: [],
    synced: new Set(),
    client: connectBot({
      urlOf: (attempt) => nodes[(first + attempt) % nodes.length]?.gatewayUrl ?? '',
      token,
      onEvent: ({ t, d }) => {
        if (t === 'MESSAGE_CREATE') listener.received.push(String(d.id));
      },
      onReady: () => {
        if (sessions++ > 0) void sync(whole, world).then((ids) => ids.forEach((id) => listener.synced.add(id)));
      },
    }),
  };
  return listener;
}

/** Starts a cluster and everything on it: an API, a worker, two gateway nodes, and `servers` servers with a person and a bot connected in each. */
export async function startClusterFixture(servers = 6): Promise<ClusterFixture> {
  const folder = mkdtempSync(join(tmpdir(), 'parlance-cluster-'));
  const redis = await startRedisCluster(folder);
  const whole = await startWhole({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_PATIENCE: '2' });
  const nodes = [whole, await startNode(whole.platform.config)];
  const worlds: World[] = [];
  for (let at = 0; at < servers; at++) worlds.push(await makeWorld(whole.platform, { bots: 1, channels: 1 }));
  const listeners = worlds.flatMap((world, at) =>
    [world.ownerToken, world.bots[0]?.token as string].map((token) => listenTo({ whole, nodes }, world, token, at)),
  );
  await Promise.all(listeners.map(({ client }) => client.ready));
  const posted = new Map(worlds.map((world) => [world, [] as string[]]));
  let run = 0;
  return {
    redis,
    whole,
    nodes,
    worlds,
    async postDuring(act) {
      const before = listeners.reduce((sum, { client }) => sum + client.stats.invalidated, 0);
      const name = `run ${++run}`;
      let isOver = false;
      const posting = worlds.map(async (world) => {
        for (let n = 0; !isOver; n++) {
          const id = await post(whole, world, `${name} server ${world.serverId} post ${n}`);
          if (id !== null) posted.get(world)?.push(id);
          await pause(20);
        }
      });
      await pause(300);
      await act();
      await pause(500);
      isOver = true;
      await Promise.all(posting);
      const faults = (): string =>
        listeners
          .map((one) => faultOf(one, posted.get(one.world) ?? []))
          .filter(Boolean)
          .join('; ');
      for (const until = performance.now() + 60_000; faults() !== ''; await pause(50))
        if (performance.now() > until) throw new Error(faults());
      const after = listeners.reduce((sum, { client }) => sum + client.stats.invalidated, 0);
      return { posted: [...posted.values()].reduce((sum, ids) => sum + ids.length, 0), invalidated: after - before };
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
