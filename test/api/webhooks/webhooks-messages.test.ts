import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeBot, makeThread } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { useWebhook } from './webhook-fixture.ts';

describe('messages of webhooks', () => {
  const { api, owner, member, server, channel, webhook, author, makeWebhook, post, call, stored, messages, audit } = useWebhook();
  const channelPath = (): string => `/api/channels/${channel.id}`;

  describe('a deleted webhook', () => {
    const remove = ({ id } = webhook): Promise<void> => send(api, 204, owner, 'DELETE', `/api/webhooks/${id}`);

    for (const [when, collection, write] of [
      ['before the post is counted', 'webhooks', 'findOneAndUpdate'],
      ['between the count and the write of the message', 'messages', 'insertOne'],
    ] as const)
      it(`404 if it is deleted ${when}, and no message is left`, async () => {
        interceptNext(api.platform.db[collection], write, async (real) => {
          await remove();
          return real();
        });
        expectError(await call(webhook), 404, 'not_found');
        expect(await messages()).to.deep.equal([]);
      });

    it('its message stays if it is deleted just after the 201', async () => {
      const message = await post(webhook);
      await remove();
      expect(await messages()).to.deep.equal([message]);
    });

    it('of 5 posts during its delete, exactly the messages with 201 are stored', async () => {
      for (let round = 0; round < 8; round++) {
        const other = await makeWebhook();
        const before = (await messages()).length;
        const [answers] = await Promise.all([inParallel(5, () => call(other)), remove(other)]);
        for (const { status } of answers) expect(status).to.be.oneOf([201, 404]);
        expect(await messages()).to.have.length(before + answers.filter(({ status }) => status === 201).length);
      }
    });

    it('404 for every call after its channel is deleted, and a post is not counted', async () => {
      await send(api, 204, owner, 'DELETE', channelPath());
      expectError(await call(webhook), 404, 'not_found');
      expect((await stored(webhook.id))?.posts).to.deep.equal([]);
      for (const [method, body] of [['GET'], ['PATCH', { name: 'x' }], ['DELETE']] as const)
        await refused(api, [404, 'not_found'], owner, method, `/api/webhooks/${webhook.id}`, body);
    });
  });

  describe('a message of a webhook', () => {
    const message = make(() => post(webhook), { each: true });
    const path = (): string => `${channelPath()}/messages/${message.id}`;

    it('its author is no account: 404 for its profile and as a member, 400 for a DM, and no mentions', async () => {
      await refused(api, [404, 'not_found'], member, 'GET', `/api/users/${webhook.id}/profile`);
      await refused(api, [400, 'invalid_request'], member, 'POST', '/api/users/@me/channels', { recipientId: webhook.id });
      await refused(api, [404, 'not_found'], owner, 'GET', `/api/servers/${server.id}/members/${webhook.id}`);
      expect((await post(webhook, `<@${webhook.id}>`)).mentions).to.deep.equal([]);
    });

    it('a reply to it mentions nobody and shows its author, also after the webhook is deleted', async () => {
      const body = { content: 'x', replyTo: message.id };
      const reply = await send<Message>(api, 201, member, 'POST', `${channelPath()}/messages`, body);
      expect(reply).to.deep.include({ mentions: [] });
      expect(reply.reply).to.deep.equal({ id: message.id, author: author(), content: 'x', hasAttachments: false });
      await send(api, 204, owner, 'DELETE', `/api/webhooks/${webhook.id}`);
      expect((await messages())[1]?.reply?.author).to.deep.equal(author());
    });

    it('403 not_author for an edit, also by the owner and a bot with Administrator', async () => {
      const bot = await makeBot(api, owner, server.id, permissionBits.Administrator);
      for (const caller of [owner, member, bot]) await refused(api, [403, 'not_author'], caller, 'PATCH', path(), { content: 'y' });
    });

    it('403 for a delete without Manage Messages; 204 with it, and an audit entry', async () => {
      await refused(api, [403, 'missing_permission'], member, 'DELETE', path());
      await send(api, 204, owner, 'DELETE', path());
      expect(await messages()).to.deep.equal([]);
      expect((await audit(message.id))[0]).to.include({ action: 'message_delete', actorId: owner.id });
    });

    it('can have reactions, a pin and a thread', async () => {
      await send(api, 204, member, 'PUT', `${path()}/reactions/%F0%9F%91%8D`);
      await send(api, 204, owner, 'PUT', `${channelPath()}/pins/${message.id}`);
      const thread = await makeThread(api, member, channel.id, { messageId: message.id });
      expect(thread).to.include({ threadStarterId: message.id });
      const [pinned] = await send<Message[]>(api, 200, member, 'GET', `${channelPath()}/pins`);
      expect(pinned).to.deep.include({ id: message.id, author: author(), pinned: true });
      expect(pinned?.reactions).to.deep.equal([{ emoji: '👍', count: 1, me: true }]);
    });

    it('403 for a crosspost with Send Messages only; 200 with Manage Messages', async () => {
      await send(api, 200, owner, 'PATCH', channelPath(), { kind: 'announcement' });
      await refused(api, [403, 'missing_permission'], member, 'POST', `${path()}/crosspost`);
      expect(await send(api, 200, owner, 'POST', `${path()}/crosspost`)).to.deep.include({ crossposted: true, author: author() });
    });
  });
});
