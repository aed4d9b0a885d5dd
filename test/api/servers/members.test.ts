import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { Member, Role, Server } from '../../../lib/contract/server.ts';
import { createKeys } from '../../../lib/store/redis/log/keys.ts';
import { createSessions } from '../../../lib/store/redis/log/sessions.ts';
import { openRedis } from '../../../lib/store/redis/redis.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  giveRole,
  join,
  makeBot,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

const [view, post, manageRoles, kick] = [1, 2, 1 << 7, 1 << 10];
const unknownId = '1000000000000000000';

describe('members', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let keeper: Caller;
  let low: Role;
  let member: Caller;
  let bot: Bot & { roleId: string };
  before(async () => {
    api = await startRacingTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());
  // Lowest first: @everyone, the bot's own, low, the keeper's.
  beforeEach(async () => {
    server = await makeServer(api, owner);
    keeper = await makeMember(api, owner, server.id, view | manageRoles | kick);
    low = await makeRole(api, owner, server.id);
    bot = await makeBot(api, owner, server.id, view | post | manageRoles | kick);
    member = await makeMember(api, owner, server.id);
  });
  const path = (userId = '', roleId = ''): string =>
    `/api/servers/${server.id}/members${userId && `/${userId}`}${roleId && `/roles/${roleId}`}`;
  const memberNow = (userId: string): Promise<Member> => send(api, 200, owner, 'GET', path(userId));

  describe('GET /api/servers/{serverId}/members', () => {
    it('200 with everyone, offline while nobody is connected', async () => {
      const all = await send<Member[]>(api, 200, member, 'GET', path());
      expect(all.map((one) => one.user.id)).to.deep.equal([owner, keeper, bot, member].map((one) => one.id).toSorted());
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

    it('a connected bot shows its chosen status, an invisible one as offline', async () => {
      const { config, db, versions } = api.platform;
      const redis = await openRedis(config, api.platform.log, 'test');
      try {
        const sessions = createSessions(redis, createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS));
        const [node, id] = [randomUUID(), randomUUID()];
        await sessions.renewLease(node);
        await sessions.open({ id, accountId: bot.id, events: [], node, owner: 'socket' });
        const choose = (status: string) =>
          versions.changing({ accounts: [bot.id] }, () => db.accounts.updateOne({ _id: bot.id }, { $set: { status } }));
        for (const [chosen, seen] of [
          ['online', 'online'],
          ['dnd', 'dnd'],
          ['invisible', 'offline'],
        ] as const) {
          await choose(chosen);
          expect((await memberNow(bot.id)).status).to.equal(seen);
        }
        await choose('idle');
        await sessions.leave({ id, accountId: bot.id, owner: 'socket' }, 'wait');
        expect((await memberNow(bot.id)).status).to.equal('offline');
      } finally {
        redis.disconnect();
      }
    });

    it('404 outside the server', async () => {
      const outsider = await makePerson(api);
      for (const at of [path(), path(member.id)]) await refused(api, [404, 'not_found'], outsider, 'GET', at);
    });
  });

  describe('GET /api/servers/{serverId}/members/{userId}', () => {
    it('404 for who is not in the server, an unknown and a malformed id', async () => {
      const outsider = await makePerson(api);
      for (const id of [outsider.id, unknownId, 'x', '@me', `${member.id}%00`])
        await refused(api, [404, 'not_found'], owner, 'GET', path(id));
    });
  });

  describe('PUT and DELETE /api/servers/{serverId}/members/{userId}/roles/{roleId}', () => {
    it('204, also when repeated, and takes effect on the next request', async () => {
      const other = await makeRole(api, owner, server.id, { permissions: manageRoles });
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
      for (let i = 0; i < 2; i++) await send(api, 204, keeper, 'PUT', path(member.id, other.id));
      await send(api, 204, keeper, 'PUT', path(member.id, low.id));
      expect((await memberNow(member.id)).roles).to.deep.equal([low.id, other.id]);
      await send(api, 201, member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
      for (let i = 0; i < 2; i++) await send(api, 204, keeper, 'DELETE', path(member.id, other.id));
      expect((await memberNow(member.id)).roles).to.deep.equal([low.id]);
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
    });

    it('20 roles given at once all stand', async () => {
      const roles = await Promise.all(Array.from({ length: 20 }, () => makeRole(api, owner, server.id)));
      await Promise.all(roles.map((role) => giveRole(api, owner, server.id, member.id, role.id)));
      expect((await memberNow(member.id)).roles).to.have.members(roles.map((role) => role.id));
    });

    const rows: [what: string, expected: [number, string], as: () => Caller, userId: () => string, roleId: () => string][] = [
      ['@everyone', [400, 'invalid_request'], () => keeper, () => member.id, () => server.id],
      ['a bot’s own role to another', [400, 'invalid_request'], () => owner, () => member.id, () => bot.roleId],
      ['a bot’s own role from or to the bot', [400, 'invalid_request'], () => owner, () => bot.id, () => bot.roleId],
      ['the caller’s highest role', [403, 'role_hierarchy'], () => keeper, () => member.id, () => keeperRole()],
      ['a role above a bot’s own', [403, 'role_hierarchy'], () => bot, () => member.id, () => low.id],
      ['without Manage Roles', [403, 'missing_permission'], () => member, () => member.id, () => low.id],
      ['another server’s role', [404, 'not_found'], () => keeper, () => member.id, () => owner.id],
      ['a malformed role', [404, 'not_found'], () => keeper, () => member.id, () => 'x'],
      ['an unknown member', [404, 'not_found'], () => keeper, () => unknownId, () => low.id],
      ['a malformed member', [404, 'not_found'], () => keeper, () => 'x', () => low.id],
    ];
    let own: string;
    const keeperRole = (): string => own;
    for (const [what, expected, as, userId, roleId] of rows)
      it(`${expected.join(' ')}: ${what}`, async () => {
        own = (await memberNow(keeper.id)).roles[0] as string;
        for (const method of ['PUT', 'DELETE']) await refused(api, expected, as(), method, path(userId(), roleId()));
      });

    it('Administrator does not bypass the hierarchy', async () => {
      const admin = await makeMember(api, owner, server.id, 1 << 12);
      await refused(api, [403, 'role_hierarchy'], admin, 'PUT', path(member.id, low.id));
    });
  });

  describe('DELETE /api/servers/{serverId}/members/{userId}', () => {
    it('204: the person is out at once, and may come back by an invite', async () => {
      await giveRole(api, owner, server.id, member.id, low.id);
      await send(api, 204, keeper, 'DELETE', path(member.id));
      await refused(api, [404, 'not_found'], member, 'GET', `/api/servers/${server.id}`);
      await refused(api, [404, 'not_found'], keeper, 'DELETE', path(member.id));
      await join(api, owner, server.id, member);
      expect((await memberNow(member.id)).roles).to.deep.equal([]);
    });

    it('204 for a bot, and its own role goes', async () => {
      await send(api, 204, keeper, 'DELETE', path(bot.id));
      const { roles } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(roles.map((role) => role.id)).to.not.include(bot.roleId);
      await refused(api, [404, 'not_found'], bot, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await authorize(api, owner, bot, server.id);
    });

    const rows: [what: string, expected: [number, string], as: () => Caller, userId: () => string][] = [
      ['oneself', [400, 'invalid_request'], () => keeper, () => keeper.id],
      ['the owner', [403, 'role_hierarchy'], () => keeper, () => owner.id],
      ['a member above', [403, 'role_hierarchy'], () => bot, () => keeper.id],
      ['without Kick Members', [403, 'missing_permission'], () => member, () => bot.id],
      ['an outsider', [404, 'not_found'], () => keeper, () => unknownId],
      ['a malformed id', [404, 'not_found'], () => keeper, () => 'x'],
    ];
    for (const [what, expected, as, userId] of rows)
      it(`${expected.join(' ')}: ${what}`, () => refused(api, expected, as(), 'DELETE', path(userId())));

    it('403 role_hierarchy for an equal', async () => {
      const shared = await makeRole(api, owner, server.id, { permissions: kick });
      const [one, other] = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
      for (const { id } of [one, other]) await giveRole(api, owner, server.id, id, shared.id);
      await refused(api, [403, 'role_hierarchy'], one, 'DELETE', path(other.id));
    });
  });

  describe('DELETE /api/users/@me/servers/{serverId}', () => {
    const leave = (): string => `/api/users/@me/servers/${server.id}`;

    it('204, then 404; once only when tried 10 times at once', async () => {
      const answers = await Promise.all(Array.from({ length: 10 }, () => api.call('DELETE', leave(), { as: member.as })));
      expect(tally(answers)).to.deep.equal({ 204: 1, 404: 9 });
      await refused(api, [404, 'not_found'], member, 'GET', `/api/servers/${server.id}`);
      expect((await api.platform.db.servers.findOne({ _id: server.id }).lean())?.memberCount).to.equal(3);
    });

    it('204 for a bot, whose own role goes with it', async () => {
      await send(api, 204, bot, 'DELETE', leave().replace('@me', '%40me'));
      const { roles } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(roles.map((role) => role.id)).to.not.include(bot.roleId);
    });

    it('400 invalid_request for the owner, 404 outside', async () => {
      await refused(api, [400, 'invalid_request'], owner, 'DELETE', leave());
      await refused(api, [404, 'not_found'], await makePerson(api), 'DELETE', leave());
      await refused(api, [404, 'not_found'], owner, 'DELETE', '/api/users/@me/servers/x');
    });

    it('400 for handing over to someone who has just left', async () => {
      meet(api.platform.db.servers, 'findOneAndUpdate', () => send(api, 204, member, 'DELETE', leave()));
      await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id });
      expect((await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(owner.id);
    });

    it('400 for who is handed the server while they leave: they are in it again, and the count is right', async () => {
      meet(api.platform.db.members, 'findOneAndDelete', () =>
        send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { ownerId: member.id }),
      );
      await refused(api, [400, 'invalid_request'], member, 'DELETE', leave());
      expect((await send<Server>(api, 200, member, 'GET', `/api/servers/${server.id}`)).ownerId).to.equal(member.id);
      expect((await api.platform.db.servers.findOne({ _id: server.id }).lean())?.memberCount).to.equal(4);
    });

    it('a server keeps an owner who is in it, also when the heir leaves at the same moment', async () => {
      for (let round = 0; round < 10; round++) {
        const place = await makeServer(api, owner);
        const heir = await makePerson(api);
        await join(api, owner, place.id, heir);
        const answers = await Promise.all([
          api.call('PATCH', `/api/servers/${place.id}`, { as: owner.as, body: { ownerId: heir.id } }),
          api.call('DELETE', `/api/users/@me/servers/${place.id}`, { as: heir.as }),
        ]);
        expect(answers.every((one) => one.status < 500)).to.equal(true);
        const { ownerId } = (await api.platform.db.servers.findOne({ _id: place.id }).lean()) ?? {};
        expect(await api.platform.db.members.countDocuments({ _id: `${place.id}:${ownerId}` })).to.equal(1);
      }
    });
  });
});
