import { expect } from 'chai';
import { mongo } from 'mongoose';
import type { DirectoryApp, DirectoryPage } from '../../../lib/contract/discovery.ts';
import { recountBotServers } from '../../../lib/domain/counts/bot-servers.ts';
import { grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { startTestApi } from '../../harness/api.ts';
import { authorize, type Bot, leave, makeApplication, makePerson, makeServer } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { inParallel, refused, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';
import { testPages } from '../community/community-fixture.ts';

describe('GET /api/discovery/apps', () => {
  const api = use(startTestApi);
  beforeEach(() => api.platform.db.applications.updateMany({}, { $set: { inDirectory: false } }));
  const owner = make(() => makePerson(api), { each: true });
  const servers = make(async () => [await makeServer(api, owner), await makeServer(api, owner), await makeServer(api, owner)] as const, {
    each: true,
  });
  const patch = (bot: Bot, fields: object) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, fields);
  /** Makes an application that is listed, and adds its bot to the first `count` of the owner's servers. */
  const list = async (name: string, count = 0, fields: object = {}): Promise<Bot> => {
    const bot = await makeApplication(api, owner, name);
    await patch(bot, { public: true, inDirectory: true, ...fields });
    for (const { id } of servers.slice(0, count)) await authorize(api, owner, bot, id);
    return bot;
  };
  const page = (query = '', as = owner): Promise<DirectoryPage> => send(api, 200, as, 'GET', `/api/discovery/apps${query}`);
  const names = async (query = ''): Promise<string[]> => (await page(query)).items.map((one) => one.name);

  it('200 with all fields of an item, for people and bots', async () => {
    const bot = await list('Helper', 1, { description: 'Helps' });
    const item: DirectoryApp = {
      id: bot.applicationId,
      name: 'Helper',
      description: 'Helps',
      iconUrl: null,
      bot: { id: bot.id, username: 'Helper', displayName: 'Helper', avatarUrl: null, tag: 'bot' },
      serverCount: 1,
    };
    expect(await page()).to.deep.equal({ items: [item], hasMore: false });
    expect(await page('', bot)).to.deep.equal({ items: [item], hasMore: false });
    expect(await page('', await makePerson(api))).to.deep.equal({ items: [item], hasMore: false });
    await verifyBot(api.platform, bot.applicationId);
    expect((await page()).items[0]?.bot.tag).to.equal('verified_bot');
  });

  it('lists only public applications that their owner has listed', async () => {
    const [shown, unlisted, hidden] = [await list('shown'), await list('unlisted'), await list('hidden')];
    await makeApplication(api, owner, 'private');
    await makeApplication(api, owner, 'public', true);
    await patch(unlisted, { inDirectory: false });
    await patch(hidden, { public: false });
    expect(await names()).to.deep.equal(['shown']);
    await patch(hidden, { public: true });
    expect(await names(), 'public again but not listed').to.deep.equal(['shown']);
    await send(api, 204, owner, 'DELETE', `/api/applications/${shown.applicationId}`);
    expect(await names()).to.deep.equal([]);
  });

  it('sorts verified bots first, then by number of servers, then by age', async () => {
    const bots = { a: await list('a'), b: await list('b', 2), c: await list('c'), d: await list('d', 3), e: await list('e', 1) };
    expect(await names()).to.deep.equal(['d', 'b', 'e', 'a', 'c']);
    await verifyBot(api.platform, bots.c.applicationId);
    await verifyBot(api.platform, bots.b.applicationId);
    expect(await names()).to.deep.equal(['b', 'c', 'd', 'e', 'a']);
    await grantTag(api.platform, bots.b.id, 'official');
    expect(await names(), 'another tag has replaced that of a verified bot').to.deep.equal(['c', 'd', 'b', 'e', 'a']);
    await verifyBot(api.platform, bots.c.applicationId, { undo: true });
    expect(await names()).to.deep.equal(['d', 'b', 'e', 'a', 'c']);
  });

  describe('q', () => {
    it('is matched literally and in any case in name and description', async () => {
      const text = 'Jazz 100% a.*(b $name Ärger';
      await list(`1 ${text}`);
      await list('2', 0, { description: `it is ${text} here` });
      await list('abc', 0, { description: 'abc' });
      for (const q of ['jAZZ', 'äRG', '.*(', '%', '$NAME'])
        expect(await names(`?q=${encodeURIComponent(q)}`), q).to.deep.equal([`1 ${text}`, '2']);
      for (const q of ['a.c', '^abc', 'a|b', '_', '\0']) expect(await names(`?q=${encodeURIComponent(q)}`), q).to.deep.equal([]);
    });

    it('finds a new name and description at once; a blank q finds all', async () => {
      const bot = await list('Éclair', 0, { description: 'Über' });
      await patch(bot, { name: 'Ñandú' });
      await patch(bot, { description: 'Çava' });
      expect([await names('?q=%C3%A9clair'), await names('?q=%C3%BCber')]).to.deep.equal([[], []]);
      expect([await names('?q=%C3%B1and'), await names('?q=%C3%A7AVA'), await names('?q=%20')]).to.deep.equal([
        ['Ñandú'],
        ['Ñandú'],
        ['Ñandú'],
      ]);
      expect((await page()).items[0]?.bot.username).to.equal('Ñandú');
    });
  });

  describe('serverCount', () => {
    const counts = async (): Promise<number[]> => (await page()).items.map((one) => one.serverCount);
    /** Recounts as the sweep does, as if the last change were old enough. */
    const recount = async (): Promise<void> => {
      await api.platform.db.applications.updateMany({ recountAt: { $exists: true } }, { $set: { recountAt: new Date(0) } });
      await recountBotServers(api.platform);
    };

    it('changes at once when bots are added, leave, are kicked and banned, and when servers are deleted', async () => {
      const bot = await list('bot', 3);
      const [first, second, third] = servers;
      expect(await counts()).to.deep.equal([3]);
      await send(api, 200, owner, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId: first.id });
      expect(await counts(), 'already in the server').to.deep.equal([3]);
      await leave(api, bot, first.id);
      expect(await counts()).to.deep.equal([2]);
      await send(api, 204, owner, 'DELETE', `/api/servers/${second.id}/members/${bot.id}`);
      expect(await counts()).to.deep.equal([1]);
      await authorize(api, owner, bot, second.id);
      await send(api, 204, owner, 'PUT', `/api/servers/${second.id}/bans/${bot.id}`);
      expect(await counts()).to.deep.equal([1]);
      await send(api, 204, owner, 'DELETE', `/api/servers/${third.id}`);
      expect(await counts()).to.deep.equal([0]);
      await recount();
      expect(await counts()).to.deep.equal([0]);
    });

    it('includes servers from before the application was listed', async () => {
      const bot = await makeApplication(api, owner, 'late');
      for (const { id } of servers) await authorize(api, owner, bot, id);
      await patch(bot, { public: true, inDirectory: true });
      expect(await counts()).to.deep.equal([3]);
    });

    it('counts one of 20 concurrent requests that add the bot', async () => {
      const bot = await list('bot');
      const body = { serverId: servers[0].id };
      await inParallel(20, () => api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body }));
      expect(await counts()).to.deep.equal([1]);
    });

    const crash = (): Promise<never> => Promise.reject(new mongo.MongoNetworkError('a crash'));

    it('is corrected by the recount after a crash before an added bot was counted', async () => {
      const bot = await list('bot');
      beforeNextQuery(api.platform.db.servers, 'updateOne', async () => {
        beforeNextQuery(api.platform.db.servers, 'updateOne', crash);
        await Promise.resolve();
      });
      const body = { serverId: servers[0].id };
      await api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body });
      expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
      expect(await counts()).to.deep.equal([0]);
      await recount();
      expect(await counts()).to.deep.equal([1]);
    });

    it('is corrected by the recount after a crash before a bot that left was counted', async () => {
      const bot = await list('bot', 2);
      await recount();
      beforeNextQuery(api.platform.db.applications, 'updateMany', async () => {
        beforeNextQuery(api.platform.db.applications, 'updateMany', crash);
        await Promise.resolve();
      });
      await api.call('DELETE', `/api/users/@me/servers/${servers[0].id}`, { as: bot.as });
      expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
      expect(await counts()).to.deep.equal([2]);
      await recount();
      expect(await counts()).to.deep.equal([1]);
    });

    it('is not recounted right after a change, and a repeated recount changes nothing', async () => {
      await list('bot', 2);
      const { applications } = api.platform.db;
      await applications.updateMany({ inDirectory: true }, { $set: { serverCount: 9 } });
      await recountBotServers(api.platform);
      expect(await counts()).to.deep.equal([9]);
      await recount();
      const once = await applications.find().sort({ _id: 1 }).toArray();
      expect(await counts()).to.deep.equal([2]);
      await recount();
      expect(await applications.find().sort({ _id: 1 }).toArray()).to.deep.equal(once);
      expect(await applications.countDocuments({ recountAt: { $exists: true } })).to.equal(0);
    });
  });

  describe('offset and limit', () => {
    before(async () => {
      const { db, ids } = api.platform;
      const now = new Date();
      const rows = Array.from({ length: 1_010 }, (_, at) => ({ _id: ids.next(), name: `n${at}`, at }));
      const shown = { displayName: 'n', avatarUrl: null, tag: null, status: 'online', customStatus: null };
      const account = { ...shown, passwordHash: null, createdAt: now };
      await db.accounts.insertMany(
        rows.map(({ _id, name }) => ({ _id, kind: 'bot', username: name, applicationId: _id, ...account })) as never,
      );
      const rest = { iconUrl: null, description: '', public: true, inDirectory: true, interactionsEndpointUrl: null, signingSecret: 'x' };
      await db.applications.insertMany(
        rows.map(({ _id, name, at }) => {
          const own = { ownerId: _id, botId: _id, slot: 0, serverCount: 2_000 - at, createdAt: now };
          return { _id, name, search: { name }, ...own, ...rest };
        }),
      );
    });
    beforeEach(() => api.platform.db.applications.updateMany({ signingSecret: 'x' }, { $set: { inDirectory: true } }));

    testPages(page, [
      ['', 0, 24, true],
      ['?limit=48&offset=24', 24, 48, true],
      ['?offset=959', 959, 24, true],
      ['?offset=960&limit=48', 960, 48, false],
      ['?offset=5000', 960, 24, false],
      ['?q=n100&offset=10&limit=24', 1_009, 1, false],
    ]);

    it('400 for other values', async () => {
      for (const query of ['limit=0', 'limit=49', 'limit=x', 'offset=-1', 'q=a&q=b'])
        await refused(api, [400, 'invalid_request'], owner, 'GET', `/api/discovery/apps?${query}`);
    });
  });
});
