import { expect } from 'chai';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { connectRedis } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { make, use } from '../harness/use.ts';
import { contents, useGateway } from './gateway-fixture.ts';

describe('gateway: faults', () => {
  const { fixture, place, bot } = useGateway();
  const proxy = use(() => startTcpProxy(fixture.config.REDIS_URL, 6379));
  const redis = use(() => connectRedis(fixture.config));
  /** A key of the log. */
  const keyOf = (name: string): string => `${createKeys(fixture.config.REDIS_PREFIX, 1).partitionPrefix(0)}${name}`;
  /** The node behind the proxy. */
  const node = make(() => fixture.addNode({ REDIS_URL: proxy.url, STORE_TIMEOUT_FACTOR: 1 }));

  it('sends events that were missed while its Redis connections were down, to bots and people', async () => {
    const client = fixture.connect(1);
    await client.identify(bot.token);
    const person = await fixture.makeAccount('person', place.server);
    const human = fixture.connect(1);
    await human.identify(person.token);
    proxy.cut();
    for (const content of ['a', 'b', 'c']) await fixture.post(place.server, place.channel, content);
    proxy.mend();
    for (const one of [client, human]) expect(contents(await one.events(3))).to.deep.equal(['a', 'b', 'c']);
    await fixture.post(place.server, place.channel, 'live');
    for (const one of [client, human]) expect(contents(await one.events(1))).to.deep.equal(['live']);
  });

  it('keeps the rules of servers of which nothing was missed', async () => {
    const other = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(other);
    const watching = await fixture.makeAccount('bot', other);
    const [one, two] = [fixture.connect(1), fixture.connect(1)];
    await one.identify(bot.token);
    await two.identify(watching.token);
    await fixture.post(other, otherChannel, 'before');
    await two.events(1);
    const rules = node.node.places.get(`server:${other}`)?.rules;
    expect(rules).to.be.an('object');
    proxy.cut();
    await fixture.post(place.server, place.channel, 'missed');
    proxy.mend();
    expect(contents(await one.events(1))).to.deep.equal(['missed']);
    await fixture.post(other, otherChannel, 'after');
    expect(contents(await two.events(1))).to.deep.equal(['after']);
    expect(node.node.places.get(`server:${other}`)?.rules).to.equal(rules);
  });

  it('applies changes of servers and tokens that were made meanwhile', async () => {
    const [joins, loses] = [await fixture.makeAccount('bot'), await fixture.makeAccount('bot', place.server)];
    const [one, two] = [fixture.connect(1), fixture.connect(1)];
    await one.identify(joins.token);
    await two.identify(loses.token);
    proxy.cut();
    await fixture.join(place.server, joins.id, true);
    await fixture.changing(null, [loses.id], () => fixture.worker.db.tokens.deleteMany({ accountId: loses.id }), true);
    await fixture.post(place.server, place.channel, 'joined');
    proxy.mend();
    expect(contents(await one.events(1))).to.deep.equal(['joined']);
    expect(await two.closed).to.equal(4004);
  });

  it('replaces a subscription that has gone silent', async () => {
    const [client, human] = [fixture.connect(1), fixture.connect(1)];
    await client.identify(bot.token);
    await human.identify((await fixture.makeAccount('person', place.server)).token);
    proxy.freeze('open');
    await fixture.post(place.server, place.channel, 'missed');
    for (const one of [client, human]) expect(contents(await one.events(1))).to.deep.equal(['missed']);
  });

  it('closes an identify with 1013 without Redis; a later one succeeds', async () => {
    proxy.cut();
    const client = fixture.connect(1);
    await client.until(10);
    client.send({ op: 2, d: { token: bot.token } });
    expect(await client.closed).to.equal(1013);
    proxy.mend();
    while (!node.platform.isRedisUp()) await new Promise((resolve) => setImmediate(resolve));
    const again = fixture.connect(1);
    expect((await again.identify(bot.token)).s).to.be.a('string');
    await again.cut();
  });

  it('releases sessions in Redis that ended while it was down', async () => {
    const released = await fixture.makeAccount('bot', place.server);
    const client = fixture.connect(1);
    await client.identify(released.token);
    proxy.cut();
    await client.close(1000);
    while (node.node.pendingReleases.size === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(await fixture.worker.connections.areConnected([released.id])).to.deep.equal([true]);
    proxy.mend();
    while (node.node.pendingReleases.size > 0) await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await fixture.worker.connections.areConnected([released.id])).to.deep.equal([false]);
  });

  it('sends op 9 to all sessions when Redis lost acknowledged events', async () => {
    const clients = [fixture.connect(0), fixture.connect(1)];
    const ids: string[] = [];
    for (const client of clients) ids.push((await client.identify(bot.token)).d.sessionId);
    await fixture.post(place.server, place.channel, 'acknowledged');
    for (const client of clients) await client.events(1);
    // Simulates a crash that lost the last writes: the counter is one lower, and the state is from another Redis process.
    await redis.multi().decr(keyOf('n')).hset(keyOf('state'), 'run', 'before').exec();
    for (const [i, client] of clients.entries()) {
      expect((await client.until(9)).d).to.include({ resumable: false });
      expect(await client.closed).to.equal(4000);
      const again = fixture.connect(i);
      await again.resume(bot.token, ids[i] ?? '', String(client.frames.findLast(({ s }) => s)?.s));
      expect((await again.until(9)).d).to.include({ resumable: false });
    }
    const fresh = fixture.connect();
    await fresh.identify(bot.token);
    await fixture.post(place.server, place.channel, 'after it');
    expect(contents(await fresh.events(1))).to.deep.equal(['after it']);
  });

  it('ends no session after a restart of Redis that kept every write', async () => {
    const clients = [fixture.connect(0), fixture.connect(1)];
    for (const client of clients) await client.identify(bot.token);
    await redis.hset(keyOf('state'), 'run', 'before');
    await fixture.post(place.server, place.channel, 'after it');
    for (const client of clients) expect(contents(await client.events(1))).to.deep.equal(['after it']);
  });

  it('sends op 9 when the log lost the next entry', async () => {
    const client = fixture.connect();
    const { d, s } = await client.identify(bot.token);
    await client.cut();
    await fixture.post(place.server, place.channel, 'lost');
    await fixture.post(place.server, place.channel, 'kept');
    const [first] = await redis.xrange(keyOf(`log:server:${place.server}`), `(${s}-0`, '+');
    await redis.xdel(keyOf(`log:server:${place.server}`), String(first?.[0]));
    const fresh = await fixture.addNode();
    const again = fixture.connect(fixture.nodes.indexOf(fresh));
    await again.resume(bot.token, d.sessionId, String(s));
    expect((await again.next()).d).to.include({ resumable: false });
  });
});

describe('gateway: log with two partitions', () => {
  const { fixture, place } = useGateway(2, { overrides: { LOG_PARTITIONS: '2' } });

  it('sends events, resumes and sends interactions in each', async () => {
    const bots = await Promise.all(Array.from({ length: 12 }, () => fixture.makeAccount('bot', place.server)));
    const keys = createKeys(fixture.config.REDIS_PREFIX, 2);
    expect(new Set(bots.map(({ id }) => keys.partitionOfAccount(id))).size).to.equal(2);
    for (const [at, bot] of bots.entries()) {
      const { client, id } = await fixture.openSession(bot, at % 2);
      await fixture.post(place.server, place.channel, `live ${at}`);
      expect(contents(await client.events(1))).to.deep.equal([`live ${at}`]);
      const interactionId = fixture.worker.ids.next();
      expect(await fixture.interact(bot.id, { id: interactionId })).to.equal(true);
      const [received] = await client.events(1);
      expect(received?.d.id).to.equal(interactionId);
      await client.cut();
      await fixture.post(place.server, place.channel, `missed ${at}`);
      const again = fixture.connect((at + 1) % 2);
      await again.resume(bot.token, id, String(received?.s));
      expect(contents(await again.events(1))).to.deep.equal([`missed ${at}`]);
      expect(await fixture.worker.connections.areConnected([bot.id])).to.deep.equal([true]);
    }
  });
});
