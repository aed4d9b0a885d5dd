import { setTimeout as pause } from 'node:timers/promises';
import { createLog } from '../../lib/base/log.ts';
import type { CommandInput } from '../../lib/contract/command.ts';
import { relay } from '../../lib/domain/events/relay.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { type GatewayPlatform, openGatewayPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { interactionTokenOf } from '../../lib/store/seal.ts';
import { type Answer, startTestApi, type TestApi } from './api.ts';
import { entriesOf, subscribe } from './log.ts';
import { makeWorld, type World } from './world.ts';

/** A received event: its name and payload. */
export interface Heard {
  name: string;
  data: Record<string, unknown>;
}

/** An API, a worker platform without running queues, and a world with one connected bot with the command `hello`. Jobs run only when a test runs them. */
export interface Scene {
  api: TestApi;
  worker: WorkerPlatform;
  gateway: GatewayPlatform;
  world: World;
  bot: World['bots'][number];
  /** Authorization values. */
  asPerson: string;
  asBot: string;
  channelId: string;
  /** The ids of the bot's commands by name. */
  commands: Record<string, string>;
  /** The events in the person's account place so far. */
  personal: Heard[];
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
  age(id: string, ms: number, field?: 'createdAt' | 'openedAt' | 'obAt' | 'deliveredAt'): Promise<void>;
  /** Everything stored that jobs change, as text to compare. */
  snapshot(): Promise<string>;
  /**
   * Relays the pending events of an interaction, and returns what the person received about it: its states, and ephemeral answers as `hidden: …`. Discards all
   * other received events.
   */
  told(id: string): Promise<string[]>;
  /** The events for the bot's session in the bot's account place. */
  botEvents(): Promise<Heard[]>;
  /** Opens a new session of the bot. */
  connect(): Promise<void>;
  /** Disconnects the session like a lost socket: it can be resumed. */
  disconnect(): Promise<void>;
  close(): Promise<void>;
}

/** Starts a scene on a fresh database. */
export async function startScene(overrides: Record<string, string> = {}): Promise<Scene> {
  const api = await startTestApi(overrides);
  const { config, db } = api.platform;
  const log = createLog('test', config.LOG_LEVEL);
  const worker = await openWorkerPlatform(config, log);
  const gateway = await openGatewayPlatform(config, log);
  const world = await makeWorld(api.platform, { bots: 2, channels: 2 });
  const [bot] = world.bots;
  const [channelId] = world.channelIds;
  if (!bot || !channelId) throw new Error('an empty world');
  const [person, own] = [accountPlace(world.ownerId), accountPlace(bot.id)];
  const personal: Heard[] = [];
  const personalLog = await subscribe(gateway, [person], ({ name, data }) => void personal.push({ name, data }));
  const node = 'test-node';
  const botEvents: readonly string[] = ['MESSAGE_CREATE', 'INTERACTION_CREATE'];
  const session = { id: 'session-0', accountId: bot.id, owner: 'socket-1' };
  let sessions = 0;
  /** The last number in the log when the bot's session was opened. */
  let opened = 0;
  const beat = setInterval(() => void gateway.sessions.renewLease(node).catch(() => undefined), 1_000);
  const tokenOf = (id: string): string => interactionTokenOf(config.APP_KEY, id);
  const scene: Scene = {
    api,
    worker,
    gateway,
    world,
    bot,
    asPerson: `Bearer ${world.ownerToken}`,
    asBot: `Bot ${bot.token}`,
    channelId,
    commands: {},
    personal,
    tokenOf,
    async register(commands) {
      const path = `/api/applications/${bot.applicationId}/commands`;
      const { status, body } = await api.call<{ id: string; name: string }[]>('PUT', path, { as: scene.asBot, body: commands });
      if (status !== 200) throw new Error(JSON.stringify(body));
      scene.commands = Object.fromEntries(body.map((one) => [one.name, one.id]));
    },
    async use({ command = 'hello', body = {} } = {}) {
      const path = `/api/channels/${channelId}/commands/${scene.commands[command]}/invoke`;
      const answer = await api.call('POST', path, { as: scene.asPerson, body });
      if (answer.status !== 202) throw new Error(JSON.stringify(answer.body));
      const id = String(answer.body.id);
      await scene.age(id, -60_000);
      return id;
    },
    send: (route, id, body, headers = {}) => api.call('POST', `/api/interactions/${id}/${tokenOf(id)}/${route}`, { body, headers }),
    async stored(id) {
      const found = await db.interactions.findOne({ _id: id }).lean();
      if (!found) throw new Error(`no interaction ${id}`);
      return found;
    },
    messages: async () => await db.messages.find({ channelId }).sort({ _id: 1 }).lean(),
    async age(id, ms, field = 'createdAt') {
      await db.interactions.collection.updateOne({ _id: id as never }, [{ $set: { [field]: { $subtract: ['$$NOW', ms] } } }]);
    },
    async told(id) {
      await relay(worker, 'interaction', id);
      const mark = worker.ids.next();
      await worker.append(person, [{ id: mark, name: 'TYPING_START', payload: JSON.stringify({ id: mark }) }]);
      await until(() => personal.some(({ data }) => data.id === mark), 'what was said before');
      return personal.splice(0).flatMap(({ name, data }) => {
        if (name === 'INTERACTION_UPDATE' && data.id === id) return [String(data.state)];
        return name === 'MESSAGE_CREATE' && data.ephemeral === true ? [`hidden: ${String(data.content)}`] : [];
      });
    },
    async snapshot() {
      const [interactions, messages] = await Promise.all([
        db.interactions.find().sort({ _id: 1 }).lean(),
        db.messages.find().sort({ _id: 1 }).lean(),
      ]);
      return JSON.stringify({ interactions, messages, bot: await scene.botEvents() });
    },
    async botEvents() {
      const isForSession = (sid: string | undefined): boolean => sid === undefined || sid === session.id;
      return (await entriesOf(config, own))
        .filter(({ name, head: { number: n, onlySession: sid } }) => n > opened && botEvents.includes(name) && isForSession(sid))
        .map(({ name, data }) => ({ name, data }));
    },
    async connect() {
      await gateway.sessions.renewLease(node);
      session.id = `session-${++sessions}`;
      opened = (await gateway.lastNumber(own)) ?? 0;
      await gateway.sessions.open({ ...session, node, events: botEvents });
    },
    disconnect: () => gateway.sessions.leave(session, 'wait'),
    async close() {
      clearInterval(beat);
      await personalLog.close();
      await Promise.all([gateway.close(), worker.close(), api.close()]);
    },
  };
  await scene.register([{ name: 'hello', description: 'Says hello' }]);
  await scene.connect();
  return scene;
}

/** Waits until `probe` returns true; throws after 120 s, which only limits a hang. For changes that another process or Redis makes at its own pace. */
export async function until(probe: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const began = performance.now();
  while (!(await probe())) {
    if (performance.now() - began > 120_000) throw new Error(`waited in vain: ${what}`);
    await pause(10);
  }
}
