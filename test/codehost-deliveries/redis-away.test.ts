import { expect } from 'chai';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { make, use } from '../harness/use.ts';
import { range, startDeliveries, titleOf } from './fixture.ts';

describe('Code host deliveries: Redis unavailable', () => {
  const fixture = use(async () => {
    const proxy = await startTcpProxy(process.env.REDIS_URL as string, 6379);
    const started = await startDeliveries(10, { REDIS_URL: proxy.url });
    const close = async (): Promise<void> => {
      proxy.mend();
      await started.close();
      await proxy.close();
    };
    return { ...started, proxy, close };
  });
  beforeEach(() => fixture.proxy.mend());
  const hook = make(() => fixture.createHook(), { each: true });

  const cutRedis = async (): Promise<void> => {
    fixture.proxy.cut();
    await waitUntil(() => !fixture.api.platform.isRedisUp() && !fixture.worker.isRedisUp(), 'the loss of Redis');
  };

  it('accepts and stores deliveries, and posts each once, in order, when Redis is back', async () => {
    await hook.deliverIssues(1, 2);
    await cutRedis();
    await hook.deliverIssues(3, 5);
    fixture.proxy.mend();
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal(range(1, 5).map(titleOf));
  });

  it('the sweep posts them meanwhile, at the rate of the webhook', async () => {
    await cutRedis();
    await hook.deliverIssues(1, 6);
    await fixture.api.platform.db.deliveries.updateMany({ webhookId: hook.id }, { $set: { at: new Date(Date.now() - 3_000) } });
    await sweepDeliveries(fixture.worker);
    expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
  });

  it('the running sweep posts a delivery whose wake was lost', async () => {
    await cutRedis();
    await hook.deliverIssues(1, 1);
    const sweeps = startSweeps(fixture.worker);
    await waitUntil(async () => (await hook.titles()).length === 1, 'the post');
    fixture.proxy.mend();
    await sweeps.close();
  });
});
