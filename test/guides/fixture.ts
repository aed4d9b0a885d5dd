import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../apps/local/probe.ts';
import type { PickerCommand } from '../../lib/contract/command.ts';
import type { Message } from '../../lib/contract/message.ts';
import { signRequest } from '../../lib/store/seal.ts';
import type { Dispatch } from '../harness/bot-client.ts';
import type { Bot } from '../harness/factories.ts';
import { type EventRecorder, recordEvents, startParlance, type TestParlance } from '../harness/parlance.ts';
import { type Caller, send } from '../harness/requests.ts';
import { type Given, make, newBot, newMember, use, useServer } from '../harness/use.ts';

/** Permissions of the bot of the guides: all but Administrator. */
const botPermissions = 0xfff;

/** A Parlance with a server, its owner, a member, and a bot. */
export interface GuideFixture extends Given<TestParlance> {
  bot: Bot & { roleId: string };
  member: Caller;
  /** The port on which the endpoints of the guides listen. It may be posted to. */
  port: () => number;
  /** The environment of a program. */
  env: () => Record<string, string>;
  /** Posts a message as `as`, by default the owner. */
  post: (content: string, more?: object, as?: Caller) => Promise<Message>;
  /**
   * Uses a command of the bot as `as`, by default the owner, and returns the answer that `isWanted` accepts. Uses it again if the answer missed the 3 seconds,
   * which happens on a busy machine.
   */
  invoke: (name: string, options: Record<string, unknown>, isWanted: (message: Message) => boolean, as?: Caller) => Promise<Message>;
  /** Saves the address of the program as the Interactions Endpoint URL while `act` runs. */
  withEndpoint: (act: () => Promise<void>) => Promise<void>;
  /** Posts a ping to the program's endpoint, signed with `secret` as `ageSecs` ago. Returns the status. */
  postPing: (secret: string, ageSecs: number) => Promise<number>;
  /** Delivers an event of a code host to a webhook, whose address ends an answer of the bot. */
  deliver: (answer: string, event: string, body: object) => Promise<Response>;
  /** The first message of somebody else that `act` causes and that `isWanted` accepts, as `as` receives it. */
  answer: (act: () => Promise<unknown>, isWanted: (message: Message) => boolean, as?: Caller) => Promise<Message>;
}

/** Starts the fixture before the tests of a `describe`, with more `settings` of the service. */
export function useGuideFixture(settings: Record<string, string> = {}): GuideFixture {
  let port = 0;
  const start = async (): Promise<TestParlance> => {
    port = await freePort();
    const apiPort = await freePort();
    // The URLs of files begin with BASE_URL.
    const urls = { PORT: String(apiPort), BASE_URL: `http://127.0.0.1:${apiPort}`, GATEWAY_PORT: String(await freePort()) };
    return startParlance({ ...urls, OUTBOUND_ALLOW: `localhost:${port}`, ...settings });
  };
  const given = useServer({ bot: newBot(botPermissions), member: newMember() }, { start });
  const { api, owner, member, server, bot } = given;
  const recorders = new Map<string, EventRecorder>();
  use(async () => {
    for (const { id, token } of [owner, member]) recorders.set(id, await recordEvents(api, token));
    return { close: () => Promise.all([...recorders.values()].map(({ client }) => client.close())) };
  });
  const channel = make(async () => ({ path: `/api/channels/${server.general}` }));
  /** The first event that `act` causes and that `isWanted` accepts, as `as` receives it. */
  async function waitAfter(act: () => Promise<unknown>, isWanted: (event: Dispatch) => boolean, as: Caller): Promise<Dispatch> {
    const { received, waitFor } = recorders.get(as.id) ?? expect.fail();
    const known = new Set(received);
    await act();
    return waitFor((event) => !known.has(event) && isWanted(event));
  }
  const isMessage = ({ t, d }: Dispatch, isWanted: (message: Message) => boolean, as: Caller): boolean => {
    const message = d as unknown as Message;
    return t === 'MESSAGE_CREATE' && message.author.id !== as.id && isWanted(message);
  };
  return {
    ...given,
    port: () => port,
    env: () => ({ PARLANCE_URL: api.url, PARLANCE_TOKEN: bot.token, SIGNING_SECRET: bot.signingSecret, PORT: String(port) }),
    post: (content, more = {}, as = owner) => send<Message>(api, 201, as, 'POST', `${channel.path}/messages`, { content, ...more }),
    async invoke(name, options, isWanted, as = owner) {
      const commands = await send<PickerCommand[]>(api, 200, as, 'GET', `${channel.path}/commands`);
      const command = commands.find((one) => one.name === name) ?? expect.fail(`/${name} is not registered`);
      const body = { options: Object.entries(options).map(([option, value]) => ({ name: option, value })) };
      const invoke = async (): Promise<void> => {
        // The service answers 503 while the machine is overloaded.
        for (let status = 503; status !== 202; ) {
          ({ status } = await api.call('POST', `${channel.path}/commands/${command.id}/invoke`, { as: as.as, body }));
          expect(status).to.be.oneOf([202, 503]);
        }
      };
      for (;;) {
        const hasExpired = ({ t, d }: Dispatch): boolean => t === 'INTERACTION_UPDATE' && d.state === 'expired';
        const event = await waitAfter(invoke, (one) => hasExpired(one) || isMessage(one, isWanted, as), as);
        if (event.t === 'MESSAGE_CREATE') return event.d as unknown as Message;
      }
    },
    async withEndpoint(act) {
      const path = `/api/applications/${bot.applicationId}`;
      await send(api, 200, owner, 'PATCH', path, { interactionsEndpointUrl: `http://localhost:${port}/` });
      try {
        await act();
      } finally {
        await send(api, 200, owner, 'PATCH', path, { interactionsEndpointUrl: null });
      }
    },
    async postPing(secret, ageSecs) {
      const body = Buffer.from('{"type":"ping"}');
      const timestamp = String(Math.floor(Date.now() / 1000) - ageSecs);
      const headers = { 'x-service-timestamp': timestamp, 'x-service-signature': signRequest(secret, timestamp, body) };
      return (await fetch(`http://localhost:${port}/`, { method: 'POST', headers, body })).status;
    },
    deliver: (text, event, body) =>
      fetch(api.url + new URL(text.slice(text.indexOf('http'))).pathname, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-github-event': event, 'x-github-delivery': randomUUID() },
        body: JSON.stringify(body),
      }),
    async answer(act, isWanted, as = owner) {
      return (await waitAfter(act, (event) => isMessage(event, isWanted, as), as)).d as unknown as Message;
    },
  };
}
