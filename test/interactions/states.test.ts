import { expect } from 'chai';
import { expireUnanswered } from '../../lib/domain/interactions/interaction-outbox.ts';
import { sweepInteractions } from '../../lib/domain/interactions/interaction-sweeps.ts';
import { type Scene, startScene } from '../harness/scene.ts';

const minutes = 60_000;

describe('Interaction: states and transitions', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const told = ({ status, body }: { status: number; body: Record<string, unknown> | undefined }) => [status, body?.code];
  const answered = async (): Promise<string> => {
    const id = await scene.use();
    expect((await scene.send('callback', id, { type: 'message', content: 'answer' })).status).to.equal(201);
    return id;
  };
  const deferred = async (body: object = {}): Promise<string> => {
    const id = await scene.use();
    expect((await scene.send('callback', id, { type: 'defer', ...body })).status).to.equal(204);
    return id;
  };
  const expired = async (): Promise<string> => {
    const id = await scene.use();
    await scene.age(id, 3_000);
    expect(told(await scene.send('callback', id, { type: 'defer' }))).to.deep.equal([410, 'interaction_expired']);
    return id;
  };
  /** Runs `act` and expects that nothing of the interaction or the channel changed. */
  const unchanged = async (id: string, act: () => Promise<unknown>): Promise<void> => {
    const before = JSON.stringify([await scene.stored(id), await scene.messages()]);
    await act();
    expect(JSON.stringify([await scene.stored(id), await scene.messages()])).to.equal(before);
  };

  /** Neither jobs nor a look at it end an interaction that was answered or deferred, however late. */
  const neverExpires = async (open: () => Promise<string>): Promise<void> => {
    const id = await open();
    const { state } = await scene.stored(id);
    for (const ms of [4_000, 16 * minutes]) {
      await scene.age(id, ms);
      await scene.age(id, ms, 'openedAt');
      await unchanged(id, async () => {
        expect(await expireUnanswered(scene.worker, id)).to.equal(null);
        expect((await view(id)).state).to.equal(state);
      });
      await sweepInteractions(scene.worker);
      expect((await scene.stored(id)).state).to.equal(state);
    }
  };
  const view = async (id: string): Promise<Record<string, unknown>> =>
    (await scene.api.call('GET', `/api/interactions/${id}`, { as: scene.asPerson })).body;

  describe('created', () => {
    it('callback message → answered: the message stands with the line that names the command', async () => {
      const id = await scene.use();
      const { status, body } = await scene.send('callback', id, { type: 'message', content: 'hi <@1>' });
      expect(status).to.equal(201);
      const author = (await scene.api.platform.db.accounts.findOne({ _id: scene.world.ownerId }).lean()) ?? expect.fail();
      const { username, displayName, avatarUrl } = author;
      expect(body).to.deep.include({
        channelId: scene.channelId,
        content: 'hi <@1>',
        interaction: { user: { id: scene.world.ownerId, username, displayName, avatarUrl }, name: 'hello' },
      });
      expect(body.author).to.include({ id: scene.bot.id, tag: 'bot' });
      expect(body).not.to.have.property('ephemeral');
      const { state, messageId, openedAt, answer, ob } = await scene.stored(id);
      expect([state, messageId, answer]).to.deep.equal(['answered', body.id, undefined]);
      expect(openedAt).to.be.instanceOf(Date);
      expect(ob?.at(-1)).to.deep.include({ name: 'INTERACTION_UPDATE', data: { id, channelId: scene.channelId, state: 'answered' } });
      const read = await scene.api.call('GET', `/api/channels/${scene.channelId}/messages/${String(body.id)}`, { as: scene.asPerson });
      expect(read.body).to.deep.equal(body);
    });

    it('callback defer → deferred: nothing is posted, content is ignored', async () => {
      const id = await scene.use();
      const before = await scene.messages();
      const { status, body } = await scene.send('callback', id, { type: 'defer', content: 'ignored' });
      expect([status, body]).to.deep.equal([204, undefined]);
      const { state, messageId, ob } = await scene.stored(id);
      expect([state, messageId]).to.deep.equal(['deferred', null]);
      expect(ob?.at(-1)?.data).to.deep.equal({ id, channelId: scene.channelId, state: 'deferred' });
      expect(await scene.messages()).to.deep.equal(before);
    });

    it('no answer → expired, by the late callback itself', async () => {
      const id = await expired();
      const { state, openedAt, ob } = await scene.stored(id);
      expect([state, openedAt]).to.deep.equal(['expired', null]);
      expect(ob?.at(-1)?.data).to.deep.equal({ id, channelId: scene.channelId, state: 'expired' });
    });

    const looks: [by: string, look: (id: string) => Promise<unknown>][] = [
      ['its job', (id) => expireUnanswered(scene.worker, id)],
      ['the sweep', () => sweepInteractions(scene.worker)],
      ['the person’s own look', view],
    ];
    for (const [by, look] of looks)
      it(`no answer → expired, by ${by}; before 3 s it is not`, async () => {
        const id = await scene.use();
        await scene.age(id, 2_000); // the rest is for a slow machine
        await look(id);
        expect((await scene.stored(id)).state).to.equal('created');
        await scene.age(id, 3_000);
        await look(id);
        expect((await scene.stored(id)).state).to.equal('expired'); // before the next look, which would end it itself
        expect((await view(id)).state).to.equal('expired');
      });

    it('within 3 s is accepted, at 3 s refused', async () => {
      const [early, late] = [await scene.use(), await scene.use()];
      await scene.age(late, 3_000);
      expect(told(await scene.send('callback', late, { type: 'message', content: 'x' }))).to.deep.equal([410, 'interaction_expired']);
      await scene.age(early, 2_000); // the rest is for a slow machine
      expect((await scene.send('callback', early, { type: 'message', content: 'x' })).status).to.equal(201);
    });

    it('a follow-up is refused: 400 not_answered', async () => {
      const id = await scene.use();
      await unchanged(id, async () =>
        expect(told(await scene.send('followup', id, { content: 'x' }))).to.deep.equal([400, 'not_answered']),
      );
    });
  });

  describe('deferred', () => {
    it('first follow-up → answered: it is the answer', async () => {
      const id = await deferred();
      const { openedAt } = await scene.stored(id);
      const { status, body } = await scene.send('followup', id, { content: 'real' });
      expect(status).to.equal(201);
      const after = await scene.stored(id);
      expect([after.state, after.messageId, after.answer]).to.deep.equal(['answered', body.id, undefined]);
      expect(after.openedAt).to.deep.equal(openedAt); // follow-ups do not extend the 15 minutes
      expect(after.ob?.at(-1)?.data).to.deep.include({ state: 'answered' });
    });

    it('a second follow-up → unchanged: it is one more message, the first stays the answer', async () => {
      const id = await deferred();
      const first = await scene.send('followup', id, { content: 'first' });
      const before = await scene.stored(id);
      const second = await scene.send('followup', id, { content: 'second' });
      expect(second.status).to.equal(201);
      expect(await scene.stored(id)).to.deep.equal(before);
      const posted = (await scene.messages()).filter(({ interaction }) => interaction?.id === id).map(({ _id }) => _id);
      expect(posted).to.deep.equal([first.body.id, second.body.id]);
    });

    it('it never expires', () => neverExpires(deferred));

    it('the 15 minutes run from the defer: 14 are accepted, 15 refused', async () => {
      const [early, late] = [await deferred(), await deferred()];
      await scene.age(early, 14 * minutes, 'openedAt');
      await scene.age(early, 20 * minutes); // its creation does not matter
      await scene.age(late, 15 * minutes, 'openedAt');
      expect((await scene.send('followup', early, { content: 'x' })).status).to.equal(201);
      await unchanged(late, async () =>
        expect(told(await scene.send('followup', late, { content: 'x' }))).to.deep.equal([410, 'interaction_expired']),
      );
    });

    for (const type of ['message', 'defer'])
      for (const [when, ms] of [
        ['at once', 0],
        ['after 3 s', 4_000],
        ['after 15 minutes', 16 * minutes],
      ] as const)
        it(`another callback ${type} ${when} is refused: 409 already_answered`, async () => {
          const id = await deferred();
          await scene.age(id, ms);
          await scene.age(id, ms, 'openedAt');
          await unchanged(id, async () =>
            expect(told(await scene.send('callback', id, { type, content: 'x' }))).to.deep.equal([409, 'already_answered']),
          );
        });
  });

  describe('answered', () => {
    it('follow-ups post more messages, the state stays', async () => {
      const id = await answered();
      const before = await scene.stored(id);
      const posted = await Promise.all(['a', 'b'].map((content) => scene.send('followup', id, { content })));
      expect(posted.map(({ status }) => status)).to.deep.equal([201, 201]);
      expect(await scene.stored(id)).to.deep.equal(before);
      const ids = (await scene.messages()).map((message) => message._id);
      for (const { body } of posted) expect(ids).to.include(body.id);
      expect(posted[0]?.body.interaction).to.deep.include({ name: 'hello' });
    });

    it('by an ephemeral message too: another callback is refused, follow-ups are taken', async () => {
      const id = await scene.use();
      expect((await scene.send('callback', id, { type: 'message', content: 'x', ephemeral: true })).status).to.equal(201);
      await unchanged(id, async () =>
        expect(told(await scene.send('callback', id, { type: 'message', content: 'x' }))).to.deep.equal([409, 'already_answered']),
      );
      expect((await scene.send('followup', id, { content: 'x' })).status).to.equal(201);
      expect(await scene.stored(id)).to.include({ state: 'answered', messageId: null });
    });

    it('it never expires', () => neverExpires(answered));

    it('15 minutes from the answer follow-ups are refused: 410 interaction_expired', async () => {
      const id = await answered();
      await scene.age(id, 15 * minutes, 'openedAt');
      for (const ephemeral of [true, false])
        await unchanged(id, async () =>
          expect(told(await scene.send('followup', id, { content: 'x', ephemeral }))).to.deep.equal([410, 'interaction_expired']),
        );
    });

    for (const type of ['message', 'defer'])
      for (const ms of [0, 4_000, 16 * minutes])
        it(`another callback ${type} after ${ms / 1000} s is refused: 409 already_answered`, async () => {
          const id = await answered();
          await scene.age(id, ms);
          await scene.age(id, ms, 'openedAt');
          await unchanged(id, async () =>
            expect(told(await scene.send('callback', id, { type, content: 'x' }))).to.deep.equal([409, 'already_answered']),
          );
        });
  });

  describe('expired', () => {
    const sends: ['callback' | 'followup', object][] = [
      ['callback', { type: 'message', content: 'x' }],
      ['callback', { type: 'defer' }],
      ['followup', { content: 'x' }],
    ];
    for (const [route, body] of sends)
      it(`${route} ${JSON.stringify(body)} is refused: 410 interaction_expired`, async () => {
        const id = await expired();
        await unchanged(id, async () => expect(told(await scene.send(route, id, body))).to.deep.equal([410, 'interaction_expired']));
      });

    it('a follow-up that finds it past its time ends it', async () => {
      const id = await scene.use();
      await scene.age(id, 3_000);
      expect(told(await scene.send('followup', id, { content: 'x' }))).to.deep.equal([410, 'interaction_expired']);
      expect((await scene.stored(id)).state).to.equal('expired');
    });
  });
});
