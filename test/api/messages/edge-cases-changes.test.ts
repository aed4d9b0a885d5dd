import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Answer } from '../../harness/api.ts';
import { makeChannel, makeMember, setOverwrite, unknownId } from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, newBot, newMember, useServer } from '../../harness/use.ts';
import { messageCalls, storedMessage } from './message-fixture.ts';

const { 'Send Messages': sendMessages, 'View Channel': viewChannel } = permissionBits;

describe('edits, deletes and pages of messages', () => {
  const { api, owner, server, member, bot } = useServer({ member: newMember(), bot: newBot() });
  const channel = make(() => makeChannel(api, owner, server.id));
  const { path, post, read } = messageCalls(api, channel, bot);
  const edit = (as: Caller, id: string, body: unknown): Promise<Answer<Message>> =>
    api.call<Message>('PATCH', path(id), { as: as.as, body });
  const remove = (as: Caller, id: string): Promise<Answer> => api.call('DELETE', path(id), { as: as.as });
  /** Adds a file or a link preview to a message, as a worker does. */
  const addExtra = (id: string, what: 'file' | 'preview'): Promise<unknown> => {
    const file = { id: '1000000000000000001', key: 'k', filename: 'a.txt', contentType: 'text/plain', size: 1, width: null, height: null };
    const set = what === 'file' ? { attachments: [file] } : { previews: [{ title: 'preview' }] };
    return api.platform.db.messages.updateOne({ _id: id }, { $set: set });
  };

  describe('PATCH', () => {
    for (const body of [{}, { nope: 1 }, { replyTo: unknownId, nonce: 'n', mentionReply: false }])
      it(`200 for ${JSON.stringify(body)}, which changes nothing, before and after an edit`, async () => {
        const made = await post({ content: 'a', embeds: [{ title: 't' }] });
        expect([(await edit(bot, made.id, body)).body, await read(made.id)]).to.deep.equal([made, made]);
        const changed = (await edit(bot, made.id, { content: 'b' })).body;
        expect(changed).to.deep.include({ content: 'b', embeds: made.embeds }).and.have.property('editedAt').that.is.a('string');
        expect((await edit(bot, made.id, body)).body).to.deep.equal(changed);
        const stored = await storedMessage(api, made.id);
        expect(stored?.outbox?.filter((entry) => entry.name === 'MESSAGE_UPDATE')).to.have.length(1);
      });

    const removals: [what: string, has: string[], body: object, status: number][] = [
      ['removing the only content', ['content'], { content: '' }, 400],
      ['blank content in place of the only content', ['content'], { content: ' \u200b' }, 400],
      ['removing content when embeds stay', ['content', 'embed'], { content: '' }, 200],
      ['removing embeds when content stays', ['content', 'embed'], { embeds: [] }, 200],
      ['removing the only embeds', ['embed'], { embeds: [] }, 400],
      ['removing content and embeds', ['content', 'embed'], { content: '', embeds: [] }, 400],
      ['removing content and embeds when a file stays', ['content', 'embed', 'file'], { content: '', embeds: [] }, 200],
      ['removing content when a file stays', ['content', 'file'], { content: '' }, 200],
      ['removing embeds when only a link preview stays', ['embed', 'preview'], { embeds: [] }, 400],
      ['removing content when only a link preview stays', ['content', 'preview'], { content: '' }, 400],
      ['replacing embeds with content', ['embed'], { content: 'c', embeds: [] }, 200],
      ['replacing content with embeds', ['content'], { content: '', embeds: [{ title: 'new' }] }, 200],
    ];
    for (const [what, has, body, status] of removals)
      it(`${status} for ${what}`, async () => {
        const made = await post({
          ...(has.includes('content') ? { content: 'c' } : {}),
          ...(has.includes('embed') ? { embeds: [{ title: 't' }] } : {}),
        });
        for (const extra of ['file', 'preview'] as const) if (has.includes(extra)) await addExtra(made.id, extra);
        const before = await read(made.id);
        const answer = await edit(bot, made.id, body);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
        expect(await read(made.id)).to.deep.equal(status === 200 ? answer.body : before);
      });

    it('two parallel edits never leave a message empty', async () => {
      for (let round = 0; round < 10; round++) {
        const { id } = await post({ content: 'a', embeds: [{ title: 't' }] });
        const answers = await Promise.all([{ content: '' }, { embeds: [] }].map((body) => edit(bot, id, body)));
        expect(answers.map(({ status }) => status)).to.have.members([200, 400]);
      }
    });

    it('embeds: [] keeps link previews, which come after the bot’s embeds', async () => {
      const made = await post({ content: 'c', embeds: [{ title: 'rich' }] });
      await addExtra(made.id, 'preview');
      expect((await read(made.id)).embeds.map((one) => one.title)).to.deep.equal(['rich', 'preview']);
      expect((await edit(bot, made.id, { embeds: [{ title: 'new' }] })).body.embeds.map((one) => one.title)).to.deep.equal([
        'new',
        'preview',
      ]);
      expect((await edit(bot, made.id, { embeds: [] })).body.embeds.map((one) => one.title)).to.deep.equal(['preview']);
    });

    it('400 for values of the wrong type, embeds of a person, 11 embeds and 2,001 characters', async () => {
      const [mine, made] = [await post('x', member), await post('x')];
      for (const body of [{ content: null }, { content: 5 }, { embeds: null }, { embeds: {} }, { content: 'x'.repeat(2001) }])
        expect((await edit(bot, made.id, body)).status).to.equal(400);
      expect((await edit(bot, made.id, { embeds: Array.from({ length: 11 }, () => ({ title: 't' })) })).status).to.equal(400);
      expect((await edit(member, mine.id, { embeds: [{ title: 't' }] })).status).to.equal(400);
      expect([await read(mine.id), await read(made.id)]).to.deep.equal([mine, made]);
    });

    it('403 not_author with every permission and a body without changes; Send Messages is not needed', async () => {
      const other = await makeChannel(api, owner, server.id);
      const calls = messageCalls(api, other, member);
      const { id } = await calls.post('x');
      const there = calls.path(id);
      for (const body of [{ content: 'y' }, {}]) await refused(api, [403, 'not_author'], owner, 'PATCH', there, body);
      await setOverwrite(api, owner, other.id, server.id, 0, sendMessages);
      await calls.edit(id, { content: 'y' });
    });
  });

  describe('DELETE', () => {
    it('204 by a moderator without Send Messages; then 404, and pages omit the message', async () => {
      const moderator = await makeMember(api, owner, server.id, permissionBits['Manage Messages']);
      await setOverwrite(api, owner, channel.id, moderator.id, 0, sendMessages);
      const [before, gone, after] = [await post('x', member), await post('x', member), await post('x', member)];
      await refused(api, [403, 'missing_permission'], moderator, 'POST', path(), { content: 'x' });
      expect((await remove(moderator, gone.id)).status).to.equal(204);
      for (const as of [moderator, member, owner]) expect((await remove(as, gone.id)).status).to.equal(404);
      expect((await edit(member, gone.id, { content: 'y' })).status).to.equal(404);
      const page = await send<Message[]>(api, 200, member, 'GET', `${path()}?after=${before.id}`);
      expect(page.map((one) => one.id)).to.deep.equal([after.id]);
    });

    it('404 under another channel', async () => {
      const made = await post('x', member);
      const { id } = await makeChannel(api, owner, server.id);
      for (const [method, body] of [['GET'], ['PATCH', { content: 'y' }], ['DELETE']] as const)
        await refused(api, [404, 'not_found'], member, method, `/api/channels/${id}/messages/${made.id}`, body);
      expect(await read(made.id)).to.deep.equal(made);
    });

    it('20 parallel deletes: one 204, the others 404', async () => {
      const { id } = await post('x', member);
      expect(tally(await inParallel(20, () => remove(member, id)))).to.deep.equal({ 204: 1, 404: 19 });
    });

    it('20 edits parallel to a delete: the message stays deleted and empty', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await post({ content: 'a', embeds: [{ title: 't' }] });
        const content = (n: number) => ({ content: `c${n} <@${member.id}>` });
        const embeds = (n: number) => ({ embeds: [{ title: `t${n}` }] });
        const bodies = Array.from({ length: 20 }, (_, n) => ({ ...(n % 3 === 0 ? {} : content(n)), ...(n % 3 === 1 ? {} : embeds(n)) }));
        const [gone, ...edits] = await Promise.all([remove(bot, id), ...bodies.map((body) => edit(bot, id, body))]);
        expect(gone.status).to.equal(204);
        for (const { status } of edits) expect([200, 404]).to.include(status);
        const tombstone = await storedMessage(api, id);
        expect(tombstone).to.deep.include({ content: '', embeds: [], mentions: [], deleted: true });
        expect(tombstone?.outbox?.at(-1)?.name).to.equal('MESSAGE_DELETE');
        await refused(api, [404, 'not_found'], owner, 'GET', path(id));
      }
    });

    it('20 parallel edits: content and embeds of one edit each, and the mentions of that content', async () => {
      const { id } = await post({ content: 'a', embeds: [{ title: 't' }] });
      const people = [member, owner];
      const answers = await inParallel(20, (n) =>
        edit(bot, id, n % 2 ? { content: `<@${people[((n - 1) / 2) % 2]?.id}>` } : { embeds: [{ title: `t${n}` }] }),
      );
      expect(tally(answers)).to.deep.equal({ 200: 20 });
      const { content, mentions, embeds } = await read(id);
      expect(content).to.equal(`<@${mentions[0]}>`);
      expect([mentions.length, embeds.length]).to.deep.equal([1, 1]);
      const stored = await storedMessage(api, id);
      expect(stored?.outbox?.filter((entry) => entry.name === 'MESSAGE_UPDATE')).to.have.length(20);
    });
  });

  describe('GET a page', () => {
    const [low, high] = ['before=1000000000000000001', 'before=1000000000000000002'];
    const limits = ['0', '101', '-1', 'abc', '', '1.5', '1e1', '%2010', '0x10', '5&limit=5'].map((value) => `limit=${value}`);
    const ids = [
      'before=x',
      'before=',
      'before=1',
      `before=${'9'.repeat(20)}`,
      'after=x',
      `${low}&${high}`,
      `${low}&after=1000000000000000001`,
    ];
    for (const query of [...limits, ...ids])
      it(`400 for ${query}`, () => refused(api, [400, 'invalid_request'], member, 'GET', `${path()}?${query}`));

    const listed = make(() => makeChannel(api, owner, server.id));
    const { path: listedPath, post: postListed, list } = messageCalls(api, listed, member);
    const sixty = make(async () => (await inParallel(60, (n) => postListed(`${n}`, bot))).map(({ id }) => id).toSorted());

    it('the newest 50 by default, at most 100, oldest first', async () => {
      const idsOf = async (query?: string): Promise<string[]> => (await list(member, query)).map(({ id }) => id);
      expect(await idsOf()).to.deep.equal(sixty.slice(-50));
      expect(await idsOf('?limit=100')).to.deep.equal(sixty.slice());
    });

    it('a page that is read in parallel with the preflight shows the current author and applies the current permissions', async () => {
      const { db, accessVersions } = api.platform;
      const query = `?before=${sixty[30]}&limit=1`;
      await list(member, query);
      await accessVersions.runChange({ accounts: [bot.id] }, () =>
        db.accounts.updateOne({ _id: bot.id }, { $set: { displayName: 'renamed' } }),
      );
      expect((await list(member, query))[0]?.author.displayName).to.equal('renamed');
      await setOverwrite(api, owner, listed.id, server.id, 0, viewChannel);
      await refused(api, [403, 'missing_permission'], member, 'GET', listedPath() + query);
    });

    it('before and after are exclusive and accept any id, also of a deleted, unknown or foreign message', async () => {
      const calls = messageCalls(api, await makeChannel(api, owner, server.id), member);
      const made: string[] = [];
      for (let n = 0; n < 12; n++) {
        made.push((await calls.post(`${n}`)).id);
        await post('x', member);
      }
      const page = async (query: string): Promise<string[]> =>
        (await calls.list(member, `?${query}`)).map(({ id }) => String(made.indexOf(id)));
      const elsewhere = (await post('x', member)).id;
      await calls.remove(made[5] as string);
      expect(await page(`before=${made[5]}&limit=3`)).to.deep.equal(['2', '3', '4']);
      expect(await page(`after=${made[5]}&limit=3`)).to.deep.equal(['6', '7', '8']);
      expect(await page(`before=${made[7]}&limit=3`)).to.deep.equal(['3', '4', '6']);
      expect(await page(`before=${elsewhere}&limit=2`)).to.deep.equal(['10', '11']);
      expect(await page('before=9999999999999999999&limit=1')).to.deep.equal(['11']);
      expect(await page('after=0000000000000000000&limit=1')).to.deep.equal(['0']);
      expect(await page(`before=${made[0]}`)).to.deep.equal([]);
      expect(await page(`after=${made[11]}`)).to.deep.equal([]);
      const walked: string[] = [];
      for (let before = ''; ; before = `&before=${made[Number(walked[0])]}`) {
        const found = await page(`limit=4${before}`);
        if (found.length === 0) break;
        walked.unshift(...found);
      }
      expect(walked).to.deep.equal(['0', '1', '2', '3', '4', '6', '7', '8', '9', '10', '11']);
    });
  });
});
