import { expect } from 'chai';
import { createIds } from '../../lib/base/ids.ts';
import { createLog } from '../../lib/base/log.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { leaseNode } from '../../lib/store/redis/node-lease.ts';
import { connectRedis, testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('Ids: the lease of a node number', () => {
  const config = testConfig();
  const redis = use(() => connectRedis(config));
  const keys = createKeys(config.REDIS_PREFIX, 1);
  const log = createLog('test', 'silent');
  const keyOf = (node: number): string => `${keys.partitionPrefix(0)}id-node:${node}`;

  it('a process paused beyond its lease makes no ids until it has a new number', async () => {
    let nowMs = 0;
    const lease = await leaseNode(redis, keys, log, () => nowMs);
    const ids = createIds(lease.node, Date.now);
    const node = lease.node();
    ids.next();
    nowMs += 600_000;
    await redis.set(keyOf(node), 'another process');
    expect(() => ids.next())
      .to.throw()
      .with.property('code', 'unavailable');
    await lease.renew();
    expect(lease.node()).not.to.equal(node);
    ids.next();
    await lease.release();
  });

  it('a renewed lease continues; a number that another process took is not used, even within the lease', async () => {
    let nowMs = 0;
    const lease = await leaseNode(redis, keys, log, () => nowMs);
    const node = lease.node();
    nowMs += 599_999;
    await lease.renew();
    nowMs += 599_999;
    expect(lease.node()).to.equal(node);
    const numbers = Array.from({ length: 1023 }, (_, index) => keyOf(index + 1));
    await redis.mset(numbers.flatMap((number) => [number, 'another process']));
    expect(await lease.renew().catch(String)).to.match(/all 1,023 node numbers are taken/);
    expect(lease.node).to.throw().with.property('code', 'unavailable');
    const other = (node % 1023) + 1;
    await redis.del(keyOf(other));
    await lease.renew();
    expect(lease.node()).to.equal(other);
    await redis.del(...numbers);
  });
});
