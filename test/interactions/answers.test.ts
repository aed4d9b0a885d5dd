// Tests of interactions: their states, the answers of bots to commands, and the jobs that relay and expire them.
import { expect } from 'chai';
import { everyoneDefault, permissionBits } from '../../lib/base/permissions.ts';
import { restoreAccount, suspendAccount } from '../../lib/domain/accounts/suspensions.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import { expectError } from '../harness/expect-error.ts';
import { makePerson, setOverwrite, withEveryone } from '../harness/factories.ts';
import { startInteractionFixture, waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { send } from '../harness/requests.ts';
import { setApplication } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

describe('Interaction: answers', () => {
  const fixture = use(startInteractionFixture);

  const runRelay = (id: string): Promise<void> => relayEvents(fixture.worker, 'interaction', id);
  const answer = (id: string, body: object = { content: 'x' }) => fixture.send('callback', id, { type: 'message', ...body });
  /** Runs `act` while the channel denies these permissions to the bot. */
  const withDenied = async (deny: number, act: () => Promise<void>): Promise<void> => {
    await setOverwrite(fixture.api, fixture.person, fixture.channelId, fixture.bot.id, 0, deny);
    try {
      await act();
    } finally {
      await setOverwrite(fixture.api, fixture.person, fixture.channelId, fixture.bot.id, 0, 0);
    }
  };

  it('returns content that looks like an expression as typed', async () => {
    for (const content of ['$answer', '$$NOW', '$$REMOVE']) {
      const id = await fixture.use();
      const { body } = await answer(id, { content, embeds: [{ title: '$content' }] });
      expect(body).to.deep.include({ content, embeds: [{ title: '$content' }] });
      const deferred = await fixture.use();
      await fixture.send('callback', deferred, { type: 'defer' });
      expect((await fixture.send('followup', deferred, { content })).body.content).to.equal(content);
      const [stored] = await fixture.api.platform.db.messages.find({ _id: String(body.id) }).toArray();
      expect(stored).to.deep.include({ content, embeds: [{ title: '$content' }] });
      const hidden = await fixture.use();
      await answer(hidden, { content, ephemeral: true });
      expect((await fixture.stored(hidden)).outbox?.find(({ name }) => name === 'MESSAGE_CREATE')?.data).to.include({ content });
    }
  });

  it('@everyone mentions only with the Mention Everyone permission of the bot, not of the person', async () => {
    const { serverId, ownerId } = fixture.seeded;
    const content = `@everyone <@${ownerId}> \`<@${fixture.bot.id}>\` <@&${serverId}>`;
    const expected = { mentions: [ownerId], mentionRoles: [], mentionEveryone: false };
    expect((await answer(await fixture.use(), { content })).body).to.deep.include(expected);
    await withEveryone(fixture.api, fixture.person, serverId, everyoneDefault | permissionBits['Mention Everyone'], async () => {
      expect((await answer(await fixture.use(), { content })).body).to.deep.include({ ...expected, mentionEveryone: true });
    });
  });

  it('accepts answers and follow-ups where the bot lacks Send Messages', async () => {
    const id = await fixture.use();
    await withDenied(permissionBits['Send Messages'], async () => {
      expect((await answer(id)).status).to.equal(201);
      expect((await fixture.send('followup', id, { content: 'more' })).status).to.equal(201);
    });
  });

  it('answers 403 missing_permission while the bot cannot view the channel, and accepts an answer later', async () => {
    const id = await fixture.use();
    await withDenied(permissionBits['View Channel'], async () => {
      for (const body of [{ type: 'defer' }, { type: 'message', content: 'x' }])
        expectError(await fixture.send('callback', id, body), 403, 'missing_permission');
    });
    expect((await answer(id)).status).to.equal(201);
  });

  it('answers 404 after the channel was deleted', async () => {
    const [id, open] = [await fixture.use(), await fixture.use()];
    await answer(open);
    const { db, accessVersions } = fixture.api.platform;
    const channel = await db.channels.findOne({ _id: fixture.channelId });
    const change = <T>(write: () => Promise<T>) => accessVersions.runChange({ servers: [fixture.seeded.serverId] }, write);
    await change(async () => db.channels.deleteOne({ _id: fixture.channelId }));
    try {
      for (const body of [{ type: 'defer' }, { type: 'message', content: 'x' }])
        expectError(await fixture.send('callback', id, body), 404, 'not_found');
      expectError(await fixture.send('followup', open, { content: 'x' }), 404, 'not_found');
      expectError(await answer(open), 409, 'already_answered');
      expect((await fixture.stored(id)).state).to.equal('created');
    } finally {
      await change(() => db.channels.insertMany([channel as never]));
    }
  });

  it('repeats the first response for the same Idempotency-Key, and stores no token', async () => {
    const id = await fixture.use();
    const headers = { 'Idempotency-Key': 'again' };
    const repeat = () => fixture.send('callback', id, { type: 'message', content: 'x' }, headers);
    const [first, second] = [await repeat(), await repeat()];
    expect(first.status).to.equal(201);
    expect(second).to.deep.include({ status: 201, body: first.body });
    expectError(await answer(id), 409, 'already_answered');
    const { db } = fixture.api.platform;
    const kept = JSON.stringify([await db.idempotency.find().toArray(), await db.interactions.find().toArray()]);
    expect(kept).not.to.include(fixture.tokenOf(id));
  });

  describe('ephemeral', () => {
    it('is sent only to the person and is not stored', async () => {
      const id = await fixture.use();
      await runRelay(id);
      const before = await fixture.messages();
      const events = (await fixture.botEvents()).length;
      fixture.personal.length = 0;
      const { status, body } = await answer(id, { content: 'secret', ephemeral: true });
      expect(status).to.equal(201);
      expect(body).to.deep.include({ content: 'secret', ephemeral: true });
      expect(body.interaction).to.deep.include({ name: 'hello' });
      await runRelay(id);
      await waitUntil(() => fixture.personal.length === 2, 'both events');
      expect(fixture.personal[0]).to.deep.equal({ name: 'MESSAGE_CREATE', data: { ...body, serverId: fixture.seeded.serverId } });
      expect(fixture.personal[1]?.data).to.deep.equal({ id, channelId: fixture.channelId, state: 'answered' });
      expect(await fixture.messages()).to.deep.equal(before);
      expect(await fixture.botEvents()).to.have.length(events);
      const stored = await fixture.stored(id);
      expect(stored.messageId).to.equal(null);
      expect(JSON.stringify(stored)).not.to.include('secret');
      const path = `/api/channels/${fixture.channelId}/messages/${String(body.id)}`;
      for (const method of ['GET', 'DELETE']) expect((await fixture.api.call(method, path, { as: fixture.asBot })).status).to.equal(404);
    });

    it('is the default of only the first follow-up after an ephemeral defer, which can set ephemeral: false', async () => {
      const before = await fixture.messages();
      const id = await fixture.use();
      await fixture.send('callback', id, { type: 'defer', ephemeral: true });
      expect((await fixture.send('followup', id, { content: 'first' })).body).to.include({ ephemeral: true });
      expect((await fixture.stored(id)).state).to.equal('answered');
      expect(await fixture.messages()).to.deep.equal(before);
      expect((await fixture.send('followup', id, { content: 'second' })).body).not.to.have.property('ephemeral');
      expect((await fixture.send('followup', id, { content: 'third', ephemeral: true })).body).to.include({ ephemeral: true });
      expect(await fixture.messages()).to.have.length(before.length + 1);
      const other = await fixture.use();
      await fixture.send('callback', other, { type: 'defer', ephemeral: true });
      const { body } = await fixture.send('followup', other, { content: 'shown', ephemeral: false });
      expect(body).not.to.have.property('ephemeral');
      expect((await fixture.stored(other)).messageId).to.equal(body.id);
    });
  });

  describe('/api/interactions/{interactionId}/{interactionToken}/original', () => {
    const original = (method: string, id: string, body?: unknown) =>
      fixture.api.call(method, `/api/interactions/${id}/${fixture.tokenOf(id)}/original`, body === undefined ? {} : { body });

    it('GET returns the message of the first answer, and PATCH edits it', async () => {
      const id = await fixture.use();
      const first = await answer(id, { content: 'old', embeds: [{ title: 't' }] });
      expect(await original('GET', id)).to.deep.include({ status: 200, body: first.body });
      const { status, body } = await original('PATCH', id, { content: 'new' });
      expect(status).to.equal(200);
      expect(body).to.deep.include({ id: first.body.id, content: 'new', embeds: [{ title: 't' }] });
      expect(body.editedAt).to.be.a('string');
      expectError(await original('PATCH', id, { content: '', embeds: [] }), 400, 'invalid_request');
      expect((await original('PATCH', id, {})).body).to.deep.equal(body);
      expect((await original('GET', id)).body).to.deep.equal(body);
    });

    it('is the first follow-up after a defer', async () => {
      const id = await fixture.use();
      await fixture.send('callback', id, { type: 'defer' });
      for (const method of ['GET', 'DELETE']) expectError(await original(method, id), 400, 'not_answered');
      const first = await fixture.send('followup', id, { content: 'first' });
      await fixture.send('followup', id, { content: 'second' });
      expect((await original('PATCH', id, { content: 'edited' })).body.id).to.equal(first.body.id);
      expect((await original('GET', id)).body).to.deep.include({ id: first.body.id, content: 'edited' });
    });

    it('DELETE removes the message; then GET, PATCH and DELETE answer 404, and follow-ups are still accepted', async () => {
      const id = await fixture.use();
      const first = await answer(id);
      expect((await original('DELETE', id)).status).to.equal(204);
      for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { content: 'x' }]] as const)
        expectError(await original(method, id, body), 404, 'not_found');
      await runRelay(id);
      const gone = await fixture.api.call('GET', `/api/channels/${fixture.channelId}/messages/${String(first.body.id)}`, {
        as: fixture.asBot,
      });
      expect(gone.status).to.equal(404);
      expect((await fixture.send('followup', id, { content: 'x' })).status).to.equal(201);
    });

    it('the callback returns its message although it was deleted meanwhile', async () => {
      const id = await fixture.use();
      // The DELETE comes when the answer is decided, and inserts the message before the callback does.
      interceptNext(fixture.api.platform.db.messages, 'insertOne', async (real) => {
        expect((await original('DELETE', id)).status).to.equal(204);
        return real();
      });
      expect(await answer(id, { content: 'shown' }))
        .to.deep.include({ status: 201 })
        .and.nested.include({ 'body.content': 'shown' });
      expect((await original('DELETE', id)).status).to.equal(404);
    });

    it('PATCH after a defer is the answer, with the `ephemeral` of the defer; of several at once one is, and the others edit it', async () => {
      for (const ephemeral of [false, true]) {
        const before = (await fixture.messages()).length;
        const id = await fixture.use();
        await fixture.send('callback', id, { type: 'defer', ephemeral });
        expectError(await original('PATCH', id, { content: ' ' }), 400, 'invalid_request');
        expectError(await original('PATCH', id, {}), 400, 'invalid_request');
        const answers = await Promise.all(['a', 'b', 'c'].map((content) => original('PATCH', id, { content })));
        expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200]);
        expect(new Set(answers.map(({ body }) => body.id)).size).to.equal(1);
        expect(answers.filter(({ body }) => body.editedAt === null)).to.have.length(1);
        for (const { body } of answers) expect(body.ephemeral).to.equal(ephemeral || undefined);
        expect((await fixture.stored(id)).state).to.equal('answered');
        expect(await fixture.messages()).to.have.length(before + (ephemeral ? 0 : 1));
      }
    });

    it('an ephemeral answer is read, edited and deleted while the window is open; only the person receives that', async () => {
      const id = await fixture.use();
      const first = await answer(id, { content: 'secret', embeds: [{ title: 't' }], ephemeral: true });
      await runRelay(id);
      const [before, events] = [await fixture.messages(), (await fixture.botEvents()).length];
      fixture.personal.length = 0;
      expect(await original('GET', id)).to.deep.include({ status: 200, body: first.body });
      const edited = await original('PATCH', id, { content: `secret 2 <@${fixture.seeded.ownerId}>` });
      expect(edited.status).to.equal(200);
      const mentions = [fixture.seeded.ownerId];
      expect(edited.body).to.deep.include({ id: first.body.id, embeds: [{ title: 't' }], ephemeral: true, mentions });
      expect(edited.body.editedAt).to.be.a('string');
      expectError(await original('PATCH', id, { content: '', embeds: [] }), 400, 'invalid_request');
      expect((await original('PATCH', id, {})).body).to.deep.equal(edited.body);
      await runRelay(id);
      expect(JSON.stringify(await fixture.stored(id))).not.to.include('secret');
      expect((await original('DELETE', id)).status).to.equal(204);
      await runRelay(id);
      const { serverId } = fixture.seeded;
      await waitUntil(() => fixture.personal.length === 2, 'the edit and the deletion');
      expect(fixture.personal).to.deep.equal([
        { name: 'MESSAGE_UPDATE', data: { ...edited.body, serverId } },
        { name: 'MESSAGE_DELETE', data: { id: first.body.id, channelId: fixture.channelId, serverId } },
      ]);
      for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { content: 'x' }]] as const)
        expectError(await original(method, id, body), 404, 'not_found');
      expect(await fixture.messages()).to.deep.equal(before);
      expect(await fixture.botEvents()).to.have.length(events);
      expect((await fixture.send('followup', id, { content: 'x' })).status).to.equal(201);
    });

    it('edits of an ephemeral answer at once lose none', async () => {
      const id = await fixture.use();
      await answer(id, { content: 'x', ephemeral: true });
      const edits = [{ content: 'new' }, { embeds: [{ title: 'new' }] }];
      const answers = await Promise.all(edits.map((body) => original('PATCH', id, body)));
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      expect((await original('GET', id)).body).to.deep.include({ content: 'new', embeds: [{ title: 'new' }] });
    });

    it('is refused before an answer, after the windows, and with a wrong token', async () => {
      const requests = [['GET'], ['DELETE'], ['PATCH', { content: 'x' }]] as const;
      const created = await fixture.use();
      for (const [method, body] of requests) expectError(await original(method, created, body), 400, 'not_answered', method);
      const [late, over, hidden] = [await fixture.use(), await fixture.use(), await fixture.use()];
      await fixture.age(late, 3_000);
      await answer(over);
      await fixture.age(over, 15 * 60_000, 'openedAt');
      await answer(hidden, { content: 'x', ephemeral: true });
      await fixture.age(hidden, 15 * 60_000, 'openedAt');
      for (const [method, body] of requests) {
        expectError(await original(method, late, body), 410, 'interaction_expired', method);
        expectError(await original(method, over, body), 410, 'interaction_expired', method);
        expectError(await original(method, hidden, body), 410, 'interaction_expired', method);
        expectError(await fixture.api.call(method, `/api/interactions/${over}/x/original`, body ? { body } : {}), 404, 'not_found', method);
      }
    });
  });

  it('slow mode does not limit answers and follow-ups, and they start no cooldown', async () => {
    const { channelId, asBot } = fixture;
    const setSlowMode = (slowmodeSecs: number) =>
      send(fixture.api, 200, fixture.person, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs });
    await setSlowMode(60);
    const post = async (): Promise<number> =>
      (await fixture.api.call('POST', `/api/channels/${channelId}/messages`, { as: asBot, body: { content: 'x' } })).status;
    for (let n = 0; n < 2; n++) expect((await answer(await fixture.use())).status).to.equal(201);
    expect([await post(), await post()]).to.deep.equal([201, 429]);
    const id = await fixture.use();
    for (const route of ['callback', 'followup', 'followup'] as const)
      expect((await fixture.send(route, id, { type: 'message', content: 'x' })).status).to.equal(201);
    await setSlowMode(0);
  });

  it('403 account_suspended with any token while the owner of the application is suspended; the same tokens work afterward', async () => {
    const { api, seeded, asPerson, bot, channelId } = fixture;
    const owner = await makePerson(api);
    await setApplication(api.platform, bot, { ownerId: owner.id });
    const [unanswered, deferred, answered] = [await fixture.use(), await fixture.use(), await fixture.use()];
    expect((await fixture.send('callback', deferred, { type: 'defer' })).status).to.equal(204);
    expect((await fixture.send('callback', answered, { type: 'message', content: 'x' })).status).to.equal(201);
    const original = `/api/interactions/${answered}/${fixture.tokenOf(answered)}/original`;
    const before = (await fixture.messages()).length;
    await suspendAccount(api.platform, owner.id, undefined);
    const refused = [
      await fixture.send('callback', unanswered, { type: 'message', content: 'x' }),
      await fixture.send('callback', unanswered, { type: 'message', content: 'x', ephemeral: true }),
      await fixture.send('callback', unanswered, { type: 'defer' }),
      await fixture.send('followup', deferred, { content: 'x' }),
      await fixture.send('followup', answered, { content: 'x' }),
      await fixture.send('followup', answered, { content: 'x', ephemeral: true }),
      await api.call('GET', original),
      await api.call('PATCH', original, { body: { content: 'y' } }),
      await api.call('DELETE', original),
    ];
    for (const one of refused) expectError(one, 403, 'account_suspended');
    expect(await fixture.messages()).to.have.length(before);
    const invoke = () =>
      api.call('POST', `/api/channels/${channelId}/commands/${fixture.commands.hello}/invoke`, { as: asPerson, body: {} });
    await setApplication(api.platform, bot, { interactionsEndpointUrl: 'https://endpoint.example/' });
    expectError(await invoke(), 409, 'bot_offline');
    await restoreAccount(api.platform, owner.id);
    expect((await invoke()).status).to.equal(202);
    await setApplication(api.platform, bot, { interactionsEndpointUrl: null, ownerId: seeded.ownerId });
    expect((await fixture.send('callback', unanswered, { type: 'message', content: 'x' })).status).to.equal(201);
    expect((await fixture.send('followup', deferred, { content: 'x' })).status).to.equal(201);
    expect((await api.call('DELETE', original)).status).to.equal(204);
  });
});
