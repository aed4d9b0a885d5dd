import { expect } from 'chai';
import type { InvitePreview } from '../../../lib/contract/member.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { expireInvite, join, makeInvite, makePeople, makePerson, makeServer, memberCountOf, storeBan } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { fillMemberships } from '../../harness/memberships.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newMember, newPerson, useServer } from '../../harness/use.ts';

describe('joining', () => {
  const { api, owner, server, member, outsider } = useServer({ member: newMember(), outsider: newPerson() }, { each: true });

  describe('POST /api/invites/{code}', () => {
    it('200 with the full server; a member who joins again takes no use', async () => {
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 2 });
      const joiner = await makePerson(api);
      const joined = await send<Server>(api, 200, joiner, 'POST', `/api/invites/${code}`);
      expect(joined).to.deep.equal(await send(api, 200, joiner, 'GET', `/api/servers/${server.id}`));
      for (const as of [joiner, member, owner]) await send(api, 200, as, 'POST', `/api/invites/${code}`);
      await send(api, 200, await makePerson(api), 'POST', `/api/invites/${code}`);
      await refused(api, [404, 'not_found'], outsider, 'POST', `/api/invites/${code}`);
    });

    it('404 for an expired invite, also before the database deletes it', async () => {
      const { code } = await makeInvite(api, owner, server.id);
      await expireInvite(api, code);
      for (const method of ['GET', 'POST']) await refused(api, [404, 'not_found'], outsider, method, `/api/invites/${code}`);
    });

    it('403 banned before 403 invites_paused; neither takes a use', async () => {
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const banned = await makePerson(api);
      await storeBan(api, server.id, banned.id);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: true });
      await refused(api, [403, 'banned'], banned, 'POST', `/api/invites/${code}`);
      await refused(api, [403, 'invites_paused'], outsider, 'POST', `/api/invites/${code}`);
      await send(api, 200, member, 'POST', `/api/invites/${code}`);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: false });
      await send(api, 200, await makePerson(api), 'POST', `/api/invites/${code}`);
    });

    it('200 for one of 50 people who join at once by an invite for one use', async () => {
      const people = await makePeople(api, 50);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const answers = await Promise.all(people.map(({ as }) => api.call('POST', `/api/invites/${code}`, { as })));
      expect(tally(answers)).to.deep.equal({ 200: 1, 404: 49 });
      expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(3);
    });

    for (const maxUses of [1, 5, 100])
      it(`20 joins of one person at once take one use of ${maxUses}, so that ${Math.min(maxUses - 1, 9)} others can join meanwhile`, async () => {
        const joiner = await makePerson(api);
        const others = await makePeople(api, Math.min(maxUses - 1, 9));
        const { code } = await makeInvite(api, owner, server.id, { maxUses });
        const everyone = [...Array.from({ length: 20 }, () => joiner), ...others];
        const answers = await Promise.all(everyone.map(({ as }) => api.call('POST', `/api/invites/${code}`, { as })));
        expect(tally(answers)).to.deep.equal({ 200: everyone.length });
        const stored = await api.platform.db.invites.findOne({ _id: code });
        expect([stored?.uses, stored?.joining]).to.deep.equal([1 + others.length, []]);
        expect(await memberCountOf(api, server.id)).to.equal(3 + others.length);
      });

    it('the use of a request that died is kept for its person: 404 for others', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const joining = [{ userId: joiner.id, at: new Date(Date.now() - 60_000) }];
      await api.platform.db.invites.updateOne({ _id: code }, { $set: { uses: 1, joining } });
      await refused(api, [404, 'not_found'], outsider, 'POST', `/api/invites/${code}`);
      await send(api, 200, joiner, 'POST', `/api/invites/${code}`);
      const stored = await api.platform.db.invites.findOne({ _id: code });
      expect([stored?.uses, stored?.joining]).to.deep.equal([1, []]);
    });

    it('400 too_many_servers: 5 of 20 joins at once from 95 servers on succeed, and the others take no use', async () => {
      const joiner = await makePerson(api);
      await fillMemberships(api.platform, joiner.id, 95);
      const servers = await inParallel(20, () => makeServer(api, outsider));
      const invites = await Promise.all(servers.map(({ id }) => makeInvite(api, outsider, id, { maxUses: 1 })));
      const answers = await Promise.all(invites.map(({ code }) => api.call('POST', `/api/invites/${code}`, { as: joiner.as })));
      expect(tally(answers)).to.deep.equal({ 200: 5, 400: 15 });
      for (const [i, { code }] of invites.entries())
        if (answers[i]?.status === 400) {
          expect(answers[i].body.code).to.equal('too_many_servers');
          await send(api, 200, null, 'GET', `/api/invites/${code}`);
        }
    });

    it('400 too_many_servers: 5 of 15 joins and 15 creates at once from 95 servers on succeed, and the others store nothing', async () => {
      const joiner = await makePerson(api);
      const { members, servers, channels } = api.platform.db;
      await fillMemberships(api.platform, joiner.id, 95);
      const otherServers = await inParallel(15, () => makeServer(api, outsider));
      const invites = await Promise.all(otherServers.map(({ id }) => makeInvite(api, outsider, id)));
      const [had, rooms] = [await servers.countDocuments(), await channels.countDocuments()];
      const answers = await Promise.all(
        invites.flatMap(({ code }) => [
          api.call('POST', `/api/invites/${code}`, { as: joiner.as }),
          api.call('POST', '/api/servers', { as: joiner.as, body: { name: 'one more' } }),
        ]),
      );
      const codes = answers.filter(({ status }) => status === 400).map(({ body }) => body.code);
      expect(codes).to.deep.equal(Array.from({ length: 25 }, () => 'too_many_servers'));
      expect(await members.countDocuments({ userId: joiner.id })).to.equal(100);
      const made = answers.filter(({ status }) => status === 201).length;
      expect([await servers.countDocuments(), await channels.countDocuments()]).to.deep.equal([had + made, rooms + made]);
      for (const { id } of otherServers) expect(await memberCountOf(api, id)).to.equal(await members.countDocuments({ serverId: id }));
    });

    it('400 too_many_servers only after banned and invites_paused, and not for a member who joins again', async () => {
      const joiner = await makePerson(api);
      await join(api, owner, server.id, joiner);
      await fillMemberships(api.platform, joiner.id, 99);
      const { code } = await makeInvite(api, owner, server.id);
      await send(api, 200, joiner, 'POST', `/api/invites/${code}`);
      const other = await makeServer(api, owner);
      const at = `/api/invites/${(await makeInvite(api, owner, other.id)).code}`;
      await refused(api, [400, 'too_many_servers'], joiner, 'POST', at);
      await send(api, 200, owner, 'PATCH', `/api/servers/${other.id}`, { invitesPaused: true });
      await refused(api, [403, 'invites_paused'], joiner, 'POST', at);
      await send(api, 204, owner, 'PUT', `/api/servers/${other.id}/bans/${joiner.id}`);
      await refused(api, [403, 'banned'], joiner, 'POST', at);
      await refused(api, [400, 'too_many_servers'], joiner, 'POST', '/api/servers', { name: 'one more' });
    });

    it('403 banned when the ban is stored after the check for one; the use is returned', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const { members, memberships } = api.platform.db;
      beforeNextQuery(memberships, 'countDocuments', () => storeBan(api, server.id, joiner.id));
      await refused(api, [403, 'banned'], joiner, 'POST', `/api/invites/${code}`);
      expect(await members.countDocuments({ userId: joiner.id })).to.equal(0);
      expect((await send<InvitePreview>(api, 200, null, 'GET', `/api/invites/${code}`)).server.memberCount).to.equal(2);
    });

    it('404 when the server is deleted after the check for it', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id);
      beforeNextQuery(api.platform.db.memberships, 'countDocuments', () => api.platform.db.servers.deleteOne({ _id: server.id }));
      await refused(api, [404, 'not_found'], joiner, 'POST', `/api/invites/${code}`);
      expect(await api.platform.db.members.countDocuments({ userId: joiner.id })).to.equal(0);
    });

    it('bans at the same moment: no banned person stays a member', async () => {
      const people = await makePeople(api, 10);
      const { code } = await makeInvite(api, owner, server.id);
      const { members } = api.platform.db;
      await Promise.all(
        people.flatMap(({ id, as }) => [
          api.call('POST', `/api/invites/${code}`, { as }),
          storeBan(api, server.id, id).then(() => members.deleteOne({ _id: `${server.id}:${id}` })),
        ]),
      );
      expect(await members.countDocuments({ serverId: server.id })).to.equal(2);
    });
  });
});
