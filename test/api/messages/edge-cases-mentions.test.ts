import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { makeBot, makeChannel, makeMember, makeRole, makeServer, setOverwrite, unknownId } from '../../harness/factories.ts';
import { send } from '../../harness/requests.ts';
import { fillServer } from '../../harness/seed.ts';
import { make, newBot, newMember, newPerson, newRole, useServer } from '../../harness/use.ts';
import { dmCalls, messageCalls } from './message-fixture.ts';

const mentionEveryone = permissionBits['Mention Everyone'];

describe('mentions and replies', () => {
  const { api, owner, server, ann, bea, bot, role, outsider } = useServer({
    ann: newMember(),
    bea: newMember(),
    bot: newBot(),
    role: newRole(),
    outsider: newPerson(),
  });
  const channel = make(() => makeChannel(api, owner, server.id));
  const { path, post, edit, read, remove } = messageCalls(api, channel, ann);
  const mentionsOf = (message: Message): unknown[] => [message.mentions, message.mentionRoles, message.mentionEveryone];

  it('only members of the server are mentioned', async () => {
    const all = [bea, outsider].map(({ id }) => `<@${id}>`).join(' ');
    const { id, mentions } = await post(`${all} <@${unknownId}>`);
    expect(mentions).to.deep.equal([bea.id]);
    expect((await edit(id, { content: `<@${outsider.id}> <@${unknownId}>` })).mentions).to.deep.equal([]);
  });

  it('names the mentioned accounts by their current profile, also after they have left', async () => {
    const gone = await makeMember(api, owner, server.id);
    const names = ({ mentionedUsers }: Pick<Message, 'mentionedUsers'>): unknown =>
      mentionedUsers?.map(({ id, displayName }) => [id, displayName]);
    const expected = [
      [gone.id, 'Renamed'],
      [bea.id, bea.username],
    ];
    expect(await post('nobody')).not.to.have.property('mentionedUsers');
    const original = await post(`<@${gone.id}> and <@${bea.id}>`);
    const reply = await post({ content: 'reply', replyTo: original.id, mentionReply: false }, bea);
    await send(api, 200, gone, 'PATCH', '/api/users/@me', { displayName: 'Renamed' });
    await send(api, 204, gone, 'DELETE', `/api/users/@me/servers/${server.id}`);
    expect(names(await read(original.id))).to.deep.equal(expected);
    expect(names((await read(reply.id)).reply ?? {})).to.deep.equal(expected);
    expect(names(await edit(original.id, { content: `<@${bea.id}>` }))).to.deep.equal(expected.slice(1));
    expect(names((await read(reply.id)).reply ?? {})).to.deep.equal(expected.slice(1));
  });

  describe('syntax', () => {
    /** B, R and E stand for a mention of a person, of a role and of everyone. */
    const fill = (pattern: string): string =>
      pattern.replaceAll('B', `<@${bea.id}>`).replaceAll('R', `<@&${role.id}>`).replaceAll('E', '@everyone');
    const withMentions = [
      'B R E',
      '*B R E*',
      '__B R E__',
      '~~B R E~~',
      '||**B __R__ ~~E~~**||',
      '> B R E',
      '# B R E',
      '- B R E',
      'xBx R E',
      '(B, R; E)',
      '`x` B R E `x`',
      '```\nx\n``` B R E',
      '```B R E',
      '**B R E',
      '😀B R E',
      'https://example.org/ B R E',
      '<https://example.org> B R E',
      '\nB\nR\nE\n',
    ];
    for (const pattern of withMentions)
      it(`${JSON.stringify(pattern)} mentions each once`, async () => {
        const expected = [[bea.id], [role.id], true];
        const content = fill(pattern);
        expect(mentionsOf(await post(content, owner))).to.deep.equal(expected);
        const { id } = await post('x', owner);
        expect(mentionsOf(await edit(id, { content }, owner))).to.deep.equal(expected);
        expect(mentionsOf(await read(id))).to.deep.equal(expected);
      });

    const withoutMentions = ['`B R E`', '\\B \\R \\E', 'me@everyone', '@everyoneelse', '<@> <@&> <@!1> < @1>'];
    for (const pattern of withoutMentions)
      it(`${JSON.stringify(pattern)} mentions nobody`, async () =>
        expect(mentionsOf(await post(fill(pattern), owner))).to.deep.equal([[], [], false]));
    it('@everyone in capital letters mentions nobody', async () =>
      expect(mentionsOf(await post('@Everyone @EVERYONE @HERE', owner))).to.deep.equal([[], [], false]));

    it('unknown and short ids, roles of other servers, and roles written as people mention nobody', async () => {
      const foreignRole = await makeRole(api, outsider, (await makeServer(api, outsider)).id);
      const content = `<@1000000000000000001> <@1> <@&1000000000000000001> <@&${foreignRole.id}> <@${role.id}> <@&${bea.id}> <@${server.id}>`;
      expect(mentionsOf(await post(content, owner))).to.deep.equal([[], [], false]);
    });

    it('mentions are in the order of the content, and include bots', async () =>
      expect((await post(`<@${bot.id}> <@${ann.id}> <@${bot.id}>`)).mentions).to.deep.equal([bot.id, ann.id]));

    it('a message can mention as many people as its content has room for', async () => {
      const accounts = await fillServer(api.platform, server.id, 86, 'mentioned');
      expect((await post(accounts.map((id) => `<@${id}>`).join(''))).mentions).to.deep.equal(accounts);
    });
  });

  describe('Mention Everyone', () => {
    for (const text of ['@everyone', '@here', 'the role'])
      it(`${text} counts with the permission from a role, an overwrite or ownership; without it the message is posted`, async () => {
        const content = text === 'the role' ? `<@&${server.id}>` : text;
        const [allowed, allowedBot] = [
          await makeMember(api, owner, server.id, mentionEveryone),
          await makeBot(api, owner, server.id, mentionEveryone),
        ];
        for (const [as, counts] of [
          [ann, false],
          [bot, false],
          [owner, true],
          [allowed, true],
          [allowedBot, true],
        ] as const)
          expect(mentionsOf(await post(content, as))).to.deep.equal([[], [], counts]);
        const other = await makeChannel(api, owner, server.id);
        await setOverwrite(api, owner, other.id, ann.id, mentionEveryone, 0);
        await setOverwrite(api, owner, other.id, allowed.id, 0, mentionEveryone);
        const inOther = messageCalls(api, other, ann);
        expect((await inOther.post(content)).mentionEveryone).to.equal(true);
        expect((await inOther.post(content, allowed)).mentionEveryone).to.equal(false);
      });

    it('an edit uses the current permissions of the author', async () => {
      const { id } = await post('@everyone');
      for (const [allow, content] of [
        [0, '@everyone!'],
        [mentionEveryone, '@everyone'],
        [0, '@everyone?'],
      ] as const) {
        await setOverwrite(api, owner, channel.id, ann.id, allow, 0);
        expect((await edit(id, { content })).mentionEveryone).to.equal(allow !== 0);
      }
    });
  });

  describe('replies', () => {
    it('mention the author of the original once, unless mentionReply is false or one replies to oneself', async () => {
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
        expect((await post({ content, replyTo: original.id, ...more }, as)).mentions).to.deep.equal(mentions);
      const ofBot = await post('o', bot);
      expect((await post({ content: 'r', replyTo: ofBot.id })).mentions).to.deep.equal([bot.id]);
    });

    it('an edit of a reply keeps the mention of the original’s author, and adds none with mentionReply false', async () => {
      const { id: replyTo } = await post('o', bea);
      const reply = await post({ content: 'r', replyTo });
      const quiet = await post({ content: 'r', replyTo, mentionReply: false });
      expect((await edit(reply.id, { content: `<@${owner.id}>` })).mentions).to.deep.equal([owner.id, bea.id]);
      expect((await edit(reply.id, { content: 'nobody' })).mentions).to.deep.equal([bea.id]);
      await remove(replyTo, bea);
      expect((await edit(reply.id, { content: 'again' })).mentions).to.deep.equal([bea.id]);
      expect((await edit(quiet.id, { content: 'nobody' })).mentions).to.deep.equal([]);
    });

    it('400 for a replyTo or mentionReply of the wrong type; replyTo null is no reply', async () => {
      const { id } = await post('o', bea);
      for (const more of [
        { replyTo: 5 },
        { replyTo: '' },
        { replyTo: 'nope' },
        { replyTo: [id] },
        { replyTo: id, mentionReply: 'no' },
        { replyTo: id, mentionReply: null },
      ])
        await send(api, 400, ann, 'POST', path(), { content: 'x', ...more });
      expect(await post({ content: 'x', replyTo: null }))
        .to.include({ replyDeleted: false })
        .and.not.have.property('reply');
    });

    for (const where of ['a channel', 'a DM'])
      it(`in ${where}: the preview shows the edited original, not the original’s own reply, and replyDeleted after its delete`, async () => {
        const calls = where === 'a DM' ? await dmCalls(api, ann, owner) : messageCalls(api, channel, ann);
        const first = await calls.post('first', owner);
        const second = await calls.post({ content: 'second', replyTo: first.id });
        const third = await calls.post({ content: 'third', replyTo: second.id }, owner);
        expect(third.reply).to.deep.include({ id: second.id, content: 'second', hasAttachments: false });
        expect(Object.keys(third.reply ?? {})).to.have.members(['id', 'author', 'content', 'hasAttachments']);
        await calls.edit(second.id, { content: 'changed' });
        expect((await calls.read(third.id)).reply?.content).to.equal('changed');
        await calls.remove(second.id);
        const orphan = await calls.read(third.id, owner);
        expect(orphan).to.include({ replyDeleted: true, content: 'third' }).and.not.have.property('reply');
        expect((await calls.list(owner)).find(({ id }) => id === third.id)).to.deep.equal(orphan);
        await send(api, 400, owner, 'POST', calls.path(), { content: 'x', replyTo: second.id });
        await calls.edit(third.id, { content: 'still' }, owner);
        expect(await calls.read(third.id)).to.include({ replyDeleted: true, content: 'still' });
      });

    it('400 for an original in another channel, in a DM from a channel, and in a channel from a DM', async () => {
      const dm = await dmCalls(api, ann, owner);
      const [inDm, inChannel] = [await dm.post('x'), await post('x')];
      await send(api, 400, ann, 'POST', path(), { content: 'x', replyTo: inDm.id });
      await send(api, 400, ann, 'POST', `/api/channels/${server.general}/messages`, { content: 'x', replyTo: inChannel.id });
      await send(api, 400, ann, 'POST', dm.path(), { content: 'x', replyTo: inChannel.id });
    });
  });
});
