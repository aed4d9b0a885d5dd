import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import type { Application } from '../../../lib/contract/application.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { relay } from '../../../lib/domain/events/relay.ts';
import { finishRemoval } from '../../../lib/domain/servers/finish-removal.ts';
import { expireInteractionJob } from '../../../workers/expire-interaction.ts';
import type { Answer } from '../../harness/api.ts';
import { around } from '../../harness/around.ts';
import { reply, startEndpoint, type TestEndpoint } from '../../harness/endpoint.ts';
import { postWhole } from '../../harness/endpoint-scene.ts';
import { expectError } from '../../harness/expect-error.ts';
import { type Scene, startScene, until } from '../../harness/scene.ts';

describe('DELETE /api/applications/{id}: what is left of it', () => {
  let endpoint: TestEndpoint;
  let scene: Scene;
  const held: ServerResponse[] = [];
  before(async () => {
    endpoint = await startEndpoint();
  });
  after(() => endpoint.close());
  beforeEach(async () => {
    scene = await startScene({ OUTBOUND_ALLOW: endpoint.site.pair, LOG_LEVEL: 'silent' });
    endpoint.answer(reply(200));
    endpoint.received.splice(0);
    held.splice(0);
  });
  afterEach(() => scene.close());

  const path = (tail = ''): string => `/api/applications/${scene.bot.applicationId}${tail}`;
  const call = <T = Record<string, unknown>>(method: string, to: string, body?: unknown): Promise<Answer<T>> =>
    scene.api.call<T>(method, to, { as: scene.asPerson, body });
  const remove = async (): Promise<void> => {
    expect((await call('DELETE', path())).status).to.equal(204);
  };
  /** The job that finishes the deletion. */
  const finish = (): Promise<unknown> => finishRemoval(scene.worker, scene.bot.applicationId);
  const invoke = (channelId = scene.channelId) => call('POST', `/api/channels/${channelId}/commands/${scene.commands.hello}/invoke`, {});
  const openDm = async (): Promise<string> =>
    (await call<DmChannel>('POST', '/api/users/@me/channels', { recipientId: scene.bot.id })).body.id;
  const useIn = async (channelId: string): Promise<string> => {
    const { status, body } = await invoke(channelId);
    expect(status).to.equal(202);
    await scene.age(String(body.id), -60_000);
    return String(body.id);
  };

  it('its endpoint gets nothing any more, and what was asked of it expires, which the person is told', async () => {
    expect((await call('PATCH', path(), { interactionsEndpointUrl: endpoint.url })).status).to.equal(200);
    const id = await scene.use();
    await remove();
    const opened = endpoint.site.opened();
    await postWhole(scene.worker, id);
    expect([endpoint.site.opened(), endpoint.received.length]).to.deep.equal([opened, 0]);
    expectError(await scene.send('callback', id, { type: 'message', content: 'late' }), 404, 'not_found');
    await scene.age(id, 3_000);
    await expireInteractionJob(scene.worker, { interactionId: id });
    await relay(scene.worker, 'interaction', id);
    await until(() => scene.personal.some(({ data }) => data.id === id && data.state === 'expired'), 'the expiry');
    expect((await call('GET', `/api/interactions/${id}`)).body).to.include({ state: 'expired', messageId: null });
    expect(await scene.messages()).to.deep.equal([]);
  });

  it('an answer that was on its way over HTTPS is not posted', async () => {
    endpoint.answer((_received, response) => void held.push(response));
    expect((await call('PATCH', path(), { interactionsEndpointUrl: endpoint.url })).status).to.equal(200);
    const id = await scene.use();
    const posting = postWhole(scene.worker, id);
    await until(() => held.length === 1, 'the request');
    await remove();
    for (const response of held) reply(200, { type: 'message', content: 'late' })({} as never, response);
    await posting;
    expect(await scene.stored(id)).to.have.nested.property('delivery.outcome', 'failed');
    expect(await scene.messages()).to.deep.equal([]);
  });

  for (const where of ['a server', 'a DM'] as const)
    it(`in ${where} its open interactions take no answer, no follow-up and no edit: 404`, async () => {
      const channelId = where === 'a DM' ? await openDm() : scene.channelId;
      const [fresh, deferred, answered] = [await useIn(channelId), await useIn(channelId), await useIn(channelId)];
      expect((await scene.send('callback', deferred, { type: 'defer' })).status).to.equal(204);
      expect((await scene.send('callback', answered, { type: 'message', content: 'before' })).status).to.equal(201);
      await remove();
      for (const [id, route, body] of [
        [fresh, 'callback', { type: 'message', content: 'late' }],
        [fresh, 'callback', { type: 'message', content: 'late', ephemeral: true }],
        [fresh, 'callback', { type: 'defer' }],
        [deferred, 'followup', { content: 'late' }],
        [answered, 'followup', { content: 'late', ephemeral: true }],
      ] as const)
        expectError(await scene.send(route, id, body), 404, 'not_found');
      const original = `/api/interactions/${answered}/${scene.tokenOf(answered)}/original`;
      expectError(await scene.api.call('PATCH', original, { body: { content: 'late' } }), 404, 'not_found');
      expectError(await scene.api.call('DELETE', original), 404, 'not_found');
      const list = await call<{ content: string; author: { id: string } }[]>('GET', `/api/channels/${channelId}/messages`);
      expect(list.body.map(({ content, author }) => [content, author.id])).to.deep.equal([['before', scene.bot.id]]);
    });

  it('its commands leave the pickers, and cannot be used: 404', async () => {
    const dm = await openDm();
    const scoped = path(`/servers/${scene.world.serverId}/commands`);
    const put = await scene.api.call('PUT', scoped, { as: scene.asBot, body: [{ name: 'local', description: 'x' }] });
    expect(put.status).to.equal(200);
    const picked = async (channelId: string): Promise<string[]> =>
      (await call<{ name: string }[]>('GET', `/api/channels/${channelId}/commands`)).body.map(({ name }) => name);
    expect([await picked(scene.channelId), await picked(dm)]).to.deep.equal([['hello', 'local'], ['hello']]);
    await remove();
    expect([await picked(scene.channelId), await picked(dm)]).to.deep.equal([[], []]);
    for (const channelId of [scene.channelId, dm]) expect((await invoke(channelId)).status).to.be.oneOf([403, 404]);
    await finish();
    expect(await scene.api.platform.db.commands.countDocuments({})).to.equal(0);
  });

  it('its bot leaves every server; its routes are 404, its token 401; another application is as it was', async () => {
    const { db } = scene.api.platform;
    const [, other] = scene.world.bots;
    const second = await call<{ id: string }>('POST', '/api/servers', { name: 'second' });
    const added = await call('POST', path('/authorize'), { serverId: second.body.id, permissions: 1 });
    expect(added.status).to.equal(201);
    await remove();
    await finish();
    expect(await db.members.countDocuments({ userId: scene.bot.id })).to.equal(0);
    expect(await db.tokens.countDocuments({ accountId: scene.bot.id })).to.equal(0);
    const full = await call<{ roles: { id: string }[] }>('GET', `/api/servers/${second.body.id}`);
    expect(full.body.roles.map(({ id }) => id)).to.deep.equal([second.body.id]);
    expect((await db.servers.find().sort({ _id: 1 }).lean()).map(({ memberCount }) => memberCount)).to.deep.equal([2, 1]);
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
    expectError(await scene.api.call('GET', '/api/auth/me', { as: scene.asBot }), 401, 'unauthorized');
    expect((await call<Application[]>('GET', '/api/applications')).body.map(({ id }) => id)).to.deep.equal([other?.applicationId]);
    expect((await scene.api.call('GET', '/api/auth/me', { as: `Bot ${other?.token}` })).status).to.equal(200);
  });

  it('cut short at any step, its bot is dead, and a job finishes it without being asked', async () => {
    const { accounts, applications } = scene.api.platform.db;
    const { commands, members } = scene.worker.db;
    const elsewhere = await call('POST', '/api/servers', { name: 'elsewhere' });
    for (const [collection, method] of [
      [applications.collection, 'deleteOne'],
      [accounts.collection, 'deleteMany'],
    ] as const) {
      around(collection, method, () => Promise.reject(new Error('cut short')));
      expect((await call('DELETE', path())).status).to.equal(500);
      expectError(await scene.api.call('GET', '/api/auth/me', { as: scene.asBot }), 401, 'unauthorized');
      expect((await call('POST', path('/authorize'), { serverId: elsewhere.body.id })).status).to.not.equal(201);
    }
    for (const [collection, method] of [
      [members.collection, 'findOneAndDelete'],
      [commands.collection, 'deleteMany'],
    ] as const) {
      around(collection, method, () => Promise.reject(new Error('cut short')));
      expect(await finish().catch((error: Error) => error.message)).to.equal('cut short');
      expectError(await call('GET', path()), 404, 'not_found');
    }
    await finish();
    const left = [accounts.countDocuments({ _id: scene.bot.id }), members.countDocuments({ userId: scene.bot.id })];
    expect(await Promise.all([...left, commands.countDocuments({})])).to.deep.equal([0, 0, 0]);
  });

  it('what comes in while it goes is gone after the last pass', async () => {
    const { db } = scene.api.platform;
    await remove();
    await finish();
    await db.commands.collection.insertOne({ _id: 'late', applicationId: scene.bot.applicationId } as never);
    await db.removals.updateOne({ _id: scene.bot.applicationId }, { $set: { at: new Date(Date.now() - 60_000) } });
    await finish();
    expect([await db.commands.countDocuments({}), await db.removals.countDocuments({})]).to.deep.equal([0, 0]);
  });

  it('a rotation that meets it is 404', async () => {
    around(scene.api.platform.db.applications.collection, 'updateOne', async (real) => {
      await remove();
      return real();
    });
    expectError(await call('POST', path('/signing-secret')), 404, 'not_found');
  });
});
