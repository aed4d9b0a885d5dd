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
  makeRole,
  makeServer,
  type Place,
  send,
} from '../../harness/factories.ts';

const viewChannel = 1;
const manageServer = 1 << 8;

describe('PUT /api/servers/{serverId}/community with new', () => {
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

  const put = (body: object, as = owner): Promise<CommunitySettings> =>
    send(api, 200, as, 'PUT', `/api/servers/${server.id}/community`, body);
  const full = (as = owner): Promise<Server> => send(api, 200, as, 'GET', `/api/servers/${server.id}`);
  const audit = async () => (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`)).items;
  const both = { enabled: true, rulesChannelId: 'new', updatesChannelId: 'new' };

  it('makes two text channels, last in the server, each with its audit entry', async () => {
    const set = await put(both);
    const { channels } = await full();
    const made = channels.slice(1);
    expect(made.map((one) => one.id)).to.deep.equal([set.rulesChannelId, set.updatesChannelId]);
    expect(made.map(({ name, kind, parentId }) => ({ name, kind, parentId }))).to.deep.equal([
      { name: 'rules', kind: 'text', parentId: null },
      { name: 'moderator-updates', kind: 'text', parentId: null },
    ]);
    expect(new Set(channels.map((one) => one.position)).size).to.equal(3);
    expect(made[0]?.overwrites).to.deep.equal([]);
    const [changed, ...created] = (await audit()).slice(0, 3).sort((a, b) => (a.action > b.action ? -1 : 1));
    expect(changed?.action).to.equal('server_update');
    expect(created.map((one) => one.action)).to.deep.equal(['channel_create', 'channel_create']);
    expect(created.map((one) => one.targetId)).to.have.members(made.map((one) => one.id));
  });

  it('one may be made beside one that stands', async () => {
    const { id: rules } = await makeChannel(api, owner, server.id);
    const set = await put({ ...both, rulesChannelId: rules });
    expect(set.rulesChannelId).to.equal(rules);
    expect((await full()).channels.map((one) => one.id)).to.deep.equal([server.general, rules, set.updatesChannelId]);
  });

  it('Manage Server is enough', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    const { updatesChannelId } = await put(both, manager);
    expect((await full(manager)).channels.map((one) => one.id)).to.include(updatesChannelId);
  });

  it('repeated it makes no more', async () => {
    const set = await put(both);
    expect(await put(both)).to.deep.equal(set);
    expect((await full()).channels).to.have.length(3);
  });

  // The bits of Manage Messages, Manage Server, Kick Members and Ban Members (docs/behavior/community.md#new-channels).
  const moderates = new Set([5, 8, 10, 11]);
  it('the channel for updates: for roles of moderators and who made it, for nobody else', async () => {
    const roles = await Promise.all(Array.from({ length: 12 }, (_, bit) => makeRole(api, owner, server.id, { permissions: 1 << bit })));
    const { updatesChannelId } = await put(both);
    const made = (await full()).channels.find((one) => one.id === updatesChannelId);
    const shown = roles.filter((_, bit) => moderates.has(bit)).map((role) => role.id);
    expect(made?.overwrites).to.have.deep.members([
      { id: server.id, allow: 0, deny: viewChannel },
      ...[...shown, owner.id].map((id) => ({ id, allow: viewChannel, deny: 0 })),
    ]);
  });

  it('members see it by their roles', async () => {
    const plain = await makeMember(api, owner, server.id);
    const kicker = await makeMember(api, owner, server.id, 1 << 10);
    const poster = await makeMember(api, owner, server.id, (1 << 4) | (1 << 6));
    const admin = await makeMember(api, owner, server.id, 1 << 12);
    const bot = await makeBot(api, owner, server.id, manageServer);
    const { rulesChannelId, updatesChannelId } = await put(both, bot);
    for (const [as, sees] of [
      [owner, true],
      [bot, true],
      [kicker, true],
      [admin, true],
      [plain, false],
      [poster, false],
    ] as const) {
      const ids = (await full(as)).channels.map((one) => one.id);
      expect(ids.includes(String(updatesChannelId)), as.username).to.equal(sees);
      expect(ids).to.include(rulesChannelId);
    }
  });
});
