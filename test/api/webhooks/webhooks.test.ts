import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { NewWebhook, Webhook } from '../../../lib/contract/webhook.ts';
import { loseAnswers, makeChannel, makeMember, makePerson, makeThread, openDm, setOverwrite, unknownId } from '../../harness/factories.ts';
import { ignoreManagingWrites, interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { useWebhooks } from './webhook-fixture.ts';

const { 'Manage Webhooks': manageWebhooks } = permissionBits;
const listPath = (channelId: string): string => `/api/channels/${channelId}/webhooks`;
const pathOf = (id: string): string => `/api/webhooks/${id}`;

describe('webhooks of a channel', () => {
  const { api, owner, member, server, channel, makeWebhook, post, call, stored, messages, audit } = useWebhooks();
  before(() => ignoreManagingWrites(api.platform));

  const create = (body: unknown = { name: 'x' }, headers: Record<string, string> = {}) =>
    api.call<NewWebhook>('POST', listPath(channel.id), { as: owner.as, body, headers });
  const list = (): Promise<Webhook[]> => send(api, 200, owner, 'GET', listPath(channel.id));

  describe('POST /api/channels/{channelId}/webhooks', () => {
    it('201 with the webhook, its token and its URL, as in reads; adds an audit entry without the token', async () => {
      const { status, body } = await create({ name: '  Build news ' });
      expect(status).to.equal(201);
      expect(body).to.have.all.keys('id', 'channelId', 'serverId', 'name', 'token', 'url', 'createdAt');
      expect(body).to.include({ channelId: channel.id, serverId: server.id, name: 'Build news' });
      expect(Buffer.from(body.token, 'base64url')).to.have.length(32);
      expect(body.url).to.equal(`${api.platform.config.baseUrl}/api/webhooks/${body.id}/${body.token}`);
      expect(await send(api, 200, owner, 'GET', pathOf(body.id))).to.deep.equal(body);
      expect(await list()).to.deep.equal([body]);
      const [entry, ...others] = await audit(body.id);
      expect(others).to.deep.equal([]);
      expect(entry).to.deep.include({
        action: 'webhook_create',
        actorId: owner.id,
        changes: { name: { from: null, to: 'Build news' }, channelId: { from: null, to: channel.id } },
      });
      expect(JSON.stringify(entry)).not.to.contain(body.token);
    });

    it('201 for a name of 80 characters, 400 for 81, an empty one and none; unknown fields are not stored', async () => {
      const bad = [{ name: '😀'.repeat(81) }, { name: '' }, { name: 5 }, { name: null }, {}];
      for (const body of bad) expect((await create(body)).status, JSON.stringify(body)).to.equal(400);
      const name = '😀'.repeat(80);
      const { status, body } = await create({ name, token: 'mine', posts: [1], channelId: server.general, avatar: 'x' });
      expect(status).to.equal(201);
      expect(body).to.include({ channelId: channel.id, name }).and.not.to.include({ token: 'mine' });
      expect(await stored(body.id)).not.to.have.property('avatar');
    });

    it('201 in an announcement channel; 400 in a voice channel, a category, a thread and a DM, also for GET', async () => {
      const news = await makeChannel(api, owner, server.id, { kind: 'announcement' });
      await makeWebhook(news.id);
      const thread = await makeThread(api, owner, channel.id);
      const others = await Promise.all((['voice', 'category'] as const).map((kind) => makeChannel(api, owner, server.id, { kind })));
      for (const id of [thread.id, ...others.map((other) => other.id), (await openDm(api, owner, member)).id]) {
        await refused(api, [400, 'invalid_request'], owner, 'POST', listPath(id), { name: 'x' });
        await refused(api, [400, 'invalid_request'], owner, 'GET', listPath(id));
      }
      expect(await api.platform.db.webhooks.countDocuments({ channelId: thread.id })).to.equal(0);
    });

    it('400 too_many_webhooks for the 16th of a channel; 201 in another channel, and again after a delete', async () => {
      const made = [];
      for (let n = 0; n < 15; n++) made.push(await makeWebhook());
      await refused(api, [400, 'too_many_webhooks'], owner, 'POST', listPath(channel.id), { name: 'x' });
      await makeWebhook(server.general);
      await send(api, 204, owner, 'DELETE', pathOf(made[3]?.id as string));
      const last = await makeWebhook();
      expect((await list()).map(({ id }) => id)).to.deep.equal([...made.filter((_one, at) => at !== 3), last].map(({ id }) => id));
    });

    it('40 in parallel: 15 get 201, 25 get 400 too_many_webhooks', async () => {
      const answers = await inParallel(40, () => create());
      expect(tally(answers)).to.deep.equal({ 201: 15, 400: 25 });
      expect(answers.filter(({ body }) => 'code' in body && body.code === 'too_many_webhooks')).to.have.length(25);
      expect(await list()).to.have.length(15);
    });

    it('a repeat with its Idempotency-Key has the same token, which is stored encrypted', async () => {
      const key = { 'Idempotency-Key': `hook ${channel.id}` };
      const [first, second] = [await create({ name: 'x' }, key), await create({ name: 'x' }, key)];
      expect([first.status, second.status]).to.deep.equal([201, 201]);
      expect(second.body).to.deep.equal(first.body);
      expect(await list()).to.have.length(1);
      const claim = await api.platform.db.idempotency.findOne({ resourceId: first.body.id });
      expect(claim?.answer?.sealed).to.equal(true);
      expect(JSON.stringify(claim)).not.to.contain(first.body.token);
    });

    it('a repeat after a crash of the first has the same webhook and adds no audit entry', async () => {
      const key = { 'Idempotency-Key': `crash ${channel.id}` };
      const first = await create({ name: 'x' }, key);
      await loseAnswers(api, { resourceId: first.body.id });
      expect((await create({ name: 'x' }, key)).body).to.deep.equal(first.body);
      expect(await list()).to.have.length(1);
      expect(await audit(first.body.id)).to.have.length(1);
    });

    it('404 if the channel is deleted just before the write, and no webhook is stored', async () => {
      interceptNext(api.platform.db.webhooks, 'insertOne', async (real) => {
        await send(api, 204, owner, 'DELETE', `/api/channels/${channel.id}`);
        return real();
      });
      expect((await create()).status).to.equal(404);
      expect(await api.platform.db.webhooks.countDocuments({ channelId: channel.id })).to.equal(0);
    });
  });

  describe('permissions', () => {
    /** Every call on a webhook and its channel, with its status for members who may make it. */
    const calls = ({ id }: Webhook): [method: string, path: string, body: unknown, status: number][] => [
      ['GET', listPath(channel.id), undefined, 200],
      ['POST', listPath(channel.id), { name: 'x' }, 201],
      ['GET', pathOf(id), undefined, 200],
      ['PATCH', pathOf(id), { name: 'y' }, 200],
      ['DELETE', pathOf(id), undefined, 204],
    ];

    it('Manage Webhooks from an overwrite of the channel is enough, but only in that channel', async () => {
      const other = await makeMember(api, owner, server.id);
      await setOverwrite(api, owner, channel.id, other.id, manageWebhooks, 0);
      const webhook = await makeWebhook();
      for (const [method, path, body, status] of calls(webhook)) await send(api, status, other, method, path, body);
      const elsewhere = await makeWebhook(server.general);
      await refused(api, [403, 'missing_permission'], other, 'GET', pathOf(elsewhere.id));
    });

    it('403 if an overwrite of the channel denies Manage Webhooks that a role grants', async () => {
      const manager = await makeMember(api, owner, server.id, manageWebhooks);
      const webhook = await makeWebhook(channel.id, 'x', manager);
      await setOverwrite(api, owner, channel.id, manager.id, 0, manageWebhooks);
      for (const [method, path, body] of calls(webhook)) await refused(api, [403, 'missing_permission'], manager, method, path, body);
    });

    it('the 404 outside the server has the same message as for an unknown id', async () => {
      const outsider = await makePerson(api);
      const { id } = await makeWebhook();
      const errors = await Promise.all([id, unknownId, 'nope'].map((at) => refused(api, [404, 'not_found'], outsider, 'GET', pathOf(at))));
      expect(new Set(errors.map(({ message }) => message)).size).to.equal(1);
    });
  });

  describe('PATCH /api/webhooks/{webhookId}', () => {
    it('200 with the trimmed name and the same token and URL; adds an audit entry with both names', async () => {
      const webhook = await makeWebhook(channel.id, 'old');
      const renamed = { ...webhook, name: 'new' };
      expect(await send(api, 200, owner, 'PATCH', pathOf(webhook.id), { name: ' new ' })).to.deep.equal(renamed);
      expect(await list()).to.deep.equal([renamed]);
      const [entry] = await audit(webhook.id);
      expect(entry).to.deep.include({ action: 'webhook_update', changes: { name: { from: 'old', to: 'new' } } });
    });

    it('{}, the same name and unknown fields change nothing and add no audit entry', async () => {
      const webhook = await makeWebhook();
      for (const body of [{}, { name: webhook.name }, { token: 'x', channelId: server.general, slot: 99 }])
        expect(await send(api, 200, owner, 'PATCH', pathOf(webhook.id), body)).to.deep.equal(webhook);
      expect(await audit(webhook.id)).to.have.length(1);
    });

    it('400 for an empty name, 81 characters and no text', async () => {
      const { id } = await makeWebhook();
      for (const name of ['', 'x'.repeat(81), 5, null, {}])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', pathOf(id), { name });
    });

    it('404 if the webhook is deleted just before the write, and it stays deleted', async () => {
      const { id } = await makeWebhook();
      interceptNext(api.platform.db.webhooks, 'findOneAndUpdate', async (real) => {
        await send(api, 204, owner, 'DELETE', pathOf(id));
        return real();
      });
      await refused(api, [404, 'not_found'], owner, 'PATCH', pathOf(id), { name: 'x' });
      expect(await stored(id)).to.equal(null);
    });
  });

  describe('DELETE /api/webhooks/{webhookId}', () => {
    it('204, then 404 for every call; its messages stay; adds an audit entry', async () => {
      const webhook = await makeWebhook(channel.id, 'gone');
      const message = await post(webhook);
      await send(api, 204, owner, 'DELETE', pathOf(webhook.id));
      for (const method of ['DELETE', 'GET']) await refused(api, [404, 'not_found'], owner, method, pathOf(webhook.id));
      expect((await call(webhook)).status).to.equal(404);
      expect(await messages()).to.deep.equal([message]);
      const [entry] = await audit(webhook.id);
      expect(entry).to.deep.include({
        action: 'webhook_delete',
        changes: { name: { from: 'gone', to: null }, channelId: { from: channel.id, to: null } },
      });
    });

    it('20 in parallel: one 204 and one audit entry', async () => {
      const { id } = await makeWebhook();
      const answers = await inParallel(20, () => api.call('DELETE', pathOf(id), { as: owner.as }));
      expect(tally(answers)).to.deep.equal({ 204: 1, 404: 19 });
      expect((await audit(id)).filter(({ action }) => action === 'webhook_delete')).to.have.length(1);
    });
  });

  it('a channel keeps its webhooks when its kind changes between text and announcement, and they can post', async () => {
    const webhook = await makeWebhook();
    for (const kind of ['announcement', 'text']) {
      await send(api, 200, owner, 'PATCH', `/api/channels/${channel.id}`, { kind });
      expect(await list()).to.deep.equal([webhook]);
      await post(webhook);
    }
  });
});
