import { expect } from 'chai';
import { startSecondApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  makeApplication,
  makeChannel,
  makeThread,
  openDm,
  type Place,
  setOverwrite,
} from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { newBot, newMember, use, useServer } from '../../harness/use.ts';
import { commandsPath, pickCommands, prefix, putCommands, slash } from './commands-fixture.ts';

describe('GET /api/channels/{channelId}/commands', () => {
  const { api, owner, server, member, bot, other } = useServer({ member: newMember(), bot: newBot(), other: newBot() });
  beforeEach(async () => {
    await put(bot, []);
    await put(other, []);
    await put(bot, [], server);
  });

  const put = (as: Bot, body: unknown, scope?: Place) => putCommands(api, as, body, scope);
  const pick = (q = '', id = server.general, as: Caller = owner, at = api) => pickCommands(at, as, { id }, q);
  const names = async (...rest: Parameters<typeof pick>) => (await pick(...rest)).map(({ name }) => name);

  it('200 with the global and the server’s commands by name, each with all fields and its application', async () => {
    const [beta, alpha] = await put(bot, [slash('beta', { options: [slash('x', { type: 'role' })] }), prefix('Alpha')]);
    const [gamma] = await put(bot, [slash('gamma')], server);
    const [delta] = await put(other, [slash('delta')]);
    const of = ({ applicationId, username }: Bot) => ({ application: { id: applicationId, name: username, iconUrl: null } });
    const all = [
      { ...alpha, ...of(bot) },
      { ...beta, ...of(bot) },
      { ...delta, ...of(other) },
      { ...gamma, ...of(bot) },
    ];
    for (const as of [owner, member, other]) expect(await pick('', server.general, as)).to.deep.equal(all);
  });

  it('commands with the same name are listed oldest first', async () => {
    const [first] = await put(other, [slash('same')]);
    const [second] = await put(bot, [slash('same')]);
    const [third] = await put(bot, [slash('same')], server);
    expect((await pick()).map(({ id }) => id)).to.deep.equal([first?.id, second?.id, third?.id]);
  });

  describe('with a second API process', () => {
    const second = use(() => startSecondApi(api));

    it('shows changes at once on both', async () => {
      for (const name of ['one', 'two']) {
        const [{ id } = { id: '' }] = await put(bot, [slash(name)]);
        for (const at of [api, second]) expect(await names('', server.general, owner, at)).to.deep.equal([name]);
        await send(second, 204, bot, 'DELETE', `${commandsPath(bot)}/${id}`);
        for (const at of [api, second]) expect(await names('', server.general, owner, at)).to.deep.equal([]);
      }
      await put(bot, [slash('three')]);
      await setOverwrite(api, owner, server.general, bot.id, 0, 1);
      for (const at of [second, api]) expect(await names('', server.general, owner, at)).to.deep.equal([]);
      await setOverwrite(second, owner, server.general, bot.id, 0, 0);
      for (const at of [api, second]) expect(await names('', server.general, owner, at)).to.deep.equal(['three']);
    });
  });

  describe('q', () => {
    const rows: [about: string, q: string, ...found: string[]][] = [
      ['finds a part of the name in any case; names that begin with it come first', 'STOP', 'stop', 'a-stop'],
      ['matches literally', 's.op', 'S.op'],
      ['may begin with a slash', '/stop', 'stop', 'a-stop'],
      ['is trimmed', ' stop ', 'stop', 'a-stop'],
      ['is no pattern', '.*'],
      ['is no operator', '$ne'],
      ['ignores case in any script', 'ärg', 'ÄRGER'],
      ['ignores accents', 'arg', 'ÄRGER'],
      ['empty, finds all', '', 'S.op', 'a-stop', 'other', 'stop', 'ÄRGER'],
      ['a single slash, finds all', '/', 'S.op', 'a-stop', 'other', 'stop', 'ÄRGER'],
      ['a NUL, finds none', '\0'],
      ['may be 100 emoji', '😀'.repeat(100)],
    ];
    it('finds a part of the name, literally and in any case', async () => {
      await put(bot, [slash('a-stop'), slash('stop'), slash('other'), prefix('S.op'), prefix('ÄRGER')]);
      for (const [about, q, ...found] of rows) expect(await names(q), about).to.deep.equal(found);
    });
    it('400 for 101 characters, and when it is given twice', async () => {
      const path = `/api/channels/${server.general}/commands`;
      for (const q of ['a'.repeat(101), 'a&q=b']) await refused(api, [400, 'invalid_request'], owner, 'GET', `${path}?q=${q}`);
    });
  });

  describe('in other channels', () => {
    it('a thread lists the commands of bots that can view its parent, also when it is archived', async () => {
      await put(bot, [slash('a')]);
      await put(other, [slash('b')]);
      const parent = await makeChannel(api, owner, server.id);
      const thread = await makeThread(api, owner, parent.id);
      expect(await names('', thread.id)).to.deep.equal(['a', 'b']);
      await setOverwrite(api, owner, parent.id, bot.id, 0, 1);
      expect(await names('', thread.id)).to.deep.equal(['b']);
      await send(api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
      expect(await names('', thread.id)).to.deep.equal(['b']);
      await setOverwrite(api, owner, parent.id, member.id, 0, 1);
      await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${thread.id}/commands`);
    });

    it('categories and voice channels list none', async () => {
      await put(bot, [slash('a')]);
      for (const kind of ['category', 'voice'] as const)
        expect(await names('', (await makeChannel(api, owner, server.id, { kind })).id)).to.deep.equal([]);
      expect(await names('', (await makeChannel(api, owner, server.id, { kind: 'announcement' })).id)).to.deep.equal(['a']);
    });

    it('a DM with a bot lists the bot’s global commands, a DM of two people none', async () => {
      await put(bot, [slash('a')]);
      await put(bot, [slash('local')], server);
      await put(other, [slash('b')]);
      const [withBot, withMember] = [await openDm(api, owner, bot), await openDm(api, owner, member)];
      expect(await names('', withBot.id)).to.deep.equal(['a']);
      expect(await names('', withMember.id)).to.deep.equal([]);
      await refused(api, [404, 'not_found'], member, 'GET', `/api/channels/${withBot.id}/commands`);
    });
  });

  it('lists at most 500, first those that begin with q', async () => {
    const bots = await inParallel(12, () => makeApplication(api, owner));
    const list = (head: string, at: number) => Array.from({ length: 100 }, (_, no) => slash(`${head}${100 * at + no}-zz`));
    try {
      for (const [at, one] of bots.entries()) {
        await authorize(api, owner, one, server.id);
        await put(one, at === 11 ? [...list('x', at).slice(1), slash('zz-last')] : list('x', at));
      }
      const found = await names('zz');
      expect(found).to.have.length(500);
      expect(found[0]).to.equal('zz-last');
      const all = bots.flatMap((_, at) => list('x', at).map(({ name }) => String(name))).filter((name) => name !== 'x1100-zz');
      expect(found.slice(1)).to.deep.equal(all.sort((a, b) => (a < b ? -1 : 1)).slice(0, 499));
    } finally {
      for (const one of bots) await send(api, 204, owner, 'DELETE', `/api/applications/${one.applicationId}`);
    }
    expect(await names('zz')).to.deep.equal([]);
  });
});
