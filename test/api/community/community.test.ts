import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import { makeBot, makeChannel, makeMember, makeRole, makeServer, makeThread, setOverwrite, unknownId } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { make } from '../../harness/use.ts';
import { newChannels, useCommunity } from './community-fixture.ts';

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

  it('GET: 200 with the default settings: off, category other, no description and no tags', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    for (const as of [owner, manager]) expect(await fetchSettings(as)).to.deep.equal(off);
  });

  describe('PUT /api/servers/{serverId}/community', () => {
    it('200 turns Community on with both channels, and the server shows it at once', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const set = await put({ enabled: true, rulesChannelId: rules.id, updatesChannelId: updates.id }, manager);
      expect(set).to.deep.equal({ ...off, community: true, rulesChannelId: rules.id, updatesChannelId: updates.id });
      expect(await fetchSettings()).to.deep.equal(set);
      expect(await fetchServer()).to.include({ community: true, listed: false });
    });

    // Turning Community on needs both channels; `errors` names the wrong field (docs/behavior/community.md#community-channels).
    it('400 to turn it on without both channels; no channel is made', async () => {
      for (const [body, where] of [
        [{}, '/rulesChannelId'],
        [{ updatesChannelId: updates.id }, '/rulesChannelId'],
        [{ rulesChannelId: rules.id }, '/updatesChannelId'],
        [{ rulesChannelId: null, updatesChannelId: updates.id }, '/rulesChannelId'],
        [{ rulesChannelId: rules.id, updatesChannelId: null }, '/updatesChannelId'],
        [{ rulesChannelId: 'new', updatesChannelId: null }, '/updatesChannelId'],
      ] as const)
        await refusedPut({ enabled: true, ...body }, where);
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

    it('400 for other bodies', async () => {
      for (const body of [{}, { enabled: null }, { enabled: 'true' }, { enabled: true, rulesChannelId: 7, updatesChannelId: 'new' }, []])
        await refusedPut(body);
    });

    it('400 for a channel that the caller cannot view', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const body = { enabled: true, rulesChannelId: rules.id, updatesChannelId: updates.id };
      await setOverwrite(api, owner, updates.id, server.id, 0, viewChannel);
      const { errors } = await refused(api, [400, 'invalid_request'], manager, 'PUT', path(), body);
      expect(errors?.[0]?.path).to.equal('/updatesChannelId');
      expect(await fetchSettings()).to.include({ community: false });
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

describe('PUT /api/servers/{serverId}/community with new channels', () => {
  const { api, owner, server, change, fetchServer, fetchAudit } = useCommunity();
  const put = (body: object = newChannels, as = owner): Promise<CommunitySettings> => change('community', body, as);

  it('makes two text channels at the end of the server, each with an audit entry, and no more when it is repeated', async () => {
    const set = await put();
    const { channels } = await fetchServer();
    const made = channels.slice(1);
    expect(made.map((one) => one.id)).to.deep.equal([set.rulesChannelId, set.updatesChannelId]);
    expect(made.map(({ name, kind, parentId }) => ({ name, kind, parentId }))).to.deep.equal([
      { name: 'rules', kind: 'text', parentId: null },
      { name: 'moderator-updates', kind: 'text', parentId: null },
    ]);
    expect(new Set(channels.map((one) => one.position)).size).to.equal(3);
    expect(made[0]?.overwrites).to.deep.equal([]);
    const [changed, ...created] = (await fetchAudit()).slice(0, 3).sort((a, b) => (a.action > b.action ? -1 : 1));
    expect(changed?.action).to.equal('server_update');
    expect(created.map((one) => one.action)).to.deep.equal(['channel_create', 'channel_create']);
    expect(created.map((one) => one.targetId)).to.have.members(made.map((one) => one.id));
    expect(await put()).to.deep.equal(set);
    expect((await fetchServer()).channels).to.have.length(3);
  });

  it('makes one channel if the other one is given', async () => {
    const { id: rulesChannelId } = await makeChannel(api, owner, server.id);
    const set = await put({ ...newChannels, rulesChannelId });
    expect(set.rulesChannelId).to.equal(rulesChannelId);
    expect((await fetchServer()).channels.map((one) => one.id)).to.deep.equal([server.general, rulesChannelId, set.updatesChannelId]);
  });

  // The bits of Manage Messages, Manage Server, Kick Members and Ban Members (docs/behavior/community.md#new-channels).
  const moderates = new Set([5, 8, 10, 11]);
  it('the updates channel can be viewed by moderator roles and its creator only', async () => {
    const roles = await Promise.all(Array.from({ length: 12 }, (_, bit) => makeRole(api, owner, server.id, { permissions: 1 << bit })));
    const { updatesChannelId } = await put();
    const made = (await fetchServer()).channels.find((one) => one.id === updatesChannelId);
    const shown = roles.filter((_, bit) => moderates.has(bit)).map((role) => role.id);
    expect(made?.overwrites).to.have.deep.members([
      { id: server.id, allow: 0, deny: viewChannel },
      ...[...shown, owner.id].map((id) => ({ id, allow: viewChannel, deny: 0 })),
    ]);
  });

  it('members view the updates channel according to their roles', async () => {
    const plain = await makeMember(api, owner, server.id);
    const kicker = await makeMember(api, owner, server.id, 1 << 10);
    const poster = await makeMember(api, owner, server.id, (1 << 4) | (1 << 6));
    const admin = await makeMember(api, owner, server.id, 1 << 12);
    const bot = await makeBot(api, owner, server.id, manageServer);
    const { rulesChannelId, updatesChannelId } = await put(newChannels, bot);
    const seeing = [owner, bot, kicker, admin];
    for (const as of [...seeing, plain, poster]) {
      const ids = (await fetchServer(as)).channels.map((one) => one.id);
      expect(ids.includes(String(updatesChannelId)), as.username).to.equal(seeing.includes(as));
      expect(ids).to.include(rulesChannelId);
    }
  });
});
