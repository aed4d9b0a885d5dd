// Searches ignore accents, case and width (docs/behavior/requests.md#text).
import { expect } from 'chai';
import type { Member } from '../../../lib/contract/member.ts';
import { makeApplication, makeMember, makeServer } from '../../harness/factories.ts';
import { repeatMigrations } from '../../harness/migrations.ts';
import { send } from '../../harness/requests.ts';
import { make, useServer } from '../../harness/use.ts';

// How letters are folded is in test/unit/text.test.ts.
const rows: readonly [name: string, query: string][] = [
  ['José', 'jose\u0301'],
  ['İstanbul', 'ist'],
  ['Straße', 'STRASSE'],
  ['ｊｏｓｅ wide', 'jose w'],
  ['jose plain', 'ｊｏｓｅ p'],
  ['がぎ', 'がぎ'],
];
const names = [...new Set(rows.map(([name]) => name))];

describe('searches without accents', () => {
  const { api, owner, server } = useServer();
  const people = make(async () => {
    const made = new Map<string, string>();
    for (const displayName of names) {
      const member = await makeMember(api, owner, server.id);
      await send(api, 200, member, 'PATCH', '/api/users/@me', { displayName });
      made.set(displayName, member.id);
    }
    return made;
  });
  const findMembers = async (query: string): Promise<string[]> => {
    const found = await send<Member[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/members?query=${encodeURIComponent(query)}`);
    return found.map(({ user }) => user.id);
  };

  for (const [name, query] of rows)
    it(`the member ${name} is found by ${query}`, async () => expect(await findMembers(query)).to.include(people.get(name)));

  it('a letter that is another one is not found, nor everything by an accent', async () => {
    expect(await findMembers('かき')).to.deep.equal([]);
    expect(await findMembers('\u0301')).to.deep.equal([]);
  });

  it('Discovery and the App Directory find names and descriptions', async () => {
    const listed = await makeServer(api, owner, 'Café Zürich');
    await send(api, 200, owner, 'PATCH', `/api/servers/${listed.id}`, { name: 'Café Zürich!' });
    const stored = await api.platform.db.servers.findOne({ _id: listed.id });
    expect(stored?.search).to.include({ name: 'cafe zurich!' });
    const bot = await makeApplication(api, owner, 'Übersetzer', true);
    await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { inDirectory: true, description: 'Für alle' });
    for (const q of ['ubersetzer', 'ÜBERSETZER', 'fur alle', 'für']) {
      const { items } = await send<{ items: { id: string }[] }>(api, 200, owner, 'GET', `/api/discovery/apps?q=${encodeURIComponent(q)}`);
      const found = items.map(({ id }) => id);
      expect(found, q).to.deep.equal([bot.applicationId]);
    }
  });

  it('the migration rewrites what an earlier version stored; until then its own form is found', async () => {
    const { db } = api.platform;
    const memberId = `${server.id}:${people.get('José')}`;
    const [old, current] = ['josé', 'jose'];
    await db.members.updateOne({ _id: memberId }, { $set: { 'search.displayName': old } });
    await db.servers.updateOne({ _id: server.id }, { $set: { 'search.name': 'é' } });
    expect(await findMembers('José')).to.include(people.get('José'));
    for (const _ of [1, 2]) await repeatMigrations(api.platform);
    expect((await db.members.findOne({ _id: memberId }))?.search?.displayName).to.equal(current);
    expect((await db.servers.findOne({ _id: server.id }))?.search?.name).to.equal('e');
    expect(await findMembers('jose')).to.include(people.get('José'));
  });
});
