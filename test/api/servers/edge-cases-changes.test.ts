import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';
import type { Shown } from '../messages/message-fixture.ts';

describe('edge cases of messages: edits, deletes, pages', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let ann: Caller;
  let bot: Bot;
  let path: string;

  before(async () => {
    api = await startTestApi({ RATE_LIMIT: 'off' });
    owner = await makePerson(api);
    server = await makeServer(api, owner);
    ann = await makeMember(api, owner, server.id);
    bot = await makeBot(api, owner, server.id);
    path = `/api/channels/${server.general}/messages`;
  });
  after(() => api.close());

  const post = (as: Caller, body: object = { content: 'x' }): Promise<Shown> => send(api, 201, as, 'POST', path, body);
  const read = (id: string): Promise<Shown> => send(api, 200, owner, 'GET', `${path}/${id}`);
  const edit = (as: Caller, id: string, body: unknown): Promise<Answer<Shown>> =>
    api.call<Shown>('PATCH', `${path}/${id}`, { as: as.as, body });
  const drop = (as: Caller, id: string): Promise<Answer> => api.call('DELETE', `${path}/${id}`, { as: as.as });
  /** Puts a file and a link preview on a message, as their workers do. */
  const furnish = (id: string, what: 'file' | 'preview'): Promise<unknown> => {
    const file = { id: '1000000000000000001', key: 'k', filename: 'a.txt', contentType: 'text/plain', size: 1, width: null, height: null };
    const set = what === 'file' ? { attachments: [file] } : { previews: [{ title: 'preview' }] };
    return api.platform.db.messages.updateOne({ _id: id }, { $set: set });
  };

  describe('PATCH', () => {
    for (const body of [{}, { nope: 1 }, { replyTo: '1000000000000000001', nonce: 'n', mentionReply: false }])
      it(`200 unchanged for ${JSON.stringify(body)}, editedAt untouched, also after an edit`, async () => {
        const made = await post(bot, { content: 'a', embeds: [{ title: 't' }] });
        expect([(await edit(bot, made.id, body)).body, await read(made.id)]).to.deep.equal([made, made]);
        const changed = (await edit(bot, made.id, { content: 'b' })).body;
        expect((await edit(bot, made.id, body)).body).to.deep.equal(changed);
        const owed = await api.platform.db.messages.findOne({ _id: made.id }).lean();
        expect(owed?.ob?.filter((entry) => entry.name === 'MESSAGE_UPDATE')).to.have.length(1);
      });

    const left: [what: string, has: string[], body: object, status: number][] = [
      ['content away, nothing else', ['content'], { content: '' }, 400],
      ['content away, blank instead', ['content'], { content: ' \u200b' }, 400],
      ['content away, embeds stay', ['content', 'embed'], { content: '' }, 200],
      ['embeds away, content stays', ['content', 'embed'], { embeds: [] }, 200],
      ['embeds away, nothing else', ['embed'], { embeds: [] }, 400],
      ['both away', ['content', 'embed'], { content: '', embeds: [] }, 400],
      ['both away, a file stays', ['content', 'embed', 'file'], { content: '', embeds: [] }, 200],
      ['content away, a file stays', ['content', 'file'], { content: '' }, 200],
      ['embeds away, only a preview stays', ['embed', 'preview'], { embeds: [] }, 400],
      ['content away, only a preview stays', ['content', 'preview'], { content: '' }, 400],
      ['content for embeds', ['embed'], { content: 'c', embeds: [] }, 200],
      ['embeds for content', ['content'], { content: '', embeds: [{ title: 'new' }] }, 200],
    ];
    for (const [what, has, body, status] of left)
      it(`${status}: ${what}`, async () => {
        const made = await post(bot, {
          ...(has.includes('content') ? { content: 'c' } : {}),
          ...(has.includes('embed') ? { embeds: [{ title: 't' }] } : {}),
        });
        for (const extra of ['file', 'preview'] as const) if (has.includes(extra)) await furnish(made.id, extra);
        const before = await read(made.id);
        const answer = await edit(bot, made.id, body);
        expect(answer.status, JSON.stringify(answer.body)).to.equal(status);
        expect(await read(made.id)).to.deep.equal(status === 200 ? answer.body : before);
      });

    it('embeds: [] leaves link previews, which stand after the rich ones', async () => {
      const made = await post(bot, { content: 'c', embeds: [{ title: 'rich' }] });
      await furnish(made.id, 'preview');
      expect((await read(made.id)).embeds.map((one) => one.title)).to.deep.equal(['rich', 'preview']);
      expect((await edit(bot, made.id, { embeds: [{ title: 'new' }] })).body.embeds.map((one) => one.title)).to.deep.equal([
        'new',
        'preview',
      ]);
      expect((await edit(bot, made.id, { embeds: [] })).body.embeds.map((one) => one.title)).to.deep.equal(['preview']);
    });

    it('400 for bad values, embeds of a person, 11 embeds, 2,001 characters', async () => {
      const [mine, made] = [await post(ann), await post(bot)];
      for (const body of [{ content: null }, { content: 5 }, { embeds: null }, { embeds: {} }, { content: 'x'.repeat(2001) }])
        expect((await edit(bot, made.id, body)).status).to.equal(400);
      expect((await edit(bot, made.id, { embeds: Array.from({ length: 11 }, () => ({ title: 't' })) })).status).to.equal(400);
      expect((await edit(ann, mine.id, { embeds: [{ title: 't' }] })).status).to.equal(400);
      expect([await read(mine.id), await read(made.id)]).to.deep.equal([mine, made]);
    });

    it('403 not_author with every permission; 403 View Channel once hidden; Send Messages is not needed', async () => {
      const { id } = await makeChannel(api, owner, server.id);
      const there = `/api/channels/${id}/messages`;
      const made = await send<Shown>(api, 201, ann, 'POST', there, { content: 'x' });
      await refused(api, [403, 'not_author'], owner, 'PATCH', `${there}/${made.id}`, { content: 'y' });
      await refused(api, [403, 'not_author'], owner, 'PATCH', `${there}/${made.id}`, {});
      await setOverwrite(api, owner, id, server.id, 0, permissionBits['Send Messages']);
      await send(api, 200, ann, 'PATCH', `${there}/${made.id}`, { content: 'y' });
      await setOverwrite(api, owner, id, server.id, 0, permissionBits['View Channel']);
      await refused(api, [403, 'missing_permission'], ann, 'PATCH', `${there}/${made.id}`, { content: 'z' });
      await refused(api, [403, 'missing_permission'], ann, 'DELETE', `${there}/${made.id}`);
      await refused(api, [404, 'not_found'], await makePerson(api), 'PATCH', `${there}/${made.id}`, { content: 'z' });
    });
  });

  describe('DELETE', () => {
    it('by a moderator who may not send: 204, then 404, and the page goes on without it', async () => {
      const moderator = await makeMember(api, owner, server.id, permissionBits['Manage Messages']);
      await setOverwrite(api, owner, server.general, moderator.id, 0, permissionBits['Send Messages']);
      const [before, gone, after] = [await post(ann), await post(ann), await post(ann)];
      await refused(api, [403, 'missing_permission'], moderator, 'POST', path, { content: 'x' });
      expect((await drop(moderator, gone.id)).status).to.equal(204);
      for (const as of [moderator, ann, owner]) expect((await drop(as, gone.id)).status).to.equal(404);
      expect((await edit(ann, gone.id, { content: 'y' })).status).to.equal(404);
      const page = await send<Shown[]>(api, 200, ann, 'GET', `${path}?after=${before.id}`);
      expect(page.map((one) => one.id)).to.deep.equal([after.id]);
    });

    it('in another channel 404, and the message stays', async () => {
      const made = await post(ann);
      const { id } = await makeChannel(api, owner, server.id);
      for (const [method, body] of [['GET'], ['PATCH', { content: 'y' }], ['DELETE']] as const)
        await refused(api, [404, 'not_found'], ann, method, `/api/channels/${id}/messages/${made.id}`, body);
      expect(await read(made.id)).to.deep.equal(made);
    });

    it('20 at once: one 204, the others 404', async () => {
      const { id } = await post(ann);
      expect(tally(await Promise.all(Array.from({ length: 20 }, () => drop(ann, id))))).to.deep.equal({ 204: 1, 404: 19 });
    });

    it('20 edits and a delete at once: no edit brings anything back', async () => {
      for (let round = 0; round < 5; round++) {
        const { id } = await post(bot, { content: 'a', embeds: [{ title: 't' }] });
        const content = (n: number) => ({ content: `c${n} <@${ann.id}>` });
        const embeds = (n: number) => ({ embeds: [{ title: `t${n}` }] });
        const bodies = Array.from({ length: 20 }, (_, n) => ({ ...(n % 3 === 0 ? {} : content(n)), ...(n % 3 === 1 ? {} : embeds(n)) }));
        const [gone, ...edits] = await Promise.all([drop(bot, id), ...bodies.map((body) => edit(bot, id, body))]);
        expect(gone.status).to.equal(204);
        for (const { status } of edits) expect([200, 404]).to.include(status);
        const grave = await api.platform.db.messages.findOne({ _id: id }).lean();
        expect(grave).to.deep.include({ content: '', embeds: [], mentions: [], deleted: true });
        expect(grave?.ob?.at(-1)?.name).to.equal('MESSAGE_DELETE');
        await refused(api, [404, 'not_found'], owner, 'GET', `${path}/${id}`);
      }
    });

    it('20 edits at once: content and embeds of some edit each, mentions of the content that stayed', async () => {
      const { id } = await post(bot, { content: 'a', embeds: [{ title: 't' }] });
      const people = [ann, owner];
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          edit(bot, id, n % 2 ? { content: `<@${people[((n - 1) / 2) % 2]?.id}>` } : { embeds: [{ title: `t${n}` }] }),
        ),
      );
      expect(tally(answers)).to.deep.equal({ 200: 20 });
      const { content, mentions, embeds } = await read(id);
      expect(content).to.equal(`<@${mentions[0]}>`);
      expect([mentions.length, embeds.length]).to.deep.equal([1, 1]);
      const stored = await api.platform.db.messages.findOne({ _id: id }).lean();
      expect(stored?.ob?.filter((entry) => entry.name === 'MESSAGE_UPDATE')).to.have.length(20);
    });
  });

  describe('GET a page', () => {
    const limits = [
      'limit=0',
      'limit=101',
      'limit=-1',
      'limit=abc',
      'limit=',
      'limit=1.5',
      'limit=1e1',
      'limit=%2010',
      'limit=0x10',
      'limit=5&limit=5',
    ];
    const ids = [
      'before=x',
      'before=',
      'before=1',
      `before=${'9'.repeat(20)}`,
      'after=x',
      'before=1000000000000000001&before=1000000000000000002',
    ];
    for (const query of [...limits, ...ids, 'before=1000000000000000001&after=1000000000000000001'])
      it(`400 for ${query}`, () => refused(api, [400, 'invalid_request'], ann, 'GET', `${path}?${query}`));

    it('before and after are exclusive and take any id: gone, never made, of another channel; the ends are empty', async () => {
      const { id } = await makeChannel(api, owner, server.id);
      const there = `/api/channels/${id}/messages`;
      const made: string[] = [];
      for (let n = 0; n < 12; n++) {
        made.push((await send<Shown>(api, 201, ann, 'POST', there, { content: `${n}` })).id);
        await post(ann);
      }
      const page = async (query: string): Promise<string[]> =>
        (await send<Shown[]>(api, 200, ann, 'GET', `${there}?${query}`)).map((one) => made.indexOf(one.id)).map(String);
      const elsewhere = (await post(ann)).id;
      await send(api, 204, ann, 'DELETE', `${there}/${made[5]}`);
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
