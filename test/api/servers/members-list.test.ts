import { expect } from 'chai';
import type { Member } from '../../../lib/contract/member.ts';
import { sweepMemberNames } from '../../../lib/domain/members/names.ts';
import { type Answer, startTestApi } from '../../harness/api.ts';
import { join, makeBot, makePerson, makeServer } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { repeatMigrations } from '../../harness/migrations.ts';
import { refused, send, tally } from '../../harness/requests.ts';
import { fillServer } from '../../harness/seed.ts';
import { make, use } from '../../harness/use.ts';

const idsOf = (members: readonly Member[]): string[] => members.map(({ user }) => user.id);
const usernamesOf = (members: readonly Member[]): string[] => members.map(({ user }) => user.username);

describe('pages of GET /api/servers/{serverId}/members', () => {
  const api = use(startTestApi);
  const owner = make(() => makePerson(api, 'zoe'));
  const server = make(() => makeServer(api, owner));
  const everyone = make(async () => [owner.id, ...(await fillServer(api.platform, server.id, 1_200, 'resident'))].toSorted());
  const path = (query = ''): string => `/api/servers/${server.id}/members${query}`;
  const get = (query = ''): Promise<Answer<Member[]>> => api.call('GET', path(query), { as: owner.as });
  const list = (query: string): Promise<Member[]> => send(api, 200, owner, 'GET', path(query));

  const sizes: [query: string, size: number][] = [
    ['', 1_000],
    ['?limit=1', 1],
    ['?limit=1000', 1_000],
    ['?after=0000000000000000000', 100],
    ['?query=resident', 100],
    ['?query=resident&limit=999', 999],
  ];
  for (const [query, size] of sizes)
    it(`200 with ${size} of 1,201 members and a next page for ${query || 'no query'}`, async () => {
      const { status, body, headers } = await get(query);
      expect([status, body.length, headers.get('X-Has-More')]).to.deep.equal([200, size, 'true']);
      const last = body.at(-1)?.user.id as string;
      expect(headers.get('Link')).to.match(/^<http[^>]+>; rel="next"$/);
      expect(new URL(headers.get('Link')?.slice(1, -13) as string).searchParams.get('after')).to.equal(last);
    });

  it('the pages that follow Link have each member once, in the order of their ids', async () => {
    const found: string[] = [];
    for (let query: string | null = '?limit=500'; query !== null; ) {
      const { body, headers } = await get(query);
      found.push(...idsOf(body));
      query = headers.get('X-Has-More') === 'true' ? `?${headers.get('Link')?.match(/\?([^>]+)>/)?.[1]}` : null;
    }
    expect(found).to.deep.equal([...everyone]);
  });

  const wrong: [query: string, field: string][] = [
    ['?limit=0', '/limit'],
    ['?limit=1001', '/limit'],
    ['?limit=x', '/limit'],
    ['?after=x', '/after'],
    ['?query=', '/query'],
    [`?query=${'x'.repeat(101)}`, '/query'],
    ['?query=zoe&after=1000000000000000000', '/after'],
  ];
  for (const [query, field] of wrong)
    it(`400 for ${query.slice(0, 40)}`, async () => {
      const { errors } = await refused(api, [400, 'invalid_request'], owner, 'GET', path(query));
      expect(errors?.[0]?.path).to.equal(field);
    });

  describe('query', () => {
    it('finds usernames and display names in any case, an exact match first', async () => {
      for (const query of ['RESIDENT12', 'resident12'])
        expect(usernamesOf(await list(`?query=${query}&limit=3`))).to.deep.equal(['resident12', 'resident120', 'resident121']);
      expect(usernamesOf(await list(`?query=${encodeURIComponent('RESIDENT 77')}`))[0]).to.equal('resident77');
      expect(await list('?query=12')).to.deep.equal([]);
      expect(await list(`?query=${encodeURIComponent('.*')}`)).to.deep.equal([]);
    });

    it('after gives the next page, each match once', async () => {
      const all = idsOf(await list('?query=resident11&limit=1000'));
      expect(all).to.have.length(111);
      const rest = await get(`?query=resident11&limit=1000&after=${all[9]}`);
      expect(idsOf(rest.body)).to.deep.equal(all.slice(10));
      expect(rest.headers.get('X-Has-More')).to.equal('false');
    });

    it('returns only the first 1,000 matches of usernames and of display names', async () => {
      const first = idsOf(await list('?query=resident&limit=1000'));
      const { body, headers } = await get(`?query=resident&limit=1000&after=${first.at(-1)}`);
      expect([body.length < 1_000, headers.get('X-Has-More')]).to.deep.equal([true, 'false']);
    });

    it('finds a new member, a new display name and a renamed bot, and nobody by an old name', async () => {
      const person = await makePerson(api);
      const bot = await makeBot(api, owner, server.id);
      await join(api, owner, server.id, person);
      for (const one of [person, bot]) expect(idsOf(await list(`?query=${one.username}`))).to.deep.equal([one.id]);
      await send(api, 200, person, 'PATCH', '/api/users/@me', { displayName: 'Ángela Straße' });
      await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'Deputy' });
      for (const query of ['ÁNGELA', 'ángela strasse', person.username])
        expect(idsOf(await list(`?query=${encodeURIComponent(query)}`))).to.deep.equal([person.id]);
      expect(idsOf(await list('?query=deputy'))).to.deep.equal([bot.id]);
      expect(idsOf(await list(`?query=${bot.username}`))).to.deep.equal([]);
    });

    it('finds only the last name after two changes at once, and a name set while the person joins', async () => {
      const person = await makePerson(api);
      const rename = (displayName: string): Promise<unknown> => send(api, 200, person, 'PATCH', '/api/users/@me', { displayName });
      const collection = api.platform.db.members;
      interceptNext(collection, 'bulkWrite', (real) => rename('quentin').then(real));
      await join(api, owner, server.id, person);
      expect(idsOf(await list('?query=quentin'))).to.deep.equal([person.id]);
      interceptNext(collection, 'bulkWrite', (real) => rename('quincy').then(real));
      await rename('quirin');
      expect(idsOf(await list('?query=quincy'))).to.deep.equal([person.id]);
      for (const old of ['quentin', 'quirin']) expect(await list(`?query=${old}`)).to.deep.equal([]);
    });

    it('a sweep indexes the names of members of an older database', async () => {
      const [id] = await fillServer(api.platform, server.id, 1, 'veteran');
      await api.platform.db.members.updateOne({ userId: id as string }, { $unset: { search: 1 } });
      expect(await list('?query=veteran')).to.deep.equal([]);
      await repeatMigrations(api.platform);
      await sweepMemberNames(api.platform);
      expect(idsOf(await list('?query=veteran'))).to.deep.equal([id]);
    });
  });

  it('a cached page shows a new status, role, name and member and a removal at once', async () => {
    const otherServer = await makeServer(api, owner);
    const at = `/api/servers/${otherServer.id}/members`;
    const person = await makePerson(api);
    const current = async (): Promise<Member | undefined> =>
      (await send<Member[]>(api, 200, owner, 'GET', at)).find(({ user }) => user.id === person.id);
    expect(await current()).to.equal(undefined);
    await join(api, owner, otherServer.id, person);
    expect((await current())?.customStatus).to.equal(null);
    await send(api, 200, person, 'PATCH', '/api/users/@me/presence', { customStatus: 'reading' });
    expect((await current())?.customStatus).to.equal('reading');
    await send(api, 200, person, 'PATCH', '/api/users/@me', { displayName: 'Reader' });
    expect((await current())?.user.displayName).to.equal('Reader');
    const role = await send<{ id: string }>(api, 201, owner, 'POST', `/api/servers/${otherServer.id}/roles`, { name: 'x' });
    await send(api, 204, owner, 'PUT', `${at}/${person.id}/roles/${role.id}`);
    expect((await current())?.roles).to.deep.equal([role.id]);
    await send(api, 204, owner, 'DELETE', `${at}/${person.id}`);
    expect(await current()).to.equal(undefined);
  });

  it('429 with Retry-After for the ninth request of one caller at once; 200 for another caller', async () => {
    const other = await makePerson(api);
    await join(api, owner, server.id, other);
    let serve = (): void => undefined;
    const served = new Promise<void>((resolve) => {
      serve = resolve;
    });
    for (let at = 0; at < 2; at++) interceptNext(api.platform.connections, 'areConnected', (real) => served.then(real)); // both slots
    const pages = Array.from({ length: 9 }, (_, at) => get(`?limit=1&after=${everyone[at]}`));
    const refusal = await Promise.race(pages);
    expect([refusal.status, refusal.headers.get('Retry-After')]).to.deep.equal([429, '1']);
    serve();
    expect(tally(await Promise.all(pages))).to.deep.equal({ 200: 8, 429: 1 });
    await send(api, 200, other, 'GET', path());
  });
});
