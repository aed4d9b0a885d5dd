import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { openRedis } from '../../lib/store/redis/redis.ts';
import { createTakeFlight, type TakeFlight } from '../../lib/store/redis/request-slots.ts';
import { until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';

describe('places for requests that go out', () => {
  const config = testConfig();
  const keys = createKeys(config.REDIS_PREFIX, 1);
  let redis: Awaited<ReturnType<typeof openRedis>>;
  let other: typeof redis;
  before(async () => {
    const log = createLog('test', 'error');
    [redis, other] = await Promise.all([openRedis(config, log, 'test'), openRedis(config, log, 'test')]);
  });
  after(() => {
    redis.disconnect();
    other.disconnect();
  });
  beforeEach(async () => {
    const found = await redis.keys(`${keys.partition(0)}flights*`);
    if (found.length) await redis.del(...found);
  });

  let made = 0;
  const flight = (group: string, groupMax = 50, lastsMs = 60_000) => ({ id: `flight-${++made}`, group, groupMax, lastsMs });
  /** Takes places for a group until it gets none; how many it got, and what gives them back. */
  const takeAll = async (take: TakeFlight, group: string, groupMax = 50): Promise<(() => void)[]> => {
    const taken: (() => void)[] = [];
    for (;;) {
      const land = await take(flight(group, groupMax));
      if (!land) return taken;
      taken.push(land);
    }
  };
  const counted = (group?: string): Promise<number> => redis.zcard(`${keys.partition(0)}flights${group ? `:${group}` : ''}`);

  it('a group has as many as it may, whoever takes them, and no other group has fewer by that', async () => {
    const [here, there] = [createTakeFlight(redis, keys), createTakeFlight(other, keys)];
    const got = await Promise.all(Array.from({ length: 60 }, (_, at) => (at % 2 ? here : there)(flight('a'))));
    expect(got.filter(Boolean)).to.have.length(50);
    expect(await takeAll(there, 'b')).to.have.length(50);
    expect([await counted('a'), await counted('b'), await counted()]).to.deep.equal([50, 50, 100]);
  });

  it('a place given back is free at once; given back twice it is one', async () => {
    const take = createTakeFlight(redis, keys);
    const taken = await takeAll(take, 'a', 3);
    taken[0]?.();
    taken[0]?.();
    expect(await takeAll(take, 'a', 3)).to.have.length(1);
    expect([await counted('a'), await counted()]).to.deep.equal([3, 3]);
  });

  it('groups that take all they get, again and again, leave places for one that has none', async () => {
    const take = createTakeFlight(redis, keys, 60);
    const hanging: (() => void)[][] = [];
    for (let at = 0; at < 19; at++) hanging.push(await takeAll(take, `hanging-${at}`)); // the first take most
    expect(await takeAll(take, 'fresh')).to.have.length(0);
    // Each ends the half of its requests and takes what it gets.
    for (let round = 0; round < 12; round++)
      for (const [at, lands] of hanging.entries()) {
        for (const land of lands.splice(0, Math.ceil(lands.length / 2))) land();
        lands.push(...(await takeAll(take, `hanging-${at}`)));
      }
    expect(Math.max(...hanging.map((lands) => lands.length))).to.be.at.most(5);
    expect(await takeAll(take, 'fresh')).not.to.have.length(0);
  });

  it('no more than there are in all, and none with nothing on its way is refused before that', async () => {
    const take = createTakeFlight(redis, keys, 12);
    const got: number[] = [];
    for (const group of ['a', 'b', 'c', 'd', 'e']) got.push((await takeAll(take, group)).length);
    expect(got).to.deep.equal([6, 3, 2, 1, 0]);
  });

  it('a place that nobody gives back counts no more when its time is over, and its sets go by themselves', async () => {
    const take = createTakeFlight(redis, keys);
    expect(await take(flight('a', 1, 250))).to.be.a('function');
    expect(await take(flight('a', 1, 250))).to.equal(null);
    await until(async () => (await take(flight('a', 1, 250))) !== null, 'the place');
    await until(async () => (await redis.exists(`${keys.partition(0)}flights:a`, `${keys.partition(0)}flights`)) === 0, 'the sets go');
  });

  it('a set outlives a short place for a longer one that it holds', async () => {
    const take = createTakeFlight(redis, keys);
    await take(flight('a', 2, 90_000));
    await take(flight('a', 2, 100));
    await until(async () => (await take(flight('a', 2, 100))) !== null, 'the short place');
    for (const key of [`${keys.partition(0)}flights:a`, `${keys.partition(0)}flights`])
      expect(await redis.pttl(key)).to.be.within(60_000, 90_000);
    expect(await take(flight('a', 1, 100))).to.equal(null);
  });

  it('sets hold no more than there are places, whatever was left in them', async () => {
    const take = createTakeFlight(redis, keys, 5);
    for (let round = 0; round < 4; round++) {
      const left = await Promise.all(Array.from({ length: 10 }, () => take(flight('a', 5, 40))));
      expect(left.filter(Boolean).length).to.be.at.most(5);
      await until(async () => (await take(flight('b', 5, 1))) !== null, 'free places');
    }
    expect(await counted()).to.be.at.most(5);
  });

  it('both keys of the script lie in one slot of a Redis Cluster', async () => {
    await createTakeFlight(redis, keys)(flight('a'));
    const tags = (await redis.keys(`${keys.partition(0)}flights*`)).map((key) => /^\{[^}]+\}/.exec(key)?.[0]);
    expect(tags).to.deep.equal([keys.partition(0).slice(0, -1), keys.partition(0).slice(0, -1)]);
  });
});
