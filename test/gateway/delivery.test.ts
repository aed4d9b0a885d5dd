import { expect } from 'chai';
import { interactionTokenOf } from '../../lib/store/seal.ts';
import { contents, startWorld, type World } from './world.ts';

describe('gateway: delivery to bots', () => {
  let world: World;
  let server: string;
  let channel: string;
  before(async () => {
    world = await startWorld(2);
    server = await world.server();
    channel = await world.channel(server);
  });
  after(() => world.close());

  it('says hello, then READY with s 0, then numbers events from 1', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    const hello = await client.next();
    expect(hello).to.deep.equal({ op: 10, d: { heartbeatIntervalMs: 30_000 } });
    client.send({ op: 2, d: { token: `Bot ${bot.token}` } });
    const ready = await client.next();
    expect(ready).to.include({ op: 0, t: 'READY', s: 0 });
    expect(ready.d).to.include({ v: 1, resumeUrl: world.config.gatewayUrl });
    expect(ready.d.user).to.deep.equal({ id: bot.id, username: `u${bot.id}`, displayName: 'Someone', avatarUrl: null, tag: 'bot' });
    expect(ready.d.servers).to.deep.equal([server]);
    expect(ready.d.applicationId).to.be.a('string');
    for (const content of ['a', 'b', 'ü€😀']) await world.post(server, channel, content);
    const events = await client.events(3);
    expect(contents(events)).to.deep.equal(['a', 'b', 'ü€😀']);
    expect(events.map(({ s, t }) => [s, t])).to.deep.equal([1, 2, 3].map((s) => [s, 'MESSAGE_CREATE']));
  });

  it('forwards payloads of every frame length', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    const texts = [10, 200, 5_000, 9_000, 70_000].map((length) => 'x'.repeat(length));
    for (const text of texts) await world.post(server, channel, text);
    expect(contents(await client.events(texts.length))).to.deep.equal(texts);
  });

  it('sends opt-in events to bots that asked for them, and passes over unknown names', async () => {
    const [asks, other] = [await world.someone('bot', server), await world.someone('bot', server)];
    const [one, two] = [world.connect(), world.connect()];
    await one.identify(asks.token, ['MESSAGE_UPDATE', 'NO_SUCH_EVENT', 'INTERACTION_UPDATE']);
    await two.identify(other.token);
    await world.post(server, channel, 'edited', { name: 'MESSAGE_UPDATE' });
    await world.post(server, channel, 'new');
    expect((await one.events(2)).map(({ t, s }) => [t, s])).to.deep.equal([
      ['MESSAGE_UPDATE', 1],
      ['MESSAGE_CREATE', 2],
    ]);
    expect((await two.events(1)).map(({ t, s }) => [t, s])).to.deep.equal([['MESSAGE_CREATE', 1]]);
  });

  it('reads from the stream what was not heard live, in order and once', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    await world.post(server, channel, 'live');
    await world.post(server, channel, 'lost 1', { silent: true });
    await world.post(server, channel, 'lost 2', { silent: true });
    await world.post(server, channel, 'live again');
    const events = await client.events(4);
    expect(contents(events)).to.deep.equal(['live', 'lost 1', 'lost 2', 'live again']);
    expect(events.map(({ s }) => s)).to.deep.equal([1, 2, 3, 4]);
  });

  it('keeps the order while hundreds of events arrive during a gap', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    for (let i = 0; i < 250; i++) await world.post(server, channel, String(i), { silent: i % 7 < 3 });
    const last = await world.post(server, channel, 'end');
    expect(last).to.equal('appended');
    const events = await client.events(251);
    expect(events.map(({ s }) => s)).to.deep.equal(Array.from({ length: 251 }, (_, i) => i + 1));
    expect(contents(events).slice(0, 250)).to.deep.equal(Array.from({ length: 250 }, (_, i) => String(i)));
  });

  it('compares positions at a heartbeat', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    await world.post(server, channel, 'lost', { silent: true });
    client.send({ op: 1, d: 0 });
    expect(await client.next()).to.deep.equal({ op: 11, d: null });
    expect(contents(await client.events(1))).to.deep.equal(['lost']);
  });

  it('numbers each session of a bot by itself', async () => {
    const bot = await world.someone('bot', server);
    const [one, two] = [world.connect(0), world.connect(1)];
    await one.identify(bot.token);
    await world.post(server, channel, 'first');
    expect((await one.events(1)).map(({ s }) => s)).to.deep.equal([1]);
    await two.identify(bot.token);
    await world.post(server, channel, 'second');
    expect((await one.events(1)).map(({ s }) => s)).to.deep.equal([2]);
    expect((await two.events(1)).map(({ s }) => s)).to.deep.equal([1]);
  });

  it('gives an interaction to the newest session only, with its token', async () => {
    const bot = await world.someone('bot', server);
    const [old, young] = [world.connect(1), world.connect(0)];
    await old.identify(bot.token);
    await young.identify(bot.token);
    const id = world.worker.ids.next();
    expect(await world.tell(bot.id, 'INTERACTION_CREATE', { id, name: 'roll' }, { reach: 'newest' })).to.equal('appended');
    await world.post(server, channel, 'after');
    const [given] = await young.events(1);
    expect(given).to.deep.equal({
      op: 0,
      t: 'INTERACTION_CREATE',
      s: 1,
      d: { id, name: 'roll', token: interactionTokenOf(world.config.APP_KEY, id) },
    });
    expect(contents(await old.events(1))).to.deep.equal(['after']);
    await young.cut();
    await old.cut();
  });

  it('does not hear of channels that the bot may not view', async () => {
    const bot = await world.someone('bot', server);
    const hidden = await world.channel(server, [{ id: bot.id, allow: 0, deny: 1 }]);
    const client = world.connect();
    await client.identify(bot.token);
    await world.post(server, hidden, 'hidden');
    await world.post(server, channel, 'open');
    expect((await client.events(1)).map(({ s, d }) => [s, d.content])).to.deep.equal([[1, 'open']]);
  });

  it('hears of a server that the bot is added to without reconnecting, and no more of one it left', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    const other = await world.server();
    const there = await world.channel(other);
    await world.join(other, bot.id, true);
    await world.post(other, there, 'welcome');
    expect(contents(await client.events(1))).to.deep.equal(['welcome']);
    await world.leave(server, bot.id);
    await world.post(server, channel, 'gone');
    await world.post(other, there, 'still here');
    expect((await client.events(1)).map(({ s, d }) => [s, d.content])).to.deep.equal([[2, 'still here']]);
  });

  it('reads what was said in a new server before its topic was heard', async () => {
    const bot = await world.someone('bot');
    const client = world.connect();
    await client.identify(bot.token);
    const other = await world.server();
    const there = await world.channel(other);
    const { node } = world.nodes[0] ?? expect.fail();
    const join = node.topics.join.bind(node.topics);
    node.topics.join = async (topic) => {
      await world.post(other, there, 'too early to be heard');
      await join(topic);
    };
    await world.join(other, bot.id, true);
    expect(contents(await client.events(1))).to.deep.equal(['too early to be heard']);
    node.topics.join = join;
  });

  it('counts sockets, deliveries and their latency', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    await world.post(server, channel, 'counted');
    await client.events(1);
    const { node } = world.nodes[0] ?? expect.fail();
    const text = await node.metrics.registry.metrics();
    expect(text).to.match(/parlance_sockets\{kind="bot",role="gateway"\} [1-9]/);
    expect(text).to.match(/parlance_deliveries_total\{event="MESSAGE_CREATE",role="gateway"\} [1-9]/);
    expect(text).to.match(/parlance_delivery_seconds_count\{role="gateway"\} [1-9]/);
  });
});
