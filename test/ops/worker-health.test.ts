import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startWorker } from '../../workers/start.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { use } from '../harness/use.ts';

describe('the health check of a worker', () => {
  const redis = use(() => startTcpProxy(testConfig().REDIS_URL, 6379));
  const platform = use(async () => {
    const config = testConfig({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
    await prepareDatabase(config);
    return openWorkerPlatform(config, createLog('worker', 'silent'));
  });

  it('finds no fault while it works, nor while Redis is unavailable', async () => {
    const worker = startWorker(platform, createMetrics('worker'));
    try {
      expect(worker.findFault()).to.equal(null);
      redis.cut();
      await waitUntil(() => !platform.isRedisUp(), 'the loss of Redis');
      expect(worker.findFault()).to.equal(null);
      redis.mend();
      await waitUntil(() => platform.isRedisUp(), 'Redis');
      expect(worker.findFault()).to.equal(null);
    } finally {
      redis.mend();
      await worker.close();
    }
  });

  it('names the queues whose consumers have stopped', async () => {
    let stop = (): Promise<void> => Promise.resolve();
    const startConsumers: WorkerPlatform['startConsumers'] = (...args) => {
      const consumers = platform.startConsumers(...args);
      stop = () => consumers.close();
      return consumers;
    };
    const worker = startWorker({ ...platform, startConsumers }, createMetrics('worker'));
    try {
      await stop();
      expect(worker.findFault()).to.match(/^the consumers of these queues have stopped: .*\bupkeep\b/);
    } finally {
      await worker.close();
    }
  });

  it('says that the sweeps are stuck when no heartbeat is tried any more', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const worker = startWorker({ ...platform, shares: { ...platform.shares, recordHeartbeat: () => held } }, createMetrics('worker'), 100);
    try {
      await waitUntil(() => worker.findFault() !== null, 'the fault');
      expect(worker.findFault()).to.equal('the sweeps are stuck: no heartbeat was tried for 0.1 s');
    } finally {
      release();
      await worker.close();
    }
  });
});
