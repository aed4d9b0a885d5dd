import { expect } from 'chai';
import { inParallel } from '../harness/requests.ts';
import { use } from '../harness/use.ts';
import type { Client, Frame } from './client.ts';
import type { TestAccount } from './gateway-fixture.ts';
import { type Seen, startPresences } from './presence-fixture.ts';

const presencesIn = (frames: readonly Frame[]): Seen[] =>
  frames.filter(({ t }) => t === 'PRESENCE_UPDATE').map(({ d }): Seen => [String(d.userId), d.status, d.customStatus]);

describe('gateway: presence', () => {
  const fixture = use(() => startPresences('1'));
  beforeEach(() => fixture.reset());
  /** Makes an account in the server of the test and in `more` servers. */
  const makeMember = (kind: 'person' | 'bot', ...more: string[]): Promise<TestAccount> =>
    fixture.gateway.makeAccount(kind, fixture.server, ...more);

  it('the reply to a watch has those who are online and offline, but not those watched before', async () => {
    const [online, idle, offlineAccount] = [await makeMember('person'), await makeMember('bot'), await makeMember('person')];
    await fixture.patch(idle, 'Bot', { status: 'idle', customStatus: 'tea' });
    for (const one of [online, idle]) await fixture.connect(one);
    await fixture.publish();
    const client = await fixture.connect(await makeMember('person'), 1);
    const watch = async (...accounts: TestAccount[]): Promise<[unknown, Seen[]]> => {
      const from = client.frames.length;
      const offline = await client.watch(...accounts);
      return [offline, presencesIn(client.frames.slice(from))];
    };
    expect(await watch(online, offlineAccount)).to.deep.equal([[offlineAccount.id], [[online.id, 'online', null]]]);
    expect(await watch(online, offlineAccount, idle)).to.deep.equal([[], [[idle.id, 'idle', 'tea']]]);
    expect(await watch(offlineAccount)).to.deep.equal([[], []]);
    expect(await watch(online)).to.deep.equal([[], [[online.id, 'online', null]]]);
    expect(await watch()).to.deep.equal([[], []]);
    expect(fixture.gateway.nodes[1]?.node.presence.watched.has(online.id)).to.equal(false);
  });

  const shareServer = async (one: TestAccount, viewer: TestAccount): Promise<void> => {
    const server = await fixture.makeServer();
    for (const { id } of [one, viewer]) await fixture.gateway.join(server, id, false);
  };
  const shared: [what: string, isSent: boolean, share: (one: TestAccount, viewer: TestAccount) => Promise<unknown>][] = [
    ['a server', true, shareServer],
    ['a DM', true, (one, viewer) => fixture.makeDm(one, viewer)],
    ['nothing', false, async (one) => fixture.gateway.join(await fixture.makeServer(), one.id, false)],
  ];
  for (const [what, isSent, share] of shared)
    it(`the presence of an account that shares ${what} with the watcher is ${isSent ? '' : 'not '}sent`, async () => {
      const [one, viewer] = [await fixture.gateway.makeAccount('person'), await makeMember('person')];
      await share(one, viewer);
      const own = await fixture.connect(one);
      await fixture.publish();
      const client = await fixture.connect(viewer, 1);
      await client.watch(fixture.marker, one);
      await fixture.received(client);
      expect(presencesIn(client.frames).filter(([id]) => id === one.id).length).to.equal(isSent ? 1 : 0);
      await fixture.leave(own, one);
      expect(await fixture.received(client)).to.deep.equal([isSent ? [[one.id, 'offline', null]] : []]);
    });

  const endWays: [what: string, end: (one: TestAccount, viewer: TestAccount) => Promise<unknown>][] = [
    ['the account left the server', (one) => fixture.gateway.leave(fixture.server, one.id)],
    ['the watcher left the server', (_one, viewer) => fixture.gateway.leave(fixture.server, viewer.id)],
  ];
  for (const [what, end] of endWays)
    for (const isMissed of [false, true])
      it(`a watch ends when ${what}${isMissed ? ', which the node missed at first' : ''}`, async () => {
        const elsewhere = await fixture.makeServer();
        const one = await makeMember('person');
        const viewer = await makeMember('person', elsewhere);
        const client = await fixture.connect(viewer, 1);
        await client.watch(fixture.marker, one);
        const { node } = fixture.gateway.nodes[1] ?? expect.fail();
        if (isMissed) await fixture.gateway.withoutDeliveryIn([`server:${fixture.server}`, `account:${viewer.id}`], () => end(one, viewer));
        else await end(one, viewer);
        while (node.presence.watched.has(one.id)) await new Promise((resolve) => setTimeout(resolve, 5));
        await fixture.connect(one);
        expect(await fixture.received(client)).to.deep.equal([[]]);
      });

  const startWays: [what: string, begin: (one: TestAccount, viewer: TestAccount, server: string) => Promise<unknown>][] = [
    ['the watcher joins its server', (_one, viewer, server) => fixture.gateway.join(server, viewer.id, false)],
    ['the account joins a server of the watcher', (one) => fixture.gateway.join(fixture.server, one.id, false)],
  ];
  for (const [what, begin] of startWays)
    it(`a watch of an unrelated account starts when ${what}`, async () => {
      const server = await fixture.makeServer();
      const [one, viewer] = [await fixture.gateway.makeAccount('person', server), await makeMember('person')];
      await fixture.connect(one);
      await fixture.publish();
      const client = await fixture.connect(viewer, 1);
      expect(await client.watch(fixture.marker, one)).to.deep.equal([]);
      await fixture.received(client);
      expect(presencesIn(client.frames).filter(([id]) => id === one.id)).to.deep.equal([]);
      await begin(one, viewer, server);
      expect((await client.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'online' });
      await fixture.patch(one, 'Bearer', { status: 'idle' });
      expect(await fixture.received(client)).to.deep.equal([[[one.id, 'idle', null]]]);
    });

  const setMembers = (memberCount: number, ...ids: string[]): Promise<unknown> =>
    fixture.gateway.worker.db.servers.updateMany({ _id: { $in: ids } }, { $set: { memberCount } });

  it('an opted-in bot receives PRESENCE_UPDATE for its small servers without a watch, once, and not of itself', async () => {
    const more = [await fixture.makeServer(), await fixture.makeServer()];
    const one = await makeMember('person', ...more);
    const bots = [await makeMember('bot', ...more), await makeMember('bot', ...more)];
    const [optedIn, watching] = await Promise.all(bots.map((bot) => fixture.connect(bot, 1, ['PRESENCE_UPDATE'])));
    const optedOut = await fixture.connect(await makeMember('bot'), 1);
    if (!optedIn || !watching) expect.fail();
    await watching.watch(one, fixture.marker);
    await fixture.received(optedIn, watching);
    await fixture.connect(one);
    expect(await fixture.received(optedIn, watching)).to.deep.equal([[[one.id, 'online', null]], [[one.id, 'online', null]]]);
    expect([...optedOut.frames, ...optedIn.frames].filter(({ d }) => d?.userId === bots[0]?.id)).to.deep.equal([]);
    expect(optedOut.frames.filter(({ t }) => t === 'PRESENCE_UPDATE')).to.deep.equal([]);
    await setMembers(1001, fixture.server, ...more);
    await fixture.patch(one, 'Bearer', { status: 'dnd' });
    await fixture.publish();
    expect((await watching.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'dnd' });
    await setMembers(1000, fixture.server);
    await fixture.patch(one, 'Bearer', { status: 'idle' });
    await fixture.publish();
    expect((await optedIn.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'idle' });
  });

  it('a change sends one frame to each watcher on two nodes and none to others', async () => {
    const one = await makeMember('person');
    const connect = async (at: number): Promise<Client> => fixture.connect(await makeMember('person'), at % 2);
    const [watching, others] = [await inParallel(12, connect), await inParallel(20, connect)];
    for (const client of watching) await client.watch(fixture.marker, one);
    for (const client of others) await client.watch(fixture.marker);
    const own = await fixture.connect(one);
    await fixture.received(...watching, ...others);
    const count = (clients: readonly Client[]): number =>
      clients.flatMap(({ frames }) => frames).filter(({ t, d }) => t === 'PRESENCE_UPDATE' && d.userId === one.id).length;
    expect([count(watching), count(others), count([own])]).to.deep.equal([12, 0, 0]);
  });

  it('publishes only the first session and the last disconnect; a cut account is offline until it resumes', async () => {
    const one = await makeMember('bot');
    const client = await fixture.connectWatcher(one);
    const first = await fixture.connect(one, 0);
    await fixture.received(client);
    const second = fixture.gateway.connect(1);
    const { d, s } = await second.identify(one.token);
    await first.close(1000);
    expect(await fixture.received(client)).to.deep.equal([[]]);
    await fixture.leave(second, one, null);
    expect(await fixture.received(client)).to.deep.equal([[[one.id, 'offline', null]]]);
    const again = fixture.gateway.connect(0);
    await again.resume(one.token, d.sessionId, String(s));
    await again.until(0, 'RESUMED');
    expect(await fixture.received(client)).to.deep.equal([[[one.id, 'online', null]]]);
  });

  it('does not publish a change that was undone before the next run', async () => {
    const one = await makeMember('person');
    const client = await fixture.connectWatcher(one);
    await fixture.leave(await fixture.connect(one), one);
    expect(await fixture.received(client)).to.deep.equal([[]]);
  });

  it('publishes a new status and custom status of a connected account once; invisible is sent as offline', async () => {
    const one = await makeMember('bot');
    const client = await fixture.connectWatcher(one);
    await fixture.connect(one);
    await fixture.received(client);
    const steps: [body: object, seen: Seen[]][] = [
      [{ status: 'idle' }, [[one.id, 'idle', null]]],
      [{ status: 'idle' }, []],
      [{ customStatus: 'busy' }, [[one.id, 'idle', 'busy']]],
      [{ status: 'dnd', customStatus: null }, [[one.id, 'dnd', null]]],
      [{ status: 'invisible' }, [[one.id, 'offline', null]]],
      [{ status: 'online' }, [[one.id, 'online', null]]],
    ];
    for (const [body, seen] of steps) {
      await fixture.patch(one, 'Bot', body);
      expect(await fixture.received(client), JSON.stringify(body)).to.deep.equal([seen]);
    }
  });

  it('publishes only the custom status of an invisible or offline account', async () => {
    const [offline, hidden] = [await makeMember('bot'), await makeMember('bot')];
    const client = await fixture.connectWatcher(offline, hidden);
    await fixture.patch(hidden, 'Bot', { status: 'invisible' });
    await fixture.connect(hidden);
    for (const one of [offline, hidden]) {
      expect(await fixture.received(client)).to.deep.equal([[]]);
      for (const customStatus of ['away', 'back', null]) {
        await fixture.patch(one, 'Bot', { customStatus });
        expect(await fixture.received(client)).to.deep.equal([[[one.id, 'offline', customStatus]]]);
      }
      await fixture.patch(one, 'Bot', { status: 'invisible' });
      expect(await fixture.received(client)).to.deep.equal([[]]);
    }
  });

  it('allows 500 watched accounts; closes with 4006 for 501 and for anything but a list of ids', async () => {
    const viewer = await makeMember('person');
    const ids = Array.from({ length: 501 }, () => fixture.gateway.worker.ids.next());
    const client = await fixture.connect(viewer, 1);
    expect(await client.watch(...ids.slice(1).map((id) => ({ id })))).to.deep.equal([]);
    for (const d of [null, [], {}, { watch: null }, { watch: 'x' }, { watch: [1] }, { watch: ['x'] }, { watch: ids }]) {
      const bad = await fixture.connect(viewer, 1);
      bad.send({ op: 3, d });
      expect(await bad.closed, JSON.stringify(d)?.slice(0, 40)).to.equal(4006);
    }
  });
});
