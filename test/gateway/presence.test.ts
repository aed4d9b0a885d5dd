import { expect } from 'chai';
import type { Client, Frame } from './client.ts';
import { type PresenceFixture, type Seen, startPresences } from './presence-fixture.ts';
import type { Someone } from './world.ts';

const presencesIn = (frames: readonly Frame[]): Seen[] =>
  frames.filter(({ t }) => t === 'PRESENCE_UPDATE').map(({ d }): Seen => [String(d.userId), d.status, d.customStatus]);

describe('gateway: presence', () => {
  let here: PresenceFixture;
  before(async () => {
    here = await startPresences('1');
  });
  after(() => here.close());
  beforeEach(() => here.begin());

  for (const kind of ['person', 'bot'] as const)
    it(`a ${kind} that connects and disconnects is seen by those who watch it, and by no other person`, async () => {
      const one = await here.world.someone(kind, here.server);
      const watcher = await here.watcher(one);
      const other = await here.watcher();
      const own = await here.connect(one);
      expect(await here.received(watcher, other)).to.deep.equal([[[one.id, 'online', null]], []]);
      await here.leave(own, one);
      expect(await here.received(watcher, other)).to.deep.equal([[[one.id, 'offline', null]], []]);
      expect(own.frames.filter(({ t }) => t === 'PRESENCE_UPDATE')).to.deep.equal([]);
    });

  it('a watch is answered with who is not offline, then with who is; what was watched before is not answered again', async () => {
    const [there, idle, away] = [
      await here.world.someone('person', here.server),
      await here.world.someone('bot', here.server),
      await here.world.someone('person', here.server),
    ];
    await here.patch(idle, 'Bot', { status: 'idle', customStatus: 'tea' });
    for (const one of [there, idle]) await here.connect(one);
    await here.publish();
    const client = await here.connect(await here.world.someone('person', here.server), 1);
    const watch = async (...accounts: Someone[]): Promise<[unknown, Seen[]]> => {
      const from = client.frames.length;
      const offline = await client.watch(...accounts);
      return [offline, presencesIn(client.frames.slice(from))];
    };
    expect(await watch(there, away)).to.deep.equal([[away.id], [[there.id, 'online', null]]]);
    expect(await watch(there, away, idle)).to.deep.equal([[], [[idle.id, 'idle', 'tea']]]);
    expect(await watch(away)).to.deep.equal([[], []]);
    expect(await watch(there)).to.deep.equal([[], [[there.id, 'online', null]]]);
    expect(await watch()).to.deep.equal([[], []]);
    expect(here.world.nodes[1]?.node.presence.watched.has(there.id)).to.equal(false);
  });

  const shared: [what: string, isSeen: boolean, share: (one: Someone, viewer: Someone) => Promise<unknown>][] = [
    [
      'a server',
      true,
      async (one, viewer) => {
        const server = await here.another();
        for (const { id } of [one, viewer]) await here.world.join(server, id, false);
      },
    ],
    ['a DM', true, (one, viewer) => here.dm(one, viewer)],
    ['nothing', false, async (one) => here.world.join(await here.another(), one.id, false)],
  ];
  for (const [what, isSeen, share] of shared)
    it(`an account that shares ${what} with the watcher is ${isSeen ? '' : 'not '}answered`, async () => {
      const [one, viewer] = [await here.world.someone('person'), await here.world.someone('person', here.server)];
      await share(one, viewer);
      const own = await here.connect(one);
      await here.publish();
      const client = await here.connect(viewer, 1);
      await client.watch(here.marker, one);
      await here.received(client);
      expect(presencesIn(client.frames).filter(([id]) => id === one.id).length).to.equal(isSeen ? 1 : 0);
      await here.leave(own, one);
      expect(await here.received(client)).to.deep.equal([isSeen ? [[one.id, 'offline', null]] : []]);
    });

  const ends: [what: string, end: (one: Someone, viewer: Someone, client: Client) => Promise<unknown>][] = [
    [
      'the account left the server',
      async (one) => {
        await here.world.leave(here.server, one.id);
        await here.world.memberEvent(here.server, 'MEMBER_REMOVE', one.id, { serverId: here.server, userId: one.id });
      },
    ],
    [
      'the watcher left the server',
      async (_one, viewer) => {
        await here.world.leave(here.server, viewer.id);
        await here.world.tellGone(here.server, viewer.id);
      },
    ],
  ];
  for (const [what, end] of ends)
    for (const isMissed of [false, true])
      it(`a watch ends when ${what}${isMissed ? ', which the node missed at first' : ''}`, async () => {
        const elsewhere = await here.another();
        const one = await here.world.someone('person', here.server);
        const viewer = await here.world.someone('person', here.server, elsewhere);
        const client = await here.connect(viewer, 1);
        await client.watch(here.marker, one);
        const { node } = here.world.nodes[1] ?? expect.fail();
        if (isMissed) await here.world.missing([`server:${here.server}`, `account:${viewer.id}`], () => end(one, viewer, client));
        else await end(one, viewer, client);
        while (node.presence.watched.has(one.id)) await new Promise((resolve) => setTimeout(resolve, 5));
        await here.connect(one);
        expect(await here.received(client)).to.deep.equal([[]]);
      });

  const begins: [what: string, begin: (one: Someone, viewer: Someone, server: string) => Promise<unknown>][] = [
    ['the watcher joins its server', (_one, viewer, server) => here.world.join(server, viewer.id, false)],
    [
      'the account joins a server of the watcher',
      async (one) => {
        await here.world.join(here.server, one.id, false);
        await here.world.memberEvent(here.server, 'MEMBER_ADD', one.id, { serverId: here.server });
      },
    ],
  ];
  for (const [what, begin] of begins)
    it(`a watch of a stranger begins when ${what}`, async () => {
      const server = await here.another();
      const [one, viewer] = [await here.world.someone('person', server), await here.world.someone('person', here.server)];
      await here.connect(one);
      await here.publish();
      const client = await here.connect(viewer, 1);
      expect(await client.watch(here.marker, one)).to.deep.equal([]);
      await here.received(client);
      expect(presencesIn(client.frames).filter(([id]) => id === one.id)).to.deep.equal([]);
      await begin(one, viewer, server);
      expect((await client.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'online' });
      await here.patch(one, 'Bearer', { status: 'idle' });
      expect(await here.received(client)).to.deep.equal([[[one.id, 'idle', null]]]);
    });

  const setMembers = (memberCount: number, ...ids: string[]): Promise<unknown> =>
    here.world.worker.db.servers.collection.updateMany({ _id: { $in: ids as never[] } }, { $set: { memberCount } });

  it('a bot that asked for PRESENCE_UPDATE receives it for its small servers without watching, once, and not of itself', async () => {
    const more = [await here.another(), await here.another()];
    const one = await here.world.someone('person', here.server, ...more);
    const bots = [await here.world.someone('bot', here.server, ...more), await here.world.someone('bot', here.server, ...more)];
    const [asked, watching] = await Promise.all(bots.map((bot) => here.connect(bot, 1, ['PRESENCE_UPDATE'])));
    const silent = await here.connect(await here.world.someone('bot', here.server), 1);
    if (!asked || !watching) expect.fail();
    await watching.watch(one, here.marker);
    await here.received(asked, watching);
    await here.connect(one);
    expect(await here.received(asked, watching)).to.deep.equal([[[one.id, 'online', null]], [[one.id, 'online', null]]]);
    expect([...silent.frames, ...asked.frames].filter(({ d }) => d?.userId === bots[0]?.id)).to.deep.equal([]);
    expect(silent.frames.filter(({ t }) => t === 'PRESENCE_UPDATE')).to.deep.equal([]);
    await setMembers(1001, here.server, ...more);
    await here.patch(one, 'Bearer', { status: 'dnd' });
    await here.publish();
    expect((await watching.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'dnd' });
    await setMembers(1000, here.server);
    await here.patch(one, 'Bearer', { status: 'idle' });
    await here.publish();
    expect((await asked.until(0, 'PRESENCE_UPDATE')).d).to.include({ userId: one.id, status: 'idle' });
  });

  it('one change sends one frame to each of its watchers and none to others, over two nodes', async () => {
    const one = await here.world.someone('person', here.server);
    const watching = await Promise.all(
      Array.from({ length: 12 }, (_, at) => here.world.someone('person', here.server).then((who) => here.connect(who, at % 2))),
    );
    const others = await Promise.all(
      Array.from({ length: 20 }, (_, at) => here.world.someone('person', here.server).then((who) => here.connect(who, at % 2))),
    );
    for (const client of watching) await client.watch(here.marker, one);
    for (const client of others) await client.watch(here.marker);
    const own = await here.connect(one);
    await here.received(...watching, ...others);
    const count = (clients: readonly Client[]): number =>
      clients.flatMap(({ frames }) => frames).filter(({ t, d }) => t === 'PRESENCE_UPDATE' && d.userId === one.id).length;
    expect([count(watching), count(others), count([own])]).to.deep.equal([12, 0, 0]);
  });

  it('only the first session to come and the last to go are published; one cut off is offline until it resumes', async () => {
    const one = await here.world.someone('bot', here.server);
    const client = await here.watcher(one);
    const first = await here.connect(one, 0);
    await here.received(client);
    const second = here.world.connect(1);
    const { d, s } = await second.identify(one.token);
    first.ws.close(1000);
    await first.closed;
    expect(await here.received(client)).to.deep.equal([[]]);
    await here.leave(second, one, null);
    expect(await here.received(client)).to.deep.equal([[[one.id, 'offline', null]]]);
    const again = here.world.connect(0);
    await again.resume(one.token, d.sessionId, String(s));
    await again.until(0, 'RESUMED');
    expect(await here.received(client)).to.deep.equal([[[one.id, 'online', null]]]);
  });

  it('what changes and changes back between two looks is not published', async () => {
    const one = await here.world.someone('person', here.server);
    const client = await here.watcher(one);
    await here.leave(await here.connect(one), one);
    expect(await here.received(client)).to.deep.equal([[]]);
  });

  it('a changed status or custom status of an account that is connected is published; the same again is not; invisible is offline', async () => {
    const one = await here.world.someone('bot', here.server);
    const client = await here.watcher(one);
    await here.connect(one);
    await here.received(client);
    const steps: [body: object, seen: Seen[]][] = [
      [{ status: 'idle' }, [[one.id, 'idle', null]]],
      [{ status: 'idle' }, []],
      [{ customStatus: 'busy' }, [[one.id, 'idle', 'busy']]],
      [{ status: 'dnd', customStatus: null }, [[one.id, 'dnd', null]]],
      [{ status: 'invisible' }, [[one.id, 'offline', null]]],
      [{ status: 'online' }, [[one.id, 'online', null]]],
    ];
    for (const [body, seen] of steps) {
      await here.patch(one, 'Bot', body);
      expect(await here.received(client), JSON.stringify(body)).to.deep.equal([seen]);
    }
  });

  it('an invisible account is published as an offline one: a new custom status, no status', async () => {
    const [gone, hidden] = [await here.world.someone('bot', here.server), await here.world.someone('bot', here.server)];
    const client = await here.watcher(gone, hidden);
    await here.patch(hidden, 'Bot', { status: 'invisible' });
    await here.connect(hidden);
    for (const one of [gone, hidden]) {
      expect(await here.received(client)).to.deep.equal([[]]);
      for (const customStatus of ['away', 'back', null]) {
        await here.patch(one, 'Bot', { customStatus });
        expect(await here.received(client)).to.deep.equal([[[one.id, 'offline', customStatus]]]);
      }
      await here.patch(one, 'Bot', { status: 'invisible' });
      expect(await here.received(client)).to.deep.equal([[]]);
    }
  });

  it('500 accounts can be watched; 501 and what is no list of ids close with 4006', async () => {
    const viewer = await here.world.someone('person', here.server);
    const ids = Array.from({ length: 501 }, () => here.world.worker.ids.next());
    const client = await here.connect(viewer, 1);
    expect(await client.watch(...ids.slice(1).map((id) => ({ id })))).to.deep.equal([]);
    for (const d of [null, [], {}, { watch: null }, { watch: 'x' }, { watch: [1] }, { watch: ['x'] }, { watch: ids }]) {
      const bad = await here.connect(viewer, 1);
      bad.send({ op: 3, d });
      expect(await bad.closed, JSON.stringify(d)?.slice(0, 40)).to.equal(4006);
    }
  });
});
