import { Cluster } from 'ioredis';
import { startTestApi, startTestApiWithWorker } from '../harness/api.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { consumeJobs } from '../harness/jobs.ts';
import { startRedisCluster } from '../harness/redis-cluster.ts';
import { use } from '../harness/use.ts';

type ReadyCheck = (this: object, done: (error: null, fault: string | null) => void) => void;

describe('Redis Cluster: consumers', () => {
  const redis = use(() => startRedisCluster());
  const api = use(() => startTestApiWithWorker(() => startTestApi({ REDIS_URL: redis.url })));

  it('serve every queue, and close, although the cluster was not ready when they connected', async () => {
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
      const consumers = consumeJobs(api.worker, { 'expire-interaction': expire });
      await api.platform.jobs.enqueue('expire-interaction', { interactionId: api.platform.ids.next() });
      await waitUntil(() => hasRun, 'the job has run');
      await consumers.close();
    } finally {
      prototype.readyCheck = readyCheck;
    }
  });
});
