import { expect } from 'chai';
import { Redis } from 'ioredis';
import { limits } from '../../lib/base/limits.ts';
import type { Envelope } from '../../lib/store/bus/envelope.ts';
import { createGeneration, type Generation } from '../../lib/store/bus/generation.ts';
import { createKeys, type Keys } from '../../lib/store/bus/keys.ts';
import { startWorld, type TestNode, type World } from './world.ts';

describe('bus scripts', () => {
  let world: World;
  let node: TestNode;
  let keys: Keys;
  let redis: Redis;
  before(async () => {
    world = await startWorld(1);
    node = world.nodes[0] ?? expect.fail();
    keys = createKeys(world.config.REDIS_PREFIX, 1);
    redis = new Redis(world.config.REDIS_URL);
  });
  after(async () => {
    redis.disconnect();
    await world.close();
  });

  const open = async (accountId: string, id: string, events: string[] = ['MESSAGE_CREATE']): Promise<{ id: string; accountId: string }> => {
    await node.platform.sessions.open({ id, accountId, events, kind: 'bot', node: node.node.id, owner: `owner-${id}` });
    return { id, accountId };
  };
  const event = (bot: string, more = {}) => ({
    eventId: world.worker.ids.next(),
    name: 'MESSAGE_CREATE' as const,
    payload: '{"id":"1"}',
    bots: [bot],
    reach: 'all' as const,
    topics: ['user:x'],
    ...more,
  });

  it('appends an event once, however often it is called, also at once', async () => {
    const session = await open('once', 'once');
    const one = event('once');
    expect(await Promise.all([1, 2, 3].map(() => world.worker.append(one)))).to.deep.equal(['appended', 'appended', 'appended']);
    await world.worker.forget([one.eventId]);
    expect(await world.worker.append(one)).to.equal('appended');
    expect(await node.platform.sessions.read(session, 0, 10)).to.have.length(1);
    expect(await redis.pttl(`${keys.shard(0)}mark:${one.eventId}`)).to.be.within(1, 600_000);
  });

  it('is stale under another version, early before its forerunner, and then nothing was done', async () => {
    const session = await open('order', 'order');
    const first = event('order');
    const second = event('order', { after: first.eventId });
    expect(await world.worker.append(second)).to.equal('early');
    expect(await world.worker.append(event('order', { server: { id: 'srv', version: '7' } }))).to.equal('stale');
    expect(await node.platform.sessions.read(session, 0, 10)).to.deep.equal([]);
    expect(await world.worker.append(first)).to.equal('appended');
    expect(await world.worker.append(second)).to.equal('appended');
    const stored = await node.platform.sessions.read(session, 0, 10);
    expect(stored.map(({ s, event: found }) => [s, found?.head.e])).to.deep.equal([
      [1, first.eventId],
      [2, second.eventId],
    ]);
    expect(stored[0]?.event?.payload.toString()).to.equal(first.payload);
  });

  it('publishes head and payload with the number of each session', async () => {
    const heard: Envelope[] = [];
    const topics = await node.platform.listen({
      onEvent: (_, envelope) => heard.push(envelope),
      onControl: () => undefined,
      onRestored: () => undefined,
    });
    await topics.join('user:pub');
    await open('pub', 'pub-1');
    await open('pub', 'pub-2');
    const one = event('pub', { topics: ['user:pub'], channelId: '9', payload: '{"a":"line\\nbreak"}' });
    await world.worker.append(one);
    while (heard.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(heard[0]?.head).to.include({ e: one.eventId, t: 'MESSAGE_CREATE', ch: '9' });
    expect(heard[0]?.head.to.toSorted()).to.deep.equal([
      ['pub-1', 1],
      ['pub-2', 1],
    ]);
    expect(heard[0]?.payload.toString()).to.equal(one.payload);
    await topics.close();
  });

  it('reads a stream in pages of the size asked for', async () => {
    const session = await open('pages', 'pages');
    for (let i = 0; i < 5; i++) await world.worker.append(event('pages'));
    const read = async (after: number): Promise<number[]> => (await node.platform.sessions.read(session, after, 2)).map(({ s }) => s);
    expect([await read(0), await read(2), await read(4), await read(5)]).to.deep.equal([[1, 2], [3, 4], [5], []]);
  });

  it('offline without a session on a living node; a killed node’s lease ends what it held', async () => {
    expect(await world.worker.append(event('nobody', { reach: 'newest' }))).to.equal('offline');
    await node.platform.sessions.open({
      id: 'dead',
      accountId: 'dead',
      events: ['MESSAGE_CREATE'],
      kind: 'bot',
      node: 'dead-node',
      owner: 'o',
    });
    expect(await world.worker.append(event('dead', { reach: 'newest' }))).to.equal('offline');
    expect(await world.worker.connected(['dead', 'nobody'])).to.deep.equal([false, false]);
    await node.platform.sessions.renewLease('dead-node');
    expect(await redis.pttl(`${keys.shard(0)}node:dead-node`)).to.be.within(4_000, 5_000);
    expect(await world.worker.append(event('dead', { reach: 'newest' }))).to.equal('appended');
    expect(await world.worker.connected(['dead', 'nobody'])).to.deep.equal([true, false]);
  });

  it('only the owner refreshes or leaves; a taken session is its new owner’s', async () => {
    const { sessions } = node.platform;
    const session = await open('own', 'own');
    expect(await sessions.refresh({ ...session, owner: 'owner-own' })).to.equal(0);
    expect(await sessions.take({ ...session, seq: 0, node: node.node.id, owner: 'second' })).to.deep.equal({
      s: 0,
      events: ['MESSAGE_CREATE'],
    });
    expect(await sessions.refresh({ ...session, owner: 'owner-own' })).to.equal(null);
    await sessions.leave({ ...session, owner: 'owner-own' }, 'end');
    expect(await sessions.refresh({ ...session, owner: 'second' })).to.equal(0);
    await sessions.leave({ ...session, owner: 'second' }, 'wait');
    expect(await world.worker.connected(['own'])).to.deep.equal([false]);
    expect(await sessions.take({ ...session, seq: 1, node: 'n', owner: 'third' })).to.equal(null);
    expect(await sessions.take({ ...session, accountId: 'other', seq: 0, node: 'n', owner: 'third' })).to.equal(null);
    expect(await redis.pttl(`${keys.shard(0)}ses:own`)).to.be.within(limits.resumeWindowMs, limits.sessionKeptMs);
  });

  describe('generations', () => {
    /** A process' view of a Redis whose run we name. */
    const processOf = (run: { id: string }): { generation: Generation; losses: () => number } => {
      let losses = 0;
      const seen = new Proxy(redis, {
        get: (target, name) => {
          if (name === 'info') return async () => `run_id:${run.id.padEnd(40, '0')}\r\n`;
          const value: unknown = Reflect.get(target, name);
          return typeof value === 'function' ? value.bind(target) : value;
        },
      });
      const fresh = createKeys(`${world.config.REDIS_PREFIX}-gen`, 1);
      return { generation: createGeneration(seen, fresh, () => losses++), losses: () => losses };
    };
    const prefix = (): string => createKeys(`${world.config.REDIS_PREFIX}-gen`, 1).shard(0);
    beforeEach(async () => {
      await redis.del(`${prefix()}run`, `${prefix()}found`, `${prefix()}gen`, `${prefix()}count`);
    });

    it('a restart that kept every acknowledged write ends nothing', async () => {
      const run = { id: 'a' };
      const { generation, losses } = processOf(run);
      await generation.boot();
      await redis.set(`${prefix()}count`, 10);
      generation.acknowledge(0, 10, generation.run(0));
      run.id = 'b';
      await generation.boot();
      expect(losses()).to.equal(0);
      expect(await redis.get(`${prefix()}gen`)).to.equal(null);
    });

    it('a restart without acknowledged writes begins a new generation, once', async () => {
      const run = { id: 'a' };
      const [one, two] = [processOf(run), processOf(run)];
      await one.generation.boot();
      await two.generation.boot();
      for (const { generation } of [one, two]) generation.acknowledge(0, 10, generation.run(0));
      await redis.set(`${prefix()}count`, 9);
      run.id = 'b';
      await one.generation.boot();
      await redis.set(`${prefix()}count`, 20);
      await two.generation.boot();
      expect([one.losses(), two.losses()]).to.deep.equal([1, 0]);
      expect(await redis.get(`${prefix()}gen`)).to.equal(one.generation.run(0));
    });

    it('what the new run counts before this process has noticed it is no proof of a loss', async () => {
      const run = { id: 'a' };
      const [early, late] = [processOf(run), processOf(run)];
      await early.generation.boot();
      await late.generation.boot();
      await redis.set(`${prefix()}count`, 10);
      late.generation.acknowledge(0, 10, late.generation.run(0));
      run.id = 'b';
      await early.generation.boot();
      late.generation.acknowledge(0, 11, early.generation.run(0));
      await late.generation.boot();
      expect(late.losses()).to.equal(0);
    });
  });
});
