import { type Gateway, startGateway } from '../../apps/gateway/node.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Overwrite } from '../../lib/base/permissions.ts';
import type { EventName } from '../../lib/contract/events.ts';
import { botsThatView, loadServerNow } from '../../lib/domain/access.ts';
import { newToken } from '../../lib/domain/credentials.ts';
import type { Append, Appended } from '../../lib/store/bus/append.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { testConfig } from '../harness/stores.ts';
import { Client } from './client.ts';

/** An account made for a test, with its token. */
export interface Someone {
  id: string;
  token: string;
}

/** A gateway node under test, with its platform. */
export interface TestNode extends Gateway {
  platform: GatewayPlatform;
}

/** Gateway nodes over one database and Redis prefix, and a worker that feeds them. */
export class World {
  readonly config: Config;
  readonly worker: WorkerPlatform;
  readonly nodes: TestNode[] = [];
  readonly clients: Client[] = [];

  constructor(config: Config, worker: WorkerPlatform) {
    this.config = config;
    this.worker = worker;
  }

  /** Starts a node more. */
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

  /** A bot or person in these servers. */
  async someone(kind: 'bot' | 'person', ...serverIds: string[]): Promise<Someone> {
    const { ids, db } = this.worker;
    const id = ids.next();
    await db.accounts.collection.insertOne({
      _id: id,
      kind,
      username: `u${id}`,
      displayName: 'Someone',
      avatarUrl: null,
      tag: null,
      applicationId: kind === 'bot' ? ids.next() : null,
      status: 'online',
      createdAt: new Date(),
    } as never);
    const { token } = await this.anotherToken(id, kind);
    for (const serverId of serverIds) await this.join(serverId, id, kind === 'bot');
    return { id, token };
  }

  /** A further token of an account, with its id. */
  async anotherToken(accountId: string, kind: 'bot' | 'person' = 'person'): Promise<{ token: string; _id: string }> {
    const _id = this.worker.ids.next();
    const { token, hash } = newToken(_id);
    const expiresAt = kind === 'bot' ? null : new Date(Date.now() + 3_600_000);
    await this.worker.db.tokens.create({
      _id,
      accountId,
      kind: kind === 'bot' ? 'bot' : 'session',
      hash,
      createdAt: new Date(),
      expiresAt,
    });
    return { token, _id };
  }

  /** A server whose members may view its channels. */
  async server(): Promise<string> {
    const id = this.worker.ids.next();
    const everyone = { id, name: '@everyone', color: null, hoist: false, permissions: 1, botId: null };
    await this.worker.db.servers.collection.insertOne({ _id: id, name: 'Server', ownerId: '0', roles: [everyone] } as never);
    return id;
  }

  async channel(serverId: string, overwrites: Overwrite[] = []): Promise<string> {
    const id = this.worker.ids.next();
    await this.changing(serverId, [], () =>
      this.worker.db.channels.collection.insertOne({ _id: id, serverId, kind: 'text', name: 'c', parentId: null, overwrites } as never),
    );
    return id;
  }

  /** Changes access data as the API does: versions before and after, and a word to the nodes. */
  changing<T>(serverId: string | null, accounts: string[], write: () => Promise<T>, credentials = false): Promise<T> {
    return this.worker.versions.changing({ servers: serverId ? [serverId] : [], accounts, credentials }, write);
  }

  join(serverId: string, userId: string, bot: boolean): Promise<unknown> {
    return this.changing(serverId, [userId], () =>
      this.worker.db.members.create({ _id: `${serverId}:${userId}`, serverId, userId, bot, roles: [], joinedAt: new Date() }),
    );
  }

  leave(serverId: string, userId: string): Promise<unknown> {
    return this.changing(serverId, [userId], () => this.worker.db.members.deleteOne({ _id: `${serverId}:${userId}` }));
  }

  overwrite(serverId: string, channelId: string, overwrites: Overwrite[]): Promise<unknown> {
    return this.changing(serverId, [], () => this.worker.db.channels.updateOne({ _id: channelId }, { $set: { overwrites } }));
  }

  /** Appends an event of a channel as the drain does; `silent` is not published, as if the publication were lost. */
  async post(
    serverId: string,
    channelId: string,
    content: string,
    { name = 'MESSAGE_CREATE', silent = false }: { name?: EventName; silent?: boolean } = {},
  ): Promise<Appended> {
    const access = await loadServerNow(this.worker, serverId);
    if (!access?.version) throw new Error('no access data');
    const eventId = this.worker.ids.next();
    return this.worker.append({
      eventId,
      name,
      payload: JSON.stringify({ id: eventId, channelId, serverId, content }),
      bots: await botsThatView(access, channelId),
      reach: 'all',
      topics: silent ? [] : [`server:${serverId}`],
      server: { id: serverId, version: access.version },
      channelId,
    });
  }

  /** Appends an event for one account. */
  tell(userId: string, name: EventName, data: object, options: Partial<Append> = {}): Promise<Appended> {
    return this.worker.append({
      eventId: this.worker.ids.next(),
      name,
      payload: JSON.stringify(data),
      bots: [userId],
      reach: 'all',
      topics: [`user:${userId}`],
      ...options,
    });
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

/** A world with `count` nodes. */
export async function startWorld(count = 1, overrides: Record<string, string> = {}): Promise<World> {
  const config = testConfig(overrides);
  const world = new World(config, await openWorkerPlatform(config, createLog('worker', config.LOG_LEVEL)));
  for (let i = 0; i < count; i++) await world.addNode();
  return world;
}

/** What the events say, in order. */
export const contents = (frames: readonly { d: Record<string, unknown> }[]): unknown[] => frames.map(({ d }) => d.content);
