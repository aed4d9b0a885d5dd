import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { CommandInput } from '../../lib/contract/command.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { type GatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { accountPlace, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { deriveInteractionToken } from '../../lib/store/seal.ts';
import { type Answer, startTestApi, type TestApi } from './api.ts';
import { entriesOf, subscribe } from './log.ts';
import type { Caller } from './requests.ts';
import { ownerOf, type SeededServer, seedServer } from './seed.ts';
import { startSessions, type TestSession } from './sessions.ts';

/** A received event: its name and payload. */
export interface ReceivedEvent {
  name: string;
  data: Record<string, unknown>;
}

/** The stored fields of a new interaction, except its ids, times, command and outbox. */
export const newInteraction = {
  userRoles: [],
  options: [],
  state: 'created' as const,
  openedAt: null,
  ephemeral: false,
  messageId: null,
  endpoint: false,
  deliveredAt: null,
};

/** An API, a worker platform without running queues, and a seeded server with one connected bot that has the command `hello`. Jobs run only when a test runs them. */
export interface InteractionFixture {
  api: TestApi;
  worker: WorkerPlatform;
  gateway: GatewayPlatform;
  seeded: SeededServer;
  bot: SeededServer['bots'][number];
  /** The owner of the seeded server, who uses the commands. */
  person: Caller;
  /** Authorization values. */
  asPerson: string;
  asBot: string;
  channelId: string;
  /** The ids of the bot's commands by name. */
  commands: Record<string, string>;
  /** The events in the person's account place so far. */
  personal: ReceivedEvent[];
  /** Replaces the bot's commands. */
  register(commands: CommandInput[]): Promise<void>;
  /**
   * Uses a command, by default `hello`; returns the interaction's id. Sets its time a minute ahead, so that no test races with the clock; `age` changes it.
   */
  use(options?: { command?: string; body?: unknown }): Promise<string>;
  /** Sends a request to an interaction's route with its real token. */
  send(route: 'callback' | 'followup', id: string, body: unknown, headers?: Record<string, string>): Promise<Answer>;
  tokenOf(id: string): string;
  stored(id: string): Promise<InteractionDoc>;
  messages(): Promise<MessageDoc[]>;
  /** Sets a time of the interaction to `ms` milliseconds ago. */
  age(id: string, ms: number, field?: 'createdAt' | 'openedAt' | 'outboxAt' | 'deliveredAt'): Promise<void>;
  /** Everything stored that jobs change, as text to compare. */
  snapshot(): Promise<string>;
  /** Runs `act` and expects that it changes nothing of the snapshot. */
  expectNoChange(act: () => Promise<unknown>): Promise<void>;
  /**
   * Relays the pending events of an interaction, and returns what the person received about it: its states, `endpoint failed`, and ephemeral answers as `hidden: …`. Discards all
   * other received events.
   */
  relayedStates(id: string): Promise<string[]>;
  /** The events for the bot's session in the bot's account place. */
  botEvents(): Promise<ReceivedEvent[]>;
  /** Opens a new session of the bot. */
  connect(): Promise<void>;
  /** Disconnects the session like a lost socket: it can be resumed. */
  disconnect(): Promise<void>;
  close(): Promise<void>;
}

/** Starts the fixture on an empty database. */
export async function startInteractionFixture(overrides: Record<string, string> = {}): Promise<InteractionFixture> {
  const api = await startTestApi(overrides);
  const { config, db } = api.platform;
  const worker = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
  const sessions = await startSessions(api);
  const { gateway } = sessions;
  const seeded = await seedServer(api.platform, { bots: 2, channels: 2 });
  const [bot] = seeded.bots;
  const [channelId] = seeded.channelIds;
  if (!bot || !channelId) throw new Error('the seeded server is empty');
  const [person, own] = [accountPlace(seeded.ownerId), accountPlace(bot.id)];
  const personal: ReceivedEvent[] = [];
  /** Ephemeral answers are in the place of the server, for one account. */
  const personalLog = await subscribe(gateway, [person, serverPlace(seeded.serverId)], ({ name, data, head }, place) => {
    if (place === person || head.onlyAccount === seeded.ownerId) personal.push({ name, data });
  });
  const botEvents: readonly string[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
  let session: TestSession | undefined;
  /** The last number in the log when the bot's session was opened. */
  let opened = 0;
  const tokenOf = (id: string): string => deriveInteractionToken(config.APP_KEY, id);
  const fixture: InteractionFixture = {
    api,
    worker,
    gateway,
    seeded,
    bot,
    person: ownerOf(seeded),
    asPerson: `Bearer ${seeded.ownerToken}`,
    asBot: `Bot ${bot.token}`,
    channelId,
    commands: {},
    personal,
    tokenOf,
    async register(commands) {
      const path = `/api/applications/${bot.applicationId}/commands`;
      const { status, body } = await api.call<{ id: string; name: string }[]>('PUT', path, { as: fixture.asBot, body: commands });
      if (status !== 200) throw new Error(JSON.stringify(body));
      fixture.commands = Object.fromEntries(body.map((one) => [one.name, one.id]));
    },
    async use({ command = 'hello', body = {} } = {}) {
      const path = `/api/channels/${channelId}/commands/${fixture.commands[command]}/invoke`;
      const answer = await api.call('POST', path, { as: fixture.asPerson, body });
      if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
      const id = String(answer.body.id);
      await fixture.age(id, -60_000);
      return id;
    },
    send: (route, id, body, headers = {}) => api.call('POST', `/api/interactions/${id}/${tokenOf(id)}/${route}`, { body, headers }),
    async stored(id) {
      const found = await db.interactions.findOne({ _id: id });
      if (!found) throw new Error(`no interaction ${id}`);
      return found;
    },
    messages: () => db.messages.find({ channelId }).sort({ _id: 1 }).toArray(),
    async age(id, ms, field = 'createdAt') {
      await db.interactions.updateOne({ _id: id }, [{ $set: { [field]: { $subtract: ['$$NOW', ms] } } }]);
    },
    async relayedStates(id) {
      await relayEvents(worker, 'interaction', id);
      const mark = worker.ids.next();
      await worker.eventLog.append(person, [{ id: mark, name: 'TYPING_START', payload: JSON.stringify({ id: mark }) }]);
      await waitUntil(() => personal.some(({ data }) => data.id === mark), 'earlier events');
      return personal.splice(0).flatMap(({ name, data }) => {
        if (name === 'INTERACTION_UPDATE' && data.id === id) return [data.endpointFailed ? 'endpoint failed' : String(data.state)];
        return name === 'MESSAGE_CREATE' && data.ephemeral === true ? [`hidden: ${String(data.content)}`] : [];
      });
    },
    async snapshot() {
      const [interactions, messages] = await Promise.all([
        db.interactions.find().sort({ _id: 1 }).toArray(),
        db.messages.find().sort({ _id: 1 }).toArray(),
      ]);
      return JSON.stringify({ interactions, messages, bot: await fixture.botEvents() });
    },
    async expectNoChange(act) {
      const before = await fixture.snapshot();
      await act();
      expect(await fixture.snapshot()).to.equal(before);
    },
    async botEvents() {
      const isForSession = (sid: string | undefined): boolean => sid === undefined || sid === session?.id;
      return (await entriesOf(config, own))
        .filter(({ name, head: { number: n, onlySession: sid } }) => n > opened && botEvents.includes(name) && isForSession(sid))
        .map(({ name, data }) => ({ name, data }));
    },
    async connect() {
      opened = (await gateway.readLastNumber(own)) ?? 0;
      session = await sessions.open(bot, 'test-node', botEvents);
    },
    disconnect: () => sessions.release(session ?? expect.fail('the bot has no session'), 'suspend'),
    async close() {
      await personalLog.close();
      await Promise.all([sessions.close(), worker.close(), api.close()]);
    },
  };
  await fixture.register([{ name: 'hello', description: 'Says hello' }]);
  await fixture.connect();
  return fixture;
}

/** Waits until `probe` returns true; throws after 120 s, which only limits a hang. For changes that another process or Redis makes at its own pace. */
export async function waitUntil(probe: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const began = performance.now();
  while (!(await probe())) {
    if (performance.now() - began > 120_000) throw new Error(`not reached in 120 s: ${what}`);
    // Longer after a while, because a probe costs the machine something that the work waited for needs.
    await pause(Math.min(Math.max((performance.now() - began) / 10, 10), 100));
  }
}
