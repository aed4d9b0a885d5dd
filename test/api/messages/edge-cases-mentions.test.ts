import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  send,
  setOverwrite,
} from '../../harness/factories.ts';
import { fillServer } from '../../harness/world.ts';
import type { Shown } from './message-fixture.ts';

describe('edge cases of messages: mentions and replies', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let ann: Caller;
  let bea: Caller;
  let bot: Bot;
  let roleId: string;
  let foreignRole: string;
  let stranger: Caller;

  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    ann = await makeMember(api, owner, server.id);
    bea = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
    roleId = (await makeRole(api, owner, server.id)).id;
    stranger = await makePerson(api);
    const elsewhere = await makeServer(api, stranger);
    foreignRole = (await makeRole(api, stranger, elsewhere.id)).id;
  });
  after(() => api.close());

  const pathOf = (channelId = server.general): string => `/api/channels/${channelId}/messages`;
  const post = (content: string, as: Caller = ann, more: object = {}, channelId?: string): Promise<Shown> =>
    send(api, 201, as, 'POST', pathOf(channelId), { content, ...more });
  const edit = (id: string, content: string, as: Caller = ann): Promise<Shown> =>
    send(api, 200, as, 'PATCH', `${pathOf()}/${id}`, { content });
  const read = (id: string, channelId?: string): Promise<Shown> => send(api, 200, owner, 'GET', `${pathOf(channelId)}/${id}`);
  const remove = (id: string, as: Caller, channelId?: string): Promise<void> => send(api, 204, as, 'DELETE', `${pathOf(channelId)}/${id}`);
  const pinged = ({ mentions, mentionRoles, mentionEveryone }: Shown): unknown[] => [mentions, mentionRoles, mentionEveryone];

  it('mentions hold the members of the server, and the two of a DM, and tell nothing of any other account', async () => {
    const unknown = '1000000000000000000';
    const all = [bea, stranger].map(({ id }) => `<@${id}>`).join(' ');
    const { id, mentions } = await post(`${all} <@${unknown}>`);
    expect(mentions).to.deep.equal([bea.id]);
    expect((await edit(id, `<@${stranger.id}> <@${unknown}>`)).mentions).to.deep.equal([]);
    const dm = await send<{ id: string }>(api, 201, ann, 'POST', '/api/users/@me/channels', { recipientId: bea.id });
    expect((await post(`${all} <@${ann.id}> <@${owner.id}>`, ann, {}, dm.id)).mentions).to.deep.equal([bea.id, ann.id]);
  });

  describe('where a mention counts', () => {
    /** B and R stand for a person and a role, E for @everyone. */
    const written = (pattern: string): string =>
      pattern.replaceAll('B', `<@${bea.id}>`).replaceAll('R', `<@&${roleId}>`).replaceAll('E', '@everyone');
    const everywhere = [
      'B R E',
      '**B R E**',
      '*B R E*',
      '__B R E__',
      '~~B R E~~',
      '||B R E||',
      '||**B __R__ ~~E~~**||',
      '> B R E',
      '# B R E',
      '- B R E',
    ].concat([
      'xBx R E',
      '(B, R; E)',
      'B R E B R E',
      '\\\\B R E',
      '`x` B R E `x`',
      '```\nx\n``` B R E',
      '`B R E',
      '```B R E',
      '**B R E',
      '😀B R E',
      'https://example.org/ B R E',
      '<https://example.org> B R E',
      '\nB\nR\nE\n',
    ]);
    for (const pattern of everywhere)
      it(`all three in ${JSON.stringify(pattern)}, each once`, async () => {
        const expected = [[bea.id], [roleId], true];
        expect(pinged(await post(written(pattern), owner))).to.deep.equal(expected);
        const plain = await post('x', owner);
        expect(pinged(await edit(plain.id, written(pattern), owner))).to.deep.equal(expected);
        expect(pinged(await read(plain.id))).to.deep.equal(expected);
      });

    const nowhere = [
      '`B R E`',
      '``B R E``',
      '```B R E```',
      '```js\nB R E\n```',
      '\\B \\R \\E',
      '**`B R E`**',
      '|| `B R E` ||',
      '> `B R E`',
      '`` ` B R E ``',
    ].concat(['me@everyone', '@everyoneelse', '<@> <@&> <@!1> < @1>']);
    for (const pattern of nowhere)
      it(`none in ${JSON.stringify(pattern)}`, async () =>
        expect(pinged(await post(written(pattern), owner))).to.deep.equal([[], [], false]));

    it('none in capitals', async () => expect(pinged(await post('@Everyone @EVERYONE @HERE', owner))).to.deep.equal([[], [], false]));

    it('only who and what exists: no unknown ids, no short ones, no role of another server, no role as a person', async () => {
      const content = `<@1000000000000000001> <@1> <@&1000000000000000001> <@&${foreignRole}> <@${roleId}> <@&${bea.id}> <@${server.id}>`;
      expect(pinged(await post(content, owner))).to.deep.equal([[], [], false]);
    });

    it('in the order of the content, bots too', async () =>
      expect((await post(`<@${bot.id}> <@${ann.id}> <@${bot.id}>`)).mentions).to.deep.equal([bot.id, ann.id]));

    it('as many as a content holds', async () => {
      const accounts = await fillServer(api.platform, server.id, 86, 'mentioned');
      expect((await post(accounts.map((id) => `<@${id}>`).join(''))).mentions).to.deep.equal(accounts);
    });
  });

  describe('@everyone needs Mention Everyone', () => {
    for (const text of ['@everyone', '@here', 'the role'])
      it(`${text}: posts without it, and counts by role, by overwrite, for the owner, for a bot`, async () => {
        const content = text === 'the role' ? `<@&${server.id}>` : text;
        const allowed = await makeMember(api, owner, server.id, permissionBits['Mention Everyone']);
        const loud = await makeBot(api, owner, server.id, permissionBits['Mention Everyone']);
        const { id } = await makeChannel(api, owner, server.id);
        for (const [as, channelId, counts] of [
          [ann, server.general, false],
          [bot, server.general, false],
          [owner, server.general, true],
          [allowed, server.general, true],
          [loud, server.general, true],
        ] as const)
          expect(pinged(await post(content, as, {}, channelId))).to.deep.equal([[], [], counts]);
        await setOverwrite(api, owner, id, ann.id, permissionBits['Mention Everyone'], 0);
        await setOverwrite(api, owner, id, allowed.id, 0, permissionBits['Mention Everyone']);
        expect((await post(content, ann, {}, id)).mentionEveryone).to.equal(true);
        expect((await post(content, allowed, {}, id)).mentionEveryone).to.equal(false);
      });

    it('an edit is judged by what its author may do now', async () => {
      const { id } = await post('@everyone');
      expect((await edit(id, '@everyone!')).mentionEveryone).to.equal(false);
      await setOverwrite(api, owner, server.general, ann.id, permissionBits['Mention Everyone'], 0);
      expect((await edit(id, '@everyone')).mentionEveryone).to.equal(true);
      await setOverwrite(api, owner, server.general, ann.id, 0, 0);
      expect((await edit(id, '@everyone?')).mentionEveryone).to.equal(false);
    });

    it('in a DM it never counts, and roles neither', async () => {
      const dm = await send<{ id: string }>(api, 201, ann, 'POST', '/api/users/@me/channels', { recipientId: owner.id });
      expect(pinged(await post(`@everyone <@&${roleId}> <@&${server.id}> <@${owner.id}>`, ann, {}, dm.id))).to.deep.equal([
        [owner.id],
        [],
        false,
      ]);
    });
  });

  describe('replies', () => {
    it('ping the author once: by default, when said so, beside a mention; not when told not to, nor oneself', async () => {
      const original = await post('o', bea);
      for (const [as, content, more, mentions] of [
        [ann, 'r', {}, [bea.id]],
        [ann, 'r', { mentionReply: true }, [bea.id]],
        [ann, `<@${bea.id}> <@${owner.id}>`, {}, [bea.id, owner.id]],
        [ann, `<@${owner.id}>`, {}, [owner.id, bea.id]],
        [ann, 'r', { mentionReply: false }, []],
        [ann, `<@${bea.id}>`, { mentionReply: false }, [bea.id]],
        [bea, 'r', {}, []],
        [bea, 'r', { mentionReply: true }, []],
        [bea, `<@${bea.id}>`, {}, [bea.id]],
      ] as const)
        expect((await post(content, as, { replyTo: original.id, ...more })).mentions).to.deep.equal(mentions);
      const ofBot = await post('o', bot);
      expect((await post('r', ann, { replyTo: ofBot.id })).mentions).to.deep.equal([bot.id]);
    });

    it('an edit of a reply keeps its ping, and pings nobody where it pinged nobody', async () => {
      const original = await post('o', bea);
      const [loud, quiet] = [
        await post('r', ann, { replyTo: original.id }),
        await post('r', ann, { replyTo: original.id, mentionReply: false }),
      ];
      expect((await edit(loud.id, `<@${owner.id}>`)).mentions).to.deep.equal([owner.id, bea.id]);
      expect((await edit(loud.id, 'nobody')).mentions).to.deep.equal([bea.id]);
      await remove(original.id, bea);
      expect((await edit(loud.id, 'again')).mentions).to.deep.equal([bea.id]);
      expect((await edit(quiet.id, 'nobody')).mentions).to.deep.equal([]);
    });

    it('400 for bad types; null and no mentionReply are none', async () => {
      const { id } = await post('o', bea);
      for (const more of [
        { replyTo: 5 },
        { replyTo: '' },
        { replyTo: [id] },
        { replyTo: id, mentionReply: 'no' },
        { replyTo: id, mentionReply: null },
      ])
        await send(api, 400, ann, 'POST', pathOf(), { content: 'x', ...more });
      const none = await post('x', ann, { replyTo: null });
      expect(none).to.not.have.property('reply');
      expect(none.replyDeleted).to.equal(false);
    });

    for (const where of ['a channel', 'a DM'])
      it(`in ${where}: the preview follows edits, a reply to a reply shows one step, a deleted original leaves replyDeleted`, async () => {
        const dm = await api.call<{ id: string }>('POST', '/api/users/@me/channels', { as: ann.as, body: { recipientId: owner.id } });
        const channelId = where === 'a DM' ? dm.body.id : server.general;
        const first = await post('first', owner, {}, channelId);
        const second = await post('second', ann, { replyTo: first.id }, channelId);
        const third = await post('third', owner, { replyTo: second.id }, channelId);
        expect(third.reply).to.deep.include({ id: second.id, content: 'second', hasAttachments: false });
        expect(Object.keys(third.reply ?? {})).to.have.members(['id', 'author', 'content', 'hasAttachments']);
        await send(api, 200, ann, 'PATCH', `${pathOf(channelId)}/${second.id}`, { content: 'changed' });
        expect((await read(third.id, channelId)).reply?.content).to.equal('changed');
        await remove(second.id, ann, channelId);
        const orphan = await read(third.id, channelId);
        expect(orphan).to.not.have.property('reply');
        expect([orphan.replyDeleted, orphan.content]).to.deep.equal([true, 'third']);
        const listed = await send<Shown[]>(api, 200, owner, 'GET', pathOf(channelId));
        expect(listed.find((one) => one.id === third.id)).to.deep.equal(orphan);
        await send(api, 400, owner, 'POST', pathOf(channelId), { content: 'x', replyTo: second.id });
        await send(api, 200, owner, 'PATCH', `${pathOf(channelId)}/${third.id}`, { content: 'still' });
        expect(await read(third.id, channelId)).to.include({ replyDeleted: true, content: 'still' });
      });

    it('400 for an original of a DM in a channel, and of a channel in a DM', async () => {
      const dm = await api.call<{ id: string }>('POST', '/api/users/@me/channels', { as: ann.as, body: { recipientId: owner.id } });
      const [there, here] = [await post('x', ann, {}, dm.body.id), await post('x', ann)];
      await send(api, 400, ann, 'POST', pathOf(), { content: 'x', replyTo: there.id });
      await send(api, 400, ann, 'POST', pathOf(dm.body.id), { content: 'x', replyTo: here.id });
    });
  });
});
