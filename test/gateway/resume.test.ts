import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Client } from './client.ts';
import { contents, type Someone, startWorld, type World } from './world.ts';

/** Calls `work` for 0 to count - 1 in that order, fifty at a time: more would exceed the 300 ms that a command may take. */
async function all(count: number, work: (i: number) => Promise<unknown>): Promise<void> {
  for (let from = 0; from < count; from += 50)
    await Promise.all(Array.from({ length: Math.min(50, count - from) }, (_, i) => work(from + i)));
}

describe('gateway: resume', () => {
  let world: World;
  let server: string;
  let channel: string;
  let bot: Someone;
  before(async () => {
    world = await startWorld(2);
  });
  beforeEach(async () => {
    server = await world.server();
    channel = await world.channel(server);
    bot = await world.someone('bot', server);
  });
  after(() => world.close());

  const begin = (node = 0, who = bot) => world.begin(who, node);
  const invalid = { op: 9, d: { resumable: false } };

  for (const kind of ['bot', 'person'] as const)
    for (const node of [0, 1])
      it(`${kind}: replays what was missed on ${node ? 'another' : 'the same'} node, then RESUMED, then live`, async () => {
        const who = await world.someone(kind, server);
        const { client, id } = await begin(0, who);
        await world.post(server, channel, 'seen');
        const [seen] = await client.events(1);
        await client.cut();
        for (const content of ['missed 1', 'missed 2']) await world.post(server, channel, content);
        const again = world.connect(node);
        await again.resume(who.token, id, String(seen?.s));
        const frames = [await again.next(), await again.next(), await again.next()];
        expect(frames.map(({ t, d }) => [t, d.content ?? d.replayed])).to.deep.equal([
          ['MESSAGE_CREATE', 'missed 1'],
          ['MESSAGE_CREATE', 'missed 2'],
          ['RESUMED', 2],
        ]);
        await world.post(server, channel, 'live');
        expect(contents(await again.events(1))).to.deep.equal(['live']);
      });

  it('sends again from the position that the client names', async () => {
    const { client, id } = await begin();
    for (const content of ['a', 'b', 'c']) await world.post(server, channel, content);
    const [first] = await client.events(3);
    await client.cut();
    const again = world.connect();
    await again.resume(bot.token, id, String(first?.s));
    expect(contents(await again.events(2))).to.deep.equal(['b', 'c']);
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 2 });
  });

  it('takes a session over from a socket that is still open, and closes that one at once', async () => {
    for (const node of [0, 1]) {
      const { client, id, s } = await begin();
      const again = world.connect(node);
      await again.resume(bot.token, id, s);
      await again.until(0, 'RESUMED');
      expect(await client.closed).to.equal(4000);
      await world.post(server, channel, 'for the new one');
      expect(contents(await again.events(1))).to.deep.equal(['for the new one']);
    }
  });

  it('loses, doubles and reorders nothing while sessions move between nodes under load', async () => {
    const count = 600;
    const person = await world.someone('person', server);
    const move = async (who: Someone, begun: Awaited<ReturnType<typeof begin>>): Promise<void> => {
      let { client, s } = begun;
      const got: unknown[] = [];
      const take = async (most: number): Promise<void> => {
        const events = await client.events(most);
        got.push(...contents(events));
        s = events.at(-1)?.s ?? s;
      };
      for (let round = 1; round <= 6; round++) {
        await take(40);
        await client.cut();
        client = world.connect(round % 2);
        await client.resume(who.token, begun.id, s);
      }
      await take(count - got.length);
      expect(got).to.deep.equal(Array.from({ length: count }, (_, i) => String(i)));
    };
    const [one, other] = [await begin(0, bot), await begin(0, person)];
    const moving = Promise.all([move(bot, one), move(person, other)]);
    for (let i = 0; i < count; i++) await world.post(server, channel, String(i));
    await moving;
  });

  it('replays 2,000 missed events', async () => {
    const { client, id, s } = await begin();
    await client.cut();
    await all(limits.replayEvents, (i) => world.post(server, channel, String(i)));
    const again = world.connect(1);
    await again.resume(bot.token, id, s);
    const events = await again.events(limits.replayEvents);
    expect(new Set(contents(events)).size).to.equal(limits.replayEvents);
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: limits.replayEvents });
  });

  it('op 9 when more was missed than is kept, and the socket may identify', async () => {
    const { client, id, s } = await begin();
    await client.cut();
    await all(limits.replayEvents + 300, (i) => world.post(server, channel, String(i)));
    const again = world.connect(1);
    await again.resume(bot.token, id, s);
    expect((await again.next()).d).to.deep.include(invalid.d);
    again.send({ op: 2, d: { token: bot.token } });
    expect(await again.next()).to.include({ t: 'READY' });
  });

  it('op 9 for a position that never was, an unknown session, and one of another bot', async () => {
    const { client, id, s } = await begin();
    await client.cut();
    const other = await world.someone('bot', server);
    for (const [token, session, seq] of [
      [bot.token, id, String(Number(s) + 1_000)],
      [bot.token, id, '5'],
      [bot.token, 'nosuchsession', s],
      [other.token, id, s],
    ] as const) {
      const again = world.connect();
      await again.resume(token, session, seq);
      expect((await again.next()).d).to.deep.include(invalid.d);
    }
    const good = world.connect();
    await good.resume(bot.token, id, s);
    expect(await good.next()).to.include({ t: 'RESUMED' });
  });

  for (const code of [1000, 1001])
    it(`${code} from the client ends the session`, async () => {
      const { client, id, s } = await begin();
      client.ws.close(code);
      await client.closed;
      const again = world.connect();
      // The node processes the close before the next socket's messages, and Redis ends the session before the resume.
      await again.resume(bot.token, id, s);
      expect((await again.next()).d).to.deep.include(invalid.d);
    });

  it('any other close leaves it resumable', async () => {
    const { client, id, s } = await begin();
    client.ws.close(3000);
    await client.closed;
    const again = world.connect(1);
    await again.resume(bot.token, id, s);
    expect(await again.next()).to.include({ t: 'RESUMED' });
  });

  for (const kind of ['bot', 'person'] as const)
    it(`${kind}: leaves out of the replay what may no longer be seen`, async () => {
      const who = await world.someone(kind, server);
      const secret = await world.channel(server);
      const other = await world.server();
      const left = await world.channel(other);
      await world.join(other, who.id, kind === 'bot');
      const { client, id, s } = await begin(0, who);
      await client.cut();
      await world.post(server, channel, '1');
      await world.post(server, secret, '2');
      await world.post(other, left, '3');
      await world.post(server, channel, '4');
      await world.overwrite(server, secret, [{ id: who.id, allow: 0, deny: 1 }]);
      await world.leave(other, who.id);
      const again = world.connect(1);
      await again.resume(who.token, id, s);
      expect(contents(await again.events(2))).to.deep.equal(['1', '4']);
      expect((await again.next()).d).to.deep.equal({ replayed: 2 });
      await world.post(server, channel, '5');
      expect(contents(await again.events(1))).to.deep.equal(['5']);
    });

  it('an interaction that was missed is replayed with its token, to its session alone', async () => {
    const [other, { client, id, s }] = [await begin(), await begin()];
    await world.interact(bot.id, { id: world.worker.ids.next() });
    await client.cut();
    const again = world.connect();
    await again.resume(bot.token, id, s);
    expect((await again.events(1))[0]?.d.token).to.be.a('string');
    await world.post(server, channel, 'for both');
    expect(contents(await other.client.events(1))).to.deep.equal(['for both']);
  });

  it('a node that stops sends its clients away, and they resume elsewhere', async () => {
    const node = await world.addNode();
    const at = world.nodes.indexOf(node);
    const person = await world.someone('person', server);
    const [one, human] = [await begin(at), await begin(at, person)];
    expect(await world.worker.connected([bot.id, person.id])).to.deep.equal([true, true]);
    await node.close();
    const away = await one.client.next();
    expect(away.op).to.equal(7);
    expect(away.d.retryAfterMs).to.be.within(0, 2_000);
    expect([await one.client.closed, await human.client.closed]).to.deep.equal([1012, 1012]);
    expect(await world.worker.connected([bot.id, person.id])).to.deep.equal([false, false]);
    await world.post(server, channel, 'meanwhile');
    for (const [{ id, s }, who] of [
      [one, bot],
      [human, person],
    ] as const) {
      const again = world.connect(0);
      await again.resume(who.token, id, s);
      expect(contents(await again.events(1))).to.deep.equal(['meanwhile']);
    }
    world.nodes.splice(at, 1);
    await node.platform.close();
  });

  it('makes room for a new session when a bot has 50: the longest disconnected goes', async () => {
    const { client, id, s } = await begin();
    await client.cut();
    const others: Client[] = [];
    for (let i = 0; i < limits.sessionsPerBot; i++) others.push((await begin(i % 2)).client);
    const again = world.connect();
    await again.resume(bot.token, id, s);
    expect((await again.next()).d).to.deep.include(invalid.d);
    await begin();
    expect(await others[0]?.closed).to.equal(4000);
  });

  it('negative control: with the replay switched off, events are lost', async () => {
    const node = await world.addNode({ FAILPOINTS: 'no-replay' });
    const { client, id, s } = await begin(world.nodes.indexOf(node));
    await client.cut();
    await world.post(server, channel, 'lost');
    const again = world.connect(world.nodes.indexOf(node));
    await again.resume(bot.token, id, s);
    expect(await again.next()).to.include({ t: 'RESUMED' });
  });
});
