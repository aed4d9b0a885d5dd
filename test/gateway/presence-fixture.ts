import { expect } from 'chai';
import { publishPresences } from '../../lib/domain/accounts/presence-changes.ts';
import { startTestApi } from '../harness/api.ts';
import type { Client } from './client.ts';
import { type Someone, startWorld, type World } from './world.ts';

/** A presence that a client received: account, status and custom status. */
export type Seen = [userId: string, status: unknown, customStatus: unknown];

/** Two gateway nodes, an API, and a worker that publishes presences when a test calls `publish`. */
export interface PresenceFixture {
  world: World;
  /** The server of this test. */
  server: string;
  /** An account in every server of this test. Its changes mark the end of what `received` returns. */
  marker: Someone;
  begin(): Promise<void>;
  /** Makes another server. */
  another(): Promise<string>;
  publish(): Promise<void>;
  patch(one: Someone, kind: 'Bot' | 'Bearer', body: unknown): Promise<void>;
  /** Connects an account; a bot subscribes to `events`. */
  connect(one: Someone, node?: number, events?: string[]): Promise<Client>;
  /** A new person in the server who watches these accounts, on the second node. */
  watcher(...accounts: Someone[]): Promise<Client>;
  /** Ends a client's session, or cuts its socket (null), and waits until the node has released it. */
  leave(client: Client, one: Someone, code?: number | null): Promise<void>;
  /** Opens sessions of these accounts on a separate node, which the test lets live or die. */
  onTheirOwnNode(...accounts: Someone[]): Promise<{ lives(): Promise<void>; dies(): Promise<void> }>;
  dm(one: Someone, other: Someone, bots?: string[]): Promise<unknown>;
  /** Publishes pending presences, and returns those that each client received since the last call. Clients must watch the marker, or be subscribed bots. */
  received(...clients: Client[]): Promise<Seen[][]>;
  close(): Promise<void>;
}

/** Starts the fixture with this many partitions. */
export async function startPresences(partitions: string): Promise<PresenceFixture> {
  const world = await startWorld(2, { LOG_PARTITIONS: partitions });
  const { MONGODB_URL, REDIS_PREFIX } = world.config;
  const api = await startTestApi({ MONGODB_URL, REDIS_PREFIX, LOG_PARTITIONS: partitions });
  const { sessions } = world.nodes[0]?.platform ?? expect.fail();
  const marker = await world.someone('person');
  await world.connect().identify(marker.token);
  /** The separate nodes that are alive. */
  const alive = new Set<string>();
  const beat = setInterval(() => {
    for (const node of alive) void sessions.renewLease(node).catch(() => undefined);
  }, 1_000);
  let marks = 0;
  let nodes = 0;
  const here: PresenceFixture = {
    world,
    server: '',
    marker,
    async begin() {
      here.server = await here.another();
    },
    async another() {
      const server = await world.server();
      await world.join(server, marker.id, false);
      return server;
    },
    publish: () => publishPresences(world.worker),
    async patch({ token }, kind, body) {
      const { status } = await api.call('PATCH', '/api/users/@me/presence', { as: `${kind} ${token}`, body });
      expect(status).to.equal(200);
    },
    async connect({ token }, node = 0, events = []) {
      const client = world.connect(node);
      await client.identify(token, events);
      return client;
    },
    async watcher(...accounts) {
      const client = await here.connect(await world.someone('person', here.server), 1);
      await client.watch(marker, ...accounts);
      return client;
    },
    async leave({ ws, closed }, { id }, code = 1000) {
      if (code === null) ws.terminate();
      else ws.close(code);
      await closed;
      while ((await world.worker.connected([id]))[0]) await new Promise((resolve) => setImmediate(resolve));
    },
    async onTheirOwnNode(...accounts) {
      const node = `own${++nodes}`;
      const lives = async (): Promise<void> => {
        alive.add(node);
        await sessions.renewLease(node);
      };
      await lives();
      for (const { id: accountId } of accounts)
        await sessions.open({ id: `${node}-${accountId}`, accountId, events: [], node, owner: `${node}-1` });
      const dies = async (): Promise<void> => {
        alive.delete(node);
        await sessions.dropLease(node);
      };
      return { lives, dies };
    },
    dm(one, other, bots = []) {
      const userIds = [one.id, other.id].toSorted() as [string, string];
      const _id = world.worker.ids.next();
      const createdAt = new Date();
      return world.worker.db.dms.create({ _id, pair: userIds.join(':'), userIds, bots, lastMessageId: null, activeId: _id, createdAt });
    },
    async received(...clients) {
      await here.publish();
      const word = `mark ${++marks}`;
      await here.patch(marker, 'Bearer', { customStatus: word });
      await here.publish();
      return Promise.all(
        clients.map(async (client) => {
          const seen: Seen[] = [];
          for (;;) {
            const { d } = await client.until(0, 'PRESENCE_UPDATE');
            if (d.customStatus === word) return seen.filter(([userId]) => userId !== marker.id);
            seen.push([String(d.userId), d.status, d.customStatus]);
          }
        }),
      );
    },
    async close() {
      clearInterval(beat);
      await world.close();
      await api.close();
    },
  };
  return here;
}
