import { setTimeout as pause } from 'node:timers/promises';
import type { Cluster } from 'ioredis';
import { createLog } from '../../lib/base/log.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { subscriberOptions } from '../../lib/store/redis/log/reader.ts';
import { createSubscriber } from '../../lib/store/redis/log/subscriber.ts';
import { connectNode, openRedis } from '../../lib/store/redis/redis.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';
import { testConfig } from '../harness/stores.ts';

describe('Redis Cluster: subscriptions', () => {
  it('follow a failover in which the masters were not listed in time', async () => {
    const redis = await startRedisCluster();
    const config = testConfig({ REDIS_URL: redis.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '2' });
    const log = createLog('gateway', config.LOG_LEVEL);
    const commands = (await openRedis(config, log, 'test')) as Cluster;
    const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
    const messages: string[] = [];
    const subscriber = createSubscriber(commands, keys, (node) => connectNode(config, log, 'subscriber', subscriberOptions, node), {
      onMessage: (_channel, message) => messages.push(message.toString()),
      onInterrupted: () => undefined,
    });
    try {
      const channel = keys.presenceChannel('1');
      const partition = keys.partitionOfChannel(channel);
      const master = await redis.masterOf(channel);
      await waitUntil(() => subscriber.isUp(partition), 'the master is connected');
      await subscriber.subscribe(partition, [channel]);
      // On a busy machine each list of the masters may time out. Then the client knows the new master only from the redirect of a command.
      const refresh = commands.refreshSlotsCache.bind(commands);
      commands.refreshSlotsCache = () => undefined;
      await master.kill();
      await waitUntil(
        () =>
          commands.spublish(channel, 'lost').then(
            () => true,
            () => false,
          ),
        'a command is redirected',
      );
      await pause(500); // until the last list that the loss of the master causes has been asked for
      commands.refreshSlotsCache = refresh;
      await waitUntil(() => subscriber.isUp(partition), 'the new master is connected');
      await subscriber.subscribe(partition, [channel]);
      await commands.spublish(channel, 'received');
      await waitUntil(() => messages.includes('received'), 'a message arrives');
    } finally {
      subscriber.close();
      commands.disconnect();
      await redis.close();
    }
  });
});
