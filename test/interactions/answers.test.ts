import { expect } from 'chai';
import { relay } from '../../lib/domain/events/relay.ts';
import { type Scene, startScene, until } from '../harness/scene.ts';

describe('Interaction: answers', () => {
  let scene: Scene;
  before(async () => {
    scene = await startScene();
  });
  after(() => scene.close());

  const told = ({ status, body }: { status: number; body: Record<string, unknown> | undefined }) => [status, body?.code];
  const deliver = (id: string): Promise<void> => relay(scene.worker, 'interaction', id);
  const answer = (id: string, body: object = { content: 'x' }) => scene.send('callback', id, { type: 'message', ...body });
  /** Runs `act` while the channel has these overwrites. */
  const withOverwrites = async (overwrites: { id: string; allow: number; deny: number }[], act: () => Promise<void>): Promise<void> => {
    const { db, versions } = scene.api.platform;
    const set = (value: typeof overwrites) =>
      versions.changing({ servers: [scene.world.serverId] }, () =>
        db.channels.updateOne({ _id: scene.channelId }, { $set: { overwrites: value } }),
      );
    await set(overwrites);
    try {
      await act();
    } finally {
      await set([]);
    }
  };

  it('embeds alone are an answer', async () => {
    const { status, body } = await answer(await scene.use(), { embeds: [{ title: 't' }] });
    expect(status).to.equal(201);
    expect(body).to.deep.include({ content: '', embeds: [{ title: 't' }] });
  });

  it('content that looks like an expression comes back as typed', async () => {
    for (const content of ['$answer', '$$NOW', '$$REMOVE']) {
      const id = await scene.use();
      const { body } = await answer(id, { content, embeds: [{ title: '$content' }] });
      expect(body).to.deep.include({ content, embeds: [{ title: '$content' }] });
      const deferred = await scene.use();
      await scene.send('callback', deferred, { type: 'defer' });
      expect((await scene.send('followup', deferred, { content })).body.content).to.equal(content);
      const [stored] = await scene.api.platform.db.messages.find({ _id: String(body.id) }).lean();
      expect(stored).to.deep.include({ content, embeds: [{ title: '$content' }] });
      const hidden = await scene.use();
      await answer(hidden, { content, ephemeral: true });
      expect((await scene.stored(hidden)).ob?.find(({ name }) => name === 'MESSAGE_CREATE')?.data).to.include({ content });
    }
  });

  it('mentions resolve with the bot’s own permissions', async () => {
    const content = `<@${scene.world.ownerId}> @everyone`;
    const { body } = await answer(await scene.use(), { content });
    expect(body).to.deep.include({ mentions: [scene.world.ownerId], mentionEveryone: false });
  });

  it('is allowed where the bot lacks Send Messages', async () => {
    const id = await scene.use();
    await withOverwrites([{ id: scene.bot.id, allow: 0, deny: 2 }], async () => {
      expect((await answer(id)).status).to.equal(201);
      expect((await scene.send('followup', id, { content: 'more' })).status).to.equal(201);
    });
  });

  it('403 missing_permission when the bot may not view the channel any more, and the answer is not used up', async () => {
    const id = await scene.use();
    await withOverwrites([{ id: scene.bot.id, allow: 0, deny: 1 }], async () => {
      for (const body of [{ type: 'defer' }, { type: 'message', content: 'x' }])
        expect(told(await scene.send('callback', id, body))).to.deep.equal([403, 'missing_permission']);
    });
    expect((await answer(id)).status).to.equal(201);
  });

  it('404 when the channel is gone', async () => {
    const [id, open] = [await scene.use(), await scene.use()];
    await answer(open);
    const { db, versions } = scene.api.platform;
    const channel = await db.channels.findOne({ _id: scene.channelId }).lean();
    const change = <T>(write: () => Promise<T>) => versions.changing({ servers: [scene.world.serverId] }, write);
    await change(async () => db.channels.deleteOne({ _id: scene.channelId }));
    try {
      for (const body of [{ type: 'defer' }, { type: 'message', content: 'x' }])
        expect(told(await scene.send('callback', id, body))).to.deep.equal([404, 'not_found']);
      expect(told(await scene.send('followup', open, { content: 'x' }))).to.deep.equal([404, 'not_found']);
      expect(told(await answer(open))).to.deep.equal([409, 'already_answered']);
      expect((await scene.stored(id)).state).to.equal('created');
    } finally {
      await change(() => db.channels.insertMany([channel as never]));
    }
  });

  it('the same Idempotency-Key gets the first answer again, and its token stands in no store', async () => {
    const id = await scene.use();
    const headers = { 'Idempotency-Key': 'again' };
    const send = () => scene.send('callback', id, { type: 'message', content: 'x' }, headers);
    const [first, second] = [await send(), await send()];
    expect(first.status).to.equal(201);
    expect(second).to.deep.include({ status: 201, body: first.body });
    expect(told(await answer(id))).to.deep.equal([409, 'already_answered']);
    const { db } = scene.api.platform;
    const kept = JSON.stringify([await db.idempotency.find().lean(), await db.interactions.find().lean()]);
    expect(kept).not.to.include(scene.tokenOf(id));
  });

  describe('ephemeral', () => {
    it('is shown to the person only and stored nowhere', async () => {
      const id = await scene.use();
      await deliver(id);
      const before = await scene.messages();
      const events = (await scene.botEvents()).length;
      scene.personal.length = 0;
      const { status, body } = await answer(id, { content: 'secret', ephemeral: true });
      expect(status).to.equal(201);
      expect(body).to.deep.include({ content: 'secret', ephemeral: true });
      expect(body.interaction).to.deep.include({ name: 'hello' });
      await deliver(id);
      await until(() => scene.personal.length === 2, 'both events');
      expect(scene.personal[0]).to.deep.equal({ name: 'MESSAGE_CREATE', data: { ...body, serverId: scene.world.serverId } });
      expect(scene.personal[1]?.data).to.deep.equal({ id, channelId: scene.channelId, state: 'answered' });
      expect(await scene.messages()).to.deep.equal(before);
      expect(await scene.botEvents()).to.have.length(events);
      const stored = await scene.stored(id);
      expect(stored.messageId).to.equal(null);
      expect(JSON.stringify(stored)).not.to.include('secret');
      const path = `/api/channels/${scene.channelId}/messages/${String(body.id)}`;
      for (const method of ['GET', 'DELETE']) expect((await scene.api.call(method, path, { as: scene.asBot })).status).to.equal(404);
    });

    it('is the default of the first follow-up after an ephemeral defer, and of that one only', async () => {
      const before = await scene.messages();
      const id = await scene.use();
      await scene.send('callback', id, { type: 'defer', ephemeral: true });
      expect((await scene.send('followup', id, { content: 'first' })).body).to.include({ ephemeral: true });
      expect((await scene.stored(id)).state).to.equal('answered');
      expect(await scene.messages()).to.deep.equal(before);
      expect((await scene.send('followup', id, { content: 'second' })).body).not.to.have.property('ephemeral');
      expect((await scene.send('followup', id, { content: 'third', ephemeral: true })).body).to.include({ ephemeral: true });
      expect(await scene.messages()).to.have.length(before.length + 1);
    });

    it('the first follow-up may say otherwise', async () => {
      const id = await scene.use();
      await scene.send('callback', id, { type: 'defer', ephemeral: true });
      const { body } = await scene.send('followup', id, { content: 'shown', ephemeral: false });
      expect(body).not.to.have.property('ephemeral');
      expect((await scene.stored(id)).messageId).to.equal(body.id);
    });
  });

  describe('/api/interactions/{id}/{token}/original', () => {
    const original = (method: string, id: string, body?: unknown) =>
      scene.api.call(method, `/api/interactions/${id}/${scene.tokenOf(id)}/original`, body === undefined ? {} : { body });

    it('PATCH changes the first answer as a message edit', async () => {
      const id = await scene.use();
      const first = await answer(id, { content: 'old', embeds: [{ title: 't' }] });
      const { status, body } = await original('PATCH', id, { content: 'new' });
      expect(status).to.equal(200);
      expect(body).to.deep.include({ id: first.body.id, content: 'new', embeds: [{ title: 't' }] });
      expect(body.editedAt).to.be.a('string');
      expect(told(await original('PATCH', id, { content: '', embeds: [] }))).to.deep.equal([400, 'invalid_request']);
      expect((await original('PATCH', id, {})).body).to.deep.equal(body);
    });

    it('is the first follow-up after a defer', async () => {
      const id = await scene.use();
      await scene.send('callback', id, { type: 'defer' });
      expect(told(await original('PATCH', id, { content: 'x' }))).to.deep.equal([400, 'not_answered']);
      const first = await scene.send('followup', id, { content: 'first' });
      await scene.send('followup', id, { content: 'second' });
      expect((await original('PATCH', id, { content: 'edited' })).body.id).to.equal(first.body.id);
    });

    it('DELETE removes it; then both are 404, and follow-ups go on', async () => {
      const id = await scene.use();
      const first = await answer(id);
      expect((await original('DELETE', id)).status).to.equal(204);
      expect((await original('DELETE', id)).status).to.equal(404);
      expect((await original('PATCH', id, { content: 'x' })).status).to.equal(404);
      await deliver(id);
      const gone = await scene.api.call('GET', `/api/channels/${scene.channelId}/messages/${String(first.body.id)}`, { as: scene.asBot });
      expect(gone.status).to.equal(404);
      expect((await scene.send('followup', id, { content: 'x' })).status).to.equal(201);
    });

    it('deleted before the callback was answered: the callback still shows what it posted', async () => {
      const id = await scene.use();
      const { collection } = scene.api.platform.db.messages;
      const insert = collection.insertOne.bind(collection);
      // The delete comes when the answer is decided, and finishes its message before the callback does.
      collection.insertOne = async (...args: Parameters<typeof insert>) => {
        collection.insertOne = insert;
        expect((await original('DELETE', id)).status).to.equal(204);
        return insert(...args);
      };
      expect(await answer(id, { content: 'shown' }))
        .to.deep.include({ status: 201 })
        .and.nested.include({ 'body.content': 'shown' });
      expect((await original('DELETE', id)).status).to.equal(404);
    });

    it('refuses before an answer, past the windows, for an ephemeral answer and a wrong token', async () => {
      const [created, late, over, hidden] = [await scene.use(), await scene.use(), await scene.use(), await scene.use()];
      expect(told(await original('DELETE', created))).to.deep.equal([400, 'not_answered']);
      await scene.age(late, 3_000);
      expect(told(await original('DELETE', late))).to.deep.equal([410, 'interaction_expired']);
      await answer(over);
      await scene.age(over, 15 * 60_000, 'openedAt');
      expect(told(await original('PATCH', over, { content: 'x' }))).to.deep.equal([410, 'interaction_expired']);
      expect(told(await original('DELETE', over))).to.deep.equal([410, 'interaction_expired']);
      await answer(hidden, { content: 'x', ephemeral: true });
      expect(told(await original('DELETE', hidden))).to.deep.equal([404, 'not_found']);
      expect((await scene.api.call('DELETE', `/api/interactions/${over}/x/original`)).status).to.equal(404);
    });
  });
});

describe('Interaction: rate limits', () => {
  it('callbacks are exempt, as no other route without a login is', async () => {
    const scene = await startScene({ RATE_LIMIT: '1/5' });
    try {
      const id = await scene.use();
      const sends = Array.from({ length: 20 }, () => scene.send('callback', id, { type: 'message', content: 'x' }));
      const statuses = (await Promise.all(sends)).map(({ status }) => status);
      expect(statuses).to.have.members([201, ...Array.from({ length: 19 }, () => 409)]);
      const others = await Promise.all(Array.from({ length: 20 }, () => scene.api.call('GET', '/api/gateway')));
      expect(others.map(({ status }) => status)).to.include(429);
    } finally {
      await scene.close();
    }
  });
});
