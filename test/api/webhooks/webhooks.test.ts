import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { NewWebhook, Webhook } from '../../../lib/contract/webhook.ts';
import { around, ignoreManagingWrites } from '../../harness/around.ts';
import { type Caller, makeChannel, makeMember, makePerson, refused, send, setOverwrite, tally } from '../../harness/factories.ts';
import { type WebhookFixture, webhookFixture } from './webhook-fixture.ts';

const manageWebhooks = permissionBits['Manage Webhooks'];
const pathOf = (channelId: string): string => `/api/channels/${channelId}/webhooks`;
const one = (id: string): string => `/api/webhooks/${id}`;

describe('webhooks of a channel', () => {
  let fixture: WebhookFixture;
  let { api, owner, member, server, make, audit }: WebhookFixture = {} as never;
  /** A new text channel, so that each test counts its own. */
  let channelId: string;
  before(async () => {
    fixture = await webhookFixture();
    ({ api, owner, member, server, make, audit } = fixture);
    ignoreManagingWrites(api.platform);
  });
  after(() => api.close());
  beforeEach(async () => {
    channelId = (await makeChannel(api, owner, server.id)).id;
  });

  const create = (body: unknown, headers: Record<string, string> = {}, as: Caller = owner) =>
    api.call<NewWebhook>('POST', pathOf(channelId), { as: as.as, body, headers });
  const list = (as: Caller = owner, id = channelId): Promise<Webhook[]> => send(api, 200, as, 'GET', pathOf(id));
  const openDm = async (): Promise<string> =>
    (await api.call('POST', '/api/users/@me/channels', { as: owner.as, body: { recipientId: member.id } })).body.id as string;

  describe('POST /api/channels/{channelId}/webhooks', () => {
    it('201 with the webhook, its token and the URL under the base address; reads answer the same', async () => {
      const { status, body } = await create({ name: '  Build news ' });
      expect(status).to.equal(201);
      expect(body).to.have.all.keys('id', 'channelId', 'serverId', 'name', 'token', 'url', 'createdAt');
      expect(body).to.include({ channelId, serverId: server.id, name: 'Build news' });
      expect(Buffer.from(body.token, 'base64url')).to.have.length(32);
      expect(body.url).to.equal(`${api.platform.config.baseUrl}/api/webhooks/${body.id}/${body.token}`);
      expect(await send(api, 200, owner, 'GET', one(body.id))).to.deep.equal(body);
      expect(await list()).to.deep.equal([body]);
    });

    it('an audit entry with name and channel, and no secret', async () => {
      const { id, name, token } = await make(channelId);
      const [entry, ...others] = await audit(id);
      expect(others).to.deep.equal([]);
      expect(entry).to.deep.include({
        action: 'webhook_create',
        actorId: owner.id,
        changes: { name: { from: null, to: name }, channelId: { from: null, to: channelId } },
      });
      expect(JSON.stringify(entry)).not.to.contain(token);
    });

    for (const [what, name, status] of [
      ['80 characters', '😀'.repeat(80), 201],
      ['81 characters', '😀'.repeat(81), 400],
      ['empty', '', 400],
      ['blank', '   ', 400],
      ['a line break', 'a\nb', 400],
      ['a number', 5, 400],
      ['null', null, 400],
    ] as const)
      it(`a name of ${what} → ${status}`, async () => expect((await create({ name })).status).to.equal(status));

    it('400 without a name; unknown fields are ignored and never stored', async () => {
      expect((await create({})).status).to.equal(400);
      const { body } = await create({ name: 'x', token: 'mine', posts: [1], channelId: server.general, avatar: 'x' });
      expect(body).to.include({ channelId, name: 'x' }).and.not.to.include({ token: 'mine' });
      expect(await fixture.stored(body.id)).not.to.have.property('avatar');
    });

    it('in an announcement channel too; 400 in a voice channel, a category, a thread and a DM, for lists alike', async () => {
      const news = await makeChannel(api, owner, server.id, { kind: 'announcement' });
      await make(news.id);
      const thread = await send<{ id: string }>(api, 201, owner, 'POST', `/api/channels/${channelId}/threads`, { name: 't' });
      const others = await Promise.all((['voice', 'category'] as const).map((kind) => makeChannel(api, owner, server.id, { kind })));
      for (const id of [thread.id, ...others.map((other) => other.id), await openDm()]) {
        await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(id), { name: 'x' });
        await refused(api, [400, 'invalid_request'], owner, 'GET', pathOf(id));
      }
      expect(await api.platform.db.webhooks.countDocuments({ channelId: thread.id })).to.equal(0);
    });

    it('the 16th is 400 too_many_webhooks; a place that is free again is taken again; other channels count apart', async () => {
      const made = [];
      for (let n = 0; n < 15; n++) made.push(await make(channelId));
      await refused(api, [400, 'too_many_webhooks'], owner, 'POST', pathOf(channelId), { name: 'x' });
      await make();
      await send(api, 204, owner, 'DELETE', one(made[3]?.id as string));
      const last = await make(channelId);
      expect((await list()).map(({ id }) => id)).to.deep.equal([...made.filter((_one, at) => at !== 3), last].map(({ id }) => id));
    });

    it('40 at once: 15 are made, 25 are refused', async () => {
      const answers = await Promise.all(Array.from({ length: 40 }, () => create({ name: 'x' })));
      expect(tally(answers)).to.deep.equal({ 201: 15, 400: 25 });
      expect(answers.filter(({ body }) => 'code' in body && body.code === 'too_many_webhooks')).to.have.length(25);
      expect(await list()).to.have.length(15);
    });

    it('the same Idempotency-Key gives the first answer with the same token, kept encrypted', async () => {
      const key = { 'Idempotency-Key': `hook ${channelId}` };
      const [first, second] = [await create({ name: 'x' }, key), await create({ name: 'x' }, key)];
      expect([first.status, second.status]).to.deep.equal([201, 201]);
      expect(second.body).to.deep.equal(first.body);
      expect(await list()).to.have.length(1);
      const claim = await api.platform.db.idempotency.findOne({ resourceId: first.body.id }).lean();
      expect(claim?.answer?.sealed).to.equal(true);
      expect(JSON.stringify(claim)).not.to.contain(first.body.token);
    });

    it('taken up after a crash it is the same create: the same webhook, one audit entry', async () => {
      const key = { 'Idempotency-Key': `crash ${channelId}` };
      const first = await create({ name: 'x' }, key);
      await api.platform.db.idempotency.updateOne({ resourceId: first.body.id }, { $set: { answer: null, claimedAt: new Date(0) } });
      expect((await create({ name: 'x' }, key)).body).to.deep.equal(first.body);
      expect(await list()).to.have.length(1);
      expect(await audit(first.body.id)).to.have.length(1);
    });

    it('404 when the channel is deleted at that moment, and nothing is left', async () => {
      around(api.platform.db.webhooks.collection, 'insertOne', async (real) => {
        await send(api, 204, owner, 'DELETE', `/api/channels/${channelId}`);
        return real();
      });
      expect((await create({ name: 'x' })).status).to.equal(404);
      expect(await api.platform.db.webhooks.countDocuments({ channelId })).to.equal(0);
    });
  });

  describe('who may', () => {
    /** Every call on a webhook and its channel, with what it answers those who may. */
    const calls = ({ id }: Webhook): [method: string, path: string, body: unknown, status: number][] => [
      ['GET', pathOf(channelId), undefined, 200],
      ['POST', pathOf(channelId), { name: 'x' }, 201],
      ['GET', one(id), undefined, 200],
      ['PATCH', one(id), { name: 'y' }, 200],
      ['DELETE', one(id), undefined, 204],
    ];

    it('403 missing_permission without Manage Webhooks, 403 View Channel in a hidden channel, 404 outside the server', async () => {
      const webhook = await make(channelId);
      const stranger = await makePerson(api);
      for (const [method, path, body] of calls(webhook)) {
        const error = await refused(api, [403, 'missing_permission'], member, method, path, body);
        expect(error.missing).to.deep.equal(['Manage Webhooks']);
        await refused(api, [404, 'not_found'], stranger, method, path, body);
      }
      await setOverwrite(api, owner, channelId, server.id, 0, permissionBits['View Channel']);
      for (const [method, path, body] of calls(webhook))
        expect((await refused(api, [403, 'missing_permission'], member, method, path, body)).missing).to.deep.equal(['View Channel']);
      expect(await fixture.stored(webhook.id)).to.include({ name: webhook.name });
    });

    it('Manage Webhooks in that channel alone is enough, and in another channel is not', async () => {
      const other = await makeMember(api, owner, server.id);
      await setOverwrite(api, owner, channelId, other.id, manageWebhooks, 0);
      const webhook = await make(channelId);
      for (const [method, path, body, status] of calls(webhook)) await send(api, status, other, method, path, body);
      const elsewhere = await make();
      await refused(api, [403, 'missing_permission'], other, 'GET', one(elsewhere.id));
    });

    it('403 once Manage Webhooks is denied in the channel, whatever the roles say', async () => {
      const manager = await makeMember(api, owner, server.id, manageWebhooks);
      const webhook = await make(channelId, 'x', manager);
      await setOverwrite(api, owner, channelId, manager.id, 0, manageWebhooks);
      for (const [method, path, body] of calls(webhook)) await refused(api, [403, 'missing_permission'], manager, method, path, body);
    });

    it('the 404 of a stranger is that of an id that is nowhere, also in its words', async () => {
      const stranger = await makePerson(api);
      const { id } = await make(channelId);
      const told = await Promise.all(
        [id, '1000000000000000001', 'nope'].map((at) => refused(api, [404, 'not_found'], stranger, 'GET', one(at))),
      );
      expect(new Set(told.map(({ message }) => message)).size).to.equal(1);
    });
  });

  describe('PATCH /api/webhooks/{id}', () => {
    it('renames, trimmed; token and URL stay; an audit entry with from and to', async () => {
      const webhook = await make(channelId, 'old');
      const renamed = { ...webhook, name: 'new' };
      expect(await send(api, 200, owner, 'PATCH', one(webhook.id), { name: ' new ' })).to.deep.equal(renamed);
      expect(await list()).to.deep.equal([renamed]);
      const [entry] = await audit(webhook.id);
      expect(entry).to.deep.include({ action: 'webhook_update', changes: { name: { from: 'old', to: 'new' } } });
    });

    it('{} and the same name change nothing and leave no entry; other fields are never copied', async () => {
      const webhook = await make(channelId);
      for (const body of [{}, { name: webhook.name }, { token: 'x', channelId: server.general, slot: 99 }])
        expect(await send(api, 200, owner, 'PATCH', one(webhook.id), body)).to.deep.equal(webhook);
      expect(await audit(webhook.id)).to.have.length(1);
    });

    for (const name of ['', ' ', 'a\nb', 'x'.repeat(81), 5, null, {}])
      it(`400 for the name ${JSON.stringify(name).slice(0, 20)}`, async () => {
        const { id } = await make();
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', one(id), { name });
        await send(api, 204, owner, 'DELETE', one(id));
      });

    it('404 when it is deleted at that moment: it does not come back', async () => {
      const { id } = await make(channelId);
      around(api.platform.db.webhooks.collection, 'findOneAndUpdate', async (real) => {
        await send(api, 204, owner, 'DELETE', one(id));
        return real();
      });
      await refused(api, [404, 'not_found'], owner, 'PATCH', one(id), { name: 'x' });
      expect(await fixture.stored(id)).to.equal(null);
    });
  });

  describe('DELETE /api/webhooks/{id}', () => {
    it('204, then 404 for all; its posts stay; an audit entry', async () => {
      const webhook = await make(channelId, 'gone');
      const message = await fixture.say(webhook);
      await send(api, 204, owner, 'DELETE', one(webhook.id));
      for (const method of ['DELETE', 'GET']) await refused(api, [404, 'not_found'], owner, method, one(webhook.id));
      expect((await fixture.post(webhook)).status).to.equal(404);
      expect(await send(api, 200, owner, 'GET', `/api/channels/${channelId}/messages`)).to.deep.equal([message]);
      const [entry] = await audit(webhook.id);
      expect(entry).to.deep.include({
        action: 'webhook_delete',
        changes: { name: { from: 'gone', to: null }, channelId: { from: channelId, to: null } },
      });
    });

    it('20 at once: one 204 and one entry', async () => {
      const { id } = await make(channelId);
      const answers = await Promise.all(Array.from({ length: 20 }, () => api.call('DELETE', one(id), { as: owner.as })));
      expect(tally(answers)).to.deep.equal({ 204: 1, 404: 19 });
      expect((await audit(id)).filter(({ action }) => action === 'webhook_delete')).to.have.length(1);
    });
  });

  it('a change of kind between text and announcement keeps webhooks, and they post', async () => {
    const webhook = await make(channelId);
    for (const kind of ['announcement', 'text']) {
      await send(api, 200, owner, 'PATCH', `/api/channels/${channelId}`, { kind });
      expect(await list()).to.deep.equal([webhook]);
      await fixture.say(webhook);
    }
  });
});
