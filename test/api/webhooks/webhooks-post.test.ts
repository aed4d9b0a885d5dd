import { expect } from 'chai';
import { everyoneDefault, permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { storeWebhookMessage } from '../../../lib/domain/webhooks/posts.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import { expectError } from '../../harness/expect-error.ts';
import { loseAnswers, makeBot, makeRole, makeThread, postMessage, setOverwrite, withEveryone } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { useWebhook } from './webhook-fixture.ts';

const { 'Mention Everyone': mentionEveryone, 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('POST /api/webhooks/{webhookId}/{webhookToken}, and its messages', () => {
  const { api, owner, member, server, channel, webhook, author, makeWebhook, post, call, stored, messages, audit } = useWebhook();
  const channelPath = (): string => `/api/channels/${channel.id}`;

  it('201 with the message, whose author has the webhook’s name and the bot tag, as in reads', async () => {
    const embeds = [{ title: 'Build 5', color: 0xff00, fields: [{ name: 'n', value: 'v' }], mine: 1 }];
    const { status, body } = await call(webhook, { content: '**hi** `x`', embeds });
    expect(status).to.equal(201);
    expect(body).to.deep.include({
      channelId: channel.id,
      content: '**hi** `x`',
      author: author(),
      editedAt: null,
      attachments: [],
      reactions: [],
    });
    expect(body).to.deep.include({ mentions: [], mentionRoles: [], mentionEveryone: false, replyDeleted: false, pinned: false });
    expect(body.embeds).to.deep.equal([{ title: 'Build 5', color: 0xff00, fields: [{ name: 'n', value: 'v', inline: false }] }]);
    expect(body).not.to.have.any.keys('reply', 'interaction', 'nonce');
    expect(await messages()).to.deep.equal([body]);
    expect(await send(api, 200, member, 'GET', `/api/channels/${channel.id}/messages/${String(body.id)}`)).to.deep.equal(body);
  });

  it('201 with overrides and unknown fields of any type, which are ignored and named in Warnings', async () => {
    const overrides = {
      username: 'Someone',
      avatar_url: 'https://example.org/a.png',
      tts: 5,
      nonce: 5,
      replyTo: 'x',
      author: null,
      face: {},
    };
    const { status, body, headers } = await call(webhook, { content: 'x', ...overrides });
    expect(status).to.equal(201);
    expect(headers.get('Warnings')).to.equal(
      Object.keys(overrides)
        .map((name) => `unknown field /${name}`)
        .join('; '),
    );
    expect(body.author).to.deep.equal(author());
    expect(body).not.to.have.any.keys('nonce', 'reply');
  });

  it('201 with any Authorization header, and with the credential or cookie of a person; the author is the webhook', async () => {
    const credentials = ['Bot nothing', 'Bearer x', 'Basic eDp5', 'nonsense', 'Bot', '   ', 'Bearer "', owner.as];
    for (const headers of [...credentials.map((Authorization) => ({ Authorization })), { Cookie: `session=${owner.token}` }]) {
      const own = await makeWebhook();
      const { status, body } = await call(own, { content: 'x' }, headers);
      expect([status, (body.author as { id: string }).id], JSON.stringify(headers)).to.deep.equal([201, own.id]);
    }
  });

  const embed = { title: 'x' };
  it('201 with content or embeds within their limits', async () => {
    for (const body of [
      { content: '😀'.repeat(2000) },
      { embeds: [embed] },
      { content: ' ', embeds: [embed] },
      { embeds: Array.from({ length: 10 }, () => embed) },
    ])
      expect((await call(webhook, body)).status, JSON.stringify(body).slice(0, 60)).to.equal(201);
    expect([(await stored(webhook.id))?.posts.length, (await messages()).length]).to.deep.equal([4, 4]);
  });

  it('400 for other bodies, which do not count towards the rate limit', async () => {
    for (const body of [
      { content: 'x'.repeat(2001) },
      {},
      { content: ' \n\u200b' },
      { content: 5 },
      { content: null },
      { embeds: [] },
      { embeds: Array.from({ length: 11 }, () => embed) },
      { embeds: [{ color: 1 }] },
      { embeds: [{ title: 'x', description: 'y'.repeat(4000), footer: { text: 'z'.repeat(2000) } }] },
      [],
      '{',
    ])
      expect((await call(webhook, body)).status, JSON.stringify(body).slice(0, 60)).to.equal(400);
    expect([(await stored(webhook.id))?.posts, await messages()]).to.deep.equal([[], []]);
  });

  it('415 for a form, 400 without a body', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expectError(await call(webhook, 'content=x', form), 415, 'unsupported_media_type');
    expectError(await api.call('POST', `/api/webhooks/${webhook.id}/${webhook.token}`), 400, 'invalid_request');
  });

  describe('mentions', () => {
    it('mentions people and roles, but not @everyone, @here or the role @everyone without Mention Everyone', async () => {
      const role = await makeRole(api, owner, server.id);
      const content = `<@${member.id}> <@${member.id}> <@&${role.id}> <@&${server.id}> @everyone @here \`<@${owner.id}>\` \\<@${owner.id}>`;
      expect(await post(webhook, content)).to.deep.include({ mentions: [member.id], mentionRoles: [role.id], mentionEveryone: false });
      expect(await post(webhook, '<@1000000000000000001>')).to.deep.include({ mentions: [] });
    });

    it('mentions everyone if the role @everyone has Mention Everyone in the channel, from the role or an overwrite', async () => {
      await setOverwrite(api, owner, channel.id, server.id, mentionEveryone, 0);
      for (const content of ['@everyone', '@here', `<@&${server.id}>`])
        expect((await post(webhook, content)).mentionEveryone).to.equal(true);
      const elsewhere = await makeWebhook(server.general);
      expect((await post(elsewhere, '@everyone')).mentionEveryone, 'in another channel').to.equal(false);
      await withEveryone(api, owner, server.id, everyoneDefault | mentionEveryone, async () => {
        expect((await post(elsewhere, '@everyone')).mentionEveryone).to.equal(true);
        await setOverwrite(api, owner, channel.id, server.id, 0, mentionEveryone);
        expect((await post(webhook, '@everyone')).mentionEveryone, 'denied by the channel').to.equal(false);
      });
    });

    it('201 where @everyone has no Send Messages; without View Channel, @everyone mentions nobody', async () => {
      await setOverwrite(api, owner, channel.id, server.id, mentionEveryone, sendMessages);
      expect((await post(webhook, '@everyone')).mentionEveryone).to.equal(true);
      await setOverwrite(api, owner, channel.id, server.id, mentionEveryone, viewChannel);
      expect((await post(webhook, '@everyone')).mentionEveryone).to.equal(false);
    });

    it('a message for a code host mentions nobody, and is stored once for each create id', async () => {
      await setOverwrite(api, owner, channel.id, server.id, mentionEveryone, 0);
      const createId = api.platform.ids.next();
      const input = { createId, content: `@everyone <@${member.id}> <@&${server.id}>`, embeds: [], canMention: false };
      const doc = (await stored(webhook.id)) as WebhookDoc;
      const [first, second] = [await storeWebhookMessage(api.platform, doc, input), await storeWebhookMessage(api.platform, doc, input)];
      expect(first).to.deep.include({ createId, mentions: [], mentionRoles: [], mentionEveryone: false }).and.not.to.have.property('pings');
      expect([second._id, (await messages()).length]).to.deep.equal([first._id, 1]);
    });

    it('a mention is an unread mention for the mentioned person only', async () => {
      await post(webhook, `<@${member.id}>`);
      const last = await post(webhook);
      const reads = async (as: Caller) =>
        (await send<{ channelId: string }[]>(api, 200, as, 'GET', '/api/users/@me/reads')).find((one) => one.channelId === channel.id);
      expect(await reads(member)).to.include({ lastMessageId: last.id, mentions: 1 });
      expect(await reads(owner)).to.include({ lastMessageId: last.id, mentions: 0 });
    });
  });

  it('after a rename, old messages keep the old name and new ones have the new name', async () => {
    const before = await post(webhook);
    await send(api, 200, owner, 'PATCH', `/api/webhooks/${webhook.id}`, { name: 'Renamed' });
    const after = await post(webhook);
    expect(after.author).to.deep.equal({ ...author(), username: 'Renamed', displayName: 'Renamed' });
    expect(await messages()).to.deep.equal([before, after]);
  });

  it('slow mode does not apply', async () => {
    await send(api, 200, owner, 'PATCH', `/api/channels/${channel.id}`, { slowmodeSecs: 600 });
    for (let n = 0; n < 3; n++) await post(webhook);
  });

  it('ids increase together with those of other people’s messages', async () => {
    const ids = [];
    for (let n = 0; n < 3; n++) ids.push((await post(webhook)).id, (await postMessage(api, member, channel.id)).id);
    expect((await messages()).map(({ id }) => id)).to.deep.equal(ids);
  });

  it('a repeat with its Idempotency-Key posts once and counts once towards the rate limit', async () => {
    const key = { 'Idempotency-Key': 'once' };
    const [first, second] = [await call(webhook, { content: 'x' }, key), await call(webhook, { content: 'x' }, key)];
    expect([first.status, second.status, second.body]).to.deep.equal([201, 201, first.body]);
    expect(await messages()).to.have.length(1);
    expect((await stored(webhook.id))?.posts).to.have.length(1);
  });

  it('a repeat after a crash of the first has 201 with the stored message, also at the rate limit', async () => {
    const key = { 'Idempotency-Key': 'crash' };
    const first = await call(webhook, { content: 'x' }, key);
    const doc = await api.platform.db.messages.findOne({ _id: String(first.body.id) });
    await loseAnswers(api, { resourceId: doc?.createId ?? '' });
    for (let n = 0; n < 4; n++) await post(webhook);
    expect((await call(webhook)).status).to.equal(429);
    const again = await call(webhook, { content: 'x' }, key);
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    expect(await messages()).to.have.length(5);
  });

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

    it('nobody can edit it: 403 not_author; a delete needs Manage Messages and adds an audit entry', async () => {
      const bot = await makeBot(api, owner, server.id, permissionBits.Administrator);
      for (const caller of [owner, member, bot]) await refused(api, [403, 'not_author'], caller, 'PATCH', path(), { content: 'y' });
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
