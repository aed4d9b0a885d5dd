import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Client } from './client.ts';
import { type TestAccount, useGateway } from './gateway-fixture.ts';

const { gatewayHandshakesBurst: burst, gatewayReplayBytesPerHandshake: bytesPerHandshake } = limits;

describe('gateway: many handshakes of one account', () => {
  const { fixture, place, bot } = useGateway(1, { overrides: { RATE_LIMIT: '50/100' } });

  /** Repeats `attempt` until a socket is closed with 4008; returns how many attempts succeeded. */
  const repeatUntilLimited = async (attempt: (client: Client) => Promise<unknown>): Promise<number> => {
    for (let count = 0; ; count++) {
      const client = fixture.connect();
      const outcome = await Promise.race([
        attempt(client).then(
          () => 'done',
          () => 'failed',
        ),
        client.closed,
      ]);
      if (outcome === 4008 || (outcome === 'failed' && (await client.closed) === 4008)) return count;
      expect(outcome).to.equal('done');
      await client.close(4000);
    }
  };
  const expectOthersToConnect = async (): Promise<void> => {
    const other = await fixture.openSession(await fixture.makeAccount('bot', place.server));
    await other.client.close(1000);
  };
  // What the budget regains meanwhile: one a second.
  const slack = burst / 2;

  it('the account is refused with 4008 after 100 identifies, and others are not', async () => {
    const account = await fixture.makeAccount('bot', place.server);
    expect(await repeatUntilLimited((client) => client.identify(account.token))).to.be.within(burst, burst + slack);
    await expectOthersToConnect();
  });

  it('resumes that fail count too', async () => {
    const account = await fixture.makeAccount('bot', place.server);
    const { s } = await fixture.openSession(account);
    const resume = async (client: Client): Promise<void> => {
      await client.resume(account.token, 'nosuchsession', s);
      await client.until(9);
    };
    expect(await repeatUntilLimited(resume)).to.be.within(burst - 1, burst + slack);
    await expectOthersToConnect();
  });

  it('resumes count by what they read, before permissions', async () => {
    const account = await fixture.makeAccount('bot', place.server);
    const hidden = await fixture.makeChannel(place.server, [{ id: place.server, allow: 0, deny: 1 }]);
    const { client, id, s } = await fixture.openSession(account);
    await client.close(4000);
    const posts = 10;
    for (let at = 0; at < posts; at++) await fixture.post(place.server, hidden, 'x'.repeat(bytesPerHandshake));
    const resume = async (again: Client): Promise<void> => {
      await again.resume(account.token, id, s);
      expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 0 });
    };
    const [least, most] = [Math.floor((burst - 1) / (posts + 1)) - 1, Math.ceil((burst + slack) / (posts + 1))];
    expect(await repeatUntilLimited(resume)).to.be.within(least, most);
    await expectOthersToConnect();
  });

  it('handshakes of one account that wait for a store hold up no other account', async () => {
    const { sessions } = fixture.nodes[0]?.platform ?? expect.fail();
    const open = sessions.open.bind(sessions);
    const held: (() => void)[] = [];
    sessions.open = async (session) => {
      if (session.accountId === bot.id) await new Promise<void>((resolve) => held.push(resolve));
      return open(session);
    };
    const identify = async ({ token }: TestAccount): Promise<Client> => {
      const client = fixture.connect();
      await client.until(10);
      client.send({ op: 2, d: { token } });
      return client;
    };
    const waiting: Client[] = [];
    try {
      for (let at = 0; at < 80; at++) waiting.push(await identify(bot));
      await expectOthersToConnect();
    } finally {
      sessions.open = open;
      for (const client of waiting) client.ws.terminate();
      for (const go of held) go();
    }
  });
});
