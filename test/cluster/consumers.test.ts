import { Cluster } from 'ioredis';
import { createLog } from '../../lib/base/log.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import { startTestApi } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';

type ReadyCheck = (this: object, done: (error: null, fault: string | null) => void) => void;

describe('Redis Cluster: consumers', () => {
  it('serve every queue, and close, although the cluster was not ready when they connected', async () => {
    const redis = await startRedisCluster();
    const api = await startTestApi({ REDIS_URL: redis.url });
    const worker = await openWorkerPlatform(api.platform.config, createLog('worker', 'error'));
    const prototype = Cluster.prototype as unknown as { readyCheck: ReadyCheck };
    const { readyCheck } = prototype;
    const checked = new WeakSet<object>();
    // As during a failover: the first check of each connection finds that the cluster does not serve all slots.
    prototype.readyCheck = function (done) {
      if (checked.has(this)) return readyCheck.call(this, done);
      checked.add(this);
      done(null, 'fail');
    };
    try {
      let hasRun = false;
      const expire = async (): Promise<void> => {
        hasRun = true;
      };
      const consumers = consumeJobs(worker, { 'expire-interaction': expire });
      await api.platform.jobs.enqueue('expire-interaction', { interactionId: api.platform.ids.next() });
      await waitUntil(() => hasRun, 'the job has run');
      await consumers.close();
    } finally {
      prototype.readyCheck = readyCheck;
      await worker.close();
      await api.close();
      await redis.close();
    }
  });
});
