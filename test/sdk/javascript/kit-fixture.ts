// Bots that use the JavaScript kit, with all roles behind them.
import { Client, type ClientOptions } from '@parlance/bot';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Bot } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { startParlance, type TestParlance } from '../../harness/parlance.ts';
import { send } from '../../harness/requests.ts';
import { type Given, newBot, use, useServer } from '../../harness/use.ts';
import { type Invocations, useInvocations } from '../invocations.ts';
import type { ScriptedService } from './scripted-service.ts';

/** All roles, a server with its owner, a bot in it, and clients of the kit that are stopped after the tests. */
export interface KitFixture extends Given<TestParlance>, Invocations {
  bot: Bot & { roleId: string };
  /** A client of the bot. */
  client(options?: ClientOptions): Client;
  /** Posts messages as the owner, one after another. */
  post(contents: readonly string[]): Promise<Message[]>;
}

/** Starts the fixture before the tests of a `describe`. */
export function useKit(overrides: Record<string, string> | (() => Promise<Record<string, string>>) = {}): KitFixture {
  const start = async (): Promise<TestParlance> => {
    const changes = typeof overrides === 'function' ? await overrides() : overrides;
    return startParlance({ GATEWAY_PORT: String(await freePort()), ...changes });
  };
  const given = useServer({ bot: newBot(0b1111) }, { start });
  const { api, owner, server, bot } = given;
  const clients: Client[] = [];
  const invocations = useInvocations(given);
  use(async () => ({
    close: async () => {
      await Promise.all(clients.map((client) => client.stop()));
    },
  }));
  return {
    ...given,
    ...invocations,
    client(options = {}) {
      const client = new Client({ url: api.url, token: bot.token, ...options });
      clients.push(client);
      return client;
    },
    async post(contents) {
      const posted: Message[] = [];
      for (const content of contents)
        posted.push(await send<Message>(api, 201, owner, 'POST', `/api/channels/${server.general}/messages`, { content }));
      return posted;
    },
  };
}

/** Makes clients of a scripted service, which are stopped after each test. */
export function useClients(service: ScriptedService): {
  makeClient(options?: ClientOptions): Client;
  start(client: Client): Promise<Client>;
} {
  const clients: Client[] = [];
  afterEach(() => Promise.all(clients.splice(0).map((client) => client.stop())));
  return {
    makeClient(options = {}) {
      const client = new Client({ url: service.url, token: 'secret', ...options });
      clients.push(client);
      return client;
    },
    async start(client) {
      const started = client.start();
      expect((await service.next()).op).to.equal(2);
      service.ready();
      await started;
      return client;
    },
  };
}

/** Collects the contents of the messages that a client receives. */
export function collectContents(client: Client): { contents: string[]; reach(count: number): Promise<void> } {
  const contents: string[] = [];
  client.on('messageCreate', ({ content }) => void contents.push(content));
  return { contents, reach: (count) => waitUntil(() => contents.length >= count, `${count} messages`) };
}

/** The error that a call rejects with; undefined if it resolves. */
export const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

/** `count` different texts. */
export const texts = (count: number, start = 'message'): string[] => Array.from({ length: count }, (_, at) => `${start} ${at}`);
