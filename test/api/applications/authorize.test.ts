import { expect } from 'chai';
import type { Authorized } from '../../../lib/contract/application.ts';
import type { Member, Role, Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Caller,
  grantTypes,
  makeApplication,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';

const [view, post, manageChannels, manageServer, administrator] = [1, 2, 1 << 6, 1 << 8, 1 << 12];
const unknownId = '1000000000000000000';

describe('authorizing bots', () => {
  let api: TestApi;
  let owner: Caller;
  let other: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    other = await makePerson(api);
    server = await makeServer(api, owner);
  });
  after(() => api.close());

  describe('POST /api/applications/{id}/authorize', () => {
    const path = (id: string): string => `/api/applications/${id}/authorize`;

    it('201 with the bot’s own role at position 1, then 200 unchanged', async () => {
      const place = await makeServer(api, owner);
      const standing = await makeRole(api, owner, place.id);
      const bot = await makeApplication(api, owner, 'Porter');
      const first = await authorize(api, owner, bot, place.id, view | post | administrator);
      expect(first).to.deep.include({ applicationId: bot.applicationId, serverId: place.id, permissions: view | post | administrator });
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${place.id}/roles`);
      expect(roles.map((role) => role.id)).to.deep.equal([standing.id, first.roleId, place.id]);
      expect(roles[1]).to.deep.include({ name: 'Porter', position: 1 });
      const body = { serverId: place.id, permissions: 0 };
      expect(await send(api, 200, owner, 'POST', path(bot.applicationId), body)).to.deep.equal(first);
      const member = await send<Member>(api, 200, owner, 'GET', `/api/servers/${place.id}/members/${bot.id}`);
      expect(member.roles).to.deep.equal([first.roleId]);
    });

    it('permissions are those asked for as far as the person holds them; none by default', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer | post);
      const bot = await makeApplication(api, owner, 'Shared', true);
      const asked = { serverId: server.id, permissions: manageServer | manageChannels | post };
      const given = await send<Authorized>(api, 201, manager, 'POST', path(bot.applicationId), asked);
      expect(given.permissions).to.equal(manageServer | post);
      const plain = await makeApplication(api, owner);
      expect(await send(api, 201, owner, 'POST', path(plain.applicationId), { serverId: server.id })).to.deep.include({ permissions: 0 });
    });

    it('of 20 at once one adds it: one member, one role', async () => {
      const place = await makeServer(api, owner);
      const bot = await makeApplication(api, owner);
      const body = { serverId: place.id, permissions: view };
      const answers = await Promise.all(
        Array.from({ length: 20 }, () => api.call<Authorized>('POST', path(bot.applicationId), { as: owner.as, body })),
      );
      expect(tally(answers)).to.deep.equal({ 200: 19, 201: 1 });
      expect(new Set(answers.map((one) => one.body.roleId)).size).to.equal(1);
      const full = await send<Server>(api, 200, bot, 'GET', `/api/servers/${place.id}`);
      expect(full.roles).to.have.length(2);
      expect(full.myRoles).to.deep.equal([answers[0]?.body.roleId]);
      expect((await api.platform.db.servers.findOne({ _id: place.id }).lean())?.memberCount).to.equal(2);
    });

    it('taken up after a crash: a role left behind is taken over with what is granted now', async () => {
      const place = await makeServer(api, owner);
      const bot = await makeApplication(api, owner);
      const { roleId } = await authorize(api, owner, bot, place.id, administrator);
      await api.platform.versions.changing({ servers: [place.id] }, () =>
        api.platform.db.members.deleteOne({ _id: `${place.id}:${bot.id}` }),
      );
      const again = await authorize(api, owner, bot, place.id, view);
      expect(again).to.deep.include({ roleId, permissions: view });
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${place.id}/roles`);
      expect(roles.map((role) => role.permissions)).to.deep.equal([view, 15]);
    });

    it('403 missing_permission without Manage Server', async () => {
      const member = await makeMember(api, owner, server.id);
      const bot = await makeApplication(api, member);
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'POST', path(bot.applicationId), { serverId: server.id });
      expect(missing).to.deep.equal(['Manage Server']);
    });

    it('403 not_owner for a bot that is not public', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const bot = await makeApplication(api, owner);
      await refused(api, [403, 'not_owner'], manager, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('403 not_owner in a developer server for anyone but its owner, Administrators too', async () => {
      const place = await makeServer(api, owner);
      const admin = await makeMember(api, owner, place.id, administrator);
      await grantTypes(api, place.id, ['developer']);
      const bot = await makeApplication(api, admin, 'Dev', true);
      await refused(api, [403, 'not_owner'], admin, 'POST', path(bot.applicationId), { serverId: place.id });
      await authorize(api, owner, bot, place.id);
    });

    it('403 banned for a banned bot', async () => {
      const bot = await makeApplication(api, owner);
      const _id = `${server.id}:${bot.id}`;
      await api.platform.db.bans.create({ _id, serverId: server.id, userId: bot.id, reason: null, createdAt: new Date() });
      await refused(api, [403, 'banned'], owner, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('400 for a server the person is not in or that is unknown, 404 for an unknown application, 403 for a bot', async () => {
      const bot = await makeApplication(api, owner, 'Lost', true);
      await refused(api, [400, 'invalid_request'], other, 'POST', path(bot.applicationId), { serverId: server.id });
      for (const body of [
        { serverId: unknownId },
        { serverId: 'x' },
        {},
        { serverId: server.id, permissions: '3' },
        { serverId: server.id, permissions: -1 },
      ])
        await refused(api, [400, 'invalid_request'], owner, 'POST', path(bot.applicationId), body);
      for (const id of [unknownId, 'x']) await refused(api, [404, 'not_found'], owner, 'POST', path(id), { serverId: server.id });
      await refused(api, [403, 'bots_not_allowed'], bot, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('400 too_many_roles when the server has 250', async () => {
      const place = await makeServer(api, owner);
      const extra = Array.from({ length: 250 }, (_, at) => ({
        id: String(at),
        name: `r${at}`,
        color: null,
        hoist: false,
        permissions: 0,
        botId: null,
      }));
      await api.platform.db.servers.updateOne({ _id: place.id }, { $push: { roles: { $each: extra } } });
      const bot = await makeApplication(api, owner);
      await refused(api, [400, 'too_many_roles'], owner, 'POST', path(bot.applicationId), { serverId: place.id });
    });
  });
});
