import { expect } from 'chai';
import type { Role, Server } from '../../../lib/contract/server.ts';
import { startRacingTestApi } from '../../harness/api.ts';
import { giveRole, makeRole, makeServer, setOverwrite, unknownId } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { inParallel, refused, refusedWithout, send, tally } from '../../harness/requests.ts';
import { fillRoles } from '../../harness/seed.ts';
import { newBot, newMember, newRole, useServer } from '../../harness/use.ts';

const [view, post, manageChannels, manageRoles, administrator] = [1, 2, 1 << 6, 1 << 7, 1 << 12];

describe('roles', () => {
  // Roles, lowest first: @everyone, the bot's own, low, the moderator's, high.
  const { api, owner, server, high, moderator, low, bot, member } = useServer(
    {
      high: newRole({ name: 'high' }),
      moderator: newMember(view | post | manageRoles),
      low: newRole({ name: 'low' }),
      bot: newBot(view | manageRoles),
      member: newMember(),
    },
    { each: true, start: startRacingTestApi },
  );
  const path = (roleId = ''): string => `/api/servers/${server.id}/roles${roleId && `/${roleId}`}`;
  const list = (as = owner): Promise<Role[]> => send(api, 200, as, 'GET', path());
  const order = async (): Promise<string[]> => (await list()).map((role) => role.name);
  const moderatorRoleName = async (): Promise<string> => (await order())[1] as string;

  describe('GET /api/servers/{serverId}/roles', () => {
    it('200 with the highest first, and contiguous positions down to @everyone at 0', async () => {
      const roles = await list(member);
      expect(roles.map((role) => role.position)).to.deep.equal([4, 3, 2, 1, 0]);
      expect(roles.map((role) => role.name)).to.deep.equal(['high', await moderatorRoleName(), 'low', bot.username, '@everyone']);
      expect(roles.at(-1)?.id).to.equal(server.id);
    });
  });

  describe('POST /api/servers/{serverId}/roles', () => {
    it('201 at position 1, and the others move up', async () => {
      const made = await send<Role>(api, 201, moderator, 'POST', path(), {
        name: ' Red ',
        color: '#FF00aa',
        hoist: true,
        permissions: post,
      });
      const { id: _id, ...rest } = made;
      expect(rest).to.deep.equal({ name: 'Red', color: '#ff00aa', hoist: true, position: 1, permissions: post });
      expect(await order()).to.deep.equal(['high', await moderatorRoleName(), 'low', bot.username, 'Red', '@everyone']);
    });

    it('201 at `position` up to the caller’s highest role; the owner’s is at most the top', async () => {
      expect((await send<Role>(api, 201, moderator, 'POST', path(), { name: 'third', position: 3 })).position).to.equal(3);
      expect((await order()).slice(0, 3)).to.deep.equal(['high', await moderatorRoleName(), 'third']);
      expect((await send<Role>(api, 201, owner, 'POST', path(), { name: 'top', position: 250 })).position).to.equal(6);
    });

    it('403 role_hierarchy above the caller’s highest role, and for a caller without a role', async () => {
      const { message } = await refused(api, [403, 'role_hierarchy'], moderator, 'POST', path(), { name: 'x', position: 4 });
      expect(message).to.equal('You can manage only roles and members below your highest role.');
      await send(api, 200, owner, 'PATCH', path(server.id), { permissions: 15 | manageRoles });
      await refused(api, [403, 'role_hierarchy'], member, 'POST', path(), { name: 'x' });
    });

    it('403 missing_permission names all permissions that the caller lacks', async () => {
      const body = { name: 'x', permissions: post | manageChannels | administrator };
      await refusedWithout(api, ['Manage Channels', 'Administrator'], moderator, 'POST', path(), body);
    });

    it('400 invalid_request for a field that is missing, of another type or out of range', async () => {
      for (const body of [{}, { name: 'x'.repeat(101) }]) await refused(api, [400, 'invalid_request'], owner, 'POST', path(), body);
      const permissions = [{ permissions: '8' }, { permissions: 8192 }];
      for (const more of [{ color: 'red' }, { color: '#12345' }, { hoist: 'yes' }, ...permissions, { position: 0 }, { position: 1.5 }])
        await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { name: 'x', ...more });
    });

    it('400 too_many_roles beyond 250, also of 30 at once', async () => {
      await fillRoles(api.platform, server.id, 240 - 5 + 1);
      const answers = await inParallel(30, (i) =>
        api.call('POST', path(), { as: owner.as, body: { name: 'x', ...(i % 2 ? { position: 5 } : {}) } }),
      );
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      expect(answers.find((one) => one.status === 400)?.body.code).to.equal('too_many_roles');
      const roles = await list();
      expect(roles).to.have.length(251);
      expect(new Set(roles.map((role) => role.id)).size).to.equal(251);
      await send(api, 204, owner, 'DELETE', path(roles.find(({ name }) => name === 'r7')?.id));
      beforeNextQuery(api.platform.db.servers, 'findOneAndUpdate', () => makeRole(api, owner, server.id));
      await refused(api, [400, 'too_many_roles'], owner, 'POST', path(), { name: 'x' });
    });
  });

  describe('PATCH /api/servers/{serverId}/roles/{roleId}', () => {
    it('200 changes only the given fields, with effect on the next request', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await refused(api, [403, 'missing_permission'], member, 'POST', path(), { name: 'x' });
      expect(await send(api, 200, moderator, 'PATCH', path(low.id), { permissions: manageRoles })).to.deep.include({
        name: 'low',
        position: 2,
      });
      await send(api, 201, member, 'POST', path(), { name: 'x' });
      expect(await send(api, 200, moderator, 'PATCH', path(low.id), { color: '#00FF00' })).to.deep.include({
        color: '#00ff00',
        permissions: manageRoles,
      });
      expect(await send(api, 200, moderator, 'PATCH', path(low.id), { color: null, name: 'n' })).to.deep.include({
        color: null,
        name: 'n',
      });
      expect(await send(api, 200, moderator, 'PATCH', path(low.id), {})).to.deep.include({ color: null, name: 'n' });
    });

    it('`position` moves the role and shifts the others', async () => {
      const all = await order();
      await send(api, 200, owner, 'PATCH', path(high.id), { position: 1 });
      expect(await order()).to.deep.equal([all[1], 'low', bot.username, 'high', '@everyone']);
      expect((await send<Role>(api, 200, owner, 'PATCH', path(high.id), { position: 200 })).position).to.equal(4);
      expect(await order()).to.deep.equal(all);
    });

    it('403 role_hierarchy for a role at or above the caller’s, and for a move to such a position', async () => {
      const own = (await list())[1] as Role;
      for (const id of [high.id, own.id]) await refused(api, [403, 'role_hierarchy'], moderator, 'PATCH', path(id), { name: 'x' });
      for (const position of [3, 4, 250]) await refused(api, [403, 'role_hierarchy'], moderator, 'PATCH', path(low.id), { position });
      await refused(api, [403, 'role_hierarchy'], bot, 'PATCH', path(bot.roleId), { permissions: 0 });
    });

    it('403 missing_permission for adding or removing a permission that the caller lacks; other changes succeed', async () => {
      await send(api, 200, owner, 'PATCH', path(low.id), { permissions: manageChannels | manageRoles });
      await refusedWithout(api, 'Manage Channels', moderator, 'PATCH', path(low.id), { permissions: manageRoles });
      await send(api, 200, moderator, 'PATCH', path(low.id), { permissions: manageChannels, name: 'x' });
      await send(api, 200, owner, 'PATCH', path(low.id), { permissions: 0 });
      await refusedWithout(api, 'Manage Channels', moderator, 'PATCH', path(low.id), { permissions: manageChannels });
    });

    it('400 for fields of @everyone except permissions, and for the name of a bot’s own role', async () => {
      for (const body of [{ name: 'x' }, { color: '#000000' }, { hoist: true }, { position: 1 }])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(server.id), body);
      expect(await send(api, 200, moderator, 'PATCH', path(server.id), { permissions: 13 })).to.deep.include({
        permissions: 13,
        position: 0,
      });
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(bot.roleId), { name: 'x' });
      await send(api, 200, owner, 'PATCH', path(bot.roleId), { color: '#123456' });
    });

    it('404 for an unknown role and another server’s role', async () => {
      const elsewhere = await makeServer(api, owner);
      for (const id of [unknownId, elsewhere.id]) await refused(api, [404, 'not_found'], owner, 'PATCH', path(id), { name: 'x' });
    });

    it('moves, changes and creates at once keep each role exactly once', async () => {
      const made = await inParallel(8, () => makeRole(api, owner, server.id));
      const ids = (await list()).map((role) => role.id);
      const answers = await Promise.all([
        ...made.map((role, i) => api.call('PATCH', path(role.id), { as: owner.as, body: { position: (i * 5) % 11 || 1 } })),
        ...made.map((role, i) => api.call('PATCH', path(role.id), { as: owner.as, body: { name: `moved ${i}`, permissions: i } })),
        ...Array.from({ length: 5 }, () => api.call('POST', path(), { as: moderator.as, body: { name: 'new', position: 2 } })),
      ]);
      expect(tally(answers)).to.deep.equal({ 200: 16, 201: 5 });
      const roles = await list();
      expect(roles.map((role) => role.position)).to.deep.equal(roles.map((_, at) => roles.length - 1 - at));
      expect(roles.map((role) => role.id)).to.include.members(ids);
      expect(roles).to.have.length(ids.length + 5);
      expect(roles.at(-1)?.id).to.equal(server.id);
      for (const [i, { id }] of made.entries())
        expect(roles.find((role) => role.id === id)).to.deep.include({ name: `moved ${i}`, permissions: i });
    });

    it('moves while the caller’s role is moved down never place a role above the caller’s', async () => {
      const moves = Array.from({ length: 10 }, () => api.call('PATCH', path(low.id), { as: moderator.as, body: { position: 2 } }));
      const demote = api.call('PATCH', path(high.id), { as: owner.as, body: { position: 1 } });
      await Promise.all([...moves, demote]);
      const roles = await list();
      const own = roles.find((role) => role.permissions === (view | post | manageRoles)) as Role;
      expect(roles.find((role) => role.id === low.id)?.position).to.be.lessThan(own.position);
    });
  });

  it('POST with a position checks the order of the roles again when it writes', async () => {
    const own = (await list())[1] as Role;
    beforeNextQuery(api.platform.db.servers, 'findOneAndUpdate', () => send(api, 200, owner, 'PATCH', path(own.id), { position: 1 }));
    await refused(api, [403, 'role_hierarchy'], moderator, 'POST', path(), { name: 'x', position: 3 });
  });

  describe('DELETE /api/servers/{serverId}/roles/{roleId}', () => {
    it('204, and the role is removed from members and overwrites', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await setOverwrite(api, owner, server.general, low.id, post, 0);
      await setOverwrite(api, owner, server.general, server.id, 0, post);
      await send(api, 201, member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await send(api, 204, moderator, 'DELETE', path(low.id));
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      const full = await send<Server>(api, 200, member, 'GET', `/api/servers/${server.id}`);
      expect(full.myRoles).to.deep.equal([]);
      expect(full.channels[0]?.overwrites.map((one) => one.id)).to.deep.equal([server.id]);
      await refused(api, [404, 'not_found'], moderator, 'DELETE', path(low.id));
    });

    it('a deleted role that a crashed process left at a member and in an overwrite grants nothing', async () => {
      await send(api, 204, owner, 'DELETE', path(low.id));
      await setOverwrite(api, owner, server.general, server.id, 0, post);
      const { accessVersions, db } = api.platform;
      await accessVersions.runChange({ servers: [server.id] }, async () => {
        await db.members.updateOne({ _id: `${server.id}:${member.id}` }, { $set: { roles: [low.id] } });
        await db.channels.updateOne({ _id: server.general }, { $push: { overwrites: { id: low.id, allow: post, deny: 0 } } });
      });
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
    });

    it('400 for @everyone', () => refused(api, [400, 'invalid_request'], owner, 'DELETE', path(server.id)));
  });
});
