import { expect } from 'chai';
import { expireUnanswered, sweepInteractions } from '../../lib/domain/jobs/interactions.ts';
import type { Answer } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import { startInteractionFixture } from '../harness/interaction-fixture.ts';
import { use } from '../harness/use.ts';

const minutes = 60_000;

describe('Interaction: states and transitions', () => {
  const fixture = use(startInteractionFixture);

  const answered = async (): Promise<string> => {
    const id = await fixture.use();
    expect((await fixture.send('callback', id, { type: 'message', content: 'answer' })).status).to.equal(201);
    return id;
  };
  const deferred = async (): Promise<string> => {
    const id = await fixture.use();
    expect((await fixture.send('callback', id, { type: 'defer' })).status).to.equal(204);
    return id;
  };
  /** Expects that a request is refused with this status and code, and that it changes nothing. */
  const expectRefused = (request: () => Promise<Answer>, status: number, code: string, about = ''): Promise<void> =>
    fixture.expectNoChange(async () => expectError(await request(), status, code, about));

  const view = async (id: string): Promise<Record<string, unknown>> =>
    (await fixture.api.call('GET', `/api/interactions/${id}`, { as: fixture.asPerson })).body;

  describe('created', () => {
    it('callback message → answered: the message is posted with the line that names the command', async () => {
      const id = await fixture.use();
      const { status, body } = await fixture.send('callback', id, { type: 'message', content: 'hi <@1>' });
      expect(status).to.equal(201);
      const author = (await fixture.api.platform.db.accounts.findOne({ _id: fixture.seeded.ownerId })) ?? expect.fail();
      const { username, displayName, avatarUrl } = author;
      expect(body).to.deep.include({
        channelId: fixture.channelId,
        content: 'hi <@1>',
        interaction: { user: { id: fixture.seeded.ownerId, username, displayName, avatarUrl }, name: 'hello' },
      });
      expect(body.author).to.include({ id: fixture.bot.id, tag: 'bot' });
      expect(body).not.to.have.property('ephemeral');
      const { state, messageId, openedAt, answer, outbox } = await fixture.stored(id);
      expect([state, messageId, answer]).to.deep.equal(['answered', body.id, undefined]);
      expect(openedAt).to.be.instanceOf(Date);
      expect(outbox?.at(-1)).to.deep.include({ name: 'INTERACTION_UPDATE', data: { id, channelId: fixture.channelId, state: 'answered' } });
      const read = await fixture.api.call('GET', `/api/channels/${fixture.channelId}/messages/${String(body.id)}`, {
        as: fixture.asPerson,
      });
      expect(read.body).to.deep.equal(body);
    });

    it('callback defer → deferred: nothing is posted, content is ignored', async () => {
      const id = await fixture.use();
      const before = await fixture.messages();
      const { status, body } = await fixture.send('callback', id, { type: 'defer', content: 'ignored' });
      expect([status, body]).to.deep.equal([204, undefined]);
      const { state, messageId, outbox } = await fixture.stored(id);
      expect([state, messageId]).to.deep.equal(['deferred', null]);
      expect(outbox?.at(-1)?.data).to.deep.equal({ id, channelId: fixture.channelId, state: 'deferred' });
      expect(await fixture.messages()).to.deep.equal(before);
    });

    it('no answer → expired, by the late callback itself', async () => {
      const id = await fixture.use();
      await fixture.age(id, 3_000);
      expectError(await fixture.send('callback', id, { type: 'defer' }), 410, 'interaction_expired');
      const { state, openedAt, outbox } = await fixture.stored(id);
      expect([state, openedAt]).to.deep.equal(['expired', null]);
      expect(outbox?.at(-1)?.data).to.deep.equal({ id, channelId: fixture.channelId, state: 'expired' });
    });

    const triggers: [by: string, trigger: (id: string) => Promise<unknown>][] = [
      ['its job', (id) => expireUnanswered(fixture.worker, id)],
      ['the sweep', () => sweepInteractions(fixture.worker)],
      ['the person’s own read', view],
    ];
    for (const [by, trigger] of triggers)
      it(`no answer → expired after 3 s, by ${by}`, async () => {
        const id = await fixture.use();
        await fixture.age(id, 2_000); // the rest is for a slow machine
        await trigger(id);
        expect((await fixture.stored(id)).state).to.equal('created');
        await fixture.age(id, 3_000);
        await trigger(id);
        expect((await fixture.stored(id)).state).to.equal('expired'); // before the read below, which would expire it too
        expect((await view(id)).state).to.equal('expired');
      });
  });

  describe('deferred', () => {
    it('first follow-up → answered: its message is the answer', async () => {
      const id = await deferred();
      const { openedAt } = await fixture.stored(id);
      const { status, body } = await fixture.send('followup', id, { content: 'real' });
      expect(status).to.equal(201);
      const after = await fixture.stored(id);
      expect([after.state, after.messageId, after.answer]).to.deep.equal(['answered', body.id, undefined]);
      expect(after.openedAt).to.deep.equal(openedAt); // follow-ups do not extend the 15 minutes
      expect(after.outbox?.at(-1)?.data).to.deep.include({ state: 'answered' });
    });

    it('second follow-up → unchanged: it posts one more message, and the first stays the answer', async () => {
      const id = await deferred();
      const first = await fixture.send('followup', id, { content: 'first' });
      const before = await fixture.stored(id);
      const second = await fixture.send('followup', id, { content: 'second' });
      expect(second.status).to.equal(201);
      expect(await fixture.stored(id)).to.deep.equal(before);
      const posted = (await fixture.messages()).filter(({ interaction }) => interaction?.id === id).map(({ _id }) => _id);
      expect(posted).to.deep.equal([first.body.id, second.body.id]);
    });

    it('follow-ups are accepted for less than 15 minutes after the defer', async () => {
      const [early, late] = [await deferred(), await deferred()];
      await fixture.age(early, 14 * minutes, 'openedAt');
      await fixture.age(early, 20 * minutes); // its creation does not matter
      await fixture.age(late, 15 * minutes, 'openedAt');
      expect((await fixture.send('followup', early, { content: 'x' })).status).to.equal(201);
      await expectRefused(() => fixture.send('followup', late, { content: 'x' }), 410, 'interaction_expired');
    });
  });

  for (const [state, open] of [
    ['deferred', deferred],
    ['answered', answered],
  ] as const) {
    it(`${state}: neither jobs nor a read expire it, however late`, async () => {
      const id = await open();
      for (const ms of [4_000, 16 * minutes]) {
        await fixture.age(id, ms);
        await fixture.age(id, ms, 'openedAt');
        await fixture.expectNoChange(async () => {
          expect(await expireUnanswered(fixture.worker, id)).to.equal(null);
          expect((await view(id)).state).to.equal(state);
        });
        await sweepInteractions(fixture.worker);
        expect((await fixture.stored(id)).state).to.equal(state);
      }
    });

    it(`${state}: another callback is refused at once, after 3 s and after 15 minutes: 409 already_answered`, async () => {
      const id = await open();
      for (const ms of [0, 4_000, 16 * minutes]) {
        await fixture.age(id, ms);
        await fixture.age(id, ms, 'openedAt');
        for (const type of ['message', 'defer'])
          await expectRefused(() => fixture.send('callback', id, { type, content: 'x' }), 409, 'already_answered', `${type}, ${ms} ms`);
      }
    });
  }

  it('expired: a follow-up after 3 s expires it', async () => {
    const id = await fixture.use();
    await fixture.age(id, 3_000);
    expectError(await fixture.send('followup', id, { content: 'x' }), 410, 'interaction_expired');
    expect((await fixture.stored(id)).state).to.equal('expired');
  });
});
