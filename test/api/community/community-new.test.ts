import { expect } from 'chai';
import type { CommunitySettings } from '../../../lib/contract/community.ts';
import { makeBot, makeChannel, makeMember, makeRole } from '../../harness/factories.ts';
import { newChannels, useCommunity } from './community-fixture.ts';

const [viewChannel, manageServer] = [1, 1 << 8];

describe('PUT /api/servers/{serverId}/community with new channels', () => {
  const { api, owner, server, change, fetchServer, fetchAudit } = useCommunity();
  const put = (body: object = newChannels, as = owner): Promise<CommunitySettings> => change('community', body, as);

  it('makes two text channels at the end of the server, each with an audit entry', async () => {
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
  });

  it('makes one channel if the other one is given', async () => {
    const { id: rulesChannelId } = await makeChannel(api, owner, server.id);
    const set = await put({ ...newChannels, rulesChannelId });
    expect(set.rulesChannelId).to.equal(rulesChannelId);
    expect((await fetchServer()).channels.map((one) => one.id)).to.deep.equal([server.general, rulesChannelId, set.updatesChannelId]);
  });

  it('200 with Manage Server', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    const { updatesChannelId } = await put(newChannels, manager);
    expect((await fetchServer(manager)).channels.map((one) => one.id)).to.include(updatesChannelId);
  });

  it('makes no more channels when it is repeated', async () => {
    const set = await put();
    expect(await put()).to.deep.equal(set);
    expect((await fetchServer()).channels).to.have.length(3);
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
    for (const [as, sees] of [
      [owner, true],
      [bot, true],
      [kicker, true],
      [admin, true],
      [plain, false],
      [poster, false],
    ] as const) {
      const ids = (await fetchServer(as)).channels.map((one) => one.id);
      expect(ids.includes(String(updatesChannelId)), as.username).to.equal(sees);
      expect(ids).to.include(rulesChannelId);
    }
  });
});
