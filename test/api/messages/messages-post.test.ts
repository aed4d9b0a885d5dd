import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { makeChannel, makePerson, postMessage, unknownId, withEveryone } from '../../harness/factories.ts';
import { inParallel, refused, refusedWithout } from '../../harness/requests.ts';
import { emoji, useMessages } from './message-fixture.ts';

const { 'View Channel': viewChannel, 'Send Messages': sendMessages } = permissionBits;
const bigEmbed = { description: 'x'.repeat(4000), footer: { text: 'y'.repeat(2000) } };

describe('POST /api/channels/{channelId}/messages', () => {
  const { api, owner, server, bot, other, path, post, read, edit, remove } = useMessages();
  const count = (): Promise<number> => api.platform.db.messages.countDocuments({});

  const bad: [what: string, body: unknown, at?: string][] = [
    ['no content', {}],
    ['empty content', { content: '' }],
    ['blank content', { content: ' \n\t ' }],
    ['blank content and no embeds', { content: '', embeds: [] }],
    ['2,001 characters', { content: emoji(2001) }, '/content'],
    ['a number as content', { content: 5 }, '/content'],
    ['null as content', { content: null }, '/content'],
    ['11 embeds', { embeds: Array.from({ length: 11 }, () => ({ title: 'x' })) }, '/embeds'],
    ['an empty embed', { embeds: [{}] }, '/embeds/0'],
    ['an embed of unknown fields only', { embeds: [{ nope: 1 }] }, '/embeds/0'],
    ['an embed title of 257', { embeds: [{ title: 'x'.repeat(257) }] }, '/embeds/0/title'],
    ['an embed description of 4,097', { embeds: [{ description: 'x'.repeat(4097) }] }, '/embeds/0/description'],
    ['26 embed fields', { embeds: [{ fields: Array.from({ length: 26 }, () => ({ name: 'a', value: 'b' })) }] }, '/embeds/0/fields'],
    ['a colour out of range', { embeds: [{ title: 'x', color: 0x1000000 }] }, '/embeds/0/color'],
    ['a colour as text', { embeds: [{ title: 'x', color: '1' }] }, '/embeds/0/color'],
    ['a javascript link in an embed', { embeds: [{ title: 'x', url: 'javascript:alert(1)' }] }, '/embeds/0/url'],
    ['6,001 characters in one embed', { embeds: [{ ...bigEmbed, title: 'z' }] }, '/embeds/0'],
    ['a nonce of 65', { content: 'x', nonce: emoji(65) }, '/nonce'],
    ['a replyTo that is no id', { content: 'x', replyTo: 'nope' }, '/replyTo'],
    ['an unknown replyTo', { content: 'x', replyTo: unknownId }, '/replyTo'],
  ];
  for (const [what, body, at] of bad)
    it(`400 invalid_request for ${what}`, async () => {
      const before = await count();
      const { errors } = await refused(api, [400, 'invalid_request'], bot, 'POST', path(), body);
      if (at) expect(errors?.map((one) => one.path)).to.include(at);
      expect(await count()).to.equal(before);
    });

  const good: [what: string, body: object][] = [
    ['2,000 emoji', { content: emoji(2000) }],
    ['an embed without content', { embeds: [{ title: 'only' }] }],
    ['blank content with an embed', { content: '', embeds: [{ title: 'only' }] }],
    ['10 embeds of 6,000 characters', { embeds: Array.from({ length: 10 }, () => bigEmbed) }],
    ['a nonce of 64 emoji', { content: 'x', nonce: emoji(64) }],
    ['unknown fields', { content: 'x', nope: { a: 1 } }],
  ];
  for (const [what, body] of good) it(`201 with ${what}`, () => post(body));

  it('stores only the known fields of an embed', async () => {
    const { embeds } = await post({ embeds: [{ title: 't', evil: { $set: 1 }, footer: { text: 'f', evil: 1 } }] });
    expect(embeds).to.deep.equal([{ title: 't', footer: { text: 'f' } }]);
  });

  it('201 with the whole message, including the nonce and the tag of its author', async () => {
    const message = await post({ content: 'hello', nonce: 'n-1' });
    expect(message).to.deep.include({ content: 'hello', nonce: 'n-1', editedAt: null, replyDeleted: false, mentionEveryone: false });
    expect(message.author).to.deep.include({ id: bot.id, tag: 'bot' });
    expect(message).to.not.have.property('serverId');
    expect(await read(message.id)).to.not.have.property('nonce');
  });

  it('400 for embeds of a person', async () => {
    const { errors } = await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { content: 'x', embeds: [{ title: 'x' }] });
    expect(errors?.[0]?.path).to.equal('/embeds');
  });

  it('401 without a credential, and with one that is malformed, unknown or misspelt', async () => {
    const { token } = bot;
    for (const as of [undefined, 'Bot', 'Bot x', `bot ${token}`, `Bot  ${token}`, token, `Bot ${token}x`, `Bot ${token.slice(0, -1)}AA`]) {
      const answer = await api.call('POST', path(), { as, body: { content: 'x' } });
      expect([as, answer.status, answer.body.code]).to.deep.equal([as, 401, 'unauthorized']);
      expect(answer.headers.get('www-authenticate')).to.equal('Bot, Bearer');
    }
  });

  it('403 missing_permission without Send Messages or View Channel', async () => {
    for (const [permissions, missing] of [
      [viewChannel, 'Send Messages'],
      [sendMessages, 'View Channel'],
    ] as const)
      await withEveryone(api, owner, server.id, permissions, () => refusedWithout(api, missing, bot, 'POST', path(), { content: 'x' }));
  });

  it('404 outside the server', async () => {
    await refused(api, [404, 'not_found'], await makePerson(api), 'POST', path(), { content: 'x' });
  });

  it('mentions are known users and roles, once each, but not in code or after a backslash', async () => {
    const [mine, unknown] = [owner.id, '1000000000000000001'];
    const message = await post(`<@${mine}> <@${mine}> <@${unknown}> \`<@${other.id}>\` \\<@${other.id}> <@&${unknown}>`);
    expect(message).to.deep.include({ mentions: [mine], mentionRoles: [] });
  });

  it('@everyone, @here and the role @everyone count only with Mention Everyone', async () => {
    for (const content of ['@everyone', '@here', `<@&${server.id}>`])
      for (const [as, mentionEveryone] of [
        [bot, false],
        [owner, true],
      ] as const)
        expect(await post(content, as), content).to.deep.include({ mentionEveryone, mentionRoles: [] });
  });

  it('a reply shows the current original, mentions its author unless mentionReply is false, and has replyDeleted after a delete', async () => {
    const original = await post(`${emoji(199)}ab`, other);
    const reply = await post({ content: 'yes', replyTo: original.id });
    expect(reply.mentions).to.deep.equal([other.id]);
    expect(reply.reply).to.deep.include({ id: original.id, content: `${emoji(199)}a`, hasAttachments: false });
    expect((await post({ content: 'quiet', replyTo: original.id, mentionReply: false })).mentions).to.deep.equal([]);
    expect((await post({ content: 'me', replyTo: reply.id })).mentions).to.deep.equal([]);
    await edit(original.id, { content: 'changed' }, other);
    expect((await read(reply.id)).reply?.content).to.equal('changed');
    await remove(original.id, other);
    expect(await read(reply.id))
      .to.include({ replyDeleted: true })
      .and.not.have.property('reply');
  });

  it('400 for a replyTo of another channel', async () => {
    const { id } = await makeChannel(api, owner, server.id);
    const { id: replyTo } = await postMessage(api, bot, id);
    await refused(api, [400, 'invalid_request'], bot, 'POST', path(), { content: 'x', replyTo });
  });

  it('two posts with one nonce are two messages', async () => {
    const body = { content: 'x', nonce: 'same' };
    expect((await post(body)).id).to.not.equal((await post(body)).id);
  });

  it('ids increase with every post, also with 40 parallel posts', async () => {
    const ids = (await inParallel(40, (n) => post(`at once ${n}`))).map(({ id }) => id);
    expect(new Set(ids).size).to.equal(40);
    const later = await post('later');
    expect(ids.every((id) => id < later.id)).to.equal(true);
  });

  for (const kind of ['category', 'voice'] as const)
    it(`400 in a ${kind} channel`, async () => {
      const { id } = await makeChannel(api, owner, server.id, { kind });
      for (const method of ['POST', 'GET'])
        await refused(
          api,
          [400, 'invalid_request'],
          bot,
          method,
          `/api/channels/${id}/messages`,
          method === 'POST' ? { content: 'x' } : undefined,
        );
    });
});
