import { expect } from 'chai';
import { createMetrics } from '../../lib/base/metrics.ts';
import { sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { startWorker } from '../../workers/start.ts';
import { reply } from '../harness/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy } from '../harness/tcp-proxy.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

describe('Interactions Endpoint: Redis unavailable', () => {
  const fixture = use(
    async () => {
      const redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
      const started = await startRaceFixture({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
      const close = async (): Promise<void> => {
        redis.mend();
        await started.close();
        await redis.close();
      };
      return { ...started, redis, close };
    },
    { each: true },
  );
  const cutRedis = async (): Promise<void> => {
    fixture.redis.cut();
    await waitUntil(() => !fixture.worker.isRedisUp(), 'the loss of Redis');
  };
  const restoreRedis = async (): Promise<void> => {
    fixture.redis.mend();
    await waitUntil(() => fixture.api.platform.isRedisUp() && fixture.worker.isRedisUp() && fixture.gateway.isRedisUp(), 'Redis');
  };

  it('applies the answer to a request under way, and does not repeat the request when Redis is back', async () => {
    const held = fixture.hold();
    const running = startWorker(fixture.worker, createMetrics('worker'));
    let failedAppends = 0;
    try {
      const id = await fixture.use();
      await waitUntil(() => held.length > 0, 'the request');
      await cutRedis();
      interceptNext(fixture.worker.eventLog, 'append', (real) =>
        real().catch((error: unknown) => {
          failedAppends++;
          throw error;
        }),
      );
      const [response] = held;
      if (response) reply(200, { type: 'message', content: 'without redis' })(fixture.endpoint.received[0] ?? expect.fail(), response);
      await waitUntil(() => failedAppends > 0, 'the failure to relay the event');
      expect(await fixture.answersTo(id)).to.deep.equal(['without redis']);
      await restoreRedis();
      const next = await fixture.use();
      await waitUntil(() => held.length > 1, 'the next request');
      held[1]?.end();
      expect(await fixture.receivedStates(id)).to.deep.equal(['answered']);
      expect(fixture.posted()).to.deep.equal([id, next]);
      expect(await fixture.logged(id)).to.deep.equal([200, 'answered', null]);
    } finally {
      await running.close();
    }
  });

  it('sends nothing while no slot can be acquired, and sends it once when Redis is back', async () => {
    fixture.endpoint.answer(reply(200, { type: 'message', content: 'later' }));
    const id = await fixture.use();
    await cutRedis();
    const failed = await fixture.post(id).then(
      () => false,
      () => true,
    );
    expect(failed).to.equal(true);
    expect(fixture.posted()).to.deep.equal([]);
    await restoreRedis();
    await Promise.all([fixture.post(id), fixture.post(id)]);
    expect(fixture.posted()).to.deep.equal([id]);
    expect(await fixture.answersTo(id)).to.deep.equal(['later']);
  });

  it('never sends an interaction that expired meanwhile, and the person receives `expired` once', async () => {
    const id = await fixture.use();
    await cutRedis();
    await fixture.post(id).catch(() => undefined);
    await fixture.age(id, 3_000);
    await sweepInteractions(fixture.worker).catch(() => undefined);
    expect(await fixture.pendingStates(id)).to.deep.equal(['expired']);
    await restoreRedis();
    await fixture.post(id);
    await fixture.age(id, 2_000, 'outboxAt');
    await waitUntil(async () => {
      await sweepInteractions(fixture.worker).catch(() => undefined); // its connection for events may still be down
      return (await fixture.stored(id)).outbox === undefined;
    }, 'the sweep');
    expect([(await fixture.stored(id)).state, (await fixture.stored(id)).outbox]).to.deep.equal(['expired', undefined]);
    expect(fixture.posted()).to.deep.equal([]);
  });
});
