import { expect } from 'chai';
import { drainMs } from '../../apps/gateway/drain.ts';
import { shutdownMs } from '../../lib/base/process.ts';
import { Client, type Frame } from '../gateway/client.ts';
import { contents, useGateway } from '../gateway/gateway-fixture.ts';
import { type Stack, startStack } from '../harness/stack.ts';
import { storesOf } from '../operator/run-operator.ts';

/** Clients of the process that is drained. With this number, some of them must wait before they reconnect. */
const count = 3;
/** Each client must reconnect within this time after its op 7, in milliseconds. */
const stepMs = 250;

describe('a gateway process that gets SIGTERM', () => {
  const { fixture, place, bot } = useGateway();
  let stack: Stack;
  before(async () => {
    const env = { ...storesOf(fixture.config), LOG_LEVEL: 'warn' };
    stack = await startStack({ api: 0, gateway: 1, worker: 0 }, env);
  });
  after(() => stack?.close());

  const port = (): number => stack.gateways[0]?.port ?? 0;
  const sessionIn = ({ d, s }: Frame): { id: string; s: string } => ({ id: String(d.sessionId), s: String(s) });
  const messagesIn = ({ frames }: Client): Frame[] => frames.filter(({ t }) => t === 'MESSAGE_CREATE');

  it('moves its clients one after another over 20 s, and no event is lost or comes twice', async () => {
    const sessions: { client: Client; id: string; s: string }[] = [];
    for (let at = 0; at < count; at++) {
      const client = new Client(port());
      sessions.push({ client, ...sessionIn(await client.identify(bot.token)) });
    }
    const stopping = stack.gateways[0]?.stop('SIGTERM');
    const posted: string[] = [];
    const resumed: Client[] = [];
    for (const [at, { client, id, s }] of sessions.entries()) {
      const { d } = await client.until(7);
      const reconnectMs = Math.floor((at * drainMs) / count);
      expect(d, `client ${at}`).to.deep.equal({ retryAfterMs: reconnectMs % stepMs });
      expect(await client.closed).to.equal(1012);
      if (at === 0) expect(await new Client(port()).closed, 'the process accepts no socket').to.equal(1006);
      posted.push(`while client ${at} is away`);
      await fixture.post(place.server, place.channel, posted.at(-1) ?? '');
      const again = fixture.connect();
      await again.resume(bot.token, id, messagesIn(client).at(-1)?.s ?? s);
      await again.until(0, 'RESUMED');
      resumed.push(again);
    }
    expect(await stopping, 'exit code').to.equal(0);
    // Until it is moved, a client receives its events from the process that stops.
    expect(contents(messagesIn((sessions.at(-1) as { client: Client }).client))[0]).to.equal(posted[0]);
    for (const [at, { client }] of sessions.entries()) {
      const again = resumed[at] as Client;
      while (messagesIn(client).length + messagesIn(again).length < count) await again.next();
      expect(contents([...messagesIn(client), ...messagesIn(again)]), `client ${at}`).to.deep.equal(posted);
    }
  });

  it('has the time to do so', () => expect(drainMs).to.be.at.most(shutdownMs - 4_000));

  it('moves them at once at SIGINT', async () => {
    await stack.gateways[0]?.start();
    const clients = [new Client(port()), new Client(port())];
    for (const client of clients) await client.identify(bot.token);
    const stopping = stack.gateways[0]?.stop('SIGINT');
    for (const client of clients) expect((await client.until(7)).d.retryAfterMs).to.be.within(0, 2_000);
    expect(await stopping).to.equal(0);
  });
});
