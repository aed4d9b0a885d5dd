// Tests of the gateway: connections, delivery, resume, presence and access, also through faults and under load.
import { setTimeout as pause } from 'node:timers/promises';
import { type Gateway, startGateway } from '../../apps/gateway/node.ts';
import type { Config } from '../../config/index.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Overwrite } from '../../lib/base/permissions.ts';
import type { EventName } from '../../lib/contract/events.ts';
import { newToken } from '../../lib/domain/access/credentials.ts';
import { addEvent, addEventInPipeline, newOutbox } from '../../lib/domain/events/pending.ts';
import { changeMemberRole, newMember, removeMember } from '../../lib/domain/members/changes.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { ChangesPending, type NewEntry } from '../../lib/store/redis/log/append.ts';
import type { Appended } from '../../lib/store/redis/log/confirm.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { toPayload } from '../harness/event-payload.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { untilReceived } from '../harness/parlance.ts';
import { accountOf, channelOf, insertMembers, serverOf } from '../harness/seed.ts';
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
    await relayEvents(this.worker, 'server', id);
    return id;
  }

  async makeChannel(serverId: string, overwrites: Overwrite[] = []): Promise<string> {
    const id = this.worker.ids.next();
    await this.changing(serverId, [], () =>
      this.worker.db.channels.insertOne({
        ...channelOf(id, serverId, 0),
        overwrites,
        ...newOutbox(this.worker, { name: 'CHANNEL_CREATE' as const }),
      }),
    );
    return id;
  }

  /** Changes what belongs to a server or to accounts as the API does, and relays the events of the change. */
  async changing<T>(serverId: string | null, accounts: string[], write: () => Promise<T>, credentials = false): Promise<T> {
    const servers = serverId ? [serverId] : [];
    const result = await this.worker.accessVersions.runChange({ servers, accounts, credentials }, write);
    for (const id of servers) await relayEvents(this.worker, 'server', id);
    return result;
  }

  /** Makes an account a member; the returned function relays that. */
  async joinWithoutEvent(serverId: string, userId: string, bot: boolean): Promise<() => Promise<void>> {
    await this.worker.accessVersions.runChange({ members: [[serverId, userId]] }, () =>
      insertMembers(this.worker, [newMember(this.worker, serverId, userId, bot)]),
    );
    return () => relayEvents(this.worker, 'server', serverId);
  }

  /** Makes an account a member, and relays that. */
  async join(serverId: string, userId: string, bot: boolean): Promise<void> {
    await (await this.joinWithoutEvent(serverId, userId, bot))();
  }

  /** Ends a membership; the returned function relays that. */
  async leaveWithoutEvent(serverId: string, userId: string): Promise<() => Promise<void>> {
    await removeMember(this.worker, serverId, userId);
    return () => relayEvents(this.worker, 'server', serverId);
  }

  /** Ends a membership, and relays that. */
  async leave(serverId: string, userId: string): Promise<void> {
    await (await this.leaveWithoutEvent(serverId, userId))();
  }

  /** Sets the permissions of roles, which are created if they don't exist, and relays that. */
  setRoles(serverId: string, permissions: ReadonlyMap<string, number>): Promise<unknown> {
    const { servers } = this.worker.db;
    return this.changing(serverId, [], async () => {
      const roles = [...((await servers.findOne({ _id: serverId }))?.roles ?? [])];
      for (const [id, bits] of permissions) {
        const at = roles.findIndex((role) => role.id === id);
        const before = roles[at];
        if (before?.permissions === bits) continue;
        const was = before ? { was: { role: { id, permissions: before.permissions } } } : {};
        const event = { name: before ? ('ROLE_UPDATE' as const) : ('ROLE_CREATE' as const), data: { roleId: id }, ...was };
        if (before) roles[at] = { ...before, permissions: bits };
        else roles.push({ id, name: 'role', color: null, hoist: false, permissions: bits, botId: null });
        await servers.updateOne({ _id: serverId }, { $set: { roles }, ...addEvent(this.worker, event) });
      }
    });
  }

  /** Gives a member a role, or takes it away, and relays that. */
  setMemberRole(serverId: string, userId: string, roleId: string, hasRole: boolean): Promise<unknown> {
    return this.changing(serverId, [], () => changeMemberRole(this.worker, { serverId, userId, roleId, hasRole }));
  }

  overwrite(serverId: string, channelId: string, overwrites: Overwrite[]): Promise<unknown> {
    return this.changing(serverId, [], () => {
      const event = addEventInPipeline(this.worker, { name: 'CHANNEL_UPDATE', was: { overwrites: '$overwrites' } });
      return this.worker.db.channels.updateOne({ _id: channelId }, [{ $set: { overwrites: { $literal: overwrites }, ...event } }]);
    });
  }

  /** Appends an event of a channel as the relay does; returns the argument for `confirm`. */
  async post(
    serverId: string,
    channelId: string,
    content: string,
    name: EventName = 'MESSAGE_CREATE',
    id = this.worker.ids.next(),
  ): Promise<Appended[]> {
    const event = { id, name, payload: toPayload(name, { id, channelId, serverId, content }), channelId };
    for (;;)
      try {
        return (await this.worker.eventLog.append(serverPlace(serverId), [event], { afterChanges: 'now' })).appended;
      } catch (error) {
        if (!(error instanceof ChangesPending)) throw error;
        await relayEvents(this.worker, 'server', serverId);
      }
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
        return await this.worker.eventLog.confirm(await this.post(serverId, channelId, content, 'MESSAGE_CREATE', id));
      } catch {
        await pause(20);
      }
  }

  /** Runs `work` while no node receives what is published in the server, as if it were lost. */
  withoutDelivery<T>(serverId: string, work: () => Promise<T>): Promise<T> {
    return this.withoutDeliveryIn([serverPlace(serverId)], work);
  }

  /** Runs `work` while no node receives what is published in these places, as if it were lost. */
  async withoutDeliveryIn<T>(places: readonly string[], work: () => Promise<T>): Promise<T> {
    for (const { node } of this.nodes) node.eventLog.unsubscribe(places);
    try {
      return await work();
    } finally {
      for (const { node } of this.nodes)
        for (const place of places) await node.eventLog.subscribe(node.eventLog.partitionOf(place), [place]);
    }
  }

  /** Appends an event for one account. */
  appendForAccount(userId: string, name: EventName, data: object, options: Partial<NewEntry> = {}): Promise<unknown> {
    return this.worker.eventLog.append(accountPlace(userId), [
      { id: this.worker.ids.next(), name, payload: toPayload(name, data), ...options },
    ]);
  }

  /** Sends an interaction to a bot's newest session, as the worker does; false if the bot is offline. */
  async interact(botId: string, data: object): Promise<boolean> {
    const sid = await this.worker.connections.findNewestSession(botId);
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
  await prepareDatabase(config);
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
