import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openApiPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { wakeChannels } from '../../lib/store/redis/wakes.ts';
import { shareOf } from '../../lib/store/redis/worker-shares.ts';
import { wakeHandlers } from '../../workers/handlers.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { connectRedis, testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';

describe('wakes', () => {
  const config = testConfig();
  const keys = createKeys(config.REDIS_PREFIX, 1);
  const log = createLog('worker', 'silent');
  const api = use(() => openApiPlatform(config, log));
  const redis = use(() => connectRedis(config));
  const workers = [use(() => openWorkerPlatform(config, log)), use(() => openWorkerPlatform(config, log))];
  /** By worker, the channels that it was woken for. */
  const woken: string[][] = workers.map(() => []);
  const ended: [name: string, outcome: string][] = [];
  const channelIds = Array.from({ length: 40 }, (_, n) => `${1_000 + n}`);
  const wakeAll = (): void => {
    for (const channelId of channelIds) api.wake('announce-read', { channelId: '1', userId: channelId });
  };
  const countSubscribers = async (key: string): Promise<number> => Number((await redis.pubsub('NUMSUB', wakeChannels(keys, key)[0]))[1]);
  const own = (worker: WorkerPlatform, ownsShare: (share: number) => boolean): unknown => Object.assign(worker.shares, { ownsShare });

  before(() => {
    for (const [at, worker] of workers.entries()) {
      own(worker, (share) => share % 2 === at);
      const handlers = {
        ...wakeHandlers,
        'announce-read': async (_: unknown, { userId }: { userId: string }) => {
          woken[at]?.push(userId);
          if (userId === '1000') throw new Error('failed');
        },
      };
      const running = worker.startWakes(handlers, (name, outcome) => ended.push([name, outcome]));
      after(() => running.close());
    }
  });

  it('reach the owner of the key alone, and each run is reported', async () => {
    await waitUntil(
      async () => (await Promise.all(channelIds.map(countSubscribers))).every((count) => count === 1),
      'the owners subscribe',
    );
    wakeAll();
    await waitUntil(() => ended.length >= channelIds.length, 'all work is done');
    for (const [at, keysOfWorker] of woken.entries())
      expect(keysOfWorker.toSorted()).to.deep.equal(channelIds.filter((id) => shareOf(id) % 2 === at));
    expect(ended.filter(([, outcome]) => outcome === 'failed')).to.deep.equal([['announce-read', 'failed']]);
  });

  it('reach all workers when a key has no owner', async () => {
    for (const worker of workers) own(worker, () => false);
    await waitUntil(
      async () => (await Promise.all(channelIds.map(countSubscribers))).every((count) => count === 0),
      'nobody is subscribed',
    );
    for (const one of woken) one.length = 0;
    wakeAll();
    await waitUntil(() => woken.flat().length === 2 * channelIds.length, 'both workers are woken');
    expect(woken.map((one) => one.toSorted())).to.deep.equal([channelIds, channelIds]);
  });
});
