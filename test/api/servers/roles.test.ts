import { expect } from 'chai';
import type { Role, Server } from '../../../lib/contract/server.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Bot,
  type Caller,
  giveRole,
  makeBot,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

const [view, post, manageChannels, manageRoles, administrator] = [1, 2, 1 << 6, 1 << 7, 1 << 12];
const unknownId = '1000000000000000000';

describe('roles', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let high: Role;
  let keeper: Caller;
  let low: Role;
  let bot: Bot & { roleId: string };
  let member: Caller;
  before(async () => {
    api = await startRacingTestApi();
  });
  after(() => api.close());
  // Lowest first: @everyone, the bot's own, low, the keeper's, high.
  beforeEach(async () => {
    owner ??= await makePerson(api);
    server = await makeServer(api, owner);
    high = await makeRole(api, owner, server.id, { name: 'high' });
    keeper = await makeMember(api, owner, server.id, view | post | manageRoles);
    low = await makeRole(api, owner, server.id, { name: 'low' });
    bot = await makeBot(api, owner, server.id, view | manageRoles);
    member = await makeMember(api, owner, server.id);
  });
  const path = (roleId = ''): string => `/api/servers/${server.id}/roles${roleId && `/${roleId}`}`;
  const order = async (): Promise<string[]> => (await send<Role[]>(api, 200, owner, 'GET', path())).map((role) => role.name);
  const keepers = async (): Promise<string> => (await order())[1] as string;

  describe('GET /api/servers/{serverId}/roles', () => {
    it('200 highest first, positions contiguous down to @everyone at 0', async () => {
      const roles = await send<Role[]>(api, 200, member, 'GET', path());
      expect(roles.map((role) => role.position)).to.deep.equal([4, 3, 2, 1, 0]);
      expect(roles.map((role) => role.name)).to.deep.equal(['high', await keepers(), 'low', bot.username, '@everyone']);
      expect(roles.at(-1)?.id).to.equal(server.id);
    });
    it('404 outside the server', async () => refused(api, [404, 'not_found'], await makePerson(api), 'GET', path()));
  });

  describe('POST /api/servers/{serverId}/roles', () => {
    it('201 at position 1, the others move up', async () => {
      const made = await send<Role>(api, 201, keeper, 'POST', path(), { name: ' Red ', color: '#FF00aa', hoist: true, permissions: post });
      const { id: _id, ...rest } = made;
      expect(rest).to.deep.equal({ name: 'Red', color: '#ff00aa', hoist: true, position: 1, permissions: post });
      expect(await order()).to.deep.equal(['high', await keepers(), 'low', bot.username, 'Red', '@everyone']);
    });

    it('201 at `position` up to just below the caller; the owner’s is cut to the top', async () => {
      expect((await send<Role>(api, 201, keeper, 'POST', path(), { name: 'third', position: 3 })).position).to.equal(3);
      expect((await order()).slice(0, 3)).to.deep.equal(['high', await keepers(), 'third']);
      expect((await send<Role>(api, 201, owner, 'POST', path(), { name: 'top', position: 250 })).position).to.equal(6);
    });

    it('403 role_hierarchy above the caller’s highest, or when the caller has no role', async () => {
      await refused(api, [403, 'role_hierarchy'], keeper, 'POST', path(), { name: 'x', position: 4 });
      await send(api, 200, owner, 'PATCH', path(server.id), { permissions: 15 | manageRoles });
      await refused(api, [403, 'role_hierarchy'], member, 'POST', path(), { name: 'x' });
    });

    it('403 missing_permission without Manage Roles, and for bits that the caller lacks', async () => {
      expect((await refused(api, [403, 'missing_permission'], member, 'POST', path(), { name: 'x' })).missing).to.deep.equal([
        'Manage Roles',
      ]);
      const body = { name: 'x', permissions: post | manageChannels | administrator };
      const { missing } = await refused(api, [403, 'missing_permission'], keeper, 'POST', path(), body);
      expect(missing).to.deep.equal(['Manage Channels', 'Administrator']);
    });

    for (const body of [
      {},
      { name: '' },
      { name: 'a\rb' },
      { name: 'x'.repeat(101) },
      { name: 'x', color: 'red' },
      { name: 'x', color: '#12345' },
      { name: 'x', hoist: 'yes' },
      { name: 'x', permissions: '8' },
      { name: 'x', permissions: 8192 },
      { name: 'x', position: 0 },
      { name: 'x', position: 1.5 },
    ])
      it(`400 invalid_request for ${JSON.stringify(body).slice(0, 40)}`, () =>
        refused(api, [400, 'invalid_request'], owner, 'POST', path(), body));

    it('400 too_many_roles: of 30 at once from 240 on, 10 are made, each at its own position', async () => {
      const extra = Array.from({ length: 240 - 5 + 1 }, (_, at) => ({
        id: String(at),
        name: `r${at}`,
        color: null,
        hoist: false,
        permissions: 0,
        botId: null,
      }));
      await api.platform.db.servers.updateOne({ _id: server.id }, { $push: { roles: { $each: extra } }, $inc: { rolesVersion: 1 } });
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) =>
          api.call('POST', path(), { as: owner.as, body: { name: 'x', ...(i % 2 ? { position: 5 } : {}) } }),
        ),
      );
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      expect(answers.find((one) => one.status === 400)?.body.code).to.equal('too_many_roles');
      const roles = await send<Role[]>(api, 200, owner, 'GET', path());
      expect(roles).to.have.length(251);
      expect(new Set(roles.map((role) => role.id)).size).to.equal(251);
      await send(api, 204, owner, 'DELETE', path('7'));
      meet(api.platform.db.servers, 'findOneAndUpdate', () => makeRole(api, owner, server.id));
      await refused(api, [400, 'too_many_roles'], owner, 'POST', path(), { name: 'x' });
    });
  });

  describe('PATCH /api/servers/{serverId}/roles/{roleId}', () => {
    it('200 changes what is given, leaves the rest, and takes effect on the next request', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await refused(api, [403, 'missing_permission'], member, 'POST', path(), { name: 'x' });
      expect(await send(api, 200, keeper, 'PATCH', path(low.id), { permissions: manageRoles })).to.deep.include({
        name: 'low',
        position: 2,
      });
      await send(api, 201, member, 'POST', path(), { name: 'x' });
      expect(await send(api, 200, keeper, 'PATCH', path(low.id), { color: '#00FF00' })).to.deep.include({
        color: '#00ff00',
        permissions: manageRoles,
      });
      expect(await send(api, 200, keeper, 'PATCH', path(low.id), { color: null, name: 'n' })).to.deep.include({ color: null, name: 'n' });
      expect(await send(api, 200, keeper, 'PATCH', path(low.id), {})).to.deep.include({ color: null, name: 'n' });
    });

    it('`position` moves it there and shifts the others', async () => {
      const all = await order();
      await send(api, 200, owner, 'PATCH', path(high.id), { position: 1 });
      expect(await order()).to.deep.equal([all[1], 'low', bot.username, 'high', '@everyone']);
      expect((await send<Role>(api, 200, owner, 'PATCH', path(high.id), { position: 200 })).position).to.equal(4);
      expect(await order()).to.deep.equal(all);
    });

    it('403 role_hierarchy for a role at or above the caller’s, and for a move to there', async () => {
      const own = (await send<Role[]>(api, 200, owner, 'GET', path()))[1] as Role;
      for (const id of [high.id, own.id]) await refused(api, [403, 'role_hierarchy'], keeper, 'PATCH', path(id), { name: 'x' });
      for (const position of [3, 4, 250]) await refused(api, [403, 'role_hierarchy'], keeper, 'PATCH', path(low.id), { position });
      await refused(api, [403, 'role_hierarchy'], bot, 'PATCH', path(bot.roleId), { permissions: 0 });
    });

    it('403 missing_permission for bits that the caller lacks', async () => {
      const { missing } = await refused(api, [403, 'missing_permission'], keeper, 'PATCH', path(low.id), { permissions: manageChannels });
      expect(missing).to.deep.equal(['Manage Channels']);
    });

    it('of @everyone only the permissions, of a bot’s own role not the name', async () => {
      for (const body of [{ name: 'x' }, { color: '#000000' }, { hoist: true }, { position: 1 }])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(server.id), body);
      expect(await send(api, 200, keeper, 'PATCH', path(server.id), { permissions: 13 })).to.deep.include({ permissions: 13, position: 0 });
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(bot.roleId), { name: 'x' });
      await send(api, 200, owner, 'PATCH', path(bot.roleId), { color: '#123456' });
    });

    it('404 for an unknown role, another server’s, a malformed id', async () => {
      const elsewhere = await makeServer(api, owner);
      for (const id of [unknownId, elsewhere.id, 'x']) await refused(api, [404, 'not_found'], owner, 'PATCH', path(id), { name: 'x' });
    });

    it('moves at the same moment lose no role and double none', async () => {
      const made = await Promise.all(Array.from({ length: 8 }, () => makeRole(api, owner, server.id)));
      const ids = (await send<Role[]>(api, 200, owner, 'GET', path())).map((role) => role.id);
      const answers = await Promise.all([
        ...made.map((role, i) => api.call('PATCH', path(role.id), { as: owner.as, body: { position: (i * 5) % 11 || 1 } })),
        ...made.map((role, i) => api.call('PATCH', path(role.id), { as: owner.as, body: { name: `moved ${i}`, permissions: i } })),
        ...Array.from({ length: 5 }, () => api.call('POST', path(), { as: keeper.as, body: { name: 'new', position: 2 } })),
      ]);
      expect(tally(answers)).to.deep.equal({ 200: 16, 201: 5 });
      const roles = await send<Role[]>(api, 200, owner, 'GET', path());
      expect(roles.map((role) => role.position)).to.deep.equal(roles.map((_, at) => roles.length - 1 - at));
      expect(roles.map((role) => role.id)).to.include.members(ids);
      expect(roles).to.have.length(ids.length + 5);
      expect(roles.at(-1)?.id).to.equal(server.id);
      for (const [i, { id }] of made.entries())
        expect(roles.find((role) => role.id === id)).to.deep.include({ name: `moved ${i}`, permissions: i });
    });

    it('nobody can lift a role above their own, however it is raced', async () => {
      const moves = Array.from({ length: 10 }, () => api.call('PATCH', path(low.id), { as: keeper.as, body: { position: 2 } }));
      const demote = api.call('PATCH', path(high.id), { as: owner.as, body: { position: 1 } });
      await Promise.all([...moves, demote]);
      const roles = await send<Role[]>(api, 200, owner, 'GET', path());
      const own = roles.find((role) => role.permissions === (view | post | manageRoles)) as Role;
      expect(roles.find((role) => role.id === low.id)?.position).to.be.lessThan(own.position);
    });
  });

  it('POST with a position is decided on the order that it is written over', async () => {
    const own = (await send<Role[]>(api, 200, owner, 'GET', path()))[1] as Role;
    meet(api.platform.db.servers, 'findOneAndUpdate', () => send(api, 200, owner, 'PATCH', path(own.id), { position: 1 }));
    await refused(api, [403, 'role_hierarchy'], keeper, 'POST', path(), { name: 'x', position: 3 });
  });

  describe('DELETE /api/servers/{serverId}/roles/{roleId}', () => {
    it('204, and nobody has it and no channel speaks of it', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await setOverwrite(api, owner, server.general, low.id, post, 0);
      await setOverwrite(api, owner, server.general, server.id, 0, post);
      await send(api, 201, member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await send(api, 204, keeper, 'DELETE', path(low.id));
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      const full = await send<Server>(api, 200, member, 'GET', `/api/servers/${server.id}`);
      expect(full.myRoles).to.deep.equal([]);
      expect(full.channels[0]?.overwrites.map((one) => one.id)).to.deep.equal([server.id]);
      await refused(api, [404, 'not_found'], keeper, 'DELETE', path(low.id));
    });

    it('counts for nothing where a process that died left it', async () => {
      await send(api, 204, owner, 'DELETE', path(low.id));
      await setOverwrite(api, owner, server.general, server.id, 0, post);
      const { versions, db } = api.platform;
      await versions.changing({ servers: [server.id] }, async () => {
        await db.members.updateOne({ _id: `${server.id}:${member.id}` }, { $set: { roles: [low.id] } });
        await db.channels.updateOne({ _id: server.general }, { $push: { overwrites: { id: low.id, allow: post, deny: 0 } } });
      });
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
    });

    it('400 for @everyone and for a bot’s own role', async () => {
      for (const id of [server.id, bot.roleId]) await refused(api, [400, 'invalid_request'], owner, 'DELETE', path(id));
    });

    it('403 role_hierarchy at or above the caller’s, 403 missing_permission without Manage Roles', async () => {
      await refused(api, [403, 'role_hierarchy'], keeper, 'DELETE', path(high.id));
      await refused(api, [403, 'missing_permission'], member, 'DELETE', path(low.id));
    });
  });
});
