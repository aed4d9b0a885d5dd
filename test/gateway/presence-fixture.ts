import { expect } from 'chai';
import { announcePresences } from '../../lib/domain/presence-watch.ts';
import { startTestApi } from '../harness/api.ts';
import type { Client } from './client.ts';
import { type Someone, startWorld, type World } from './world.ts';

/** What was heard of an account: its id, status and custom status. */
export type News = [userId: string, status: unknown, customStatus: unknown];

/** Two gateway nodes, an API beside them, and a worker that looks at presences when a test says so. */
export interface Presences {
  world: World;
  /** A server that everybody here may join; a new one with each `begin`. */
  server: string;
  /** Begins a test: a server that what is said at the end reaches. */
  begin(): Promise<void>;
  /** A further such server. */
  another(): Promise<string>;
  look(): Promise<void>;
  patch(one: Someone, kind: 'Bot' | 'Bearer', body: unknown): Promise<void>;
  enter(one: Someone, node?: number, events?: string[]): Promise<Client>;
  /** Ends a client's session, or cuts its socket (null), and waits until the node has given it up. */
  leave(client: Client, one: Someone, code?: number | null): Promise<void>;
  /** Sessions of these accounts on a node of their own, which dies or lives as the test says. */
  onTheirOwnNode(...accounts: Someone[]): Promise<{ lives(): Promise<void>; dies(): Promise<void> }>;
  dm(one: Someone, other: Someone, bots?: string[]): Promise<unknown>;
  /** Looks, and answers what each of the clients heard of presence since it was asked last. They hear in order, so what is said last ends it. */
  heard(...clients: Client[]): Promise<News[][]>;
  /** A bot and a person in the server, and in more, who listen and have heard all that was. */
  listeners(...servers: string[]): Promise<{ bot: Someone; person: Someone; clients: readonly [Client, Client] }>;
  close(): Promise<void>;
}

/** Starts them over so many shards. */
export async function startPresences(shards: string): Promise<Presences> {
  const world = await startWorld(2, { LOG_PARTITIONS: shards });
  const { MONGODB_URL, REDIS_PREFIX } = world.config;
  const api = await startTestApi({ MONGODB_URL, REDIS_PREFIX, LOG_PARTITIONS: shards });
  const { sessions } = world.nodes[0]?.platform ?? expect.fail();
  const marker = await world.someone('person');
  await world.connect().identify(marker.token);
  /** The nodes of their own that live. */
  const alive = new Set<string>();
  const beat = setInterval(() => {
    for (const node of alive) void sessions.renewLease(node).catch(() => undefined);
  }, 1_000);
  let said = 0;
  let nodes = 0;
  const here: Presences = {
    world,
    server: '',
    async begin() {
      here.server = await here.another();
    },
    async another() {
      const server = await world.server();
      await world.join(server, marker.id, false);
      return server;
    },
    look: () => announcePresences(world.worker),
    async patch({ token }, kind, body) {
      const { status } = await api.call('PATCH', '/api/users/@me/presence', { as: `${kind} ${token}`, body });
      expect(status).to.equal(200);
    },
    async enter({ token }, node = 0, events = ['PRESENCE_UPDATE']) {
      const client = world.connect(node);
      await client.identify(token, events);
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
    async heard(...clients) {
      await here.look();
      const word = `mark ${++said}`;
      await here.patch(marker, 'Bearer', { customStatus: word });
      await here.look();
      return Promise.all(
        clients.map(async (client) => {
          const news: News[] = [];
          for (;;) {
            const { d } = await client.until(0, 'PRESENCE_UPDATE');
            if (d.customStatus === word) return news.filter(([userId]) => userId !== marker.id);
            news.push([String(d.userId), d.status, d.customStatus]);
          }
        }),
      );
    },
    async listeners(...servers) {
      const [bot, person] = [await world.someone('bot', here.server, ...servers), await world.someone('person', here.server, ...servers)];
      const clients = [await here.enter(bot, 1), await here.enter(person, 1)] as const;
      await here.heard(...clients);
      return { bot, person, clients };
    },
    async close() {
      clearInterval(beat);
      await world.close();
      await api.close();
    },
  };
  return here;
}
