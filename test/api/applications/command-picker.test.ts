import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Command, PickerCommand } from '../../../lib/contract/command.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
} from '../../harness/factories.ts';

describe('GET /api/channels/{channelId}/commands', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let stranger: Caller;
  let home: Place;
  let bot: Bot;
  let other: Bot;
  before(async () => {
    api = await startTestApi();
    [owner, stranger] = [await makePerson(api), await makePerson(api)];
    home = await makeServer(api, owner);
    member = await makeMember(api, owner, home.id);
    bot = await makeBot(api, owner, home.id);
    other = await makeBot(api, owner, home.id);
  });
  beforeEach(async () => {
    await put(bot, []);
    await put(other, []);
    await put(bot, [], home.id);
  });
  after(() => api.close());

  const slash = (name: string, more: object = {}) => ({ name, description: 'x', ...more });
  const prefix = (name: string, more: object = {}) => ({ name, kind: 'prefix', prefix: '!', ...more });
  const put = (as: Bot, body: unknown, serverId?: string, status = 200) =>
    send<Command[]>(
      api,
      status,
      as,
      'PUT',
      `/api/applications/${as.applicationId}${serverId ? `/servers/${serverId}` : ''}/commands`,
      body,
    );
  const pick = (q = '', channelId = home.general, as: Caller = owner, at = api) =>
    send<PickerCommand[]>(at, 200, as, 'GET', `/api/channels/${channelId}/commands?q=${encodeURIComponent(q)}`);
  const names = async (...rest: Parameters<typeof pick>) => (await pick(...rest)).map(({ name }) => name);

  it('slash and prefix commands of everywhere and of this server, by name, each whole and with its application', async () => {
    const [beta, alpha] = await put(bot, [slash('beta', { options: [slash('x', { type: 'role' })] }), prefix('Alpha')]);
    const [gamma] = await put(bot, [slash('gamma')], home.id);
    const [delta] = await put(other, [slash('delta')]);
    const of = ({ applicationId, username }: Bot) => ({ application: { id: applicationId, name: username, iconUrl: null } });
    expect(await pick()).to.deep.equal([
      { ...alpha, ...of(bot) },
      { ...beta, ...of(bot) },
      { ...delta, ...of(other) },
      { ...gamma, ...of(bot) },
    ]);
  });

  it('one name of two bots, or of both scopes, is listed once each, the older first', async () => {
    const [first] = await put(other, [slash('same')]);
    const [second] = await put(bot, [slash('same')]);
    const [third] = await put(bot, [slash('same')], home.id);
    expect((await pick()).map(({ id }) => id)).to.deep.equal([first?.id, second?.id, third?.id]);
  });

  it('any member sees the list, a bot too; 404 for who is outside, 403 without View Channel, 401 without a credential', async () => {
    await put(bot, [slash('a')]);
    expect(await names('', home.general, member)).to.deep.equal(['a']);
    expect(await names('', home.general, other)).to.deep.equal(['a']);
    const path = `/api/channels/${home.general}/commands`;
    await refused(api, [404, 'not_found'], stranger, 'GET', path);
    await refused(api, [401, 'unauthorized'], null, 'GET', path);
    for (const id of ['x', home.id, '0']) await refused(api, [404, 'not_found'], owner, 'GET', `/api/channels/${id}/commands`);
    const hidden = await makeChannel(api, owner, home.id);
    await setOverwrite(api, owner, hidden.id, member.id, 0, 1);
    expect((await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${hidden.id}/commands`)).missing).to.deep.equal([
      'View Channel',
    ]);
  });

  it('changes show at once, also at another API process', async () => {
    const { MONGODB_URL, REDIS_PREFIX } = api.platform.config;
    const second = await startTestApi({ MONGODB_URL, REDIS_PREFIX });
    try {
      for (const name of ['one', 'two']) {
        const [{ id } = { id: '' }] = await put(bot, [slash(name)]);
        for (const at of [api, second]) expect(await names('', home.general, owner, at)).to.deep.equal([name]);
        await send(second, 204, bot, 'DELETE', `/api/applications/${bot.applicationId}/commands/${id}`);
        for (const at of [api, second]) expect(await names('', home.general, owner, at)).to.deep.equal([]);
      }
      await put(bot, [slash('three')]);
      await setOverwrite(api, owner, home.general, bot.id, 0, 1);
      for (const at of [second, api]) expect(await names('', home.general, owner, at)).to.deep.equal([]);
      await setOverwrite(second, owner, home.general, bot.id, 0, 0);
      for (const at of [api, second]) expect(await names('', home.general, owner, at)).to.deep.equal(['three']);
    } finally {
      await second.close();
    }
  });

  describe('q', () => {
    beforeEach(async () => void (await put(bot, [slash('a-stop'), slash('stop'), slash('other'), prefix('S.op'), prefix('ÄRGER')])));
    const rows: [about: string, q: string, ...found: string[]][] = [
      ['a part of the name in any case, those that begin with it first', 'STOP', 'stop', 'a-stop'],
      ['is literal', 's.op', 'S.op'],
      ['may begin with the slash that is typed', '/stop', 'stop', 'a-stop'],
      ['white space around it does not count', ' stop ', 'stop', 'a-stop'],
      ['is no pattern', '.*'],
      ['is no operator', '$ne'],
      ['letters of any script', 'ä', 'ÄRGER'],
      ['empty means all', '', 'S.op', 'a-stop', 'other', 'stop', 'ÄRGER'],
      ['a slash alone means all', '/', 'S.op', 'a-stop', 'other', 'stop', 'ÄRGER'],
      ['a NUL is in no name', '\0'],
      ['100 emoji are not too many', '😀'.repeat(100)],
    ];
    for (const [about, q, ...found] of rows) it(about, async () => expect(await names(q)).to.deep.equal(found));
    it('400 for 101 characters, and when it comes twice', async () => {
      const path = `/api/channels/${home.general}/commands`;
      await refused(api, [400, 'invalid_request'], owner, 'GET', `${path}?q=${'a'.repeat(101)}`);
      await refused(api, [400, 'invalid_request'], owner, 'GET', `${path}?q=a&q=b`);
    });
  });

  describe('where', () => {
    it('a thread shows what its parent’s viewers have, an archived one too', async () => {
      await put(bot, [slash('a')]);
      await put(other, [slash('b')]);
      const parent = await makeChannel(api, owner, home.id);
      const thread = await send<Channel>(api, 201, owner, 'POST', `/api/channels/${parent.id}/threads`, { name: 'thread' });
      expect(await names('', thread.id)).to.deep.equal(['a', 'b']);
      await setOverwrite(api, owner, parent.id, bot.id, 0, 1);
      expect(await names('', thread.id)).to.deep.equal(['b']);
      await send(api, 200, owner, 'PATCH', `/api/channels/${thread.id}`, { archived: true });
      expect(await names('', thread.id)).to.deep.equal(['b']);
      await setOverwrite(api, owner, parent.id, member.id, 0, 1);
      await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${thread.id}/commands`);
    });

    it('categories and voice channels show none', async () => {
      await put(bot, [slash('a')]);
      for (const kind of ['category', 'voice'] as const)
        expect(await names('', (await makeChannel(api, owner, home.id, { kind })).id)).to.deep.equal([]);
      expect(await names('', (await makeChannel(api, owner, home.id, { kind: 'announcement' })).id)).to.deep.equal(['a']);
    });

    it('a DM shows those of everywhere of the bot there, none between two people', async () => {
      await put(bot, [slash('a')]);
      await put(bot, [slash('local')], home.id);
      await put(other, [slash('b')]);
      const open = (recipientId: string) => send<DmChannel>(api, 201, owner, 'POST', '/api/users/@me/channels', { recipientId });
      const [withBot, withMember] = [await open(bot.id), await open(member.id)];
      expect(await names('', withBot.id)).to.deep.equal(['a']);
      expect(await names('', withMember.id)).to.deep.equal([]);
      await refused(api, [404, 'not_found'], member, 'GET', `/api/channels/${withBot.id}/commands`);
    });
  });

  it('at most 500, and those that begin with q are among them however many there are', async () => {
    const bots = await Promise.all(Array.from({ length: 12 }, () => makeApplication(api, owner)));
    const list = (head: string, at: number) => Array.from({ length: 100 }, (_, no) => slash(`${head}${100 * at + no}-zz`));
    try {
      for (const [at, one] of bots.entries()) {
        await authorize(api, owner, one, home.id);
        await put(one, at === 11 ? [...list('x', at).slice(1), slash('zz-last')] : list('x', at));
      }
      const found = await names('zz');
      expect(found).to.have.length(500);
      expect(found[0]).to.equal('zz-last');
      const all = bots.flatMap((_, at) => list('x', at).map(({ name }) => name)).filter((name) => name !== 'x1100-zz');
      expect(found.slice(1)).to.deep.equal(all.sort().slice(0, 499));
    } finally {
      for (const one of bots) await send(api, 204, owner, 'DELETE', `/api/applications/${one.applicationId}`);
    }
    expect(await names('zz')).to.deep.equal([]);
  });
});
