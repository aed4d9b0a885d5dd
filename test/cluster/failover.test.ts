import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { createKeys, serverPlace } from '../../lib/store/log/keys.ts';
import type { ClusterNode } from '../harness/redis-cluster.ts';
import { type ClusterFixture, startClusterFixture } from './fixture.ts';

describe('Redis Cluster: masters that are replaced while posts are under way', function () {
  this.timeout(240_000);
  let fixture: ClusterFixture;
  before(async () => {
    fixture = await startClusterFixture();
  });
  after(() => fixture?.close());

  /** The master that serves the first server's log. */
  const masterOfLog = (): Promise<ClusterNode> => {
    const { REDIS_PREFIX, LOG_PARTITIONS } = fixture.whole.platform.config;
    const keys = createKeys(REDIS_PREFIX, LOG_PARTITIONS);
    return fixture.redis.masterOf(keys.partition(keys.partitionOf(serverPlace(fixture.worlds[0]?.serverId as string))));
  };
  const untilReplaced = async (master: ClusterNode): Promise<void> => {
    while ((await masterOfLog()) === master) await pause(20);
  };

  it('a graceful failover ends no session; nothing is lost, doubled or out of order', async () => {
    const master = await masterOfLog();
    const replica = await fixture.redis.replicaOf(master);
    const { posted, invalidated } = await fixture.postDuring(async () => {
      await replica.redis.cluster('FAILOVER');
      await untilReplaced(master);
    });
    expect(posted).to.be.greaterThan(0);
    expect(invalidated).to.equal(0);
    await fixture.redis.healthy();
  });

  it('of a killed master nothing acknowledged is lost, and nothing comes twice', async () => {
    const master = await masterOfLog();
    const { posted } = await fixture.postDuring(async () => {
      await master.kill();
      await untilReplaced(master);
    });
    expect(posted).to.be.greaterThan(0);
    await master.start();
    await fixture.redis.healthy();
  });
});
