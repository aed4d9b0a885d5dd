import { Client } from '@parlance/bot';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { startTestApi } from '../../harness/api.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { send } from '../../harness/requests.ts';
import { type Stack, startStack } from '../../harness/stack.ts';
import { newBot, use, useServer } from '../../harness/use.ts';
import { storesOf } from '../../operator/run-operator.ts';
import { type Balancer, startBalancer } from './balancer.ts';
import { collectContents, texts } from './kit-fixture.ts';

const count = 200;

describe('JavaScript kit: gateways that are killed and connections that break', () => {
  let port: number;
  const start = async () => {
    port = await freePort();
    return startTestApi({ GATEWAY_URL: `ws://127.0.0.1:${port}/gateway` });
  };
  const { api, owner, server, bot } = useServer({ bot: newBot(0b1111) }, { start });
  let stack: Stack;
  const balancer: Balancer = use(() => startBalancer(port, () => stack.gateways.map((one) => one.port)));
  before(async () => {
    const env = { ...storesOf(api.platform.config), GATEWAY_URL: `ws://127.0.0.1:${port}/gateway`, LOG_LEVEL: 'info' };
    stack = await startStack({ api: 0, gateway: 2, worker: 1 }, env);
  });
  after(() => stack?.close());

  it(`lose none of ${count} messages, and deliver none twice or out of order`, async () => {
    const client = new Client({ url: api.url, token: bot.token });
    const { contents, reach } = collectContents(client);
    const seen = { resumed: 0, missed: 0 };
    let isConnected = true;
    client
      .on('resumed', () => {
        seen.resumed++;
        isConnected = true;
      })
      .on('disconnected', () => {
        isConnected = false;
      })
      .on('eventsMissed', () => {
        seen.missed++;
      });
    await client.start();
    const faults: Record<number, () => Promise<unknown>> = {
      20: async () => balancer.cut(),
      50: async () => stack.gateways[0]?.stop('SIGKILL'),
      90: async () => balancer.cut(),
      110: async () => stack.gateways[0]?.start(),
      120: async () => stack.gateways[1]?.stop('SIGKILL'),
      150: async () => balancer.cut(),
      160: async () => stack.gateways[1]?.start(),
      170: async () => stack.gateways[0]?.stop('SIGTERM'),
    };
    const running: Promise<unknown>[] = [];
    const posted = texts(count);
    for (const [at, content] of posted.entries()) {
      const fault = faults[at];
      if (fault) {
        // So that each fault meets a connection, however fast the posts are.
        await waitUntil(() => isConnected, 'the connection');
        running.push(fault());
      }
      await send<Message>(api, 201, owner, 'POST', `/api/channels/${server.general}/messages`, { content });
    }
    await reach(count);
    await Promise.all(running);
    await client.stop();
    expect(contents).to.deep.equal(posted);
    expect(seen.missed).to.equal(0);
    expect(seen.resumed).to.be.greaterThan(2);
  });
});
