import { expect } from 'chai';
import type { BotAuthorization } from '../../../lib/contract/application.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Role, Server } from '../../../lib/contract/server.ts';
import {
  authorize,
  grantTypes,
  makeApplication,
  makeMember,
  makeRole,
  memberCountOf,
  storeBan,
  unknownId,
} from '../../harness/factories.ts';
import { inParallel, refused, refusedWithout, send, tally } from '../../harness/requests.ts';
import { newPerson, useServer } from '../../harness/use.ts';

const [view, post, manageChannels, manageServer, administrator] = [1, 2, 1 << 6, 1 << 8, 1 << 12];

describe('adding bots to servers', () => {
  const { api, owner, server, other } = useServer({ other: newPerson() }, { each: true });

  describe('POST /api/applications/{applicationId}/authorize', () => {
    const path = (id: string): string => `/api/applications/${id}/authorize`;

    it('201 with the bot’s own role at position 1; repeated, 200 without a change', async () => {
      const role = await makeRole(api, owner, server.id);
      const bot = await makeApplication(api, owner, 'Porter');
      const first = await authorize(api, owner, bot, server.id, view | post | administrator);
      expect(first).to.deep.include({ applicationId: bot.applicationId, serverId: server.id, permissions: view | post | administrator });
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
      expect(roles.map(({ id }) => id)).to.deep.equal([role.id, first.roleId, server.id]);
      expect(roles[1]).to.deep.include({ name: 'Porter', position: 1 });
      const body = { serverId: server.id, permissions: 0 };
      expect(await send(api, 200, owner, 'POST', path(bot.applicationId), body)).to.deep.equal(first);
      const member = await send<Member>(api, 200, owner, 'GET', `/api/servers/${server.id}/members/${bot.id}`);
      expect(member.roles).to.deep.equal([first.roleId]);
    });

    it('grants those of the requested permissions that the person has; none by default', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer | post);
      const bot = await makeApplication(api, owner, 'Shared', true);
      const asked = { serverId: server.id, permissions: manageServer | manageChannels | post };
      const given = await send<BotAuthorization>(api, 201, manager, 'POST', path(bot.applicationId), asked);
      expect(given.permissions).to.equal(manageServer | post);
      const plain = await makeApplication(api, owner);
      expect(await send(api, 201, owner, 'POST', path(plain.applicationId), { serverId: server.id })).to.deep.include({ permissions: 0 });
    });

    it('20 concurrent requests make one member and one role', async () => {
      const bot = await makeApplication(api, owner);
      const body = { serverId: server.id, permissions: view };
      const answers = await inParallel(20, () => api.call<BotAuthorization>('POST', path(bot.applicationId), { as: owner.as, body }));
      expect(tally(answers)).to.deep.equal({ 200: 19, 201: 1 });
      expect(new Set(answers.map((one) => one.body.roleId)).size).to.equal(1);
      const full = await send<Server>(api, 200, bot, 'GET', `/api/servers/${server.id}`);
      expect(full.roles).to.have.length(2);
      expect(full.myRoles).to.deep.equal([answers[0]?.body.roleId]);
      expect(await memberCountOf(api, server.id)).to.equal(2);
    });

    it('a request repeated after a crash before the membership reuses the role, with the new permissions', async () => {
      const bot = await makeApplication(api, owner);
      const { roleId } = await authorize(api, owner, bot, server.id, administrator);
      await api.platform.accessVersions.runChange({ servers: [server.id] }, () =>
        api.platform.db.members.deleteOne({ _id: `${server.id}:${bot.id}` }),
      );
      const again = await authorize(api, owner, bot, server.id, view);
      expect(again).to.deep.include({ roleId, permissions: view });
      const roles = await send<Role[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
      expect(roles.map((role) => role.permissions)).to.deep.equal([view, 15]);
    });

    it('403 missing_permission without Manage Server', async () => {
      const member = await makeMember(api, owner, server.id);
      const bot = await makeApplication(api, member);
      await refusedWithout(api, 'Manage Server', member, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('403 not_owner for a bot that is not public', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const bot = await makeApplication(api, owner);
      await refused(api, [403, 'not_owner'], manager, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('403 not_owner in a developer server for everyone but its owner, also for Administrators', async () => {
      const admin = await makeMember(api, owner, server.id, administrator);
      await grantTypes(api, server.id, ['developer']);
      const bot = await makeApplication(api, admin, 'Dev', true);
      await refused(api, [403, 'not_owner'], admin, 'POST', path(bot.applicationId), { serverId: server.id });
      await authorize(api, owner, bot, server.id);
    });

    it('403 banned for a banned bot', async () => {
      const bot = await makeApplication(api, owner);
      await storeBan(api, server.id, bot.id);
      await refused(api, [403, 'banned'], owner, 'POST', path(bot.applicationId), { serverId: server.id });
    });

    it('400 for an unknown server or one that the person is not in, 404 for an unknown application, 403 for a bot', async () => {
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
      const fields = { color: null, hoist: false, permissions: 0, botId: null };
      const extra = Array.from({ length: 250 }, (_, at) => ({ id: String(at), name: `r${at}`, ...fields }));
      await api.platform.db.servers.updateOne({ _id: server.id }, { $push: { roles: { $each: extra } } });
      const bot = await makeApplication(api, owner);
      await refused(api, [400, 'too_many_roles'], owner, 'POST', path(bot.applicationId), { serverId: server.id });
    });
  });
});
