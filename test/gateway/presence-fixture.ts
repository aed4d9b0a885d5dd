import { expect } from 'chai';
import { publishPresences } from '../../lib/domain/accounts/presence-changes.ts';
import { startTestApi } from '../harness/api.ts';
import { startSessions } from '../harness/sessions.ts';
import type { Client } from './client.ts';
import { startGatewayFixture, type TestAccount } from './gateway-fixture.ts';

/** A presence that a client received: account, status and custom status. */
export type Seen = [userId: string, status: unknown, customStatus: unknown];

/** Starts two gateway nodes, an API, and a worker that publishes presences when a test calls `publish`, with this many partitions. */
export async function startPresences(partitions: string) {
  const gateway = await startGatewayFixture(2, { LOG_PARTITIONS: partitions });
  const { MONGODB_URL, REDIS_PREFIX } = gateway.config;
  const api = await startTestApi({ MONGODB_URL, REDIS_PREFIX, LOG_PARTITIONS: partitions });
  const sessions = await startSessions(api);
  const marker = await gateway.makeAccount('person');
  await gateway.connect().identify(marker.token);
  let lastMark = 0;
  let lastNode = 0;
  const publish = (): Promise<void> => publishPresences(gateway.worker);
  const fixture = {
    gateway,
    /** The server of this test. */
    server: '',
    /** An account in every server of this test. Its changes mark the end of what `received` returns. */
    marker,
    /** Makes the server of the next test. */
    async reset(): Promise<void> {
      fixture.server = await fixture.makeServer();
    },
    /** Makes another server. */
    async makeServer(): Promise<string> {
      const server = await gateway.makeServer();
      await gateway.join(server, marker.id, false);
      return server;
    },
    publish,
    async patch({ token }: TestAccount, kind: 'Bot' | 'Bearer', body: unknown): Promise<void> {
      const { status } = await api.call('PATCH', '/api/users/@me/presence', { as: `${kind} ${token}`, body });
      expect(status).to.equal(200);
    },
    /** Connects an account; a bot subscribes to `events`. */
    async connect({ token }: TestAccount, node = 0, events: string[] = []): Promise<Client> {
      const client = gateway.connect(node);
      await client.identify(token, events);
      return client;
    },
    /** Makes a person in the server who watches these accounts on the second node. */
    async connectWatcher(...accounts: TestAccount[]): Promise<Client> {
      const client = await fixture.connect(await gateway.makeAccount('person', fixture.server), 1);
      await client.watch(marker, ...accounts);
      return client;
    },
    /** Ends a client's session, or cuts its socket (null), and waits until the node has released it. */
    async leave(client: Client, { id }: TestAccount, code: number | null = 1000): Promise<void> {
      await (code === null ? client.cut() : client.close(code));
      while ((await gateway.worker.connections.areConnected([id]))[0]) await new Promise((resolve) => setImmediate(resolve));
    },
    /** Opens sessions of these accounts on a separate node, which the test can stop and start. */
    async openOnSeparateNode(...accounts: TestAccount[]): Promise<{ revive(): Promise<void>; kill(): Promise<void> }> {
      const node = `own${++lastNode}`;
      for (const account of accounts) await sessions.open(account, node);
      return { revive: () => sessions.revive(node), kill: () => sessions.kill(node) };
    },
    makeDm(one: TestAccount, other: TestAccount): Promise<unknown> {
      const userIds = [one.id, other.id].toSorted() as [string, string];
      const _id = gateway.worker.ids.next();
      const dm = { _id, pair: userIds.join(':'), userIds, bots: [], lastMessageId: null, activeId: _id, createdAt: new Date() };
      return gateway.worker.db.dms.insertOne(dm);
    },
    /** Publishes pending presences, and returns those that each client received since the last call. Clients must watch the marker, or be subscribed bots. */
    async received(...clients: Client[]): Promise<Seen[][]> {
      await publish();
      const mark = `mark ${++lastMark}`;
      await fixture.patch(marker, 'Bearer', { customStatus: mark });
      await publish();
      return Promise.all(
        clients.map(async (client) => {
          const seen: Seen[] = [];
          for (;;) {
            const { d } = await client.until(0, 'PRESENCE_UPDATE');
            if (d.customStatus === mark) return seen.filter(([userId]) => userId !== marker.id);
            seen.push([String(d.userId), d.status, d.customStatus]);
          }
        }),
      );
    },
    async close(): Promise<void> {
      await sessions.close();
      await gateway.close();
      await api.close();
    },
  };
  return fixture;
}
