import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createMetrics } from '../../lib/base/metrics.ts';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { startWorker } from '../../workers/start.ts';
import { around } from '../harness/around.ts';
import { reply } from '../harness/endpoint.ts';
import { until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';
import { startTcpProxy, type TcpProxy } from '../harness/tcp-proxy.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

describe('Interactions Endpoint: Redis away', function () {
  let scene: RaceScene;
  let redis: TcpProxy;
  beforeEach(async () => {
    redis = await startTcpProxy(testConfig().REDIS_URL, 6379);
    scene = await startRaceScene({ REDIS_URL: redis.url, LOG_LEVEL: 'silent' });
  });
  afterEach(async () => {
    redis.mend();
    await scene.close();
    await redis.close();
  });
  const lose = async (): Promise<void> => {
    redis.cut();
    await until(() => !scene.worker.redisUp(), 'the loss of Redis');
  };
  const mend = async (): Promise<void> => {
    redis.mend();
    await until(() => scene.api.platform.redisUp() && scene.worker.redisUp() && scene.gateway.redisUp(), 'Redis');
  };

  it('while a request is under way: its answer is applied, and no queue repeats it once Redis is back', async () => {
    const held: ServerResponse[] = [];
    scene.endpoint.answer((_received, response) => void held.push(response));
    const running = startWorker(scene.worker, createMetrics('worker'));
    let untold = 0;
    try {
      const id = await scene.use();
      await until(() => held.length > 0, 'the request');
      await lose();
      around(scene.worker, 'append', (real) =>
        real().catch((error: unknown) => {
          untold++;
          throw error;
        }),
      );
      const [response] = held;
      if (response) reply(200, { type: 'message', content: 'without redis' })(scene.endpoint.received[0] ?? expect.fail(), response);
      await until(() => untold > 0, 'the failure to tell the person');
      expect(await scene.answersTo(id)).to.deep.equal(['without redis']);
      await mend();
      const next = await scene.use();
      await until(() => held.length > 1, 'the next request');
      held[1]?.end();
      expect(await scene.heardStates(id)).to.deep.equal(['answered']);
      expect(scene.posted()).to.deep.equal([id, next]);
      expect(await scene.logged(id)).to.deep.equal([200, 'answered', null]);
    } finally {
      await running.close();
    }
  });

  it('when the job is due: nothing is sent uncounted, and it is sent once Redis is back', async () => {
    scene.endpoint.answer(reply(200, { type: 'message', content: 'later' }));
    const id = await scene.use();
    await lose();
    const failed = await scene.post(id).then(
      () => false,
      () => true,
    );
    expect(failed).to.equal(true);
    expect(scene.posted()).to.deep.equal([]);
    await mend();
    await Promise.all([scene.post(id), scene.post(id)]);
    expect(scene.posted()).to.deep.equal([id]);
    expect(await scene.answersTo(id)).to.deep.equal(['later']);
  });

  it('until its time is over: it is never sent, and the person is owed the news once', async () => {
    const id = await scene.use();
    await lose();
    await scene.post(id).catch(() => undefined);
    await scene.age(id, 3_000);
    await sweepInteractions(scene.worker).catch(() => undefined);
    expect(await scene.owedStates(id)).to.deep.equal(['expired']);
    await mend();
    await scene.post(id);
    await scene.age(id, 2_000, 'obAt');
    await until(async () => {
      await sweepInteractions(scene.worker).catch(() => undefined); // its own connection for events may still be away
      return (await scene.stored(id)).ob === undefined;
    }, 'the sweep');
    expect([(await scene.stored(id)).state, (await scene.stored(id)).ob]).to.deep.equal(['expired', undefined]);
    expect(scene.posted()).to.deep.equal([]);
  });
});
