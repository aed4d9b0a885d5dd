import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Application } from '../../../lib/contract/application.ts';
import { finishRemoval } from '../../../lib/domain/jobs/finish-removal.ts';
import { expireUnanswered } from '../../../lib/domain/jobs/interactions.ts';
import { relayEvents } from '../../../lib/domain/relay/relay.ts';
import type { Answer } from '../../harness/api.ts';
import { reply, startEndpoint } from '../../harness/endpoint.ts';
import { postWhole } from '../../harness/endpoint-fixture.ts';
import { expectError } from '../../harness/expect-error.ts';
import { openDm } from '../../harness/factories.ts';
import { startInteractionFixture, waitUntil } from '../../harness/interaction-fixture.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { ownerOf } from '../../harness/seed.ts';
import { use } from '../../harness/use.ts';

describe('DELETE /api/applications/{applicationId}: the bot, its interactions and commands', () => {
  const endpoint = use(() => startEndpoint(), { each: true });
  const fixture = use(() => startInteractionFixture({ OUTBOUND_ALLOW: endpoint.site.pair, LOG_LEVEL: 'silent' }), { each: true });

  const path = (tail = ''): string => `/api/applications/${fixture.bot.applicationId}${tail}`;
  const call = <T = Record<string, unknown>>(method: string, to: string, body?: unknown): Promise<Answer<T>> =>
    fixture.api.call<T>(method, to, { as: fixture.asPerson, body });
  const remove = async (): Promise<void> => {
    expect((await call('DELETE', path())).status).to.equal(204);
  };
  /** The job that finishes the deletion. */
  const finish = (): Promise<unknown> => finishRemoval(fixture.worker, fixture.bot.applicationId);
  const invoke = (channelId = fixture.channelId) =>
    call('POST', `/api/channels/${channelId}/commands/${fixture.commands.hello}/invoke`, {});
  const makeDm = async (): Promise<string> => (await openDm(fixture.api, ownerOf(fixture.seeded), fixture.bot)).id;
  const useIn = async (channelId: string): Promise<string> => {
    const { status, body } = await invoke(channelId);
    expect(status).to.equal(202);
    await fixture.age(String(body.id), -60_000);
    return String(body.id);
  };

  it('its endpoint receives nothing more, and its open interactions expire, with an event for the person', async () => {
    expect((await call('PATCH', path(), { interactionsEndpointUrl: endpoint.url })).status).to.equal(200);
    const id = await fixture.use();
    await remove();
    const opened = endpoint.site.opened();
    await postWhole(fixture.worker, id);
    expect([endpoint.site.opened(), endpoint.received.length]).to.deep.equal([opened, 0]);
    expectError(await fixture.send('callback', id, { type: 'message', content: 'late' }), 404, 'not_found');
    await fixture.age(id, 3_000);
    await expireUnanswered(fixture.worker, id);
    await relayEvents(fixture.worker, 'interaction', id);
    await waitUntil(() => fixture.personal.some(({ data }) => data.id === id && data.state === 'expired'), 'the expiry');
    expect((await call('GET', `/api/interactions/${id}`)).body).to.include({ state: 'expired', messageId: null });
    expect(await fixture.messages()).to.deep.equal([]);
  });

  it('a response that its endpoint sends after the deletion is not posted', async () => {
    const held: ServerResponse[] = [];
    endpoint.answer((_received, response) => void held.push(response));
    expect((await call('PATCH', path(), { interactionsEndpointUrl: endpoint.url })).status).to.equal(200);
    const id = await fixture.use();
    const posting = postWhole(fixture.worker, id);
    await waitUntil(() => held.length === 1, 'the request');
    await remove();
    for (const response of held) reply(200, { type: 'message', content: 'late' })({} as never, response);
    await posting;
    expect(await fixture.stored(id)).to.have.nested.property('delivery.outcome', 'failed');
    expect(await fixture.messages()).to.deep.equal([]);
  });

  for (const where of ['a server', 'a DM'] as const)
    it(`404 for answers, follow-ups and edits of its interactions in ${where}`, async () => {
      const channelId = where === 'a DM' ? await makeDm() : fixture.channelId;
      const [fresh, deferred, answered] = [await useIn(channelId), await useIn(channelId), await useIn(channelId)];
      expect((await fixture.send('callback', deferred, { type: 'defer' })).status).to.equal(204);
      expect((await fixture.send('callback', answered, { type: 'message', content: 'before' })).status).to.equal(201);
      await remove();
      for (const [id, route, body] of [
        [fresh, 'callback', { type: 'message', content: 'late' }],
        [fresh, 'callback', { type: 'message', content: 'late', ephemeral: true }],
        [fresh, 'callback', { type: 'defer' }],
        [deferred, 'followup', { content: 'late' }],
        [answered, 'followup', { content: 'late', ephemeral: true }],
      ] as const)
        expectError(await fixture.send(route, id, body), 404, 'not_found');
      const original = `/api/interactions/${answered}/${fixture.tokenOf(answered)}/original`;
      expectError(await fixture.api.call('PATCH', original, { body: { content: 'late' } }), 404, 'not_found');
      expectError(await fixture.api.call('DELETE', original), 404, 'not_found');
      const list = await call<{ content: string; author: { id: string } }[]>('GET', `/api/channels/${channelId}/messages`);
      expect(list.body.map(({ content, author }) => [content, author.id])).to.deep.equal([['before', fixture.bot.id]]);
    });

  it('its bot leaves every server at once; its routes are 404 and its token 401; another application is unchanged', async () => {
    const { db } = fixture.api.platform;
    const [, other] = fixture.seeded.bots;
    const second = await call<{ id: string }>('POST', '/api/servers', { name: 'second' });
    const added = await call('POST', path('/authorize'), { serverId: second.body.id, permissions: 1 });
    expect(added.status).to.equal(201);
    await remove();
    expectError(await call('GET', `/api/servers/${second.body.id}/members/${fixture.bot.id}`), 404, 'not_found');
    await finish();
    expect(await db.members.countDocuments({ userId: fixture.bot.id })).to.equal(0);
    expect(await db.tokens.countDocuments({ accountId: fixture.bot.id })).to.equal(0);
    const full = await call<{ roles: { id: string }[] }>('GET', `/api/servers/${second.body.id}`);
    expect(full.body.roles.map(({ id }) => id)).to.deep.equal([second.body.id]);
    expect((await db.servers.find().sort({ _id: 1 }).toArray()).map(({ memberCount }) => memberCount)).to.deep.equal([2, 1]);
    for (const [method, tail, body] of [
      ['GET', ''],
      ['PATCH', '', { name: 'x' }],
      ['DELETE', ''],
      ['POST', '/token'],
      ['POST', '/signing-secret'],
      ['POST', '/interactions-endpoint/test'],
      ['GET', '/deliveries'],
      ['GET', '/commands'],
      ['PUT', '/commands', []],
      ['POST', '/authorize', { serverId: second.body.id }],
    ] as const)
      expectError(await call(method, path(tail), body), 404, 'not_found');
    expectError(await fixture.api.call('GET', '/api/auth/me', { as: fixture.asBot }), 401, 'unauthorized');
    expect((await call<Application[]>('GET', '/api/applications')).body.map(({ id }) => id)).to.deep.equal([other?.applicationId]);
    expect((await fixture.api.call('GET', '/api/auth/me', { as: `Bot ${other?.token}` })).status).to.equal(200);
  });

  it('after a crash at any step its bot is logged out, and a job completes the deletion', async () => {
    const { accounts, applications } = fixture.api.platform.db;
    const { commands, members } = fixture.worker.db;
    const elsewhere = await call('POST', '/api/servers', { name: 'elsewhere' });
    for (const [collection, method] of [
      [applications, 'deleteOne'],
      [accounts, 'deleteMany'],
    ] as const) {
      interceptNext(collection, method, () => Promise.reject(new Error('a crash')));
      expect((await call('DELETE', path())).status).to.equal(500);
      expectError(await fixture.api.call('GET', '/api/auth/me', { as: fixture.asBot }), 401, 'unauthorized');
      expect((await call('POST', path('/authorize'), { serverId: elsewhere.body.id })).status).to.not.equal(201);
    }
    for (const [collection, method] of [
      [members, 'findOneAndDelete'],
      [commands, 'deleteMany'],
    ] as const) {
      interceptNext(collection, method, () => Promise.reject(new Error('a crash')));
      expect(await finish().catch((error: Error) => error.message)).to.equal('a crash');
      expectError(await call('GET', path()), 404, 'not_found');
    }
    await finish();
    const left = [accounts.countDocuments({ _id: fixture.bot.id }), members.countDocuments({ userId: fixture.bot.id })];
    expect(await Promise.all([...left, commands.countDocuments({})])).to.deep.equal([0, 0, 0]);
  });

  it('data that is added during the deletion is deleted by the last pass', async () => {
    const { db } = fixture.api.platform;
    await remove();
    await finish();
    await db.commands.insertOne({ _id: 'late', applicationId: fixture.bot.applicationId } as never);
    await db.removals.updateOne({ _id: fixture.bot.applicationId }, { $set: { at: new Date(Date.now() - 60_000) } });
    await finish();
    expect([await db.commands.countDocuments({}), await db.removals.countDocuments({})]).to.deep.equal([0, 0]);
  });

  it('404 for a rotation of the signing secret during the deletion', async () => {
    interceptNext(fixture.api.platform.db.applications, 'updateOne', async (real) => {
      await remove();
      return real();
    });
    expectError(await call('POST', path('/signing-secret')), 404, 'not_found');
  });
});
