import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { postInteraction } from '../../lib/domain/jobs/endpoint-delivery.ts';
import { expireUnanswered, sweepInteractions, sweepUnposted } from '../../lib/domain/jobs/interactions.ts';
import { openWorkerPlatform } from '../../lib/store/platform.ts';
import { handlers } from '../../workers/handlers.ts';
import { type Answering, reply } from '../harness/endpoint.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { use } from '../harness/use.ts';
import { startRaceFixture } from './race-fixture.ts';

const alreadyAnswered = 'already_answered: This interaction has already been answered. Send a follow-up instead.';

describe('Interactions Endpoint: races between answers', () => {
  const fixture = use(startRaceFixture);

  /** Answers with 200 and `body` after `before`, so that `before` always wins. */
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
  /** The ephemeral message that the person receives with an answer. */
  const ephemeralOf = (body: { type: string; content?: string; ephemeral?: boolean }): string[] =>
    body.ephemeral ? [`hidden: ${body.content}`] : [];

  for (const [name, callback, answer, state, messages] of [
    ['message, message', visible, https, 'answered', ['by callback']],
    ['message, defer', visible, defer, 'answered', ['by callback']],
    ['hidden message, message', secret, https, 'answered', []],
    ['message, hidden message', visible, secretHttps, 'answered', ['by callback']],
    ['defer, message', defer, https, 'deferred', []],
    ['defer, defer', defer, defer, 'deferred', []],
  ] as const)
    it(`a callback wins over a later HTTPS answer: ${name}`, async () => {
      let status = 0;
      fixture.endpoint.answer(
        replyAfter(async (id) => {
          status = (await fixture.send('callback', id, callback)).status;
        }, answer),
      );
      const id = await fixture.use();
      await fixture.post(id);
      expect(status).to.equal(callback.type === 'defer' ? 204 : 201);
      expect(await fixture.answersTo(id)).to.deep.equal(messages);
      expect((await fixture.stored(id)).state).to.equal(state);
      expect(await fixture.relayedStates(id)).to.deep.equal([...ephemeralOf(callback), state]);
      expect(await fixture.logged(id)).to.deep.equal([200, 'failed', alreadyAnswered]);
    });

  for (const [name, callback, answer, state, messages, outcome] of [
    ['message, message', visible, https, 'answered', ['by https'], 'answered'],
    ['defer, message', defer, https, 'answered', ['by https'], 'answered'],
    ['message, defer', visible, defer, 'deferred', [], 'deferred'],
    ['defer, defer', defer, defer, 'deferred', [], 'deferred'],
    ['message, hidden message', visible, secretHttps, 'answered', [], 'answered'],
  ] as const)
    it(`an HTTPS answer wins over a callback that writes later: ${name}`, async () => {
      fixture.endpoint.answer(reply(200, answer));
      const id = await fixture.use();
      // The callback has read the interaction as unanswered. The HTTPS answer is applied just before its write.
      interceptNext(fixture.api.platform.db.interactions, 'findOneAndUpdate', async (real) => {
        await fixture.post(id);
        return real();
      });
      const late = await fixture.send('callback', id, callback);
      expect([late.status, late.body.code]).to.deep.equal([409, 'already_answered']);
      expect(await fixture.answersTo(id)).to.deep.equal(messages);
      expect((await fixture.stored(id)).state).to.equal(state);
      expect(await fixture.relayedStates(id)).to.deep.equal([...ephemeralOf(answer), state]);
      expect(await fixture.logged(id)).to.deep.equal([200, outcome, null]);
    });

  it('exactly one of two parallel answers is posted, and the other is refused (40 rounds)', async () => {
    const wins = { callback: 0, https: 0 };
    for (let round = 0; round < 40; round++) {
      const calls: Promise<number>[] = [];
      fixture.endpoint.answer((received, response) => {
        const call = async (): Promise<number> => (await fixture.send('callback', String(received.json.id), visible)).status;
        if (round % 2) calls.push(call());
        reply(200, https)(received, response);
        if (round % 2 === 0) calls.push(call());
      });
      const id = await fixture.use();
      await fixture.post(id);
      const [status] = await Promise.all(calls);
      const won = status === 201 ? 'callback' : 'https';
      wins[won]++;
      expect(await fixture.answersTo(id)).to.deep.equal([`by ${won}`]);
      expect(await fixture.logged(id)).to.deep.equal([200, ...(won === 'https' ? ['answered', null] : ['failed', alreadyAnswered])]);
      expect(await fixture.relayedStates(id)).to.deep.equal(['answered']);
    }
  });

  describe('does not apply an answer after the 3 seconds', () => {
    const expireWays: Record<string, (id: string) => Promise<unknown>> = {
      'expired by the job': (id) => expireUnanswered(fixture.worker, id),
      'expired by the sweep': () => sweepInteractions(fixture.worker),
      'expired by a late callback': (id) => fixture.send('callback', id, visible),
      'expired by the answer itself': () => Promise.resolve(),
    };
    for (const [name, end] of Object.entries(expireWays))
      for (const answer of [https, defer, secretHttps])
        it(`${name}: ${JSON.stringify(answer)}`, async () => {
          fixture.endpoint.answer(
            replyAfter(async (id) => {
              await fixture.age(id, 3_000);
              await end(id);
            }, answer),
          );
          const id = await fixture.use();
          await fixture.post(id);
          expect((await fixture.stored(id)).state).to.equal('expired');
          expect(await fixture.answersTo(id)).to.deep.equal([]);
          const [status, outcome, reason] = (await fixture.logged(id)) ?? [];
          expect([status, outcome]).to.deep.equal([200, 'failed']);
          expect(reason).to.match(/^interaction_expired: /);
          await handlers['relay-interaction'](fixture.worker, { interactionId: id });
          await fixture.receivedStates(id);
          await sweepInteractions(fixture.worker);
          expect(await fixture.receivedStates(id)).to.deep.equal(['expired']);
        });
  });

  it('two workers with their queues and sweeps send one request per interaction (100 rounds)', async () => {
    const { config } = fixture.api.platform;
    const other = await openWorkerPlatform(config, createLog('test', config.LOG_LEVEL));
    const consumers = [fixture.worker, other].map((worker) => worker.startConsumers(handlers, () => undefined));
    const known = fixture.endpoint.received.length;
    fixture.endpoint.answer(reply(200, https));
    const ids: string[] = [];
    try {
      for (let round = 0; round < 100; round++) {
        const id = await fixture.use();
        ids.push(id);
        if (round % 2) await fixture.age(id, 600); // old enough for the sweep
        const run = async (worker: typeof other): Promise<void> => (await postInteraction(worker, id))?.();
        await Promise.all([run(fixture.worker), run(other), sweepUnposted(fixture.worker), run(other), sweepUnposted(other)]);
      }
      await waitUntil(
        async () => (await Promise.all(ids.map((id) => fixture.stored(id)))).every(({ delivery }) => delivery),
        'all outcomes',
      );
    } finally {
      await Promise.all(consumers.map((one) => one.close()));
      await other.close();
    }
    expect(fixture.posted().slice(known).sort()).to.deep.equal(ids.sort());
    for (const id of ids) expect(await fixture.answersTo(id)).to.deep.equal(['by https']);
  });
});
