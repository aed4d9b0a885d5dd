import { expect } from 'chai';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { Later } from '../../lib/store/queue/queue.ts';
import { expireInteractionJob } from '../../workers/expire-interaction.ts';
import { type Scene, startScene } from '../harness/scene.ts';

describe('Interaction: races have one outcome', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const messagesOf = async (id: string): Promise<string[]> =>
    (await scene.messages()).filter(({ interaction }) => interaction?.id === id).map(({ _id }) => _id);
  /** The expire job as the queue runs it: fired early, it comes again. */
  const expire = async (id: string): Promise<void> => {
    for (;;)
      try {
        return await expireInteractionJob(scene.worker, { interactionId: id });
      } catch (error) {
        if (!(error instanceof Later)) throw error;
      }
  };

  it('callbacks at once: one wins, the others are already_answered (20 rounds of 6)', async () => {
    const bodies = [
      { type: 'message', content: 'a' },
      { type: 'defer' },
      { type: 'message', content: 'b', ephemeral: true },
      { type: 'message', content: 'c' },
      { type: 'defer', ephemeral: true },
      { type: 'message', embeds: [{ title: 'd' }] },
    ];
    for (let round = 0; round < 20; round++) {
      const id = await scene.use();
      const turn = [...bodies.slice(round % 6), ...bodies.slice(0, round % 6)];
      const answers = await Promise.all(turn.map((body) => scene.send('callback', id, body)));
      const winners = turn.filter((_, at) => (answers[at]?.status ?? 500) < 300);
      expect(winners, JSON.stringify(answers.map(({ status }) => status))).to.have.length(1);
      const losers = answers.filter(({ status }) => status >= 300).map(({ body }) => body.code);
      expect(losers).to.deep.equal(Array.from({ length: 5 }, () => 'already_answered'));
      const state = winners[0]?.type === 'defer' ? 'deferred' : 'answered';
      const told = await scene.told(id);
      expect(told.filter((one) => !one.startsWith('hidden: '))).to.deep.equal([state]);
      const stored = await scene.stored(id);
      expect(stored.state).to.equal(state);
      expect(await messagesOf(id)).to.deep.equal(stored.messageId === null ? [] : [stored.messageId]);
      const shown = winners[0]?.type === 'message' && winners[0].ephemeral !== true;
      expect(stored.messageId !== null).to.equal(shown);
    }
  });

  it('callback against expiry at 3.0 s: answered with its message, or expired with none (100 rounds)', async () => {
    for (let round = 0; round < 100; round++) {
      const id = await scene.use();
      // So much is left when both set out: none, plenty, or so little that either may win.
      const left = round % 10 === 0 ? 0 : round % 10 === 1 ? 1_000 : round % 20;
      await scene.api.platform.db.interactions.collection.updateOne({ _id: id as never }, [
        { $set: { createdAt: { $subtract: ['$$NOW', 3_000 - left] } } },
      ]);
      const callback = scene.send('callback', id, { type: 'message', content: String(round) });
      const expiry = round % 10 < 2 ? callback.then(() => expire(id)) : expire(id);
      const [answer] = await Promise.all([callback, expiry, round % 3 ? undefined : sweepInteractions(scene.worker)]);
      const { state, messageId } = await scene.stored(id);
      if (round % 10 === 0) expect(state).to.equal('expired');
      if (round % 10 === 1) expect(state).to.equal('answered');
      if (state === 'answered') {
        expect(answer.status).to.equal(201);
        expect(await messagesOf(id)).to.deep.equal([messageId]);
      } else {
        expect([state, answer.status, answer.body.code]).to.deep.equal(['expired', 410, 'interaction_expired']);
        expect(await messagesOf(id)).to.deep.equal([]);
      }
      expect(await scene.told(id)).to.deep.equal([state]);
    }
  });

  it('expire jobs, sweep and a late callback at once: expired once', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await scene.use();
      await scene.age(id, 3_000);
      const [, , late] = await Promise.all([expire(id), expire(id), scene.send('callback', id, { type: 'defer' }), expire(id)]);
      expect(late.body.code).to.equal('interaction_expired');
      expect(await scene.told(id)).to.deep.equal(['expired']);
    }
  });

  it('follow-ups at once after a defer: all are posted, exactly one is the answer (20 rounds of 4)', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await scene.use();
      await scene.send('callback', id, { type: 'defer' });
      const answers = await Promise.all(['a', 'b', 'c', 'd'].map((content) => scene.send('followup', id, { content })));
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201]);
      const ids = answers.map(({ body }) => String(body.id));
      expect((await messagesOf(id)).sort()).to.deep.equal([...ids].sort());
      const { messageId, state } = await scene.stored(id);
      expect(state).to.equal('answered');
      expect(ids).to.include(messageId);
      expect(await scene.told(id)).to.deep.equal(['deferred', 'answered']);
    }
  });
});
