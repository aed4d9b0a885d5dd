import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createKeys } from '../../lib/store/bus/keys.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { contents, type Someone, startWorld, type TestNode, type World } from './world.ts';

describe('gateway: faults', () => {
  let world: World;
  let proxy: TcpProxy;
  /** The node behind the proxy. */
  let node: TestNode;
  let server: string;
  let channel: string;
  let bot: Someone;
  before(async () => {
    world = await startWorld(1);
    proxy = await startTcpProxy(world.config.REDIS_URL, 6379);
    node = await world.addNode({ REDIS_URL: proxy.url, STORE_PATIENCE: 1 });
    server = await world.server();
    channel = await world.channel(server);
    bot = await world.someone('bot', server);
  });
  after(async () => {
    await world.close();
    await proxy.close();
  });

  it('reads what was missed while its Redis connections were away, and people begin anew', async () => {
    const client = world.connect(1);
    await client.identify(bot.token);
    const person = await world.someone('person', server);
    const human = world.connect(1);
    await human.identify(person.token);
    proxy.cut();
    for (const content of ['a', 'b', 'c']) await world.post(server, channel, content);
    proxy.mend();
    expect((await client.events(3)).map(({ s, d }) => [s, d.content])).to.deep.equal([
      [1, 'a'],
      [2, 'b'],
      [3, 'c'],
    ]);
    expect(await human.next()).to.deep.equal({ op: 9, d: false });
    expect(await human.closed).to.equal(4000);
    await world.post(server, channel, 'live');
    expect((await client.events(1))[0]?.s).to.equal(4);
  });

  it('notices servers and tokens that changed meanwhile', async () => {
    const [joins, loses] = [await world.someone('bot'), await world.someone('bot', server)];
    const [one, two] = [world.connect(1), world.connect(1)];
    await one.identify(joins.token);
    await two.identify(loses.token);
    proxy.cut();
    await world.join(server, joins.id, true);
    await world.changing(null, [loses.id], () => world.worker.db.tokens.deleteMany({ accountId: loses.id }), true);
    await world.post(server, channel, 'joined');
    proxy.mend();
    expect(contents(await one.events(1))).to.deep.equal(['joined']);
    expect(await two.closed).to.equal(4004);
  });

  it('gives up a subscription that has gone silent', async () => {
    const [client, human] = [world.connect(1), world.connect(1)];
    await client.identify(bot.token);
    await human.identify((await world.someone('person', server)).token);
    proxy.freeze('open');
    await world.post(server, channel, 'unheard');
    expect(contents(await client.events(1))).to.deep.equal(['unheard']);
    expect(await human.next()).to.deep.equal({ op: 9, d: false });
  });

  it('1013 for an identify while Redis is away; the next one passes', async () => {
    proxy.cut();
    const client = world.connect(1);
    await client.until(10);
    client.send({ op: 2, d: { token: bot.token } });
    expect(await client.closed).to.equal(1013);
    proxy.mend();
    while (!node.platform.redisUp()) await new Promise((resolve) => setImmediate(resolve));
    const again = world.connect(1);
    expect((await again.identify(bot.token)).s).to.equal(0);
    await again.cut();
  });

  it('tells Redis later of who left while it was away', async () => {
    const gone = await world.someone('bot', server);
    const client = world.connect(1);
    await client.identify(gone.token);
    proxy.cut();
    client.ws.close(1000);
    await client.closed;
    while (node.node.owed.size === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await world.worker.connected([gone.id])).to.deep.equal([true]);
    proxy.mend();
    while (node.node.owed.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await world.worker.connected([gone.id])).to.deep.equal([false]);
  });

  it('a new generation sends everyone away, and their sessions are refused', async () => {
    const keys = createKeys(world.config.REDIS_PREFIX, 1);
    const redis = new Redis(world.config.REDIS_URL);
    const clients = [world.connect(0), world.connect(1)];
    const ids: string[] = [];
    for (const client of clients) ids.push((await client.identify(bot.token)).d.sessionId);
    await redis.set(`${keys.shard(0)}gen`, 'another');
    await redis.publish(keys.topic('control'), '{"kind":"generation"}');
    for (const [i, client] of clients.entries()) {
      expect(await client.next()).to.deep.equal({ op: 7, d: null });
      expect(await client.closed).to.equal(4000);
      const again = world.connect(i);
      await again.resume(bot.token, ids[i] ?? '', 0);
      expect(await again.next()).to.deep.equal({ op: 9, d: false });
    }
    redis.disconnect();
  });

  it('op 9 when the stream has lost what comes next, and when the sequence went back', async () => {
    const keys = createKeys(world.config.REDIS_PREFIX, 1);
    const redis = new Redis(world.config.REDIS_URL);
    const hole = world.connect();
    const first = await hole.identify(bot.token);
    await world.post(server, channel, 'lost', { silent: true });
    await world.post(server, channel, 'kept', { silent: true });
    await redis.xdel(`${keys.shard(0)}str:${first.d.sessionId}`, '1-0');
    hole.send({ op: 1, d: null });
    await hole.until(11);
    expect(await hole.next()).to.deep.equal({ op: 9, d: false });
    expect(await hole.closed).to.equal(4000);

    const back = world.connect();
    const second = await back.identify(bot.token);
    await world.post(server, channel, 'one');
    await back.events(1);
    await redis.hset(`${keys.shard(0)}ses:${second.d.sessionId}`, 's', 0);
    back.send({ op: 1, d: null });
    await back.until(11);
    expect(await back.next()).to.deep.equal({ op: 9, d: false });
    redis.disconnect();
  });

  it('op 9 when a stored event has lost its payload', async () => {
    const keys = createKeys(world.config.REDIS_PREFIX, 1);
    const redis = new Redis(world.config.REDIS_URL);
    const client = world.connect();
    const { d } = await client.identify(bot.token);
    await client.cut();
    await world.post(server, channel, 'lost');
    for (const key of await redis.keys(`${keys.shard(0)}pay:*`)) await redis.del(key);
    const again = world.connect();
    await again.resume(bot.token, d.sessionId, 0);
    expect(await again.next()).to.deep.equal({ op: 9, d: false });
    redis.disconnect();
  });
});

describe('gateway: two shards', () => {
  let world: World;
  before(async () => {
    world = await startWorld(2, { REDIS_SHARDS: '2' });
  });
  after(() => world.close());

  it('delivers, resumes and hands interactions over in each', async () => {
    const server = await world.server();
    const channel = await world.channel(server);
    const bots = await Promise.all(Array.from({ length: 12 }, () => world.someone('bot', server)));
    const keys = createKeys(world.config.REDIS_PREFIX, 2);
    expect(new Set(bots.map(({ id }) => keys.shardOf(id))).size).to.equal(2);
    for (const [i, bot] of bots.entries()) {
      const client = world.connect(i % 2);
      const { d } = await client.identify(bot.token);
      await world.post(server, channel, `live ${i}`);
      expect(contents(await client.events(1))).to.deep.equal([`live ${i}`]);
      const id = world.worker.ids.next();
      expect(await world.tell(bot.id, 'INTERACTION_CREATE', { id }, { reach: 'newest' })).to.equal('appended');
      expect((await client.events(1))[0]?.d.id).to.equal(id);
      await client.cut();
      await world.post(server, channel, `missed ${i}`);
      const again = world.connect((i + 1) % 2);
      await again.resume(bot.token, d.sessionId, 2);
      expect((await again.events(1)).map(({ s, d: { content } }) => [s, content])).to.deep.equal([[3, `missed ${i}`]]);
      expect(await world.worker.connected([bot.id])).to.deep.equal([true]);
    }
    const away = await world.someone('bot', server);
    expect(await world.tell(away.id, 'INTERACTION_CREATE', { id: '1' }, { reach: 'newest' })).to.equal('offline');
  });
});
