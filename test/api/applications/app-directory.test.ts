import { expect } from 'chai';
import type { DirectoryApp, DirectoryPage } from '../../../lib/contract/discovery.ts';
import { grantTag, verifyBot } from '../../../lib/domain/servers/grants.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  makeApplication,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';

describe('GET /api/discovery/apps', () => {
  let api: TestApi;
  let owner: Caller;
  let servers: Place[];
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());
  beforeEach(async () => {
    await api.platform.db.applications.updateMany({}, { $set: { inDirectory: false } });
    owner = await makePerson(api);
    servers = [await makeServer(api, owner), await makeServer(api, owner), await makeServer(api, owner)];
  });

  const patch = (bot: Bot, body: object) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, body);
  /** A listed application whose bot is in so many servers. */
  const list = async (name: string, many = 0, about: object = {}): Promise<Bot> => {
    const bot = await makeApplication(api, owner, name);
    await patch(bot, { public: true, inDirectory: true, ...about });
    for (const { id } of servers.slice(0, many)) await authorize(api, owner, bot, id);
    return bot;
  };
  const page = (query = '', as = owner): Promise<DirectoryPage> => send(api, 200, as, 'GET', `/api/discovery/apps${query}`);
  const names = async (query = ''): Promise<string[]> => (await page(query)).items.map((one) => one.name);

  it('200 with all fields of the item, for people and bots', async () => {
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

  it('only what its owner lists and whose bot is public', async () => {
    const [shown, unlisted, hidden] = [await list('shown'), await list('unlisted'), await list('hidden')];
    await makeApplication(api, owner, 'private');
    await makeApplication(api, owner, 'public', true);
    await patch(unlisted, { inDirectory: false });
    await patch(hidden, { public: false });
    expect(await names()).to.deep.equal(['shown']);
    await patch(hidden, { public: true });
    expect(await names(), 'public again stays unlisted').to.deep.equal(['shown']);
    await send(api, 204, owner, 'DELETE', `/api/applications/${shown.applicationId}`);
    expect(await names()).to.deep.equal([]);
  });

  it('verified bots first, then by number of servers, then the oldest', async () => {
    const bots = { a: await list('a'), b: await list('b', 2), c: await list('c'), d: await list('d', 3), e: await list('e', 1) };
    expect(await names()).to.deep.equal(['d', 'b', 'e', 'a', 'c']);
    await verifyBot(api.platform, bots.c.applicationId);
    await verifyBot(api.platform, bots.b.applicationId);
    expect(await names()).to.deep.equal(['b', 'c', 'd', 'e', 'a']);
    await grantTag(api.platform, bots.b.id, 'official');
    expect(await names(), 'another tag took the place of verified').to.deep.equal(['c', 'd', 'b', 'e', 'a']);
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
      it(`${JSON.stringify(q)} finds ${JSON.stringify(text)} in the name, which is the bot’s username, and in the description`, async () => {
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

    it('follows a new name and description at once; a blank one asks for nothing', async () => {
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
      const face = {
        displayName: 'n',
        avatarUrl: null,
        tag: null,
        passwordHash: null,
        status: 'online',
        customStatus: null,
        createdAt: now,
      };
      await db.accounts.collection.insertMany(
        rows.map(({ _id, name }) => ({ _id, kind: 'bot', username: name, applicationId: _id, ...face })) as never,
      );
      const rest = { iconUrl: null, description: '', public: true, inDirectory: true, interactionsEndpointUrl: null, signingSecret: 'x' };
      await db.applications.collection.insertMany(
        rows.map(({ _id, name, at }) => {
          const own = { ownerId: _id, botId: _id, slot: 0, serverCount: 2_000 - at, createdAt: now };
          return { _id, name, search: { name }, ...own, ...rest };
        }) as never,
      );
    });
    beforeEach(() => api.platform.db.applications.updateMany({ signingSecret: 'x' }, { $set: { inDirectory: true } }));

    const expected: [query: string, first: number, many: number, hasMore: boolean][] = [
      ['', 0, 24, true],
      ['?limit=48&offset=24', 24, 48, true],
      ['?offset=959', 959, 24, true],
      ['?offset=960&limit=48', 960, 48, false],
      ['?offset=5000', 960, 24, false],
      ['?q=n100&offset=10&limit=24', 1_009, 1, false],
    ];
    for (const [query, first, many, hasMore] of expected)
      it(`${query || 'none'}: ${many} from ${first} on, ${hasMore ? 'and' : 'no'} more`, async () => {
        const { items, hasMore: more } = await page(query);
        expect(items.map((one) => one.name)).to.deep.equal(Array.from({ length: many }, (_, at) => `n${first + at}`));
        expect(more).to.equal(hasMore);
      });

    for (const query of ['limit=0', 'limit=49', 'limit=x', 'offset=-1', 'q=a&q=b'])
      it(`400 for ${query}`, () =>
        refused(api, [400, 'invalid_request'], owner, 'GET', `/api/discovery/apps?${query}`).then(() => undefined));
  });

  it('401 without a credential', () => refused(api, [401, 'unauthorized'], null, 'GET', '/api/discovery/apps').then(() => undefined));
});
