import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import type { Handlers } from '../../lib/store/queue/queue.ts';
import { handlers } from '../../workers/handlers.ts';
import { until } from '../harness/scene.ts';
import { testConfig } from '../harness/stores.ts';

describe('a backlog of interactions for endpoints', () => {
  it('is taken newest first: past what a machine can do some are in time, instead of all being late', async () => {
    const config = testConfig();
    const platform = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
    const ids = Array.from({ length: 5 }, () => platform.ids.next());
    for (const interactionId of ids) await platform.enqueue('post-interaction', { interactionId });
    const taken: string[] = [];
    const recording: Handlers<typeof platform> = {
      ...handlers,
      'post-interaction': async (_platform, { interactionId }) => void taken.push(interactionId),
    };
    const consumers = platform.consume(recording, () => undefined);
    try {
      await until(() => taken.length === ids.length, 'all are taken');
      expect(taken).to.deep.equal(ids.toReversed());
    } finally {
      await consumers.close();
      await platform.close();
    }
  });
});
