import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { Client } from './client.ts';
import { contents, type Someone, startWorld, type World } from './world.ts';

/** Does `work` for 0 to count - 1, begun in that order, fifty at a time: more would outrun the 300 ms that a command may take. */
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

  const begin = async (node = 0): Promise<{ client: Client; id: string }> => {
    const client = world.connect(node);
    const { d } = await client.identify(bot.token);
    return { client, id: d.sessionId };
  };

  for (const node of [0, 1])
    it(`replays what was missed on ${node ? 'another' : 'the same'} node, then RESUMED, then live`, async () => {
      const { client, id } = await begin();
      await world.post(server, channel, 'seen');
      await client.events(1);
      await client.cut();
      for (const content of ['missed 1', 'missed 2']) await world.post(server, channel, content);
      const again = world.connect(node);
      await again.resume(bot.token, id, 1);
      const frames = [await again.next(), await again.next(), await again.next()];
      expect(frames.map(({ t, s }) => [t, s])).to.deep.equal([
        ['MESSAGE_CREATE', 2],
        ['MESSAGE_CREATE', 3],
        ['RESUMED', 3],
      ]);
      expect(frames[2]?.d).to.deep.equal({ replayed: 2 });
      await world.post(server, channel, 'live');
      expect((await again.events(1)).map(({ s, d }) => [s, d.content])).to.deep.equal([[4, 'live']]);
    });

  it('sends again from the position that the client names', async () => {
    const { client, id } = await begin();
    for (const content of ['a', 'b', 'c']) await world.post(server, channel, content);
    await client.events(3);
    await client.cut();
    const again = world.connect();
    await again.resume(bot.token, id, 1);
    expect(contents(await again.events(2))).to.deep.equal(['b', 'c']);
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 2 });
  });

  it('takes a session over from a socket that is still open, and closes that one at once', async () => {
    for (const node of [0, 1]) {
      const { client, id } = await begin();
      const again = world.connect(node);
      await again.resume(bot.token, id, 0);
      expect((await again.until(0, 'RESUMED')).s).to.equal(0);
      expect(await client.closed).to.equal(4000);
      await world.post(server, channel, 'for the new one');
      expect(contents(await again.events(1))).to.deep.equal(['for the new one']);
    }
  });

  it('loses, doubles and reorders nothing while a session moves between nodes under load', async () => {
    const begun = await begin();
    let { client } = begun;
    const count = 600;
    const posting = all(count, async (i) => world.post(server, channel, String(i)));
    const got: { s?: number; d: Record<string, unknown> }[] = [];
    for (let move = 1; move <= 6; move++) {
      got.push(...(await client.events(40)));
      await client.cut();
      client = world.connect(move % 2);
      await client.resume(bot.token, begun.id, got.length);
    }
    got.push(...(await client.events(count - got.length)));
    await posting;
    expect(got.map(({ s }) => s)).to.deep.equal(Array.from({ length: count }, (_, i) => i + 1));
    expect(new Set(contents(got)).size).to.equal(count);
  });

  it('replays 2,000 missed events', async () => {
    const { client, id } = await begin();
    await client.cut();
    await all(limits.replayEvents, (i) => world.post(server, channel, String(i)));
    const again = world.connect(1);
    await again.resume(bot.token, id, 0);
    const events = await again.events(limits.replayEvents);
    expect(events.map(({ s }) => s)).to.deep.equal(Array.from({ length: limits.replayEvents }, (_, i) => i + 1));
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: limits.replayEvents });
  });

  it('op 9 when more was missed than is kept, and the socket may identify', async () => {
    const { client, id } = await begin();
    await client.cut();
    await all(limits.replayEvents + 300, (i) => world.post(server, channel, String(i)));
    const again = world.connect();
    await again.resume(bot.token, id, 0);
    expect(await again.next()).to.deep.equal({ op: 9, d: false });
    again.send({ op: 2, d: { token: bot.token } });
    expect(await again.next()).to.include({ t: 'READY', s: 0 });
  });

  it('op 9 for a position beyond what was sent, an unknown session, and one of another bot', async () => {
    const { client, id } = await begin();
    await world.post(server, channel, 'one');
    await client.events(1);
    await client.cut();
    const other = await world.someone('bot', server);
    for (const [token, session, seq] of [
      [bot.token, id, 2],
      [bot.token, 'nosuchsession', 0],
      [other.token, id, 1],
    ] as const) {
      const again = world.connect();
      await again.resume(token, session, seq);
      expect(await again.next()).to.deep.equal({ op: 9, d: false });
    }
    const good = world.connect();
    await good.resume(bot.token, id, 1);
    expect(await good.next()).to.include({ t: 'RESUMED', s: 1 });
  });

  for (const code of [1000, 1001])
    it(`${code} from the client ends the session`, async () => {
      const { client, id } = await begin();
      client.ws.close(code);
      await client.closed;
      const again = world.connect();
      // The close reaches the node before the next socket does; the session's end reaches Redis before its resume.
      await again.resume(bot.token, id, 0);
      expect(await again.next()).to.deep.equal({ op: 9, d: false });
    });

  it('any other close leaves it resumable', async () => {
    const { client, id } = await begin();
    client.ws.close(3000);
    await client.closed;
    const again = world.connect(1);
    await again.resume(bot.token, id, 0);
    expect(await again.next()).to.include({ t: 'RESUMED', s: 0 });
  });

  it('leaves out of the replay what the bot may no longer see; the numbers stay', async () => {
    const secret = await world.channel(server);
    const other = await world.server();
    const left = await world.channel(other);
    await world.join(other, bot.id, true);
    const { client, id } = await begin();
    await client.cut();
    await world.post(server, channel, '1');
    await world.post(server, secret, '2');
    await world.post(other, left, '3');
    await world.post(server, channel, '4');
    await world.overwrite(server, secret, [{ id: bot.id, allow: 0, deny: 1 }]);
    await world.leave(other, bot.id);
    const again = world.connect(1);
    await again.resume(bot.token, id, 0);
    expect((await again.events(2)).map(({ s, d }) => [s, d.content])).to.deep.equal([
      [1, '1'],
      [4, '4'],
    ]);
    const resumed = await again.next();
    expect(resumed).to.include({ t: 'RESUMED', s: 4 });
    expect(resumed.d).to.deep.equal({ replayed: 2 });
    await world.post(server, channel, '5');
    expect((await again.events(1))[0]?.s).to.equal(5);
  });

  it('a person’s session cannot be resumed', async () => {
    const person = await world.someone('person', server);
    const client = world.connect();
    const { d } = await client.identify(person.token);
    await client.cut();
    const again = world.connect();
    await again.resume(person.token, d.sessionId, 0);
    expect(await again.next()).to.deep.equal({ op: 9, d: false });
  });

  it('an interaction that was missed is replayed with its token', async () => {
    const { client, id } = await begin();
    await world.tell(bot.id, 'INTERACTION_CREATE', { id: world.worker.ids.next() }, { reach: 'newest', topics: [] });
    await client.cut();
    const again = world.connect();
    await again.resume(bot.token, id, 0);
    expect((await again.events(1))[0]?.d.token).to.be.a('string');
  });

  it('a node that stops sends its clients away, and they resume elsewhere', async () => {
    const node = await world.addNode();
    const client = world.connect(world.nodes.indexOf(node));
    const { d } = await client.identify(bot.token);
    const person = await world.someone('person', server);
    const human = world.connect(world.nodes.indexOf(node));
    await human.identify(person.token);
    expect(await world.worker.connected([bot.id, person.id])).to.deep.equal([true, true]);
    await node.close();
    expect(await client.next()).to.deep.equal({ op: 7, d: null });
    expect([await client.closed, await human.closed]).to.deep.equal([1012, 1012]);
    expect(await world.worker.connected([bot.id, person.id])).to.deep.equal([false, false]);
    await world.post(server, channel, 'meanwhile');
    const again = world.connect(0);
    await again.resume(bot.token, d.sessionId, 0);
    expect(contents(await again.events(1))).to.deep.equal(['meanwhile']);
    world.nodes.splice(world.nodes.indexOf(node), 1);
    await node.platform.close();
  });

  it('makes room for a new session when a bot has 50: the longest disconnected goes', async () => {
    const { client, id } = await begin();
    await client.cut();
    const others: Client[] = [];
    for (let i = 0; i < limits.sessionsPerBot; i++) others.push((await begin(i % 2)).client);
    const again = world.connect();
    await again.resume(bot.token, id, 0);
    expect(await again.next()).to.deep.equal({ op: 9, d: false });
    await begin();
    expect(await others[0]?.closed).to.equal(4000);
  });

  it('negative control: with the replay switched off, events are lost', async () => {
    const node = await world.addNode({ FAILPOINTS: 'no-replay' });
    const client = world.connect(world.nodes.indexOf(node));
    const { d } = await client.identify(bot.token);
    await world.post(server, channel, 'lost', { silent: true });
    await world.post(server, channel, 'live');
    expect((await client.events(1)).map(({ s, d: { content } }) => [s, content])).to.deep.equal([[2, 'live']]);
    await client.cut();
    await world.post(server, channel, 'lost');
    const again = world.connect(world.nodes.indexOf(node));
    await again.resume(bot.token, d.sessionId, 2);
    expect(await again.next()).to.include({ t: 'RESUMED', s: 3 });
  });
});
