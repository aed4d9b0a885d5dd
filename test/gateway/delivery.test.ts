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

  it('says hello, then READY, then each event under a position of its own', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    const hello = await client.next();
    expect(hello).to.deep.equal({ op: 10, d: { heartbeatIntervalMs: 30_000 } });
    client.send({ op: 2, d: { token: `Bot ${bot.token}` } });
    const ready = await client.next();
    expect(ready).to.include({ op: 0, t: 'READY' });
    expect(ready.s).to.be.a('string');
    expect(ready.d).to.include({ v: 1, resumeUrl: world.config.gatewayUrl });
    expect(ready.d.user).to.deep.equal({ id: bot.id, username: `u${bot.id}`, displayName: 'Someone', avatarUrl: null, tag: 'bot' });
    expect(ready.d.servers).to.deep.equal([server]);
    expect(ready.d.applicationId).to.be.a('string');
    for (const content of ['a', 'b', 'ü€😀']) await world.post(server, channel, content);
    const events = await client.events(3);
    expect(contents(events)).to.deep.equal(['a', 'b', 'ü€😀']);
    expect(events.map(({ t }) => t)).to.deep.equal(Array(3).fill('MESSAGE_CREATE'));
    expect(new Set([ready, ...events].map(({ s }) => s)).size).to.equal(4);
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
    await world.post(server, channel, 'edited', 'MESSAGE_UPDATE');
    await world.post(server, channel, 'new');
    expect((await one.events(2)).map(({ t }) => t)).to.deep.equal(['MESSAGE_UPDATE', 'MESSAGE_CREATE']);
    expect((await two.events(1)).map(({ t }) => t)).to.deep.equal(['MESSAGE_CREATE']);
  });

  it('reads from the log what was not heard live, in order and once', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    await world.post(server, channel, 'live');
    await world.unheard(server, async () => {
      for (const content of ['lost 1', 'lost 2']) await world.post(server, channel, content);
    });
    await world.post(server, channel, 'live again');
    expect(contents(await client.events(4))).to.deep.equal(['live', 'lost 1', 'lost 2', 'live again']);
  });

  it('keeps the order while hundreds of events arrive during a gap', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    const post = (i: number): Promise<unknown> => world.post(server, channel, String(i));
    for (let i = 0; i < 250; i++) await (i % 7 < 3 ? world.unheard(server, () => post(i)) : post(i));
    expect(contents(await client.events(250))).to.deep.equal(Array.from({ length: 250 }, (_, i) => String(i)));
  });

  it('finds out within a second or two that something was not heard, though nothing follows it', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token);
    await world.unheard(server, () => world.post(server, channel, 'lost'));
    expect(contents(await client.events(1))).to.deep.equal(['lost']);
  });

  it('gives an interaction to the newest session only, with its token', async () => {
    const bot = await world.someone('bot', server);
    const [old, young] = [world.connect(1), world.connect(0)];
    await old.identify(bot.token);
    await young.identify(bot.token);
    const id = world.worker.ids.next();
    await world.interact(bot.id, { id, name: 'roll' });
    await world.post(server, channel, 'after');
    const [given] = await young.events(1);
    expect(given).to.deep.include({
      t: 'INTERACTION_CREATE',
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
    expect(contents(await client.events(1))).to.deep.equal(['open']);
  });

  it('hears of a server that the bot is added to without reconnecting, and no more of one it left', async () => {
    const bot = await world.someone('bot', server);
    const client = world.connect();
    await client.identify(bot.token, ['SERVER_CREATE']);
    const other = await world.server();
    const there = await world.channel(other);
    await world.join(other, bot.id, true);
    await world.post(other, there, 'welcome');
    expect((await client.events(2)).map(({ t, d }) => [t, d.content ?? d.id])).to.deep.equal([
      ['SERVER_CREATE', other],
      ['MESSAGE_CREATE', 'welcome'],
    ]);
    await world.leave(server, bot.id);
    await world.post(server, channel, 'gone');
    await world.post(other, there, 'still here');
    expect(contents(await client.events(1))).to.deep.equal(['still here']);
  });

  it('reads what was said in a new server between the join and the news of it', async () => {
    const bot = await world.someone('bot');
    const client = world.connect();
    await client.identify(bot.token);
    const other = await world.server();
    const there = await world.channel(other);
    await world.post(other, there, 'before');
    const tell = await world.joinUntold(other, bot.id, true);
    await world.post(other, there, 'before it was told');
    await tell();
    await world.post(other, there, 'after');
    expect(contents(await client.events(2))).to.deep.equal(['before it was told', 'after']);
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
