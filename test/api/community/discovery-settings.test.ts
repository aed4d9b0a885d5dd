import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import type { AuditPage, Server, ServerType } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  grantTypes,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';

const manageServer = 1 << 8;

describe('PUT /api/servers/{serverId}/discovery', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());
  beforeEach(async () => {
    server = await makeServer(api, owner);
  });

  const path = (): string => `/api/servers/${server.id}/discovery`;
  const put = async (body: object, as = owner) => (await send<CommunitySettings>(api, 200, as, 'PUT', path(), body)).discovery;
  const get = async () => (await send<CommunitySettings>(api, 200, owner, 'GET', `/api/servers/${server.id}/community`)).discovery;
  const turnOn = (): Promise<CommunitySettings> =>
    send(api, 200, owner, 'PUT', `/api/servers/${server.id}/community`, {
      enabled: true,
      rulesChannelId: server.general,
      updatesChannelId: server.general,
    });
  const refuse = async (body: object, code = 'invalid_request', where?: string): Promise<void> => {
    const before = await get();
    const { errors } = await refused(api, [400, code], owner, 'PUT', path(), body);
    if (where) expect(errors?.map((one) => one.path)).to.deep.equal([where]);
    expect(await get()).to.deep.equal(before);
  };

  it('200 sets any of the fields, what is left out stays, also while Community is off', async () => {
    const nothing = { listed: false, category: 'other', description: '', tags: [] };
    expect(await put({})).to.deep.equal(nothing);
    expect(await put({ category: 'education' })).to.deep.equal({ ...nothing, category: 'education' });
    expect(await put({ description: ' All we know ' })).to.deep.equal({ ...nothing, category: 'education', description: ' All we know ' });
    const all = { listed: false, category: 'gaming', description: 'x', tags: ['a', 'b'] };
    expect(await put(all)).to.deep.equal(all);
    expect(await put({ listed: false, unknown: 1 })).to.deep.equal(all);
    expect(await get()).to.deep.equal(all);
  });

  const categories = [
    'gaming',
    'music',
    'entertainment',
    'science_tech',
    'education',
    'art_creators',
    'anime_manga',
    'community_social',
    'other',
  ];
  it('takes every category', async () => {
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
  for (const [what, body] of bad) it(`400 for ${what}`, () => refuse(body));

  it('lengths count code points: 300 emoji, and 24 in a tag, pass', async () => {
    const body = { description: emoji.repeat(300), tags: [emoji.repeat(24)] };
    expect(await put(body)).to.include({ description: body.description });
    await refuse({ description: emoji.repeat(301) });
    await refuse({ tags: [emoji.repeat(25)] }, 'invalid_request', '/tags/0');
  });

  // Tags are trimmed, the first of those that differ only in case stays, and then they are counted (docs/behavior/community.md#tags).
  const kept: [given: string[], kept: string[]][] = [
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
  for (const [given, tags] of kept)
    it(`tags ${JSON.stringify(given)} are kept as ${JSON.stringify(tags)}`, async () => {
      expect((await put({ tags: given })).tags).to.deep.equal(tags);
      expect((await get()).tags).to.deep.equal(tags);
    });

  describe('listed', () => {
    it('unlisted → listed with Community and a description; the server says so at once', async () => {
      await turnOn();
      expect(await put({ listed: true, description: 'x' })).to.include({ listed: true });
      expect(await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).to.include({ listed: true });
      expect(await put({ listed: true })).to.include({ listed: true });
    });

    for (const [what, on, description] of [
      ['Community is off', false, 'x'],
      ['there is no description', true, undefined],
      ['the description is empty', true, ''],
      ['the description is blank', true, ' \n\u200b '],
    ] as const)
      it(`400 to list when ${what}, as one field or all at once`, async () => {
        if (on) await turnOn();
        const given = description === undefined ? {} : { description };
        await refuse({ listed: true, ...given });
        await put(given);
        await refuse({ listed: true });
      });

    for (const type of ['staff', 'developer'] as const)
      it(`400 team_server for a ${type} server, before anything else`, async () => {
        await grantTypes(api, server.id, [type]);
        await refuse({ listed: true }, 'team_server');
        await turnOn();
        await refuse({ listed: true, description: 'x' }, 'team_server');
        expect(await put({ listed: false, description: 'x' })).to.include({ listed: false });
        await grantTypes(api, server.id, ['official', 'verified', 'partnered'] satisfies ServerType[]);
        expect(await put({ listed: true })).to.include({ listed: true });
      });

    it('listed → unlisted at any time', async () => {
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
        await refuse({ description }, 'invalid_request', '/description');
        await refuse({ listed: true, description }, 'invalid_request', '/description');
      }
    });
  });

  it('403 missing_permission without Manage Server, 404 outside; a bot with it may', async () => {
    const { missing } = await refused(api, [403, 'missing_permission'], await makeMember(api, owner, server.id), 'PUT', path(), {});
    expect(missing).to.deep.equal(['Manage Server']);
    await refused(api, [404, 'not_found'], await makePerson(api), 'PUT', path(), {});
    expect(await put({ description: 'by a bot' }, await makeBot(api, owner, server.id, manageServer))).to.include({
      description: 'by a bot',
    });
  });

  it('the audit log tells what changed, and nothing of what did not', async () => {
    await turnOn();
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ category: 'music', description: 'x', tags: ['a'] });
    await put({ listed: true });
    const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
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

  it('text that is not well formed is kept as it can be sent', async () => {
    const set = await put({ description: 'a\ud800b', tags: ['\udc00'] });
    expect(set).to.include({ description: 'a\ufffdb' });
    expect(set.tags).to.deep.equal(['\ufffd']);
  });
});
