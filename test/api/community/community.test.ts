import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import type { AuditPage, Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
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

const viewChannel = 1;
const manageServer = 1 << 8;
const unknownId = '1000000000000000000';
const off: CommunitySettings = {
  community: false,
  rulesChannelId: null,
  updatesChannelId: null,
  discovery: { listed: false, category: 'other', description: '', tags: [] },
};

describe('Community', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let rules: string;
  let updates: string;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());
  beforeEach(async () => {
    server = await makeServer(api, owner);
    rules = (await makeChannel(api, owner, server.id)).id;
    updates = (await makeChannel(api, owner, server.id)).id;
  });

  const path = (): string => `/api/servers/${server.id}/community`;
  const put = (body: object, as = owner): Promise<CommunitySettings> => send(api, 200, as, 'PUT', path(), body);
  const get = (): Promise<CommunitySettings> => send(api, 200, owner, 'GET', path());
  const refuse = async (body: object, where?: string, code = 'invalid_request'): Promise<void> => {
    const before = await get();
    const { errors } = await refused(api, [400, code], owner, 'PUT', path(), body);
    if (where) expect(errors?.[0]?.path).to.equal(where);
    expect(await get()).to.deep.equal(before);
  };
  const turnOn = (): Promise<CommunitySettings> => put({ enabled: true, rulesChannelId: rules, updatesChannelId: updates });
  const full = (as = owner): Promise<Server> => send(api, 200, as, 'GET', `/api/servers/${server.id}`);
  const audit = async () => (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`)).items;

  describe('GET /api/servers/{serverId}/community', () => {
    it('200 with nothing set: off, the category other, no description and no tags', async () => {
      expect(await get()).to.deep.equal(off);
    });

    it('Manage Server is enough, for a bot too; 403 without it, 404 outside, 401 without a credential', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const bot = await makeBot(api, owner, server.id, manageServer);
      for (const as of [manager, bot]) expect(await send(api, 200, as, 'GET', path())).to.deep.equal(off);
      const { missing } = await refused(api, [403, 'missing_permission'], await makeMember(api, owner, server.id), 'GET', path());
      expect(missing).to.deep.equal(['Manage Server']);
      await refused(api, [404, 'not_found'], await makePerson(api), 'GET', path());
      await refused(api, [404, 'not_found'], owner, 'GET', '/api/servers/nonsense/community');
      await refused(api, [401, 'unauthorized'], null, 'GET', path());
    });
  });

  describe('PUT /api/servers/{serverId}/community', () => {
    it('200 turns it on with both channels, and the server says so at once', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const set = await put({ enabled: true, rulesChannelId: rules, updatesChannelId: updates }, manager);
      expect(set).to.deep.equal({ ...off, community: true, rulesChannelId: rules, updatesChannelId: updates });
      expect(await get()).to.deep.equal(set);
      expect(await full()).to.include({ community: true, listed: false });
    });

    it('one channel may be both', async () => {
      expect(await put({ enabled: true, rulesChannelId: rules, updatesChannelId: rules })).to.include({ updatesChannelId: rules });
    });

    // Turning Community on needs both channels; `errors` names the wrong field (docs/behavior/community.md#community-channels).
    const missing: [what: string, body: () => object, where: string][] = [
      ['neither channel', () => ({}), '/rulesChannelId'],
      ['no rules channel', () => ({ updatesChannelId: updates }), '/rulesChannelId'],
      ['no updates channel', () => ({ rulesChannelId: rules }), '/updatesChannelId'],
      ['null for rules', () => ({ rulesChannelId: null, updatesChannelId: updates }), '/rulesChannelId'],
      ['null for updates', () => ({ rulesChannelId: rules, updatesChannelId: null }), '/updatesChannelId'],
      ['null beside new', () => ({ rulesChannelId: 'new', updatesChannelId: null }), '/updatesChannelId'],
    ];
    for (const [what, body, where] of missing)
      it(`400 when off with ${what}; no channel is made`, async () => {
        await refuse({ enabled: true, ...body() }, where);
        expect((await full()).channels).to.have.length(3);
      });

    const wrong: [what: string, id: () => Promise<string> | string][] = [
      ['an unknown id', () => unknownId],
      ['another word', () => 'fresh'],
      ['a voice channel', async () => (await makeChannel(api, owner, server.id, { kind: 'voice' })).id],
      ['a category', async () => (await makeChannel(api, owner, server.id, { kind: 'category' })).id],
      ['an announcement channel', async () => (await makeChannel(api, owner, server.id, { kind: 'announcement' })).id],
      [
        'a thread',
        async () => (await send<{ id: string }>(api, 201, owner, 'POST', `/api/channels/${rules}/threads`, { name: 'thread' })).id,
      ],
      ['a channel of another server', async () => (await makeServer(api, owner)).general],
    ];
    for (const [what, id] of wrong)
      it(`400 for ${what}, when off and when on`, async () => {
        const bad = await id();
        for (const field of ['rulesChannelId', 'updatesChannelId']) {
          const body = { enabled: true, rulesChannelId: rules, updatesChannelId: updates, [field]: bad };
          await refuse(body);
          await turnOn();
          await refuse({ enabled: true, [field]: bad });
          await refuse(body);
          await put({ enabled: false });
        }
      });

    for (const body of [{}, { enabled: null }, { enabled: 'true' }, { enabled: true, rulesChannelId: 7, updatesChannelId: 'new' }, []])
      it(`400 for ${JSON.stringify(body)}`, () => refuse(body));

    it('Manage Server is enough, but for a channel that the caller cannot see: 400', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const body = { enabled: true, rulesChannelId: rules, updatesChannelId: updates };
      expect(await put(body, manager)).to.include({ updatesChannelId: updates });
      await put({ enabled: false });
      await setOverwrite(api, owner, updates, server.id, 0, viewChannel);
      const { errors } = await refused(api, [400, 'invalid_request'], manager, 'PUT', path(), body);
      expect(errors?.[0]?.path).to.equal('/updatesChannelId');
      expect(await get()).to.include({ community: false });
    });

    it('403 missing_permission without Manage Server, 404 outside', async () => {
      await refused(api, [403, 'missing_permission'], await makeMember(api, owner, server.id), 'PUT', path(), { enabled: false });
      await refused(api, [404, 'not_found'], await makePerson(api), 'PUT', path(), { enabled: false });
    });

    it('when on, what is left out stays, and null is 400', async () => {
      const set = await turnOn();
      expect(await put({ enabled: true })).to.deep.equal(set);
      expect(await put({ enabled: true, rulesChannelId: server.general })).to.deep.equal({ ...set, rulesChannelId: server.general });
      await refuse({ enabled: true, rulesChannelId: null }, '/rulesChannelId');
      await refuse({ enabled: true, updatesChannelId: null }, '/updatesChannelId');
    });

    it('when on, a field that a deletion cleared stays null when it is left out', async () => {
      const set = await turnOn();
      await send(api, 204, owner, 'DELETE', `/api/channels/${rules}`);
      expect(await get()).to.deep.equal({ ...set, rulesChannelId: null });
      expect(await put({ enabled: true })).to.deep.equal({ ...set, rulesChannelId: null });
      await send(api, 204, owner, 'DELETE', `/api/channels/${updates}`);
      expect(await get()).to.deep.equal({ ...set, rulesChannelId: null, updatesChannelId: null });
      const again = await put({ enabled: true, rulesChannelId: 'new' });
      expect(again).to.include({ community: true, updatesChannelId: null });
      expect((await full()).channels.map((one) => one.id)).to.deep.equal([server.general, again.rulesChannelId]);
    });

    it('a chosen channel that becomes an announcement channel stays chosen', async () => {
      const set = await turnOn();
      await send(api, 200, owner, 'PATCH', `/api/channels/${rules}`, { kind: 'announcement' });
      expect(await get()).to.deep.equal(set);
      expect(await put({ enabled: true, rulesChannelId: rules })).to.deep.equal(set);
      await refuse({ enabled: true, updatesChannelId: rules }, '/updatesChannelId');
    });

    it('enabled false clears both channels, unlists, keeps the rest; repeating it is 200; on again does not list', async () => {
      await turnOn();
      const about = { category: 'music', description: 'All of it', tags: ['jazz'] };
      await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/discovery`, { listed: true, ...about });
      for (const body of [{ enabled: false }, { enabled: false, rulesChannelId: unknownId }, { enabled: false, updatesChannelId: 'new' }]) {
        expect(await put(body)).to.deep.equal({ ...off, discovery: { listed: false, ...about } });
        expect(await get()).to.deep.equal({ ...off, discovery: { listed: false, ...about } });
      }
      expect(await full()).to.include({ community: false, listed: false });
      expect((await full()).channels).to.have.length(3);
      expect((await turnOn()).discovery).to.deep.equal({ listed: false, ...about });
    });

    it('the audit log tells what changed, and nothing of what did not', async () => {
      await turnOn();
      await put({ enabled: true });
      await turnOn();
      await put({ enabled: false });
      await put({ enabled: false });
      const [second, first, ...rest] = await audit();
      expect(rest.filter((one) => one.action === 'server_update')).to.deep.equal([]);
      expect(first).to.deep.include({ action: 'server_update', actorId: owner.id, targetId: server.id });
      expect(first?.changes).to.deep.equal({
        community: { from: false, to: true },
        rulesChannelId: { from: null, to: rules },
        updatesChannelId: { from: null, to: updates },
      });
      expect(second?.changes).to.deep.equal({
        community: { from: true, to: false },
        rulesChannelId: { from: rules, to: null },
        updatesChannelId: { from: updates, to: null },
      });
    });
  });
});
