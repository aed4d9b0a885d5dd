import { expect } from 'chai';
import type { DiscoveryPage, DiscoveryServer } from '../../../lib/contract/discovery.ts';
import { startTestApi } from '../../harness/api.ts';
import { grantTypes, join, leave, makeBot, makePerson, makeServer, type Place, unknownId } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';
import { testPages } from './community-fixture.ts';

describe('GET /api/discovery/servers', () => {
  const api = use(startTestApi);
  const owner = make(() => makePerson(api), { each: true });
  beforeEach(() => api.platform.db.servers.updateMany({}, { $set: { listed: false } }));

  /** Makes a listed server. */
  const list = async (name: string, about: object = {}): Promise<Place> => {
    const server = await makeServer(api, owner, name);
    const channels = { rulesChannelId: server.general, updatesChannelId: server.general };
    await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/community`, { enabled: true, ...channels });
    await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/discovery`, { listed: true, description: 'about', ...about });
    return server;
  };
  const page = (query = '', as = owner): Promise<DiscoveryPage> => send(api, 200, as, 'GET', `/api/discovery/servers${query}`);
  const names = async (query = ''): Promise<string[]> => (await page(query)).items.map((one) => one.name);

  it('200 with all fields of an item; joined depends on the caller', async () => {
    const about = { category: 'music' as const, description: 'All that', tags: ['jazz', 'Blues'] };
    const server = await list('Jazz club', about);
    await grantTypes(api, server.id, ['verified', 'partnered']);
    const outsider = await makePerson(api);
    const counts = { memberCount: 1, onlineCount: 0, joined: false };
    const item: DiscoveryServer = {
      ...about,
      ...counts,
      id: server.id,
      name: 'Jazz club',
      iconUrl: null,
      types: ['verified', 'partnered'],
    };
    expect(await page('', outsider)).to.deep.equal({ items: [item], hasMore: false });
    expect(await page()).to.deep.equal({ items: [{ ...item, joined: true }], hasMore: false });
    const bot = await makeBot(api, owner, server.id);
    expect((await page('', bot)).items).to.deep.equal([{ ...item, joined: true, memberCount: 2 }]);
  });

  it('lists only listed Community servers, and no staff or developer server, even before it is unlisted', async () => {
    const [, unlisted, off, staff, developer] = await Promise.all(['shown', 'unlisted', 'off', 'staff', 'dev'].map((name) => list(name)));
    await send(api, 200, owner, 'PUT', `/api/servers/${unlisted?.id}/discovery`, { listed: false });
    await send(api, 200, owner, 'PUT', `/api/servers/${off?.id}/community`, { enabled: false });
    await grantTypes(api, staff?.id as string, ['official', 'staff']);
    await grantTypes(api, developer?.id as string, ['developer']);
    expect(await names()).to.deep.equal(['shown']);
    await send(api, 204, owner, 'DELETE', `/api/servers/${(await page()).items[0]?.id}`);
    expect(await names()).to.deep.equal([]);
  });

  it('sorts by number of members, then by age', async () => {
    const servers = [await list('a'), await list('b'), await list('c'), await list('d')];
    for (const [at, count] of [2, 5, 2, 9].entries())
      await api.platform.db.servers.updateOne({ _id: servers[at]?.id as string }, { $set: { memberCount: count } });
    expect(await names()).to.deep.equal(['d', 'b', 'a', 'c']);
  });

  it('shows joining and leaving at once', async () => {
    const [small, large] = [await list('small'), await list('large')];
    const person = await makePerson(api);
    await join(api, owner, large.id, person);
    expect((await page()).items.map(({ id, memberCount }) => [id, memberCount])).to.deep.equal([
      [large.id, 2],
      [small.id, 1],
    ]);
    await leave(api, person, large.id);
    expect((await page()).items.map((one) => one.memberCount)).to.deep.equal([1, 1]);
  });

  it('category filters by category; a server without one is in other', async () => {
    await list('music', { category: 'music' });
    await list('gaming', { category: 'gaming' });
    await list('none');
    await list('other', { category: 'other' });
    expect(await names('?category=music')).to.deep.equal(['music']);
    expect(await names('?category=other')).to.deep.equal(['none', 'other']);
    expect(await names('?category=education')).to.deep.equal([]);
    expect(await names()).to.have.length(4);
  });

  describe('q', () => {
    const find = (q: string): Promise<string[]> => names(`?q=${encodeURIComponent(q)}`);
    // Each text is found in the name, the description and a tag, in any case.
    const found: [text: string, q: string][] = [
      ['Jazz', 'AZZ'],
      ['Ärger Über', 'äRGER ü'],
      ['ΟΔΟΣ', 'οδος'],
      ['日本語', '本'],
      ['a🎲b', '🎲'],
      ['caf\u0065\u0301', 'CAF\u00c9'],
      ['$$ROOT', '$$root'],
      ['two words', '  two WORDS '],
    ];
    for (const [text, q] of found)
      it(`${JSON.stringify(q)} finds ${JSON.stringify(text)}`, async () => {
        await list(`1 ${text}`);
        await list('2', { description: `in ${text} here` });
        await list('3', { tags: ['first', text] });
        await list('4', { description: 'axb', tags: ['cxd'] });
        expect(await find(q)).to.deep.equal([`1 ${text}`, '2', '3']);
      });

    it('is matched literally', async () => {
      const odd = String.raw`.*+?^$(){}[]|\/%_"'<>#&=;:!`;
      const halves = [odd.slice(0, 14), odd.slice(14)];
      await list(`1 ${odd}`);
      await list('2', { description: `in ${odd} here` });
      await list('3', { tags: halves });
      await list('abc', { description: 'ab', tags: ['aaa', 'one'] });
      for (const q of [...halves, ...odd.split('')]) expect(await find(q), q).to.deep.equal([`1 ${odd}`, '2', '3']);
      for (const q of ['a.c', 'a*', 'a|b', '^abc', '\\w', 'a c', '\0', 'one\ntwo']) expect(await find(q), q).to.deep.equal([]);
    });

    it('a blank one finds all, and it can be combined with a category', async () => {
      await list('Jazz', { category: 'music' });
      await list('jazz games', { category: 'gaming' });
      await list('other');
      for (const q of ['', '%20', '%09']) expect(await names(`?q=${q}`)).to.have.length(3);
      expect(await names('?q=jazz&category=gaming')).to.deep.equal(['jazz games']);
    });

    it('finds a new name, description and tags at once', async () => {
      const server = await list('Éclair', { description: 'Über', tags: ['Ö'] });
      const count = async (...queries: string[]): Promise<number[]> => {
        const lists = await Promise.all(queries.map(find));
        return lists.map(({ length }) => length);
      };
      expect(await count('éCLAIR', 'über', 'ö')).to.deep.equal([1, 1, 1]);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { name: 'Ñandú' });
      await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/discovery`, { description: 'Çava', tags: ['Æ'] });
      expect(await count('éCLAIR', 'über', 'ö')).to.deep.equal([0, 0, 0]);
      expect(await count('ñANDÚ', 'çava', 'æ')).to.deep.equal([1, 1, 1]);
    });
  });

  describe('offset and limit', () => {
    before(async () => {
      const settings = { invitesPaused: false, types: [], community: true, listed: true };
      const fixed = { iconUrl: null, ownerId: unknownId, roles: [], rolesVersion: 0, nextPosition: 0, createdAt: new Date(), ...settings };
      const docs = Array.from({ length: 1_010 }, (_, at) => {
        const own = { name: `n${at}`, search: { name: `n${at}` }, memberCount: 1_010 - at };
        return { _id: String(10n ** 18n + BigInt(at)), ...own, ...fixed };
      });
      await api.platform.db.servers.insertMany(docs);
    });
    beforeEach(() => api.platform.db.servers.updateMany({ ownerId: unknownId }, { $set: { listed: true } }));

    testPages(
      (query) => page(`${query}${query ? '&' : '?'}q=n`),
      [
        ['', 0, 24, true],
        ['?limit=1', 0, 1, true],
        ['?limit=48', 0, 48, true],
        ['?offset=24', 24, 24, true],
        ['?offset=959&limit=48', 959, 48, true],
        // The last offset is 960, where hasMore is false.
        ['?offset=960', 960, 24, false],
        ['?offset=960&limit=48', 960, 48, false],
        ['?offset=961', 960, 24, false],
        ['?offset=999999', 960, 24, false],
        ['?offset=999999999999999', 960, 24, false],
      ],
    );

    it('hasMore is false on the last page, also when that is full', async () => {
      expect(await page('?q=n100&limit=11')).to.have.property('hasMore', false);
      expect((await page('?q=n100&limit=11')).items).to.have.length(11);
      expect(await page('?q=n100&limit=10')).to.have.property('hasMore', true);
      expect(await page('?q=n100&offset=10&limit=10')).to.have.property('hasMore', false);
      expect(await page('?q=n100&offset=11')).to.deep.equal({ items: [], hasMore: false });
    });

    it('400 for other values', async () => {
      const limits = ['limit=0', 'limit=49', 'limit=-1', 'limit=abc', 'limit=1.5', 'limit=', 'limit=1&limit=2'];
      for (const query of [...limits, 'offset=-1', 'offset=x', 'offset=1e3', 'category=sports', 'category=', 'q=a&q=b'])
        await refused(api, [400, 'invalid_request'], owner, 'GET', `/api/discovery/servers?${query}`);
    });
  });
});
