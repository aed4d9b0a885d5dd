import { expect } from 'chai';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { type AcquireRequestSlot, createRequestSlots } from '../../lib/store/redis/request-slots.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { connectRedis, testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('Slots for outbound requests', () => {
  const config = testConfig();
  const keys = createKeys(config.REDIS_PREFIX, 1);
  const [redis, other] = [use(() => connectRedis(config)), use(() => connectRedis(config))];
  beforeEach(async () => {
    const found = await redis.keys(`${keys.partitionPrefix(0)}flights*`);
    if (found.length) await redis.del(...found);
  });

  let lastId = 0;
  const request = (group: string, maxPerGroup = 50, ttlMs = 60_000) => ({ id: `flight-${++lastId}`, group, maxPerGroup, ttlMs });
  /** Acquires slots for a group until there is none left. Returns the functions that release them. */
  const acquireAll = async (acquire: AcquireRequestSlot, group: string, maxPerGroup = 50): Promise<(() => void)[]> => {
    const acquired: (() => void)[] = [];
    for (;;) {
      const release = await acquire(request(group, maxPerGroup));
      if (!release) return acquired;
      acquired.push(release);
    }
  };
  const countHeld = (group?: string): Promise<number> => redis.zcard(`${keys.partitionPrefix(0)}flights${group ? `:${group}` : ''}`);

  it('a group gets at most its maximum over all processes, and takes nothing from another group', async () => {
    const [nearAcquire, farAcquire] = [createRequestSlots(redis, keys), createRequestSlots(other, keys)];
    const acquired = await Promise.all(Array.from({ length: 60 }, (_, at) => (at % 2 ? nearAcquire : farAcquire)(request('a'))));
    expect(acquired.filter(Boolean)).to.have.length(50);
    expect(await acquireAll(farAcquire, 'b')).to.have.length(50);
    expect([await countHeld('a'), await countHeld('b'), await countHeld()]).to.deep.equal([50, 50, 100]);
  });

  it('a released slot is free at once; releasing it twice frees only one', async () => {
    const acquire = createRequestSlots(redis, keys);
    const acquired = await acquireAll(acquire, 'a', 3);
    acquired[0]?.();
    acquired[0]?.();
    expect(await acquireAll(acquire, 'a', 3)).to.have.length(1);
    expect([await countHeld('a'), await countHeld()]).to.deep.equal([3, 3]);
  });

  it('groups that acquire all they can leave slots to a group that has none', async () => {
    const acquire = createRequestSlots(redis, keys, 60);
    const hanging: (() => void)[][] = [];
    for (let at = 0; at < 19; at++) hanging.push(await acquireAll(acquire, `hanging-${at}`)); // the first groups get the most
    expect(await acquireAll(acquire, 'fresh')).to.have.length(0);
    // Each group releases half of its slots and acquires what it can.
    for (let round = 0; round < 12; round++)
      for (const [at, releases] of hanging.entries()) {
        for (const release of releases.splice(0, Math.ceil(releases.length / 2))) release();
        releases.push(...(await acquireAll(acquire, `hanging-${at}`)));
      }
    expect(Math.max(...hanging.map((releases) => releases.length))).to.be.at.most(5);
    expect(await acquireAll(acquire, 'fresh')).not.to.have.length(0);
  });

  it('limits all groups together, and refuses no group without slots before that limit', async () => {
    const acquire = createRequestSlots(redis, keys, 12);
    const acquired: number[] = [];
    for (const group of ['a', 'b', 'c', 'd', 'e']) acquired.push((await acquireAll(acquire, group)).length);
    expect(acquired).to.deep.equal([6, 3, 2, 1, 0]);
  });

  it('a slot that nobody releases expires, and so do its keys', async () => {
    const acquire = createRequestSlots(redis, keys);
    expect(await acquire(request('a', 1, 250))).to.be.a('function');
    expect(await acquire(request('a', 1, 250))).to.equal(null);
    await waitUntil(async () => (await acquire(request('a', 1, 250))) !== null, 'the slot');
    await waitUntil(
      async () => (await redis.exists(`${keys.partitionPrefix(0)}flights:a`, `${keys.partitionPrefix(0)}flights`)) === 0,
      'the keys expire',
    );
  });

  it('the keys live as long as the longest slot in them', async () => {
    const acquire = createRequestSlots(redis, keys);
    await acquire(request('a', 2, 90_000));
    await acquire(request('a', 2, 100));
    await waitUntil(async () => (await acquire(request('a', 2, 100))) !== null, 'the short slot');
    for (const key of [`${keys.partitionPrefix(0)}flights:a`, `${keys.partitionPrefix(0)}flights`])
      expect(await redis.pttl(key)).to.be.within(60_000, 90_000);
    expect(await acquire(request('a', 1, 100))).to.equal(null);
  });

  it('the keys hold no more entries than there are slots, also when slots expired', async () => {
    const acquire = createRequestSlots(redis, keys, 5);
    for (let round = 0; round < 4; round++) {
      const results = await Promise.all(Array.from({ length: 10 }, () => acquire(request('a', 5, 40))));
      expect(results.filter(Boolean).length).to.be.at.most(5);
      await waitUntil(async () => (await acquire(request('b', 5, 1))) !== null, 'free slots');
    }
    expect(await countHeld()).to.be.at.most(5);
  });

  it('both keys of the script are in one hash slot of a Redis Cluster', async () => {
    await createRequestSlots(redis, keys)(request('a'));
    const tags = (await redis.keys(`${keys.partitionPrefix(0)}flights*`)).map((key) => /^\{[^}]+\}/.exec(key)?.[0]);
    expect(tags).to.deep.equal([keys.partitionPrefix(0).slice(0, -1), keys.partitionPrefix(0).slice(0, -1)]);
  });
});
