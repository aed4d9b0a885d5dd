import { expect } from 'chai';
import { Redis } from 'ioredis';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
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

  it('reads what was missed while its Redis connections were away, for bots and people', async () => {
    const client = world.connect(1);
    await client.identify(bot.token);
    const person = await world.someone('person', server);
    const human = world.connect(1);
    await human.identify(person.token);
    proxy.cut();
    for (const content of ['a', 'b', 'c']) await world.post(server, channel, content);
    proxy.mend();
    for (const one of [client, human]) expect(contents(await one.events(3))).to.deep.equal(['a', 'b', 'c']);
    await world.post(server, channel, 'live');
    for (const one of [client, human]) expect(contents(await one.events(1))).to.deep.equal(['live']);
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
    for (const one of [client, human]) expect(contents(await one.events(1))).to.deep.equal(['unheard']);
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
    expect((await again.identify(bot.token)).s).to.be.a('string');
    await again.cut();
  });

  it('tells Redis later of who left while it was away', async () => {
    const gone = await world.someone('bot', server);
    const client = world.connect(1);
    await client.identify(gone.token);
    proxy.cut();
    client.ws.close(1000);
    await client.closed;
    while (node.node.pendingReleases.size === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await world.worker.connected([gone.id])).to.deep.equal([true]);
    proxy.mend();
    while (node.node.pendingReleases.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await world.worker.connected([gone.id])).to.deep.equal([false]);
  });

  it('op 9 for everyone when acknowledged events are gone; an own number that is gone is no matter of others', async () => {
    const at = createKeys(world.config.REDIS_PREFIX, 1).partition(0);
    const redis = new Redis(world.config.REDIS_URL);
    const clients = [world.connect(0), world.connect(1)];
    const ids: string[] = [];
    for (const client of clients) ids.push((await client.identify(bot.token)).d.sessionId);
    await world.post(server, channel, 'acknowledged');
    for (const client of clients) await client.events(1);
    // Simulates a crash that lost the last writes: the counter is one lower, and the state is from another Redis process.
    await redis.multi().decr(`${at}n`).hset(`${at}state`, 'run', 'before').exec();
    for (const [i, client] of clients.entries()) {
      expect((await client.until(9)).d).to.include({ resumable: false });
      expect(await client.closed).to.equal(4000);
      const again = world.connect(i);
      await again.resume(bot.token, ids[i] ?? '', String(client.frames.findLast(({ s }) => s)?.s));
      expect((await again.until(9)).d).to.include({ resumable: false });
    }
    const fresh = world.connect();
    await fresh.identify(bot.token);
    await world.post(server, channel, 'after it');
    expect(contents(await fresh.events(1))).to.deep.equal(['after it']);
    redis.disconnect();
  });

  it('a restart of Redis that kept every write ends no session', async () => {
    const at = createKeys(world.config.REDIS_PREFIX, 1).partition(0);
    const redis = new Redis(world.config.REDIS_URL);
    const clients = [world.connect(0), world.connect(1)];
    for (const client of clients) await client.identify(bot.token);
    await redis.hset(`${at}state`, 'run', 'before');
    await world.post(server, channel, 'after it');
    for (const client of clients) expect(contents(await client.events(1))).to.deep.equal(['after it']);
    redis.disconnect();
  });

  it('op 9 when the log has lost what comes next', async () => {
    const at = createKeys(world.config.REDIS_PREFIX, 1).partition(0);
    const redis = new Redis(world.config.REDIS_URL);
    const client = world.connect();
    const { d, s } = await client.identify(bot.token);
    await client.cut();
    await world.post(server, channel, 'lost');
    await world.post(server, channel, 'kept');
    const [first] = await redis.xrange(`${at}log:server:${server}`, `(${s}-0`, '+');
    await redis.xdel(`${at}log:server:${server}`, String(first?.[0]));
    const fresh = await world.addNode();
    const again = world.connect(world.nodes.indexOf(fresh));
    await again.resume(bot.token, d.sessionId, String(s));
    expect((await again.next()).d).to.include({ resumable: false });
    redis.disconnect();
  });
});

describe('gateway: two partitions', () => {
  let world: World;
  before(async () => {
    world = await startWorld(2, { LOG_PARTITIONS: '2' });
  });
  after(() => world.close());

  it('delivers, resumes and hands interactions over in each', async () => {
    const server = await world.server();
    const channel = await world.channel(server);
    const bots = await Promise.all(Array.from({ length: 12 }, () => world.someone('bot', server)));
    const keys = createKeys(world.config.REDIS_PREFIX, 2);
    expect(new Set(bots.map(({ id }) => keys.partitionOfAccount(id))).size).to.equal(2);
    for (const [i, bot] of bots.entries()) {
      const client = world.connect(i % 2);
      const { d } = await client.identify(bot.token);
      await world.post(server, channel, `live ${i}`);
      expect(contents(await client.events(1))).to.deep.equal([`live ${i}`]);
      const id = world.worker.ids.next();
      expect(await world.interact(bot.id, { id })).to.equal(true);
      const [given] = await client.events(1);
      expect(given?.d.id).to.equal(id);
      await client.cut();
      await world.post(server, channel, `missed ${i}`);
      const again = world.connect((i + 1) % 2);
      await again.resume(bot.token, d.sessionId, String(given?.s));
      expect(contents(await again.events(1))).to.deep.equal([`missed ${i}`]);
      expect(await world.worker.connected([bot.id])).to.deep.equal([true]);
    }
    const away = await world.someone('bot', server);
    expect(await world.interact(away.id, { id: '1' })).to.equal(false);
  });
});
