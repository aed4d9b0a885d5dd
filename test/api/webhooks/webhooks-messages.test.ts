import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { around } from '../../harness/around.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeBot, makeChannel, send } from '../../harness/factories.ts';
import { type WebhookFixture, webhookFixture } from './webhook-fixture.ts';

describe('messages of webhooks', () => {
  let fixture: WebhookFixture;
  let { api, owner, member, server, make, post, say }: WebhookFixture = {} as never;
  let channelId: string;
  let webhook: NewWebhook;

  before(async () => {
    fixture = await webhookFixture();
    ({ api, owner, member, server, make, post, say } = fixture);
  });
  after(() => api.close());
  beforeEach(async () => {
    channelId = (await makeChannel(api, owner, server.id)).id;
    webhook = await make(channelId, 'Build news');
  });

  const messages = (): Promise<Message[]> => send(api, 200, member, 'GET', `/api/channels/${channelId}/messages`);
  const author = (): object => ({ id: webhook.id, username: 'Build news', displayName: 'Build news', avatarUrl: null, tag: 'bot' });

  describe('a webhook that goes', () => {
    const end = (): Promise<void> => send(api, 204, owner, 'DELETE', `/api/webhooks/${webhook.id}`);

    it('404 when it is deleted before the post took its place', async () => {
      around(api.platform.db.webhooks.collection, 'findOneAndUpdate', async (real) => {
        await end();
        return real();
      });
      expectError(await post(webhook), 404, 'not_found');
      expect(await messages()).to.deep.equal([]);
    });

    it('404 when it is deleted between its place and its message: the message does not stay', async () => {
      around(api.platform.db.messages.collection, 'insertOne', async (real) => {
        await end();
        return real();
      });
      expectError(await post(webhook), 404, 'not_found');
      expect(await messages()).to.deep.equal([]);
    });

    it('201 when it is deleted just after its message was acknowledged: the message stays', async () => {
      const message = await say(webhook);
      await end();
      expect(await messages()).to.deep.equal([message]);
    });

    it('deleted in the middle of 5 posts: what is acknowledged stands, what is refused does not, and nothing comes after', async () => {
      for (let round = 0; round < 8; round++) {
        webhook = await make(channelId);
        const before = (await messages()).length;
        const posts = Array.from({ length: 5 }, () => post(webhook));
        const [answers] = await Promise.all([Promise.all(posts), end()]);
        const made = answers.filter(({ status }) => status === 201);
        for (const { status } of answers) expect(status).to.be.oneOf([201, 404]);
        expect(await messages()).to.have.length(before + made.length);
      }
    });

    it('404 as soon as its channel is deleted, which takes no place', async () => {
      await send(api, 204, owner, 'DELETE', `/api/channels/${channelId}`);
      expectError(await post(webhook), 404, 'not_found');
      expect((await fixture.stored(webhook.id))?.posts).to.deep.equal([]);
      for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const)
        expectError(await api.call(method, `/api/webhooks/${webhook.id}`, { as: owner.as, body }), 404, 'not_found');
    });
  });

  describe('its message', () => {
    let message: Message;
    let at: string;
    beforeEach(async () => {
      message = await say(webhook);
      at = `/api/channels/${channelId}/messages/${message.id}`;
    });

    it('is no account’s: 404 for its profile, 400 for a DM or a role with it, 404 as a member', async () => {
      expectError(await api.call('GET', `/api/users/${webhook.id}/profile`, { as: member.as }), 404, 'not_found');
      expectError(
        await api.call('POST', '/api/users/@me/channels', { as: member.as, body: { recipientId: webhook.id } }),
        400,
        'invalid_request',
      );
      expectError(await api.call('GET', `/api/servers/${server.id}/members/${webhook.id}`, { as: owner.as }), 404, 'not_found');
      expect((await say(webhook, `<@${webhook.id}>`)).mentions, 'nobody can mention it').to.deep.equal([]);
    });

    it('a reply to it pings nobody and shows its author, also when the webhook is gone', async () => {
      const body = { content: 'x', replyTo: message.id };
      const reply = await send<Message>(api, 201, member, 'POST', `/api/channels/${channelId}/messages`, body);
      expect(reply).to.deep.include({ mentions: [] });
      expect(reply.reply).to.deep.equal({ id: message.id, author: author(), content: 'x', hasAttachments: false });
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${webhook.id}`);
      expect((await messages())[1]?.reply?.author).to.deep.equal(author());
    });

    it('403 not_author for every edit, also of the owner’s and a bot’s', async () => {
      const bot = await makeBot(api, owner, server.id, permissionBits.Administrator);
      for (const caller of [owner, member, bot])
        expectError(await api.call('PATCH', at, { as: caller.as, body: { content: 'y' } }), 403, 'not_author');
    });

    it('is deleted with Manage Messages only, with an audit entry', async () => {
      expectError(await api.call('DELETE', at, { as: member.as }), 403, 'missing_permission');
      await send(api, 204, owner, 'DELETE', at);
      expect(await messages()).to.deep.equal([]);
      expect((await fixture.audit(message.id))[0]).to.include({ action: 'message_delete', actorId: owner.id });
    });

    it('takes reactions, a pin and a thread', async () => {
      await send(api, 204, member, 'PUT', `${at}/reactions/%F0%9F%91%8D`);
      await send(api, 204, owner, 'PUT', `/api/channels/${channelId}/pins/${message.id}`);
      const thread = await send<{ id: string }>(api, 201, member, 'POST', `/api/channels/${channelId}/threads`, {
        name: 't',
        messageId: message.id,
      });
      expect(thread).to.include({ threadStarterId: message.id });
      const [pinned] = await send<Message[]>(api, 200, member, 'GET', `/api/channels/${channelId}/pins`);
      expect(pinned).to.deep.include({ id: message.id, author: author(), pinned: true });
      expect(pinned?.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });

    it('of an announcement channel is crossposted with Manage Messages, and not by who may only send', async () => {
      await send(api, 200, owner, 'PATCH', `/api/channels/${channelId}`, { kind: 'announcement' });
      expectError(await api.call('POST', `${at}/crosspost`, { as: member.as }), 403, 'missing_permission');
      expect(await send(api, 200, owner, 'POST', `${at}/crosspost`)).to.deep.include({ crossposted: true, author: author() });
    });
  });
});
