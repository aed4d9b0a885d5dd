// Bots that use the JavaScript kit, with all roles behind them.
import type { ClientOptions } from '@parlance/bot';
import { Client } from '@parlance/bot';
import { freePort } from '../../../apps/local/probe.ts';
import type { Interaction } from '../../../lib/contract/interaction.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Dispatch } from '../../harness/bot-client.ts';
import type { Bot } from '../../harness/factories.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { startParlance, type TestParlance, useRecorder } from '../../harness/parlance.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { type Given, newBot, use, useServer } from '../../harness/use.ts';

/** All roles, a server with its owner, a bot in it, and clients of the kit that are stopped after the tests. */
export interface KitFixture extends Given<TestParlance> {
  bot: Bot & { roleId: string };
  /** A client of the bot. */
  client(options?: ClientOptions): Client;
  /** Posts messages as the owner, one after another. */
  post(contents: readonly string[]): Promise<Message[]>;
  /** Uses a slash command as the owner in the server's channel; returns the interaction's id. */
  invoke(name: string, options?: Record<string, unknown>): Promise<string>;
  /** Waits for the message of the bot with this content, also an ephemeral one. Uses the last command again when it expires, as on a busy machine. */
  answer(content: string): Promise<Message>;
  /** Uses a slash command as the owner, again when it expires, until the interaction has this state. */
  reach(name: string, state: 'deferred' | 'answered'): Promise<void>;
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
  const person = useRecorder(api, owner);
  let last: { id: string; name: string; options: Record<string, unknown> } | undefined;
  const invokeCommand = async (name: string, options: Record<string, unknown> = {}): Promise<string> => {
    const id = await invoke(api, owner, server.general, name, options);
    last = { id, name, options };
    return id;
  };
  /** Waits for such an event of the owner. When the last command expires before, uses it again. */
  const waitFor = async (isWanted: (event: Dispatch) => boolean): Promise<Dispatch> => {
    for (;;) {
      const used = last;
      const hasExpired = ({ t, d }: Dispatch): boolean => t === 'INTERACTION_UPDATE' && d.id === used?.id && d.state === 'expired';
      const event = await person.waitFor((one) => isWanted(one) || hasExpired(one));
      if (isWanted(event)) return event;
      if (used) await invokeCommand(used.name, used.options);
    }
  };
  use(async () => ({
    close: async () => {
      await Promise.all(clients.map((client) => client.stop()));
    },
  }));
  return {
    ...given,
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
    invoke: invokeCommand,
    answer: async (content) => (await waitFor(({ t, d }) => t === 'MESSAGE_CREATE' && d.content === content)).d as unknown as Message,
    async reach(name, state) {
      await invokeCommand(name);
      await waitFor(({ t, d }) => t === 'INTERACTION_UPDATE' && d.id === last?.id && d.state === state);
    },
  };
}

async function invoke(api: TestParlance, as: Caller, channelId: string, name: string, options: Record<string, unknown>): Promise<string> {
  const list = await send<{ id: string; name: string }[]>(api, 200, as, 'GET', `/api/channels/${channelId}/commands`);
  const command = list.find((one) => one.name === name);
  const body = { options: Object.entries(options).map(([option, value]) => ({ name: option, value })) };
  const { id } = await send<Pick<Interaction, 'id'>>(
    api,
    202,
    as,
    'POST',
    `/api/channels/${channelId}/commands/${command?.id}/invoke`,
    body,
  );
  return id;
}

/** Collects the contents of the messages that a client receives. */
export function collectContents(client: Client): { contents: string[]; reach(count: number): Promise<void> } {
  const contents: string[] = [];
  client.on('messageCreate', ({ content }) => void contents.push(content));
  return { contents, reach: (count) => waitUntil(() => contents.length >= count, `${count} messages`) };
}

/** `count` different texts. */
export const texts = (count: number, start = 'message'): string[] => Array.from({ length: count }, (_, at) => `${start} ${at}`);
