import { expect } from 'chai';
import { sweepDeliveries } from '../../lib/domain/webhooks/delivery-posting.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { until } from '../harness/scene.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { type Hook, range, type Scene, startDeliveries, titleOf } from './fixture.ts';

describe('deliveries while Redis is away', () => {
  let proxy: TcpProxy;
  let scene: Scene;
  let hook: Hook;
  before(async () => {
    proxy = await startTcpProxy(process.env.REDIS_URL as string, 6379);
    scene = await startDeliveries(10, { REDIS_URL: proxy.url });
  });
  after(async () => {
    proxy.mend();
    await scene.close();
    await proxy.close();
  });
  beforeEach(async () => {
    proxy.mend();
    hook = await scene.make();
  });

  const away = async (): Promise<void> => {
    proxy.cut();
    await until(() => !scene.api.platform.redisUp() && !scene.worker.redisUp(), 'Redis is seen to be away');
  };

  it('202 and stored; posted in order, each once, once it is back', async () => {
    await hook.deliverIssues(1, 2);
    await away();
    await hook.deliverIssues(3, 5);
    proxy.mend();
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal(range(1, 5).map(titleOf));
  });

  it('also posted meanwhile, at the pace: the sweep needs no queue', async () => {
    await away();
    await hook.deliverIssues(1, 6);
    await scene.api.platform.db.deliveries.updateMany({ webhookId: hook.id }, { $set: { at: new Date(Date.now() - 3_000) } });
    await sweepDeliveries(scene.worker);
    expect(await hook.titles()).to.deep.equal(range(1, 4).map(titleOf));
  });

  it('a lost nudge is found by the sweep that runs', async () => {
    await away();
    await hook.deliverIssues(1, 1);
    const sweeps = startSweeps(scene.worker);
    await until(async () => (await hook.titles()).length === 1, 'the post');
    proxy.mend();
    await sweeps.close();
  });
});
