import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { forEachAtOnce } from '../../lib/base/at-once.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { InteractionDoc } from '../../lib/store/mongo/models/interaction.ts';
import { startWorker } from '../../workers/start.ts';
import { reply } from '../harness/endpoint.ts';
import { until } from '../harness/scene.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

const hangingApplications = 19;

describe('Interactions Endpoint: 19 applications whose endpoints hang', function () {
  this.timeout(180_000);
  let scene: RaceScene;
  before(async () => {
    scene = await startRaceScene({ LOG_LEVEL: 'silent' });
  });
  after(() => scene.close());

  /** Stores so many uses of commands of each of the other applications, all with a minute's time, and asks for their jobs; how many there are. */
  const useHanging = async (each: number): Promise<number> => {
    const { db, ids } = scene.api.platform;
    const like = await scene.stored(await scene.use());
    const known = (await db.applications.findOne({ _id: scene.bot.applicationId }).lean()) ?? expect.fail();
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
    await db.interactions.collection.insertMany(uses as never);
    await forEachAtOnce(uses, 16, ({ _id }) => scene.worker.enqueue('post-interaction', { interactionId: _id }));
    return uses.length;
  };
  const invoke = async (): Promise<string> => {
    const path = `/api/channels/${scene.channelId}/commands/${scene.commands.hello}/invoke`;
    return String((await scene.api.call('POST', path, { as: scene.asPerson, body: {} })).body.id);
  };

  it('the quick one is answered, messages are delivered, and what is unanswered expires, while all of their requests are open', async () => {
    const held: ServerResponse[] = [];
    let answer = reply(200, { type: 'message', content: 'quick' });
    let opened = (): void => undefined;
    const open = new Promise<void>((resolve) => (opened = resolve));
    const count = await useHanging(25);
    scene.endpoint.answer((received, response) => {
      if (received.json.applicationId === scene.bot.applicationId) answer(received, response);
      else if (held.push(response) === count) opened();
    });
    const running = startWorker(scene.worker, createMetrics('worker'));
    try {
      await open;
      const ids: string[] = [];
      for (let at = 0; at < 10; at++) ids.push(await scene.use());
      for (const id of ids) expect(await scene.heardStates(id)).to.deep.equal(['answered']);
      for (const id of ids) expect(await scene.answersTo(id)).to.deep.equal(['quick']);
      await until(async () => (await scene.messages()).every(({ obAt }) => obAt === undefined), 'the messages are delivered');
      answer = reply(200);
      const unanswered = await invoke(); // its 3 seconds run
      expect(await scene.heardStates(unanswered)).to.deep.equal(['expired']);
      expect(held).to.have.length(count);
      expect(held.filter((response) => response.destroyed)).to.deep.equal([]);
    } finally {
      for (const response of held) response.end();
      await running.close();
    }
  });
});
