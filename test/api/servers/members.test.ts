import { expect } from 'chai';
import type { Member } from '../../../lib/contract/member.ts';
import type { Server } from '../../../lib/contract/server.ts';
import type { ChosenStatus } from '../../../lib/contract/user.ts';
import { startRacingTestApi } from '../../harness/api.ts';
import {
  authorize,
  giveRole,
  join,
  makePeers,
  makePerson,
  makeRole,
  makeServer,
  memberCountOf,
  unknownId,
} from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { startSessions } from '../../harness/sessions.ts';
import { newBot, newMember, newRole, use, useServer } from '../../harness/use.ts';

const [view, post, manageRoles, kick] = [1, 2, 1 << 7, 1 << 10];

describe('members', () => {
  // Roles, lowest first: @everyone, the bot's own, low, the moderator's.
  const { api, owner, server, moderator, low, bot, member } = useServer(
    {
      moderator: newMember(view | manageRoles | kick),
      low: newRole(),
      bot: newBot(view | post | manageRoles | kick),
      member: newMember(),
    },
    { each: true, start: startRacingTestApi },
  );
  const sessions = use(() => startSessions(api));
  const path = (userId = '', roleId = ''): string =>
    `/api/servers/${server.id}/members${userId && `/${userId}`}${roleId && `/roles/${roleId}`}`;
  const memberNow = (userId: string): Promise<Member> => send(api, 200, owner, 'GET', path(userId));

  describe('GET /api/servers/{serverId}/members, and of one member', () => {
    it('200 with all members, offline while nobody is connected', async () => {
      const all = await send<Member[]>(api, 200, member, 'GET', path());
      expect(all.map((one) => one.user.id)).to.deep.equal([owner, moderator, bot, member].map((one) => one.id).toSorted());
      for (const one of all) expect(one).to.deep.include({ status: 'offline', customStatus: null, isOwner: one.user.id === owner.id });
      expect(all.find((one) => one.user.id === bot.id)?.roles).to.deep.equal([bot.roleId]);
      expect(all.find((one) => one.user.id === member.id)).to.deep.equal({
        user: { id: member.id, username: member.username, displayName: member.username, avatarUrl: null },
        status: 'offline',
        customStatus: null,
        isOwner: false,
        roles: [],
      });
    });

    it('shows the chosen status of a connected bot, and offline for an invisible one', async () => {
      const { db, accessVersions } = api.platform;
      const session = await sessions.open(bot, 'a-node');
      const choose = (status: ChosenStatus) =>
        accessVersions.runChange({ accounts: [bot.id] }, () => db.accounts.updateOne({ _id: bot.id }, { $set: { status } }));
      for (const [chosen, seen] of [
        ['online', 'online'],
        ['dnd', 'dnd'],
        ['invisible', 'offline'],
      ] as const) {
        await choose(chosen);
        expect((await memberNow(bot.id)).status).to.equal(seen);
      }
      await choose('idle');
      await sessions.release(session, 'suspend');
      expect((await memberNow(bot.id)).status).to.equal('offline');
    });

    it('404 for an account that is no member, an unknown id and @me', async () => {
      const outsider = await makePerson(api);
      for (const id of [outsider.id, unknownId, '@me']) await refused(api, [404, 'not_found'], owner, 'GET', path(id));
    });
  });

  describe('PUT and DELETE /api/servers/{serverId}/members/{userId}/roles/{roleId}', () => {
    it('204, also when repeated, with effect on the next request', async () => {
      const other = await makeRole(api, owner, server.id, { permissions: manageRoles });
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
      for (let i = 0; i < 2; i++) await send(api, 204, moderator, 'PUT', path(member.id, other.id));
      await send(api, 204, moderator, 'PUT', path(member.id, low.id));
      expect((await memberNow(member.id)).roles).to.deep.equal([low.id, other.id]);
      await send(api, 201, member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
      for (let i = 0; i < 2; i++) await send(api, 204, moderator, 'DELETE', path(member.id, other.id));
      expect((await memberNow(member.id)).roles).to.deep.equal([low.id]);
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
    });

    it('keeps all of 20 roles that are given at once', async () => {
      const roles = await inParallel(20, () => makeRole(api, owner, server.id));
      await Promise.all(roles.map((role) => giveRole(api, owner, server.id, member.id, role.id)));
      expect((await memberNow(member.id)).roles).to.have.members(roles.map((role) => role.id));
    });

    it('400 for a bot’s own role, also for the bot; 403 for the caller’s highest role; 404 for an unknown role or member', async () => {
      const [highest = ''] = (await memberNow(moderator.id)).roles;
      const rows: [expected: [number, string], as: Caller, userId: string, roleId: string][] = [
        [[400, 'invalid_request'], owner, bot.id, bot.roleId],
        [[403, 'role_hierarchy'], moderator, member.id, highest],
        [[404, 'not_found'], moderator, member.id, owner.id],
        [[404, 'not_found'], moderator, unknownId, low.id],
      ];
      for (const [expected, as, userId, roleId] of rows)
        for (const method of ['PUT', 'DELETE']) await refused(api, expected, as, method, path(userId, roleId));
    });
  });

  describe('DELETE /api/servers/{serverId}/members/{userId}', () => {
    it('204: the person is no member any more, and can join again', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await send(api, 204, moderator, 'DELETE', path(member.id));
      await refused(api, [404, 'not_found'], member, 'GET', `/api/servers/${server.id}`);
      await refused(api, [404, 'not_found'], moderator, 'DELETE', path(member.id));
      await join(api, owner, server.id, member);
      expect((await memberNow(member.id)).roles).to.deep.equal([]);
    });

    it('204 for a bot, whose own role is deleted', async () => {
      await send(api, 204, moderator, 'DELETE', path(bot.id));
      const { roles } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(roles.map((role) => role.id)).to.not.include(bot.roleId);
      await refused(api, [404, 'not_found'], bot, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await authorize(api, owner, bot, server.id);
    });

    it('404 for an unknown account, 403 role_hierarchy for an equal', async () => {
      await refused(api, [404, 'not_found'], moderator, 'DELETE', path(unknownId));
      const [one, other] = await makePeers(api, owner, server.id, kick);
      await refused(api, [403, 'role_hierarchy'], one, 'DELETE', path(other.id));
    });
  });

  describe('DELETE /api/users/@me/servers/{serverId}', () => {
    const leave = (): string => `/api/users/@me/servers/${server.id}`;

    it('204 once of 10 times at once, then 404', async () => {
      const answers = await inParallel(10, () => api.call('DELETE', leave(), { as: member.as }));
      expect(tally(answers)).to.deep.equal({ 204: 1, 404: 9 });
      await refused(api, [404, 'not_found'], member, 'GET', `/api/servers/${server.id}`);
      expect(await memberCountOf(api, server.id)).to.equal(3);
    });

    it('204 for a bot, whose own role is deleted', async () => {
      await send(api, 204, bot, 'DELETE', leave().replace('@me', '%40me'));
      const { roles } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(roles.map((role) => role.id)).to.not.include(bot.roleId);
    });

    it('400 for making a person the owner who has just left', async () => {
      beforeNextQuery(api.platform.db.servers, 'findOneAndUpdate', () => send(api, 204, member, 'DELETE', leave()));
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id });
      expect((await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(owner.id);
    });

    it('400 for a member who becomes the owner while they leave: they stay a member', async () => {
      beforeNextQuery(api.platform.db.members, 'findOneAndDelete', () =>
        send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id }),
      );
      await refused(api, [400, 'invalid_request'], member, 'DELETE', leave());
      expect((await send<Server>(api, 200, member, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(member.id);
      expect(await memberCountOf(api, server.id)).to.equal(4);
    });

    it('a transfer of ownership while the new owner leaves: the owner is a member', async () => {
      for (let round = 0; round < 10; round++) {
        const otherServer = await makeServer(api, owner);
        const newOwner = await makePerson(api);
        await join(api, owner, otherServer.id, newOwner);
        const answers = await Promise.all([
          api.call('PATCH', `/api/servers/${otherServer.id}`, { as: owner.as, body: { ownerId: newOwner.id } }),
          api.call('DELETE', `/api/users/@me/servers/${otherServer.id}`, { as: newOwner.as }),
        ]);
        expect(answers.every((one) => one.status < 500)).to.equal(true);
        const { ownerId } = (await api.platform.db.servers.findOne({ _id: otherServer.id })) ?? {};
        expect(await api.platform.db.members.countDocuments({ _id: `${otherServer.id}:${ownerId}` })).to.equal(1);
      }
    });
  });
});
