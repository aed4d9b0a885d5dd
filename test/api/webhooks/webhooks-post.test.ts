import { expect } from 'chai';
import { everyoneDefault, permissionBits } from '../../../lib/base/permissions.ts';
import { storeWebhookMessage } from '../../../lib/domain/webhooks/posts.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import { expectError } from '../../harness/expect-error.ts';
import { loseAnswers, makeRole, postMessage, setOverwrite, withEveryone } from '../../harness/factories.ts';
import { type Caller, send } from '../../harness/requests.ts';
import { useWebhook } from './webhook-fixture.ts';

const { 'Mention Everyone': mentionEveryone, 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('POST /api/webhooks/{webhookId}/{webhookToken}', () => {
  const { api, owner, member, server, channel, webhook, author, makeWebhook, post, call, stored, messages } = useWebhook();

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

  for (const Authorization of ['Bot nothing', 'Bearer x', 'Basic eDp5', 'nonsense', 'Bot', '   ', 'Bearer "'])
    it(`201 with the Authorization header ${JSON.stringify(Authorization)}`, async () => {
      expect((await call(webhook, { content: 'x' }, { Authorization })).status).to.equal(201);
    });

  it('201 with the credential or cookie of a person; the author is the webhook', async () => {
    for (const headers of [{ Authorization: owner.as }, { Cookie: `session=${owner.token}` }])
      expect((await call(webhook, { content: 'x' }, headers)).body.author).to.deep.equal(author());
  });

  const embed = { title: 'x' };
  for (const [status, what, body] of [
    [201, 'for 2,000 characters of two UTF-16 units', { content: '😀'.repeat(2000) }],
    [400, 'for 2,001 characters', { content: 'x'.repeat(2001) }],
    [400, 'without content', {}],
    [400, 'for empty content', { content: '' }],
    [400, 'for blank content', { content: ' \n\u200b' }],
    [400, 'for a number as content', { content: 5 }],
    [400, 'for null as content', { content: null }],
    [201, 'for an embed without content', { embeds: [embed] }],
    [201, 'for blank content with an embed', { content: ' ', embeds: [embed] }],
    [400, 'for an empty list of embeds', { embeds: [] }],
    [201, 'for 10 embeds', { embeds: Array.from({ length: 10 }, () => embed) }],
    [400, 'for 11 embeds', { embeds: Array.from({ length: 11 }, () => embed) }],
    [400, 'for an embed without visible fields', { embeds: [{ color: 1 }] }],
    [
      400,
      'for an embed of 6,001 characters',
      { embeds: [{ title: 'x', description: 'y'.repeat(4000), footer: { text: 'z'.repeat(2000) } }] },
    ],
    [400, 'for a list as body', []],
    [400, 'for a string as body', '"x"'],
    [400, 'for malformed JSON', '{'],
  ] as const)
    it(`${status} ${what}${status === 400 ? ', which does not count towards the rate limit' : ''}`, async () => {
      expect((await call(webhook, body)).status).to.equal(status);
      expect((await stored(webhook.id))?.posts).to.have.length(status === 201 ? 1 : 0);
      expect(await messages()).to.have.length(status === 201 ? 1 : 0);
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
});
