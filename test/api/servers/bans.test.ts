import { expect } from 'chai';
import type { AuditPage, Ban } from '../../../lib/contract/member.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { authorize, join, makeInvite, makePeers, makePeople, memberCountOf, unknownId } from '../../harness/factories.ts';
import { refused, send } from '../../harness/requests.ts';
import { newBot, newMember, newPerson, useServer } from '../../harness/use.ts';

const [view, ban, administrator] = [1, 1 << 11, 1 << 12];

describe('bans', () => {
  const { api, owner, server, moderator, bot, member, outsider } = useServer(
    { moderator: newMember(view | ban), bot: newBot(), member: newMember(), outsider: newPerson() },
    { each: true },
  );
  const path = (userId = ''): string => `/api/servers/${server.id}/bans${userId && `/${userId}`}`;
  const list = (query = ''): Promise<Ban[]> => send(api, 200, owner, 'GET', `${path()}${query}`);
  const entries = async () => {
    const { items } = await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`);
    return items
      .filter((one) => one.action === 'member_ban' || one.action === 'member_unban')
      .map(({ action, actorId, targetId, reason, changes }) => ({ action, actorId, targetId, reason, changes }));
  };

  describe('PUT /api/servers/{serverId}/bans/{userId}', () => {
    it('204 without a body and content type: the person is no member any more and cannot join again', async () => {
      const { code } = await makeInvite(api, owner, server.id);
      const answer = await fetch(api.url + path(member.id), { method: 'PUT', headers: { Authorization: moderator.as } });
      expect([answer.status, await answer.text()]).to.deep.equal([204, '']);
      await refused(api, [404, 'not_found'], member, 'GET', `/api/servers/${server.id}`);
      await refused(api, [404, 'not_found'], member, 'POST', `/api/channels/${server.general}/messages`, { content: 'x' });
      await refused(api, [404, 'not_found'], owner, 'GET', `/api/servers/${server.id}/members/${member.id}`);
      await refused(api, [403, 'banned'], member, 'POST', `/api/invites/${code}`);
      expect(await memberCountOf(api, server.id)).to.equal(3);
      expect(await entries()).to.deep.equal([
        { action: 'member_ban', actorId: moderator.id, targetId: member.id, reason: null, changes: {} },
      ]);
    });

    it('204 for an account that is no member, which then cannot join', async () => {
      await send(api, 204, moderator, 'PUT', path(outsider.id), { reason: 'known elsewhere' });
      const { code } = await makeInvite(api, owner, server.id);
      await refused(api, [403, 'banned'], outsider, 'POST', `/api/invites/${code}`);
      expect(await api.platform.db.notices.countDocuments({ userId: outsider.id })).to.equal(0);
    });

    it('204 for a bot: its own role is deleted, and it cannot be added again', async () => {
      await send(api, 204, owner, 'PUT', path(bot.id));
      const { roles } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${server.id}`);
      expect(roles.map((role) => role.id)).to.not.include(bot.roleId);
      await refused(api, [404, 'not_found'], bot, 'GET', `/api/servers/${server.id}`);
      const add = `/api/applications/${bot.applicationId}/authorize`;
      await refused(api, [403, 'banned'], owner, 'POST', add, { serverId: server.id });
      await send(api, 204, owner, 'DELETE', path(bot.id));
      await authorize(api, owner, bot, server.id);
    });

    it('204 when repeated: another reason replaces the first, no reason changes nothing', async () => {
      await send(api, 204, moderator, 'PUT', path(member.id), { reason: 'first' });
      const [made] = await list();
      for (const body of [undefined, {}, { reason: null }, { reason: '' }, { reason: ' \n' }, { reason: 'first' }])
        await send(api, 204, moderator, 'PUT', path(member.id), body);
      expect(await list()).to.deep.equal([made]);
      expect(await entries()).to.have.length(1);
      await send(api, 204, owner, 'PUT', path(member.id), { reason: 'second' });
      expect(await list()).to.deep.equal([{ ...made, reason: 'second' }]);
      expect((await entries())[0]).to.deep.equal({
        action: 'member_ban',
        actorId: owner.id,
        targetId: member.id,
        reason: 'second',
        changes: { reason: { from: 'first', to: 'second' } },
      });
    });

    it('stores a reason of up to 512 code points unchanged', async () => {
      const reason = '😀'.repeat(511) + '$';
      await send(api, 204, moderator, 'PUT', path(member.id), { reason });
      expect((await list())[0]?.reason).to.equal(reason);
      await refused(api, [400, 'invalid_request'], moderator, 'PUT', path(outsider.id), { reason: `${reason}x` });
    });

    it('400 invalid_request for another body, 415 for the content type text/plain', async () => {
      for (const body of [{ reason: 5 }, { reason: {} }, [], '{'])
        await refused(api, [400, 'invalid_request'], moderator, 'PUT', path(member.id), body);
      const headers = { 'Content-Type': 'text/plain' };
      expect((await api.call('PUT', path(member.id), { as: moderator.as, body: 'reason', headers })).status).to.equal(415);
      expect(await list()).to.deep.equal([]);
    });

    it('404 for an unknown account, but 403 without Ban Members; no ban and no entry', async () => {
      await refused(api, [404, 'not_found'], moderator, 'PUT', path(unknownId));
      await refused(api, [403, 'missing_permission'], member, 'PUT', path(unknownId));
      expect([await list(), await entries()]).to.deep.equal([[], []]);
    });

    it('403 role_hierarchy for an equal or higher member, also by an Administrator', async () => {
      const [one, other] = await makePeers(api, owner, server.id, administrator);
      await refused(api, [403, 'role_hierarchy'], one, 'PUT', path(other.id));
      await refused(api, [403, 'role_hierarchy'], one, 'PUT', path(moderator.id));
    });
  });

  describe('DELETE /api/servers/{serverId}/bans/{userId}', () => {
    it('204, also without a ban; the person can join again', async () => {
      await send(api, 204, moderator, 'PUT', path(member.id), { reason: 'spam' });
      for (let i = 0; i < 2; i++) await send(api, 204, moderator, 'DELETE', path(member.id));
      await send(api, 204, moderator, 'DELETE', path(unknownId));
      expect(await list()).to.deep.equal([]);
      await join(api, owner, server.id, member);
      expect((await entries()).map(({ action, targetId, reason }) => [action, targetId, reason])).to.deep.equal([
        ['member_unban', member.id, 'spam'],
        ['member_ban', member.id, 'spam'],
      ]);
    });
  });

  describe('GET /api/servers/{serverId}/bans', () => {
    it('200, newest first, page by page, also for bans of the same millisecond', async () => {
      const people = await makePeople(api, 6);
      for (const [i, { id }] of people.entries()) await send(api, 204, moderator, 'PUT', path(id), { reason: `no ${i}` });
      const all = await list();
      expect(all.map(({ user, reason }) => [user, reason])).to.deep.equal(
        people.map(({ id, username }, i) => [{ id, username, displayName: username, avatarUrl: null }, `no ${i}`]).toReversed(),
      );
      for (const { createdAt } of all) expect(Date.now() - Date.parse(createdAt)).to.be.within(0, 60_000);
      await api.platform.db.bans.updateMany({ serverId: server.id }, { $set: { createdAt: new Date(0) } });
      const pages: Ban[] = [];
      for (let before = ''; ; before = `&before=${pages.at(-1)?.user.id}`) {
        const page = await list(`?limit=2${before}`);
        if (page.length === 0) break;
        pages.push(...page);
      }
      expect(pages.map(({ user }) => user.id))
        .to.have.length(6)
        .and.to.have.members(people.map(({ id }) => id));
    });

    it('shows a deleted bot as a deleted account', async () => {
      await send(api, 204, owner, 'PUT', path(bot.id));
      await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
      expect((await list())[0]?.user).to.deep.include({ id: bot.id, username: 'deleted' });
    });

    it('400 invalid_request for an invalid page and a `before` that is not banned', async () => {
      for (const query of ['limit=0', 'limit=1001', 'limit=x', 'before=x', `before=${unknownId}`])
        await refused(api, [400, 'invalid_request'], moderator, 'GET', `${path()}?${query}`);
    });
  });
});
