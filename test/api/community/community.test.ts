import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import { makeBot, makeChannel, makeMember, makePerson, makeServer, makeThread, setOverwrite, unknownId } from '../../harness/factories.ts';
import { refused, refusedWithout, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';

import { useCommunity } from './community-fixture.ts';

const [viewChannel, manageServer] = [1, 1 << 8];
const off: CommunitySettings = {
  community: false,
  rulesChannelId: null,
  updatesChannelId: null,
  discovery: { listed: false, category: 'other', description: '', tags: [] },
};

describe('Community', () => {
  const community = useCommunity();
  const { api, owner, server, fetchServer, fetchSettings } = community;
  const rules = make(() => makeChannel(api, owner, server.id), { each: true });
  const updates = make(() => makeChannel(api, owner, server.id), { each: true });

  const path = (): string => community.path('community');
  const put = (body: object, as = owner): Promise<CommunitySettings> => community.change('community', body, as);
  const refusedPut = async (body: object, where?: string): Promise<void> => {
    const [first] = (await community.refusedChange('community', body)) ?? [];
    if (where) expect(first).to.equal(where);
  };
  const turnOn = (): Promise<CommunitySettings> => community.turnOn(rules.id, updates.id);

  describe('GET /api/servers/{serverId}/community', () => {
    it('200 with the default settings: off, category other, no description and no tags', async () => {
      expect(await fetchSettings()).to.deep.equal(off);
    });

    it('200 for members and bots with Manage Server; 403 without it, 404 outside of the server, 401 without a credential', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const bot = await makeBot(api, owner, server.id, manageServer);
      for (const as of [manager, bot]) expect(await send(api, 200, as, 'GET', path())).to.deep.equal(off);
      await refusedWithout(api, 'Manage Server', await makeMember(api, owner, server.id), 'GET', path());
      await refused(api, [404, 'not_found'], await makePerson(api), 'GET', path());
      await refused(api, [404, 'not_found'], owner, 'GET', '/api/servers/nonsense/community');
      await refused(api, [401, 'unauthorized'], null, 'GET', path());
    });
  });

  describe('PUT /api/servers/{serverId}/community', () => {
    it('200 turns Community on with both channels, and the server shows it at once', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const set = await put({ enabled: true, rulesChannelId: rules.id, updatesChannelId: updates.id }, manager);
      expect(set).to.deep.equal({ ...off, community: true, rulesChannelId: rules.id, updatesChannelId: updates.id });
      expect(await fetchSettings()).to.deep.equal(set);
      expect(await fetchServer()).to.include({ community: true, listed: false });
    });

    it('200 with the same channel for rules and updates', async () => {
      expect(await put({ enabled: true, rulesChannelId: rules.id, updatesChannelId: rules.id })).to.include({ updatesChannelId: rules.id });
    });

    // Turning Community on needs both channels; `errors` names the wrong field (docs/behavior/community.md#community-channels).
    const missing: [what: string, body: () => object, where: string][] = [
      ['no channels', () => ({}), '/rulesChannelId'],
      ['no rules channel', () => ({ updatesChannelId: updates.id }), '/rulesChannelId'],
      ['no updates channel', () => ({ rulesChannelId: rules.id }), '/updatesChannelId'],
      ['null for rules', () => ({ rulesChannelId: null, updatesChannelId: updates.id }), '/rulesChannelId'],
      ['null for updates', () => ({ rulesChannelId: rules.id, updatesChannelId: null }), '/updatesChannelId'],
      ['null for updates and new for rules', () => ({ rulesChannelId: 'new', updatesChannelId: null }), '/updatesChannelId'],
    ];
    for (const [what, body, where] of missing)
      it(`400 to turn it on with ${what}; no channel is made`, async () => {
        await refusedPut({ enabled: true, ...body() }, where);
        expect((await fetchServer()).channels).to.have.length(3);
      });

    const wrong: [what: string, id: () => Promise<string> | string][] = [
      ['an unknown id', () => unknownId],
      ['another word', () => 'fresh'],
      ['a voice channel', async () => (await makeChannel(api, owner, server.id, { kind: 'voice' })).id],
      ['a category', async () => (await makeChannel(api, owner, server.id, { kind: 'category' })).id],
      ['an announcement channel', async () => (await makeChannel(api, owner, server.id, { kind: 'announcement' })).id],
      ['a thread', async () => (await makeThread(api, owner, rules.id)).id],
      ['a channel of another server', async () => (await makeServer(api, owner)).general],
    ];
    for (const [what, id] of wrong)
      it(`400 for ${what}, while Community is off and on`, async () => {
        const wrongId = await id();
        for (const field of ['rulesChannelId', 'updatesChannelId']) {
          const body = { enabled: true, rulesChannelId: rules.id, updatesChannelId: updates.id, [field]: wrongId };
          await refusedPut(body);
          await turnOn();
          await refusedPut({ enabled: true, [field]: wrongId });
          await refusedPut(body);
          await put({ enabled: false });
        }
      });

    for (const body of [{}, { enabled: null }, { enabled: 'true' }, { enabled: true, rulesChannelId: 7, updatesChannelId: 'new' }, []])
      it(`400 for ${JSON.stringify(body)}`, () => refusedPut(body));

    it('200 with Manage Server, 400 for a channel that the caller cannot view', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const body = { enabled: true, rulesChannelId: rules.id, updatesChannelId: updates.id };
      expect(await put(body, manager)).to.include({ updatesChannelId: updates.id });
      await put({ enabled: false });
      await setOverwrite(api, owner, updates.id, server.id, 0, viewChannel);
      const { errors } = await refused(api, [400, 'invalid_request'], manager, 'PUT', path(), body);
      expect(errors?.[0]?.path).to.equal('/updatesChannelId');
      expect(await fetchSettings()).to.include({ community: false });
    });

    it('403 missing_permission without Manage Server, 404 outside of the server', async () => {
      await refused(api, [403, 'missing_permission'], await makeMember(api, owner, server.id), 'PUT', path(), { enabled: false });
      await refused(api, [404, 'not_found'], await makePerson(api), 'PUT', path(), { enabled: false });
    });

    it('while it is on, omitted channels stay, and 400 for null', async () => {
      const set = await turnOn();
      expect(await put({ enabled: true })).to.deep.equal(set);
      expect(await put({ enabled: true, rulesChannelId: server.general })).to.deep.equal({ ...set, rulesChannelId: server.general });
      await refusedPut({ enabled: true, rulesChannelId: null }, '/rulesChannelId');
      await refusedPut({ enabled: true, updatesChannelId: null }, '/updatesChannelId');
    });

    it('while it is on, an omitted channel that was deleted stays null', async () => {
      const set = await turnOn();
      await send(api, 204, owner, 'DELETE', `/api/channels/${rules.id}`);
      expect(await fetchSettings()).to.deep.equal({ ...set, rulesChannelId: null });
      expect(await put({ enabled: true })).to.deep.equal({ ...set, rulesChannelId: null });
      await send(api, 204, owner, 'DELETE', `/api/channels/${updates.id}`);
      expect(await fetchSettings()).to.deep.equal({ ...set, rulesChannelId: null, updatesChannelId: null });
      const again = await put({ enabled: true, rulesChannelId: 'new' });
      expect(again).to.include({ community: true, updatesChannelId: null });
      expect((await fetchServer()).channels.map((one) => one.id)).to.deep.equal([server.general, again.rulesChannelId]);
    });

    it('a chosen channel that becomes an announcement channel stays chosen', async () => {
      const set = await turnOn();
      await send(api, 200, owner, 'PATCH', `/api/channels/${rules.id}`, { kind: 'announcement' });
      expect(await fetchSettings()).to.deep.equal(set);
      expect(await put({ enabled: true, rulesChannelId: rules.id })).to.deep.equal(set);
      await refusedPut({ enabled: true, updatesChannelId: rules.id }, '/updatesChannelId');
    });

    it('enabled false clears both channels, unlists the server and keeps the other settings; turning it on again does not list it', async () => {
      await turnOn();
      const about = { category: 'music', description: 'All of it', tags: ['jazz'] };
      await send(api, 200, owner, 'PUT', `/api/servers/${server.id}/discovery`, { listed: true, ...about });
      for (const body of [{ enabled: false }, { enabled: false, rulesChannelId: unknownId }, { enabled: false, updatesChannelId: 'new' }]) {
        expect(await put(body)).to.deep.equal({ ...off, discovery: { listed: false, ...about } });
        expect(await fetchSettings()).to.deep.equal({ ...off, discovery: { listed: false, ...about } });
      }
      expect(await fetchServer()).to.include({ community: false, listed: false });
      expect((await fetchServer()).channels).to.have.length(3);
      expect((await turnOn()).discovery).to.deep.equal({ listed: false, ...about });
    });

    it('the audit log has an entry for each change, with only the changed fields', async () => {
      await turnOn();
      await put({ enabled: true });
      await turnOn();
      await put({ enabled: false });
      await put({ enabled: false });
      const [second, first, ...rest] = await community.fetchAudit();
      expect(rest.filter((one) => one.action === 'server_update')).to.deep.equal([]);
      expect(first).to.deep.include({ action: 'server_update', actorId: owner.id, targetId: server.id });
      expect(first?.changes).to.deep.equal({
        community: { from: false, to: true },
        rulesChannelId: { from: null, to: rules.id },
        updatesChannelId: { from: null, to: updates.id },
      });
      expect(second?.changes).to.deep.equal({
        community: { from: true, to: false },
        rulesChannelId: { from: rules.id, to: null },
        updatesChannelId: { from: updates.id, to: null },
      });
    });
  });
});
