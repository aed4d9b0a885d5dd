import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { sweepInteractions, sweepUnposted } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import { expireInteractionJob } from '../../workers/expire-interaction.ts';
import { handlers } from '../../workers/handlers.ts';
import { postInteractionJob } from '../../workers/post-interaction.ts';
import { around } from '../harness/around.ts';
import { type Answering, reply } from '../harness/endpoint.ts';
import { until } from '../harness/scene.ts';
import { type RaceScene, startRaceScene } from './race-scene.ts';

const alreadyAnswered = 'already_answered: This interaction has already been answered. Send a follow-up instead.';

describe('Interactions Endpoint: races have one outcome', function () {
  this.timeout(180_000); // a hundred rounds
  let scene: RaceScene;
  before(async () => {
    scene = await startRaceScene();
  });
  after(() => scene.close());

  /** Answers with 200 and `body` once `before` is done: what comes before it is always in time to win. */
  const replyAfter =
    (before: (id: string) => Promise<unknown>, body: unknown): Answering =>
    (received, response) => {
      void before(String(received.json.id)).then(
        () => reply(200, body)(received, response),
        () => response.destroy(),
      );
    };
  const visible = { type: 'message', content: 'by callback' };
  const secret = { type: 'message', content: 'by callback', ephemeral: true };
  const defer = { type: 'defer' };
  const https = { type: 'message', content: 'by https' };
  const secretHttps = { type: 'message', content: 'by https', ephemeral: true };
  /** What the person hears of an answer besides its state. */
  const hiddenBy = (body: { type: string; content?: string; ephemeral?: boolean }): string[] =>
    body.ephemeral ? [`hidden: ${body.content}`] : [];

  for (const [name, callback, answer, state, messages] of [
    ['message, message', visible, https, 'answered', ['by callback']],
    ['message, defer', visible, defer, 'answered', ['by callback']],
    ['hidden message, message', secret, https, 'answered', []],
    ['message, hidden message', visible, secretHttps, 'answered', ['by callback']],
    ['defer, message', defer, https, 'deferred', []],
    ['defer, defer', defer, defer, 'deferred', []],
  ] as const)
    it(`the callback comes first, the HTTPS answer is too late: ${name}`, async () => {
      let status = 0;
      scene.endpoint.answer(
        replyAfter(async (id) => {
          status = (await scene.send('callback', id, callback)).status;
        }, answer),
      );
      const id = await scene.use();
      await scene.post(id);
      expect(status).to.equal(callback.type === 'defer' ? 204 : 201);
      expect(await scene.answersTo(id)).to.deep.equal(messages);
      expect((await scene.stored(id)).state).to.equal(state);
      expect(await scene.told(id)).to.deep.equal([...hiddenBy(callback), state]);
      expect(await scene.logged(id)).to.deep.equal([200, 'failed', alreadyAnswered]);
    });

  for (const [name, callback, answer, state, messages, outcome] of [
    ['message, message', visible, https, 'answered', ['by https'], 'answered'],
    ['defer, message', defer, https, 'answered', ['by https'], 'answered'],
    ['message, defer', visible, defer, 'deferred', [], 'deferred'],
    ['defer, defer', defer, defer, 'deferred', [], 'deferred'],
    ['message, hidden message', visible, secretHttps, 'answered', [], 'answered'],
  ] as const)
    it(`the HTTPS answer is applied while a callback is on its way, which loses: ${name}`, async () => {
      scene.endpoint.answer(reply(200, answer));
      const id = await scene.use();
      // The callback found the interaction unanswered; the HTTPS answer comes just before its write.
      around(scene.api.platform.db.interactions.collection, 'findOneAndUpdate', async (real) => {
        await scene.post(id);
        return real();
      });
      const late = await scene.send('callback', id, callback);
      expect([late.status, late.body.code]).to.deep.equal([409, 'already_answered']);
      expect(await scene.answersTo(id)).to.deep.equal(messages);
      expect((await scene.stored(id)).state).to.equal(state);
      expect(await scene.told(id)).to.deep.equal([...hiddenBy(answer), state]);
      expect(await scene.logged(id)).to.deep.equal([200, outcome, null]);
    });

  it('both at the same moment: exactly one message, and the loser is told (40 rounds)', async () => {
    const wins = { callback: 0, https: 0 };
    for (let round = 0; round < 40; round++) {
      const calls: Promise<number>[] = [];
      scene.endpoint.answer((received, response) => {
        const call = async (): Promise<number> => (await scene.send('callback', String(received.json.id), visible)).status;
        if (round % 2) calls.push(call());
        reply(200, https)(received, response);
        if (round % 2 === 0) calls.push(call());
      });
      const id = await scene.use();
      await scene.post(id);
      const [status] = await Promise.all(calls);
      const won = status === 201 ? 'callback' : 'https';
      wins[won]++;
      expect(await scene.answersTo(id)).to.deep.equal([`by ${won}`]);
      expect(await scene.logged(id)).to.deep.equal([200, ...(won === 'https' ? ['answered', null] : ['failed', alreadyAnswered])]);
      expect(await scene.told(id)).to.deep.equal(['answered']);
    }
  });

  describe('an answer that comes as the 3 seconds end is not applied', () => {
    const enders: Record<string, (id: string) => Promise<unknown>> = {
      'the expire job ended it': (id) => expireInteractionJob(scene.worker, { interactionId: id }),
      'the sweep ended it': () => sweepInteractions(scene.worker),
      'a late callback ended it': (id) => scene.send('callback', id, visible),
      'the answer itself ends it': () => Promise.resolve(),
    };
    for (const [name, end] of Object.entries(enders))
      for (const answer of [https, defer, secretHttps])
        it(`${name}: ${JSON.stringify(answer)}`, async () => {
          scene.endpoint.answer(
            replyAfter(async (id) => {
              await scene.age(id, 3_000);
              await end(id);
            }, answer),
          );
          const id = await scene.use();
          await scene.post(id);
          expect((await scene.stored(id)).state).to.equal('expired');
          expect(await scene.answersTo(id)).to.deep.equal([]);
          const [status, outcome, reason] = (await scene.logged(id)) ?? [];
          expect([status, outcome]).to.deep.equal([200, 'failed']);
          expect(reason).to.match(/^interaction_expired: /);
          await handlers['relay-interaction'](scene.worker, { interactionId: id });
          await scene.heardStates(id);
          await sweepInteractions(scene.worker);
          expect(await scene.heardStates(id)).to.deep.equal(['expired']);
        });
  });

  it('two workers, their queues and the sweep at once: one request each (100 rounds)', async () => {
    const { config } = scene.api.platform;
    const other = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
    const consumers = [scene.worker, other].map((worker) => worker.consume(handlers, () => undefined));
    const known = scene.endpoint.received.length;
    scene.endpoint.answer(reply(200, https));
    const ids: string[] = [];
    try {
      for (let round = 0; round < 100; round++) {
        const id = await scene.use();
        ids.push(id);
        if (round % 2) await scene.age(id, 600); // old enough for the sweep to take it up
        const run = async (worker: typeof other): Promise<void> => (await postInteractionJob(worker, { interactionId: id }))?.();
        await Promise.all([run(scene.worker), run(other), sweepUnposted(scene.worker), run(other), sweepUnposted(other)]);
      }
      await until(async () => (await Promise.all(ids.map((id) => scene.stored(id)))).every(({ delivery }) => delivery), 'all outcomes');
    } finally {
      await Promise.all(consumers.map((one) => one.close()));
      await other.close();
    }
    expect(scene.posted().slice(known).sort()).to.deep.equal(ids.sort());
    for (const id of ids) expect(await scene.answersTo(id)).to.deep.equal(['by https']);
  });
});
