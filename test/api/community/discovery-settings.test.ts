import { expect } from 'chai';
import type { ServerType } from '../../../lib/contract/server.ts';
import { grantTypes } from '../../harness/factories.ts';
import { useCommunity } from './community-fixture.ts';

describe('PUT /api/servers/{serverId}/discovery', () => {
  const { api, server, change, turnOn, fetchSettings, fetchServer, fetchAudit, refusedChange } = useCommunity();
  const put = async (body: object) => (await change('discovery', body)).discovery;
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

  const emoji = '🎲';
  it('accepts every category, and counts lengths in code points: 300 emoji, and 24 in a tag', async () => {
    const categories = 'gaming music entertainment science_tech education art_creators anime_manga community_social other'.split(' ');
    for (const category of categories) expect((await put({ category })).category).to.equal(category);
    const description = emoji.repeat(300);
    expect(await put({ description, tags: [emoji.repeat(24)] })).to.include({ description });
  });

  it('400 for other values', async () => {
    for (const [field, ...values] of [
      ['category', 'sports', null],
      ['description', emoji.repeat(301), null],
      ['tags', ['a', 'b', 'c', 'd', 'e', 'f'], [emoji.repeat(25)], ['a,b'], ['a\nb'], ['a', ' '], [7], 'a', null],
      ['listed', 'true', null],
    ] as const)
      for (const value of values)
        expect((await refusedPut({ [field]: value }))?.[0], JSON.stringify(value)).to.match(new RegExp(`^/${field}`));
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
    [['\udc00'], ['\ufffd']],
  ];
  it('tags are stored trimmed, and once; half a surrogate pair as U+FFFD, also in the description', async () => {
    expect(await put({ description: 'a\ud800b' })).to.include({ description: 'a\ufffdb' });
    for (const [given, tags] of stored) {
      expect((await put({ tags: given })).tags, JSON.stringify(given)).to.deep.equal(tags);
      expect((await get()).tags, JSON.stringify(given)).to.deep.equal(tags);
    }
  });

  describe('listed', () => {
    it('200 to list with Community and a description; the server shows it at once', async () => {
      await turnOn();
      expect(await put({ listed: true, description: 'x' })).to.include({ listed: true });
      expect(await fetchServer()).to.include({ listed: true });
      expect(await put({ listed: true })).to.include({ listed: true });
    });

    it('400 to list while Community is off, and without a description, also in one request with it', async () => {
      await refusedPut({ listed: true, description: 'x' });
      await turnOn();
      for (const given of [{}, { description: '' }, { description: ' \n\u200b ' }]) {
        await refusedPut({ listed: true, ...given });
        await put(given);
        await refusedPut({ listed: true });
      }
      await change('community', { enabled: false });
      await put({ description: 'x' });
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

  it('the audit log has an entry for each change, with only the changed fields', async () => {
    await turnOn();
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ listed: true });
    const items = await fetchAudit();
    expect(items.map(({ action }) => action)).to.deep.equal(['server_update', 'server_update', 'server_update']);
    expect(items[0]?.changes).to.deep.equal({ listed: { from: false, to: true } });
    const changes = { category: { from: 'other', to: 'music' }, description: { from: '', to: 'x' }, tags: { from: [], to: ['a'] } };
    expect(items[1]?.changes).to.deep.equal(changes);
  });
});
