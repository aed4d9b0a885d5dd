import { expect } from 'chai';
import type { ServerType } from '../../../lib/contract/server.ts';
import { grantTypes, makeBot, makeMember, makePerson } from '../../harness/factories.ts';
import { refused, refusedWithout } from '../../harness/requests.ts';
import { useCommunity } from './community-fixture.ts';

const manageServer = 1 << 8;

describe('PUT /api/servers/{serverId}/discovery', () => {
  const { api, owner, server, path, change, turnOn, fetchSettings, fetchServer, fetchAudit, refusedChange } = useCommunity();
  const put = async (body: object, as = owner) => (await change('discovery', body, as)).discovery;
  const get = async () => (await fetchSettings()).discovery;
  const refusedPut = (body: object, code?: string) => refusedChange('discovery', body, code);

  it('200 changes only the given fields, also while Community is off', async () => {
    const nothing = { listed: false, category: 'other', description: '', tags: [] };
    expect(await put({})).to.deep.equal(nothing);
    expect(await put({ category: 'education' })).to.deep.equal({ ...nothing, category: 'education' });
    expect(await put({ description: ' All we know ' })).to.deep.equal({ ...nothing, category: 'education', description: ' All we know ' });
    const all = { listed: false, category: 'gaming', description: 'x', tags: ['a', 'b'] };
    expect(await put(all)).to.deep.equal(all);
    expect(await put({ listed: false, unknown: 1 })).to.deep.equal(all);
    expect(await get()).to.deep.equal(all);
  });

  const categories = 'gaming music entertainment science_tech education art_creators anime_manga community_social other'.split(' ');
  it('accepts every category', async () => {
    for (const category of categories) expect((await put({ category })).category).to.equal(category);
  });

  const emoji = '🎲';
  const bad: [what: string, body: object][] = [
    ['an unknown category', { category: 'sports' }],
    ['null for the category', { category: null }],
    ['a description of 301', { description: 'x'.repeat(301) }],
    ['null for the description', { description: null }],
    ['six tags', { tags: ['a', 'b', 'c', 'd', 'e', 'f'] }],
    ['a tag of 25', { tags: ['x'.repeat(25)] }],
    ['a comma', { tags: ['a,b'] }],
    ['a line break', { tags: ['a\nb'] }],
    ['an empty tag', { tags: ['a', ' '] }],
    ['a tag that is a number', { tags: [7] }],
    ['tags as text', { tags: 'a' }],
    ['null for the tags', { tags: null }],
    ['listed as text', { listed: 'true' }],
    ['null for listed', { listed: null }],
  ];
  for (const [what, body] of bad) it(`400 for ${what}`, () => refusedPut(body));

  it('counts lengths in code points: 200 for 300 emoji, and for 24 in a tag', async () => {
    const body = { description: emoji.repeat(300), tags: [emoji.repeat(24)] };
    expect(await put(body)).to.include({ description: body.description });
    await refusedPut({ description: emoji.repeat(301) });
    expect(await refusedPut({ tags: [emoji.repeat(25)] })).to.deep.equal(['/tags/0']);
  });

  // Tags are trimmed, of those that differ only in case the first one stays, and then they are counted (docs/behavior/community.md#tags).
  const stored: [given: string[], stored: string[]][] = [
    [[], []],
    [[' a ', 'a', 'A'], ['a']],
    [
      ['Jazz', 'jazz', 'JAZZ', 'Blues', 'Rock', 'Pop', 'Folk', 'folk'],
      ['Jazz', 'Blues', 'Rock', 'Pop', 'Folk'],
    ],
    [['Ärger', 'ärger', 'ÄRGER'], ['Ärger']],
    [['ΟΔΟΣ', 'οδος', 'οδοσ'], ['ΟΔΟΣ']],
    [[`  ${'x'.repeat(24)}  `], ['x'.repeat(24)]],
  ];
  for (const [given, tags] of stored)
    it(`tags ${JSON.stringify(given)} are stored as ${JSON.stringify(tags)}`, async () => {
      expect((await put({ tags: given })).tags).to.deep.equal(tags);
      expect((await get()).tags).to.deep.equal(tags);
    });

  describe('listed', () => {
    it('200 to list with Community and a description; the server shows it at once', async () => {
      await turnOn();
      expect(await put({ listed: true, description: 'x' })).to.include({ listed: true });
      expect(await fetchServer()).to.include({ listed: true });
      expect(await put({ listed: true })).to.include({ listed: true });
    });

    for (const [what, on, description] of [
      ['Community is off', false, 'x'],
      ['there is no description', true, undefined],
      ['the description is empty', true, ''],
      ['the description is blank', true, ' \n\u200b '],
    ] as const)
      it(`400 to list when ${what}, also in one request with the description`, async () => {
        if (on) await turnOn();
        const given = description === undefined ? {} : { description };
        await refusedPut({ listed: true, ...given });
        await put(given);
        await refusedPut({ listed: true });
      });

    for (const type of ['staff', 'developer'] as const)
      it(`400 team_server for a ${type} server, before other checks`, async () => {
        await grantTypes(api, server.id, [type]);
        await refusedPut({ listed: true }, 'team_server');
        await turnOn();
        await refusedPut({ listed: true, description: 'x' }, 'team_server');
        expect(await put({ listed: false, description: 'x' })).to.include({ listed: false });
        await grantTypes(api, server.id, ['official', 'verified', 'partnered'] satisfies ServerType[]);
        expect(await put({ listed: true })).to.include({ listed: true });
      });

    it('200 to unlist at any time', async () => {
      expect(await put({ listed: false })).to.include({ listed: false });
      await turnOn();
      await put({ listed: true, description: 'x' });
      expect(await put({ listed: false })).to.include({ listed: false });
      await put({ listed: true });
      expect(await put({ listed: false, description: '' })).to.include({ listed: false, description: '' });
    });

    it('400 to clear the description while it is listed', async () => {
      await turnOn();
      await put({ listed: true, description: 'x' });
      for (const description of ['', '  ']) {
        expect(await refusedPut({ description })).to.deep.equal(['/description']);
        expect(await refusedPut({ listed: true, description })).to.deep.equal(['/description']);
      }
    });
  });

  it('403 missing_permission without Manage Server, 404 outside of the server, 200 for a bot with it', async () => {
    await refusedWithout(api, 'Manage Server', await makeMember(api, owner, server.id), 'PUT', path('discovery'), {});
    await refused(api, [404, 'not_found'], await makePerson(api), 'PUT', path('discovery'), {});
    expect(await put({ description: 'by a bot' }, await makeBot(api, owner, server.id, manageServer))).to.include({
      description: 'by a bot',
    });
  });

  it('the audit log has an entry for each change, with only the changed fields', async () => {
    await turnOn();
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ listed: true });
    const items = await fetchAudit();
    expect(items.slice(0, 2).map(({ action, changes }) => ({ action, changes }))).to.deep.equal([
      { action: 'server_update', changes: { listed: { from: false, to: true } } },
      {
        action: 'server_update',
        changes: {
          category: { from: 'other', to: 'music' },
          description: { from: '', to: 'x' },
          tags: { from: [], to: ['a'] },
        },
      },
    ]);
    expect(items).to.have.length(3);
  });

  it('replaces half a surrogate pair with U+FFFD', async () => {
    const set = await put({ description: 'a\ud800b', tags: ['\udc00'] });
    expect(set).to.include({ description: 'a\ufffdb' });
    expect(set.tags).to.deep.equal(['\ufffd']);
  });
});
