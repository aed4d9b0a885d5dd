import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { TestApi } from '../../harness/api.ts';
import { makeWorld, type World } from '../../harness/world.ts';
import { crowd, type Failure, type MessageFixture, messageFixture, type Shown } from './message-fixture.ts';

describe('posting messages', () => {
  let api: TestApi;
  let world: World;
  let bot: string;
  let other: string;
  let person: string;
  let path: string;
  let post: MessageFixture['post'];
  let withPermissions: MessageFixture['withPermissions'];

  before(async () => {
    ({ api, world, bot, other, person, path, post, withPermissions } = await messageFixture());
  });
  after(() => api.close());

  describe('POST /api/channels/{channelId}/messages', () => {
    const refused: [string, unknown, string][] = [
      ['no content', {}, '/'],
      ['empty content', { content: '' }, '/'],
      ['blank content', { content: ' \n\t ' }, '/'],
      ['blank content and no embeds', { content: '', embeds: [] }, '/'],
      ['2,001 characters', { content: crowd(2001) }, '/content'],
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
      ['6,001 characters in one embed', { embeds: [{ description: 'x'.repeat(4000), footer: { text: 'y'.repeat(2001) } }] }, '/embeds/0'],
      ['a nonce of 65', { content: 'x', nonce: crowd(65) }, '/nonce'],
      ['a replyTo that is no id', { content: 'x', replyTo: 'nope' }, '/replyTo'],
      ['an unknown replyTo', { content: 'x', replyTo: '1000000000000000000' }, '/replyTo'],
    ];
    for (const [what, body, where] of refused)
      it(`400 invalid_request for ${what}`, async () => {
        const before = await api.platform.db.messages.countDocuments({});
        const answer = await post<Failure>(body);
        expect(answer.status).to.equal(400);
        expect(answer.body.code).to.equal('invalid_request');
        if (where !== '/') expect(answer.body.errors?.map((one) => one.path)).to.include(where);
        expect(await api.platform.db.messages.countDocuments({})).to.equal(before);
      });

    const taken: [string, object][] = [
      ['2,000 emoji', { content: crowd(2000) }],
      ['an embed without content', { embeds: [{ title: 'only' }] }],
      ['blank content with an embed', { content: '', embeds: [{ title: 'only' }] }],
      [
        '10 embeds of 6,000 characters',
        { embeds: Array.from({ length: 10 }, () => ({ description: 'x'.repeat(4000), footer: { text: 'y'.repeat(2000) } })) },
      ],
      ['a nonce of 64 emoji', { content: 'x', nonce: crowd(64) }],
      ['unknown fields', { content: 'x', nope: { a: 1 } }],
    ];
    for (const [what, body] of taken)
      it(`201 with ${what}`, async () => {
        const answer = await post(body);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(201);
      });

    it('stores only the fields of an embed that the contract knows', async () => {
      const { body } = await post({ embeds: [{ title: 't', evil: { $set: 1 }, footer: { text: 'f', evil: 1 } }] });
      expect(body.embeds).to.deep.equal([{ title: 't', footer: { text: 'f' } }]);
    });

    it('answers the whole Message, its nonce echoed, its author with the tag', async () => {
      const { body } = await post({ content: 'hello', nonce: 'n-1' });
      expect(body).to.deep.include({ content: 'hello', nonce: 'n-1', editedAt: null, replyDeleted: false, mentionEveryone: false });
      expect(body.author).to.deep.include({ id: world.bots[0]?.id, tag: 'bot' });
      expect(body).to.not.have.property('serverId');
      const read = await api.call<Shown>('GET', `${path}/${body.id}`, { as: bot });
      expect(read.body).to.not.have.property('nonce');
    });

    it('400 embeds of a person', async () => {
      const answer = await post<Failure>({ content: 'x', embeds: [{ title: 'x' }] }, person);
      expect([answer.status, answer.body.errors?.[0]?.path]).to.deep.equal([400, '/embeds']);
    });

    it('401 without, with a malformed, an unknown and a wrongly spelt credential', async () => {
      const token = world.bots[0]?.token as string;
      for (const as of [
        undefined,
        'Bot',
        'Bot x',
        `bot ${token}`,
        `Bot  ${token}`,
        token,
        `Bot ${token}x`,
        `Bot ${token.slice(0, -1)}AA`,
      ]) {
        const answer = await api.call<Failure>('POST', path, { as, body: { content: 'x' } });
        expect([as, answer.status, answer.body.code]).to.deep.equal([as, 401, 'unauthorized']);
        expect(answer.headers.get('www-authenticate')).to.equal('Bot, Bearer');
      }
    });

    it('403 missing_permission without Send Messages, and without View Channel', async () => {
      await withPermissions(permissionBits['View Channel'], async () => {
        const answer = await post<Failure>({ content: 'x' });
        expect([answer.status, answer.body.code, answer.body.missing]).to.deep.equal([403, 'missing_permission', ['Send Messages']]);
      });
      await withPermissions(permissionBits['Send Messages'], async () => {
        const answer = await post<Failure>({ content: 'x' });
        expect([answer.status, answer.body.missing]).to.deep.equal([403, ['View Channel']]);
      });
    });

    it('404 outside the server', async () => {
      const foreign = await makeWorld(api.platform, { bots: 1, channels: 1 });
      const answer = await api.call<Failure>('POST', path, { as: `Bot ${foreign.bots[0]?.token}`, body: { content: 'x' } });
      expect([answer.status, answer.body.code]).to.deep.equal([404, 'not_found']);
    });

    it('resolves mentions: known users and roles once each, none in code or after a backslash', async () => {
      const [mine, unknown] = [world.ownerId, '1000000000000000001'];
      const { body } = await post({
        content: `<@${mine}> <@${mine}> <@${unknown}> \`<@${world.bots[1]?.id}>\` \\<@${world.bots[1]?.id}> <@&${unknown}>`,
      });
      expect(body.mentions).to.deep.equal([mine]);
      expect(body.mentionRoles).to.deep.equal([]);
    });

    it('@everyone, @here and the role @everyone count only with Mention Everyone', async () => {
      for (const content of ['@everyone', '@here', `<@&${world.serverId}>`]) {
        const without = await post({ content });
        expect([content, without.body.mentionEveryone, without.body.mentionRoles]).to.deep.equal([content, false, []]);
        const owner = await post({ content }, person);
        expect([content, owner.body.mentionEveryone, owner.body.mentionRoles]).to.deep.equal([content, true, []]);
      }
    });

    it('a reply shows the original as it stands now, pings its author unless told not to, and tells when it is gone', async () => {
      const original = await post({ content: `${crowd(199)}ab` }, other);
      const reply = await post({ content: 'yes', replyTo: original.body.id });
      expect(reply.body.mentions).to.deep.equal([world.bots[1]?.id]);
      expect(reply.body.reply).to.deep.include({ id: original.body.id, content: `${crowd(199)}a`, hasAttachments: false });
      expect((await post({ content: 'quiet', replyTo: original.body.id, mentionReply: false })).body.mentions).to.deep.equal([]);
      expect((await post({ content: 'me', replyTo: reply.body.id })).body.mentions).to.deep.equal([]);
      await api.call('PATCH', `${path}/${original.body.id}`, { as: other, body: { content: 'changed' } });
      expect((await api.call<Shown>('GET', `${path}/${reply.body.id}`, { as: bot })).body.reply?.content).to.equal('changed');
      await api.call('DELETE', `${path}/${original.body.id}`, { as: other });
      const orphan = await api.call<Shown>('GET', `${path}/${reply.body.id}`, { as: bot });
      expect(orphan.body.replyDeleted).to.equal(true);
      expect(orphan.body).to.not.have.property('reply');
    });

    it('400 for a replyTo of another channel', async () => {
      const elsewhere = await api.call<Shown>('POST', `/api/channels/${world.channelIds[1]}/messages`, { as: bot, body: { content: 'x' } });
      expect((await post<Failure>({ content: 'x', replyTo: elsewhere.body.id })).status).to.equal(400);
    });

    it('two posts with one nonce are two messages', async () => {
      const [a, b] = [await post({ content: 'x', nonce: 'same' }), await post({ content: 'x', nonce: 'same' })];
      expect(a.body.id).to.not.equal(b.body.id);
    });

    it('ids grow from post to post, also when many are made at once', async () => {
      const made = await Promise.all(Array.from({ length: 40 }, (_, n) => post({ content: `at once ${n}` })));
      const ids = made.map((one) => one.body.id);
      expect(new Set(ids).size).to.equal(40);
      const later = await post({ content: 'later' });
      expect(ids.every((id) => id < later.body.id)).to.equal(true);
    });

    for (const kind of ['category', 'voice'])
      it(`400 in a ${kind} channel`, async () => {
        const channelId = world.channelIds[2] as string;
        await api.platform.versions.changing({ servers: [world.serverId] }, () =>
          api.platform.db.channels.collection.updateOne({ _id: channelId as never }, { $set: { kind } }),
        );
        for (const method of ['POST', 'GET'])
          expect(
            (
              await api.call(method, `/api/channels/${channelId}/messages`, {
                as: bot,
                ...(method === 'POST' ? { body: { content: 'x' } } : {}),
              })
            ).status,
          ).to.equal(400);
      });
  });
});
