import { expect } from 'chai';
import { publishPresences } from '../../lib/domain/accounts/presence-changes.ts';
import { startTestApi } from '../harness/api.ts';
import { startSessions } from '../harness/sessions.ts';
import type { Client } from './client.ts';
import { type GatewayFixture, startGatewayFixture, type TestAccount } from './gateway-fixture.ts';

/** A presence that a client received: account, status and custom status. */
export type Seen = [userId: string, status: unknown, customStatus: unknown];

/** Two gateway nodes, an API, and a worker that publishes presences when a test calls `publish`. */
export interface PresenceFixture {
  gateway: GatewayFixture;
  /** The server of this test. */
  server: string;
  /** An account in every server of this test. Its changes mark the end of what `received` returns. */
  marker: TestAccount;
  /** Makes the server of the next test. */
  reset(): Promise<void>;
  /** Makes another server. */
  makeServer(): Promise<string>;
  publish(): Promise<void>;
  patch(one: TestAccount, kind: 'Bot' | 'Bearer', body: unknown): Promise<void>;
  /** Connects an account; a bot subscribes to `events`. */
  connect(one: TestAccount, node?: number, events?: string[]): Promise<Client>;
  /** Makes a person in the server who watches these accounts on the second node. */
  connectWatcher(...accounts: TestAccount[]): Promise<Client>;
  /** Ends a client's session, or cuts its socket (null), and waits until the node has released it. */
  leave(client: Client, one: TestAccount, code?: number | null): Promise<void>;
  /** Opens sessions of these accounts on a separate node, which the test can stop and start. */
  openOnSeparateNode(...accounts: TestAccount[]): Promise<{ revive(): Promise<void>; kill(): Promise<void> }>;
  makeDm(one: TestAccount, other: TestAccount, bots?: string[]): Promise<unknown>;
  /** Publishes pending presences, and returns those that each client received since the last call. Clients must watch the marker, or be subscribed bots. */
  received(...clients: Client[]): Promise<Seen[][]>;
  close(): Promise<void>;
}

/** Starts the fixture with this many partitions. */
export async function startPresences(partitions: string): Promise<PresenceFixture> {
  const gateway = await startGatewayFixture(2, { LOG_PARTITIONS: partitions });
  const { MONGODB_URL, REDIS_PREFIX } = gateway.config;
  const api = await startTestApi({ MONGODB_URL, REDIS_PREFIX, LOG_PARTITIONS: partitions });
  const sessions = await startSessions(api);
  const marker = await gateway.makeAccount('person');
  await gateway.connect().identify(marker.token);
  let lastMark = 0;
  let lastNode = 0;
  const fixture: PresenceFixture = {
    gateway,
    server: '',
    marker,
    async reset() {
      fixture.server = await fixture.makeServer();
    },
    async makeServer() {
      const server = await gateway.makeServer();
      await gateway.join(server, marker.id, false);
      return server;
    },
    publish: () => publishPresences(gateway.worker),
    async patch({ token }, kind, body) {
      const { status } = await api.call('PATCH', '/api/users/@me/presence', { as: `${kind} ${token}`, body });
      expect(status).to.equal(200);
    },
    async connect({ token }, node = 0, events = []) {
      const client = gateway.connect(node);
      await client.identify(token, events);
      return client;
    },
    async connectWatcher(...accounts) {
      const client = await fixture.connect(await gateway.makeAccount('person', fixture.server), 1);
      await client.watch(marker, ...accounts);
      return client;
    },
    async leave(client, { id }, code = 1000) {
      await (code === null ? client.cut() : client.close(code));
      while ((await gateway.worker.connections.areConnected([id]))[0]) await new Promise((resolve) => setImmediate(resolve));
    },
    async openOnSeparateNode(...accounts) {
      const node = `own${++lastNode}`;
      for (const account of accounts) await sessions.open(account, node);
      return { revive: () => sessions.revive(node), kill: () => sessions.kill(node) };
    },
    makeDm(one, other, bots = []) {
      const userIds = [one.id, other.id].toSorted() as [string, string];
      const _id = gateway.worker.ids.next();
      const createdAt = new Date();
      return gateway.worker.db.dms.insertOne({
        _id,
        pair: userIds.join(':'),
        userIds,
        bots,
        lastMessageId: null,
        activeId: _id,
        createdAt,
      });
    },
    async received(...clients) {
      await fixture.publish();
      const mark = `mark ${++lastMark}`;
      await fixture.patch(marker, 'Bearer', { customStatus: mark });
      await fixture.publish();
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
    async close() {
      await sessions.close();
      await gateway.close();
      await api.close();
    },
  };
  return fixture;
}
