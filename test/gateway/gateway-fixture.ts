// Tests of the gateway: connections, delivery, resume, presence and access, also through faults and under load.
import { setTimeout as pause } from 'node:timers/promises';
import { type Gateway, startGateway } from '../../apps/gateway/node.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Overwrite } from '../../lib/base/permissions.ts';
import type { EventName } from '../../lib/contract/events.ts';
import { newToken } from '../../lib/domain/accounts/credentials.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import type { NewEntry } from '../../lib/store/redis/log/append.ts';
import type { Appended } from '../../lib/store/redis/log/confirm.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { toPayload } from '../harness/event-payload.ts';
import { untilReceived } from '../harness/parlance.ts';
import { accountOf, channelOf, insertMembers, memberOf, serverOf } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';
import { Client } from './client.ts';

/** An account made for a test, with its token. */
export interface TestAccount {
  id: string;
  token: string;
}

/** A gateway node under test, with its platform. */
export interface TestNode extends Gateway {
  platform: GatewayPlatform;
}

/** Gateway nodes on one database and Redis prefix, and a worker that appends their events. */
export class GatewayFixture {
  readonly config: Config;
  readonly worker: WorkerPlatform;
  readonly nodes: TestNode[] = [];
  readonly clients: Client[] = [];

  constructor(config: Config, worker: WorkerPlatform) {
    this.config = config;
    this.worker = worker;
  }

  /** Starts another node. */
  async addNode(changes: Partial<Config> = {}): Promise<TestNode> {
    const config = { ...this.config, ...changes };
    const platform = await openGatewayPlatform(config, createLog('gateway', config.LOG_LEVEL));
    const node = { ...(await startGateway(platform, createMetrics('gateway'))), platform };
    this.nodes.push(node);
    return node;
  }

  connect(node = 0, path?: string, headers?: Record<string, string>): Client {
    const client = new Client(this.nodes[node]?.port ?? 0, path, headers);
    this.clients.push(client);
    return client;
  }

  /** Opens a new session of an account. */
  async openSession(who: TestAccount, node = 0): Promise<{ client: Client; id: string; s: string }> {
    const client = this.connect(node);
    const { d, s } = await client.identify(who.token);
    return { client, id: d.sessionId, s: String(s) };
  }

  /** Makes a bot or person who is a member of these servers. */
  async makeAccount(kind: 'bot' | 'person', ...serverIds: string[]): Promise<TestAccount> {
    const { ids, db } = this.worker;
    const id = ids.next();
    await db.accounts.insertOne(accountOf(id, kind, kind === 'bot' ? ids.next() : null));
    const { token } = await this.makeToken(id, kind);
    for (const serverId of serverIds) await this.join(serverId, id, kind === 'bot');
    return { id, token };
  }

  /** Makes a token of an account; returns it with its id. */
  async makeToken(accountId: string, kind: 'bot' | 'person' = 'person'): Promise<{ token: string; _id: string }> {
    const _id = this.worker.ids.next();
    const { token, hash } = newToken(_id);
    const expiresAt = kind === 'bot' ? null : new Date(Date.now() + 3_600_000);
    await this.worker.db.tokens.insertOne({
      _id,
      accountId,
      kind: kind === 'bot' ? 'bot' : 'session',
      hash,
      createdAt: new Date(),
      expiresAt,
    });
    return { token, _id };
  }

  /** Makes a server whose members may view its channels. */
  async makeServer(): Promise<string> {
    const id = this.worker.ids.next();
    await this.worker.db.servers.insertOne(serverOf(id, this.worker.ids.next(), 0, 1));
    return id;
  }

  async makeChannel(serverId: string, overwrites: Overwrite[] = []): Promise<string> {
    const id = this.worker.ids.next();
    await this.changing(serverId, [], () => this.worker.db.channels.insertOne({ ...channelOf(id, serverId, 0), overwrites }));
    return id;
  }

  /** Changes access data as the API does: raises versions before and after, and notifies the nodes. */
  changing<T>(serverId: string | null, accounts: string[], write: () => Promise<T>, credentials = false): Promise<T> {
    return this.worker.accessVersions.runChange({ servers: serverId ? [serverId] : [], accounts, credentials }, write);
  }

  /** Makes an account a member without its event; the returned function appends the event. */
  async joinWithoutEvent(serverId: string, userId: string, bot: boolean): Promise<() => Promise<void>> {
    const _id = `${serverId}:${userId}`;
    const from = (await this.worker.readLastNumber(serverPlace(serverId))) ?? 0;
    const id = this.worker.ids.next();
    const outbox = [{ id, name: 'SERVER_CREATE' as const, data: { from } }];
    await this.worker.accessVersions.runChange({ members: [[serverId, userId]] }, () =>
      insertMembers(this.worker, [{ ...memberOf(serverId, userId, bot), joinNumber: from, outbox }]),
    );
    return async () => {
      await this.appendForAccount(userId, 'SERVER_CREATE', { id: serverId }, { id, serverNumber: from });
      await this.worker.db.members.updateOne({ _id }, { $unset: { outbox: 1 } });
    };
  }

  /** Makes an account a member, and appends the event for the account. */
  async join(serverId: string, userId: string, bot: boolean): Promise<void> {
    await (await this.joinWithoutEvent(serverId, userId, bot))();
  }

  /** Ends a membership. The account receives nothing more of the server from then on; `appendServerDelete` appends the event for it. */
  leave(serverId: string, userId: string): Promise<unknown> {
    return this.worker.accessVersions.runChange({ members: [[serverId, userId]] }, () =>
      this.worker.db.members.deleteOne({ _id: `${serverId}:${userId}` }),
    );
  }

  appendServerDelete(serverId: string, userId: string): Promise<unknown> {
    return this.appendForAccount(userId, 'SERVER_DELETE', { id: serverId });
  }

  overwrite(serverId: string, channelId: string, overwrites: Overwrite[]): Promise<unknown> {
    return this.changing(serverId, [], () => this.worker.db.channels.updateOne({ _id: channelId }, { $set: { overwrites } }));
  }

  /** Appends an event of a channel as the relay does; returns the argument for `confirm`. */
  post(
    serverId: string,
    channelId: string,
    content: string,
    name: EventName = 'MESSAGE_CREATE',
    id = this.worker.ids.next(),
  ): Promise<Appended[]> {
    return this.worker.append(serverPlace(serverId), [
      { id, name, payload: toPayload(name, { id, channelId, serverId, content }), channelId },
    ]);
  }

  /** Resolves when every node that holds the server's place has received all of its entries. */
  async untilReceived(serverId: string): Promise<void> {
    for (const { node } of this.nodes) await untilReceived(node, this.worker, serverId);
  }

  /** Appends a post as the relay does, and repeats it until it is acknowledged. */
  async postUntilAcknowledged(serverId: string, channelId: string, content: string): Promise<void> {
    const id = this.worker.ids.next();
    for (;;)
      try {
        return await this.worker.confirm(await this.post(serverId, channelId, content, 'MESSAGE_CREATE', id));
      } catch {
        await pause(20);
      }
  }

  /** Appends an event about a member as the relay does. */
  memberEvent(serverId: string, name: EventName, member: string, data: object): Promise<unknown> {
    return this.worker.append(serverPlace(serverId), [{ id: this.worker.ids.next(), name, payload: toPayload(name, data), member }]);
  }

  /** Runs `work` while no node receives what is published in the server, as if it were lost. */
  withoutDelivery<T>(serverId: string, work: () => Promise<T>): Promise<T> {
    return this.withoutDeliveryIn([serverPlace(serverId)], work);
  }

  /** Runs `work` while no node receives what is published in these places, as if it were lost. */
  async withoutDeliveryIn<T>(places: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const { node } of this.nodes) for (const place of places) node.eventLog.unsubscribe(place);
    try {
      return await work();
    } finally {
      for (const { node } of this.nodes)
        for (const place of places) await node.eventLog.subscribe(node.eventLog.partitionOf(place), [place]);
    }
  }

  /** Appends an event for one account. */
  appendForAccount(userId: string, name: EventName, data: object, options: Partial<NewEntry> = {}): Promise<unknown> {
    return this.worker.append(accountPlace(userId), [{ id: this.worker.ids.next(), name, payload: toPayload(name, data), ...options }]);
  }

  /** Sends an interaction to a bot's newest session, as the worker does; false if the bot is offline. */
  async interact(botId: string, data: object): Promise<boolean> {
    const sid = await this.worker.findNewestSession(botId);
    if (sid !== null) await this.appendForAccount(botId, 'INTERACTION_CREATE', data, { onlySession: sid });
    return sid !== null;
  }

  async close(): Promise<void> {
    for (const { ws } of this.clients) ws.terminate();
    for (const node of this.nodes) {
      await node.close();
      await node.platform.close();
    }
    await this.worker.close();
  }
}

/** Starts a fixture with `count` nodes. */
export async function startGatewayFixture(count = 1, overrides: Record<string, string> = {}): Promise<GatewayFixture> {
  const config = testConfig(overrides);
  const fixture = new GatewayFixture(config, await openWorkerPlatform(config, createLog('worker', config.LOG_LEVEL)));
  for (let i = 0; i < count; i++) await fixture.addNode();
  return fixture;
}

/**
 * `startGatewayFixture` before the tests of a `describe`, with a server, its text channel and a bot in it, which with `each` are made for every test. Returns
 * them at once, as `use` does.
 */
export function useGateway(count = 1, { each = false, overrides = {} } = {}) {
  const fixture = use(() => startGatewayFixture(count, overrides));
  const makePlace = (server: string) => fixture.makeChannel(server).then((channel) => ({ server, channel }));
  const place = make(() => fixture.makeServer().then(makePlace), { each });
  return { fixture, place, bot: make(() => fixture.makeAccount('bot', place.server), { each }) };
}

/** The contents of the events, in order. */
export const contents = (frames: readonly { d: Record<string, unknown> }[]): unknown[] => frames.map(({ d }) => d.content);
