import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { forEachLimit } from '../../lib/base/for-each-limit.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import type { Handlers } from '../../lib/store/queue/queue.ts';
import { handlers } from '../../workers/handlers.ts';
import { startWorker } from '../../workers/start.ts';
import { reply } from '../harness/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

const hangingApplications = 19;

describe('Interactions Endpoint: 19 applications whose endpoints hang', () => {
  const fixture = use(() => startRaceFixture({ LOG_LEVEL: 'silent' }));

  /** Stores `each` interactions of every other application, with a minute of time, and enqueues their jobs. Returns how many there are. */
  const useHanging = async (each: number): Promise<number> => {
    const { db, ids } = fixture.api.platform;
    const like = await fixture.stored(await fixture.use());
    const known = (await db.applications.findOne({ _id: fixture.bot.applicationId })) ?? expect.fail();
    const applications = Array.from({ length: hangingApplications }, (_, at) => ({
      ...known,
      _id: ids.next(),
      botId: ids.next(),
      slot: 10 + at,
    }));
    await db.applications.insertMany(applications);
    const uses: InteractionDoc[] = applications.flatMap(({ _id: applicationId }) =>
      Array.from({ length: each }, () => ({ ...like, _id: ids.next(), applicationId })),
    );
    await db.interactions.insertMany(uses);
    await forEachLimit(uses, 16, ({ _id }) => fixture.worker.jobs.enqueue('post-interaction', { interactionId: _id }));
    return uses.length;
  };

  it('a quick endpoint is answered, messages are delivered and unanswered interactions expire meanwhile', async () => {
    const held: ServerResponse[] = [];
    let answer = reply(200, { type: 'message', content: 'quick' });
    let opened = (): void => undefined;
    const open = new Promise<void>((resolve) => (opened = resolve));
    const count = await useHanging(25);
    fixture.endpoint.answer((received, response) => {
      if (received.json.applicationId === fixture.bot.applicationId) answer(received, response);
      else if (held.push(response) === count) opened();
    });
    const running = startWorker(fixture.worker, createMetrics('worker'));
    try {
      await open;
      const ids: string[] = [];
      for (let at = 0; at < 10; at++) ids.push(await fixture.use());
      for (const id of ids) expect(await fixture.receivedStates(id)).to.deep.equal(['answered']);
      for (const id of ids) expect(await fixture.answersTo(id)).to.deep.equal(['quick']);
      await waitUntil(async () => (await fixture.messages()).every(({ outboxAt }) => outboxAt === undefined), 'the messages are delivered');
      answer = reply(200);
      const unanswered = await fixture.invoke(); // with the real 3 seconds
      expect(await fixture.receivedStates(unanswered)).to.deep.equal(['expired']);
      expect(held).to.have.length(count);
      expect(held.filter((response) => response.destroyed)).to.deep.equal([]);
    } finally {
      for (const response of held) response.end();
      await running.close();
    }
  });
});

describe('Interactions Endpoint: a backlog of jobs', () => {
  it('runs the oldest jobs first', async () => {
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
      expect(taken).to.deep.equal(ids);
    } finally {
      await consumers.close();
      await platform.close();
    }
  });
});
