import { expect } from 'chai';
import { expireUnanswered, sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';

describe('Interaction: races', () => {
  const fixture = use(startInteractionFixture);

  const messagesOf = async (id: string): Promise<string[]> =>
    (await fixture.messages()).filter(({ interaction }) => interaction?.id === id).map(({ _id }) => _id);
  /** Runs the expire job as the queue does: repeats it when it runs early. */
  const expire = async (id: string): Promise<void> => {
    while ((await expireUnanswered(fixture.worker, id)) !== null);
  };

  it('one of 6 parallel callbacks wins, the others get already_answered (20 rounds)', async () => {
    const bodies = [
      { type: 'message', content: 'a' },
      { type: 'defer' },
      { type: 'message', content: 'b', ephemeral: true },
      { type: 'message', content: 'c' },
      { type: 'defer', ephemeral: true },
      { type: 'message', embeds: [{ title: 'd' }] },
    ];
    for (let round = 0; round < 20; round++) {
      const id = await fixture.use();
      const order = [...bodies.slice(round % 6), ...bodies.slice(0, round % 6)];
      const answers = await Promise.all(order.map((body) => fixture.send('callback', id, body)));
      const winners = order.filter((_, at) => (answers[at]?.status ?? 500) < 300);
      expect(winners, JSON.stringify(answers.map(({ status }) => status))).to.have.length(1);
      const losers = answers.filter(({ status }) => status >= 300).map(({ body }) => body.code);
      expect(losers).to.deep.equal(Array.from({ length: 5 }, () => 'already_answered'));
      const state = winners[0]?.type === 'defer' ? 'deferred' : 'answered';
      const received = await fixture.relayedStates(id);
      expect(received.filter((one) => !one.startsWith('hidden: '))).to.deep.equal([state]);
      const stored = await fixture.stored(id);
      expect(stored.state).to.equal(state);
      expect(await messagesOf(id)).to.deep.equal(stored.messageId === null ? [] : [stored.messageId]);
      const shown = winners[0]?.type === 'message' && winners[0].ephemeral !== true;
      expect(stored.messageId !== null).to.equal(shown);
    }
  });

  it('a callback at 3.0 s is either answered with its message or expired without one (100 rounds)', async () => {
    for (let round = 0; round < 100; round++) {
      const id = await fixture.use();
      // The time left when both start: none, plenty, or so little that either may win.
      const left = round % 10 === 0 ? 0 : round % 10 === 1 ? 1_000 : round % 20;
      await fixture.age(id, 3_000 - left);
      const callback = fixture.send('callback', id, { type: 'message', content: String(round) });
      const expiry = round % 10 < 2 ? callback.then(() => expire(id)) : expire(id);
      const [answer] = await Promise.all([callback, expiry, round % 3 ? undefined : sweepInteractions(fixture.worker)]);
      const { state, messageId } = await fixture.stored(id);
      if (round % 10 === 0) expect(state).to.equal('expired');
      if (round % 10 === 1) expect(state).to.equal('answered');
      if (state === 'answered') {
        expect(answer.status).to.equal(201);
        expect(await messagesOf(id)).to.deep.equal([messageId]);
      } else {
        expect([state, answer.status, answer.body.code]).to.deep.equal(['expired', 410, 'interaction_expired']);
        expect(await messagesOf(id)).to.deep.equal([]);
      }
      expect(await fixture.relayedStates(id)).to.deep.equal([state]);
    }
  });

  it('parallel expire jobs and a late callback expire the interaction once', async () => {
    for (let round = 0; round < 10; round++) {
      const id = await fixture.use();
      await fixture.age(id, 3_000);
      const [, , late] = await Promise.all([expire(id), expire(id), fixture.send('callback', id, { type: 'defer' }), expire(id)]);
      expect(late.body.code).to.equal('interaction_expired');
      expect(await fixture.relayedStates(id)).to.deep.equal(['expired']);
    }
  });

  it('4 parallel follow-ups after a defer are all posted, and exactly one is the answer (20 rounds)', async () => {
    for (let round = 0; round < 20; round++) {
      const id = await fixture.use();
      await fixture.send('callback', id, { type: 'defer' });
      const answers = await Promise.all(['a', 'b', 'c', 'd'].map((content) => fixture.send('followup', id, { content })));
      expect(answers.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201]);
      const ids = answers.map(({ body }) => String(body.id));
      expect((await messagesOf(id)).sort()).to.deep.equal([...ids].sort());
      const { messageId, state } = await fixture.stored(id);
      expect(state).to.equal('answered');
      expect(ids).to.include(messageId);
      expect(await fixture.relayedStates(id)).to.deep.equal(['deferred', 'answered']);
    }
  });
});
