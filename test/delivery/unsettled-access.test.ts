import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { handlers } from '../../workers/handlers.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { makeWorld } from '../harness/world.ts';

describe('a job that meets access data which keeps changing', () => {
  let api: TestApi;
  let worker: WorkerPlatform;
  before(async () => {
    api = await startTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
  });
  after(async () => {
    await worker.close();
    await api.close();
  });

  it('is run again, without a failed attempt, until the data is quiet', async () => {
    const world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    const outcomes: string[] = [];
    let stale = 60;
    let done = (): void => undefined;
    const ended = new Promise<void>((resolve) => {
      done = resolve;
    });
    const consumers = worker.consume(
      {
        ...handlers,
        'drain-channel': (platform, data) => {
          const append: WorkerPlatform['append'] = (event) => (stale-- > 0 ? Promise.resolve('stale') : platform.append(event));
          return handlers['drain-channel']({ ...platform, append }, data);
        },
      },
      (name, outcome) => {
        if (name !== 'drain-channel') return;
        outcomes.push(outcome);
        done();
      },
    );
    try {
      const path = `/api/channels/${world.channelIds[0]}/messages`;
      await api.call('POST', path, { as: `Bot ${world.bots[0]?.token}`, body: { content: 'x' } });
      await ended;
      expect(stale).to.be.lessThan(0);
      expect(outcomes).to.deep.equal(['done']);
      expect(await worker.db.messages.collection.countDocuments({ obAt: { $exists: true } })).to.equal(0);
    } finally {
      await consumers.close();
    }
  });
});
