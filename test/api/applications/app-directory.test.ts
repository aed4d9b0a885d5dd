import { expect } from 'chai';
import type { DirectoryApp, DirectoryPage } from '../../../lib/contract/discovery.ts';
import { grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { makeApplication, makePerson } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { testPages } from '../community/community-fixture.ts';
import { useAppDirectory } from './directory-fixture.ts';

describe('GET /api/discovery/apps', () => {
  const { api, owner, patch, list } = useAppDirectory();
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
    const found: [text: string, q: string][] = [
      ['Jazz', 'jAZZ'],
      ['Ärger', 'äRG'],
      ['a.*(b', '.*('],
      ['100%', '%'],
      ['$name', '$NAME'],
    ];
    for (const [text, q] of found)
      it(`${JSON.stringify(q)} finds ${JSON.stringify(text)} in the name and in the description`, async () => {
        await list(`1 ${text}`);
        await list('2', 0, { description: `it is ${text} here` });
        await list('3', 0, { description: 'axb' });
        expect(await names(`?q=${encodeURIComponent(q)}`)).to.deep.equal([`1 ${text}`, '2']);
      });

    for (const q of ['a.c', '^abc', 'a|b', '_', '%', '\0'])
      it(`${JSON.stringify(q)} does not find "abc"`, async () => {
        await list('abc', 0, { description: 'abc' });
        expect(await names(`?q=${encodeURIComponent(q)}`)).to.deep.equal([]);
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

  describe('offset and limit', () => {
    before(async () => {
      const { db, ids } = api.platform;
      const now = new Date();
      const rows = Array.from({ length: 1_010 }, (_, at) => ({ _id: ids.next(), name: `n${at}`, at }));
      const account = {
        displayName: 'n',
        avatarUrl: null,
        tag: null,
        passwordHash: null,
        status: 'online',
        customStatus: null,
        createdAt: now,
      };
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

    for (const query of ['limit=0', 'limit=49', 'limit=x', 'offset=-1', 'q=a&q=b'])
      it(`400 for ${query}`, () => refused(api, [400, 'invalid_request'], owner, 'GET', `/api/discovery/apps?${query}`));
  });

  it('401 without a credential', () => refused(api, [401, 'unauthorized'], null, 'GET', '/api/discovery/apps'));
});
