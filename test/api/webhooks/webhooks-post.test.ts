import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { NewWebhook } from '../../../lib/contract/webhook.ts';
import { storeWebhookMessage } from '../../../lib/domain/webhooks/webhook-posts.ts';
import type { WebhookDoc } from '../../../lib/store/mongo/models/webhook.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeChannel, makeRole, send, setOverwrite } from '../../harness/factories.ts';
import { type WebhookFixture, webhookFixture } from './webhook-fixture.ts';

const { 'Mention Everyone': mentionEveryone, 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;

describe('POST /api/webhooks/{webhook_id}/{webhook_token}', () => {
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

  it('201 with the Message under the webhook’s name with the bot tag; reads show the same', async () => {
    const embeds = [{ title: 'Build 5', color: 0xff00, fields: [{ name: 'n', value: 'v' }], mine: 1 }];
    const { status, body } = await post(webhook, { content: '**hi** `x`', embeds });
    expect(status).to.equal(201);
    expect(body).to.deep.include({ channelId, content: '**hi** `x`', author: author(), editedAt: null, attachments: [], reactions: [] });
    expect(body).to.deep.include({ mentions: [], mentionRoles: [], mentionEveryone: false, replyDeleted: false, pinned: false });
    expect(body.embeds).to.deep.equal([{ title: 'Build 5', color: 0xff00, fields: [{ name: 'n', value: 'v', inline: false }] }]);
    expect(body).not.to.have.any.keys('reply', 'interaction', 'nonce');
    expect(await messages()).to.deep.equal([body]);
    expect(await send(api, 200, member, 'GET', `/api/channels/${channelId}/messages/${String(body.id)}`)).to.deep.equal(body);
  });

  it('overrides and unknown fields are ignored, not refused, whatever they hold', async () => {
    const overrides = {
      username: 'Someone',
      avatar_url: 'https://example.org/a.png',
      tts: 5,
      nonce: 5,
      replyTo: 'x',
      author: null,
      face: {},
    };
    const { status, body } = await post(webhook, { content: 'x', ...overrides });
    expect(status).to.equal(201);
    expect(body.author).to.deep.equal(author());
    expect(body).not.to.have.any.keys('nonce', 'reply');
  });

  for (const Authorization of ['Bot nothing', 'Bearer x', 'Basic eDp5', 'nonsense', 'Bot', '   ', 'Bearer "'])
    it(`201 whatever else authorizes: ${JSON.stringify(Authorization)}`, async () => {
      expect((await post(webhook, { content: 'x' }, { Authorization })).status).to.equal(201);
    });

  it('201 with someone’s good credential or cookie: it posts as the webhook, not as them', async () => {
    for (const headers of [{ Authorization: owner.as }, { Cookie: `session=${owner.token}` }])
      expect((await post(webhook, { content: 'x' }, headers)).body.author).to.deep.equal(author());
  });

  const embed = { title: 'x' };
  for (const [what, body, status] of [
    ['2,000 characters of two units each', { content: '😀'.repeat(2000) }, 201],
    ['2,001 characters', { content: 'x'.repeat(2001) }, 400],
    ['no content', {}, 400],
    ['empty content', { content: '' }, 400],
    ['blank content', { content: ' \n\u200b' }, 400],
    ['content as a number', { content: 5 }, 400],
    ['content null', { content: null }, 400],
    ['embeds alone', { embeds: [embed] }, 201],
    ['blank content with an embed', { content: ' ', embeds: [embed] }, 201],
    ['no embeds in a list', { embeds: [] }, 400],
    ['10 embeds', { embeds: Array.from({ length: 10 }, () => embed) }, 201],
    ['11 embeds', { embeds: Array.from({ length: 11 }, () => embed) }, 400],
    ['an embed with nothing to see', { embeds: [{ color: 1 }] }, 400],
    ['an embed of 6,001 characters', { embeds: [{ title: 'x', description: 'y'.repeat(4000), footer: { text: 'z'.repeat(2000) } }] }, 400],
    ['a list', [], 400],
    ['text', '"x"', 400],
    ['broken JSON', '{', 400],
  ] as const)
    it(`${what} → ${status}, and only what is posted takes a place`, async () => {
      expect((await post(webhook, body)).status).to.equal(status);
      expect((await fixture.stored(webhook.id))?.posts).to.have.length(status === 201 ? 1 : 0);
      expect(await messages()).to.have.length(status === 201 ? 1 : 0);
    });

  it('415 for a form, 400 without a body', async () => {
    const form = { 'Content-Type': 'application/x-www-form-urlencoded' };
    expectError(await post(webhook, 'content=x', form), 415, 'unsupported_media_type');
    expectError(await api.call('POST', `/api/webhooks/${webhook.id}/${webhook.token}`), 400, 'invalid_request');
  });

  describe('mentions', () => {
    it('people and roles count; @everyone, @here and the role of all do not without Mention Everyone', async () => {
      const role = await makeRole(api, owner, server.id);
      const content = `<@${member.id}> <@${member.id}> <@&${role.id}> <@&${server.id}> @everyone @here \`<@${owner.id}>\` \\<@${owner.id}>`;
      expect(await say(webhook, content)).to.deep.include({ mentions: [member.id], mentionRoles: [role.id], mentionEveryone: false });
      expect(await say(webhook, '<@1000000000000000001>')).to.deep.include({ mentions: [] });
    });

    it('@everyone pings once @everyone may mention everyone in that channel, on the server’s level or by the channel', async () => {
      await setOverwrite(api, owner, channelId, server.id, mentionEveryone, 0);
      for (const content of ['@everyone', '@here', `<@&${server.id}>`])
        expect((await say(webhook, content)).mentionEveryone).to.equal(true);
      const elsewhere = await make();
      expect((await say(elsewhere, '@everyone')).mentionEveryone, 'in another channel').to.equal(false);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${server.id}`, { permissions: 15 | mentionEveryone });
      expect((await say(elsewhere, '@everyone')).mentionEveryone).to.equal(true);
      await setOverwrite(api, owner, channelId, server.id, 0, mentionEveryone);
      expect((await say(webhook, '@everyone')).mentionEveryone, 'denied by the channel').to.equal(false);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}/roles/${server.id}`, { permissions: 15 });
    });

    it('posts where @everyone may not, also where it sees nothing; then nobody is pinged by @everyone', async () => {
      await setOverwrite(api, owner, channelId, server.id, mentionEveryone, sendMessages);
      expect((await say(webhook, '@everyone')).mentionEveryone).to.equal(true);
      await setOverwrite(api, owner, channelId, server.id, mentionEveryone, viewChannel);
      expect((await say(webhook, '@everyone')).mentionEveryone).to.equal(false);
    });

    it('what is stored for a code host pings nobody, whatever it says, and stands once under its create', async () => {
      await setOverwrite(api, owner, channelId, server.id, mentionEveryone, 0);
      const createId = api.platform.ids.next();
      const said = { createId, content: `@everyone <@${member.id}> <@&${server.id}>`, embeds: [], mentions: false };
      const doc = (await fixture.stored(webhook.id)) as WebhookDoc;
      const [first, second] = [await storeWebhookMessage(api.platform, doc, said), await storeWebhookMessage(api.platform, doc, said)];
      expect(first).to.deep.include({ createId, mentions: [], mentionRoles: [], mentionEveryone: false }).and.not.to.have.property('pings');
      expect([second._id, (await messages()).length]).to.deep.equal([first._id, 1]);
    });

    it('its mentions are unread ones; whom it does not mention has none', async () => {
      await say(webhook, `<@${member.id}>`);
      const last = await say(webhook);
      const reads = async (as: typeof owner) =>
        (await send<{ channelId: string }[]>(api, 200, as, 'GET', '/api/users/@me/reads')).find((one) => one.channelId === channelId);
      expect(await reads(member)).to.include({ lastMessageId: last.id, mentions: 1 });
      expect(await reads(owner)).to.include({ lastMessageId: last.id, mentions: 0 });
    });
  });

  it('old posts keep the old name after a rename, new ones have the new one', async () => {
    const before = await say(webhook);
    await send(api, 200, owner, 'PATCH', `/api/webhooks/${webhook.id}`, { name: 'Renamed' });
    const after = await say(webhook);
    expect(after.author).to.deep.equal({ ...author(), username: 'Renamed', displayName: 'Renamed' });
    expect(await messages()).to.deep.equal([before, after]);
  });

  it('slow mode does not apply', async () => {
    await send(api, 200, owner, 'PATCH', `/api/channels/${channelId}`, { slowmodeSecs: 600 });
    for (let n = 0; n < 3; n++) await say(webhook);
  });

  it('ids go up with the posts of others', async () => {
    const path = `/api/channels/${channelId}/messages`;
    const ids = [];
    for (let n = 0; n < 3; n++)
      ids.push((await say(webhook)).id, (await send<Message>(api, 201, member, 'POST', path, { content: 'x' })).id);
    expect((await messages()).map(({ id }) => id)).to.deep.equal(ids);
  });

  it('the same Idempotency-Key posts once and takes one place', async () => {
    const key = { 'Idempotency-Key': 'once' };
    const [first, second] = [await post(webhook, { content: 'x' }, key), await post(webhook, { content: 'x' }, key)];
    expect([first.status, second.status, second.body]).to.deep.equal([201, 201, first.body]);
    expect(await messages()).to.have.length(1);
    expect((await fixture.stored(webhook.id))?.posts).to.have.length(1);
  });

  it('taken up after a crash, with no place left: 201 with the message that stands', async () => {
    const key = { 'Idempotency-Key': 'crash' };
    const first = await post(webhook, { content: 'x' }, key);
    const stored = await api.platform.db.messages.findOne({ _id: String(first.body.id) }).lean();
    await api.platform.db.idempotency.updateOne({ resourceId: stored?.createId ?? '' }, { $set: { answer: null, claimedAt: new Date(0) } });
    for (let n = 0; n < 4; n++) await say(webhook);
    expect((await post(webhook)).status).to.equal(429);
    const again = await post(webhook, { content: 'x' }, key);
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    expect(await messages()).to.have.length(5);
  });
});
