import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import type { Handlers } from '../../lib/store/queue/queue.ts';
import { handlers } from '../../workers/handlers.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { testConfig } from '../harness/stores.ts';

describe('Interactions Endpoint: a backlog of jobs', () => {
  it('runs the newest jobs first, so that under overload some are still in time', async () => {
    const config = testConfig();
    const platform = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
    const ids = Array.from({ length: 5 }, () => platform.ids.next());
    for (const interactionId of ids) await platform.jobs.enqueue('post-interaction', { interactionId });
    const taken: string[] = [];
    const recording: Handlers<typeof platform> = {
      ...handlers,
      'post-interaction': async (_platform, { interactionId }) => void taken.push(interactionId),
    };
    const consumers = platform.startConsumers(recording, () => undefined);
    try {
      await waitUntil(() => taken.length === ids.length, 'all jobs have run');
      expect(taken).to.deep.equal(ids.toReversed());
    } finally {
      await consumers.close();
      await platform.close();
    }
  });
});
