import { expect } from 'chai';
import type { InvitePreview, Server } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  join,
  makeBot,
  makeInvite,
  makeMember,
  makePeople,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

describe('joining', () => {
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let member: Caller;
  let outsider: Caller;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    outsider = await makePerson(api);
  });
  after(() => api.close());
  beforeEach(async () => {
    server = await makeServer(api, owner);
    member = await makeMember(api, owner, server.id);
  });
  const expire = (code: string) => api.platform.db.invites.updateOne({ _id: code }, { $set: { expiresAt: new Date(Date.now() - 1) } });
  /** Puts a person into so many servers more, from the first free places on. */
  const fillServers = async ({ id: userId }: Caller, many: number): Promise<void> => {
    const taken = (await api.platform.db.members.find({ userId }).lean()).map((one) => one.slot);
    const free = Array.from({ length: 100 }, (_, slot) => slot).filter((slot) => !taken.includes(slot));
    const rows = free.slice(0, many).map((slot) => {
      const serverId = String(10n ** 18n + BigInt(slot));
      return { _id: `${serverId}:${userId}`, serverId, userId, bot: false, slot, roles: [], joinedAt: new Date() };
    });
    await api.platform.db.members.insertMany(rows);
  };

  describe('POST /api/invites/{code}', () => {
    it('200 with the full server; who is in already uses nothing up', async () => {
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 2 });
      const joiner = await makePerson(api);
      const joined = await send<Server>(api, 200, joiner, 'POST', `/api/invites/${code}`);
      expect(joined).to.deep.equal(await send(api, 200, joiner, 'GET', `/api/servers/${server.id}`));
      for (const as of [joiner, member, owner]) await send(api, 200, as, 'POST', `/api/invites/${code}`);
      await send(api, 200, await makePerson(api), 'POST', `/api/invites/${code}`);
      await refused(api, [404, 'not_found'], outsider, 'POST', `/api/invites/${code}`);
    });

    it('404 for an expired one, also before it is cleared away', async () => {
      const { code } = await makeInvite(api, owner, server.id);
      await expire(code);
      for (const method of ['GET', 'POST']) await refused(api, [404, 'not_found'], outsider, method, `/api/invites/${code}`);
    });

    it('401 without a login, 403 bots_not_allowed', async () => {
      const { code } = await makeInvite(api, owner, server.id);
      await refused(api, [401, 'unauthorized'], null, 'POST', `/api/invites/${code}`);
      await refused(api, [403, 'bots_not_allowed'], await makeBot(api, owner, server.id), 'POST', `/api/invites/${code}`);
    });

    it('403 banned before 403 invites_paused; neither uses the invite up', async () => {
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const banned = await makePerson(api);
      const _id = `${server.id}:${banned.id}`;
      await api.platform.db.bans.create({ _id, serverId: server.id, userId: banned.id, reason: null, createdAt: new Date() });
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: true });
      await refused(api, [403, 'banned'], banned, 'POST', `/api/invites/${code}`);
      await refused(api, [403, 'invites_paused'], outsider, 'POST', `/api/invites/${code}`);
      await send(api, 200, member, 'POST', `/api/invites/${code}`);
      await send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused: false });
      await send(api, 200, await makePerson(api), 'POST', `/api/invites/${code}`);
    });

    it('a single-use invite lets one of 50 in who come at once', async () => {
      const people = await makePeople(api, 50);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const answers = await Promise.all(people.map(({ as }) => api.call('POST', `/api/invites/${code}`, { as })));
      expect(tally(answers)).to.deep.equal({ 200: 1, 404: 49 });
      expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(3);
    });

    for (const maxUses of [1, 5, 100])
      it(`one person who joins 20 times at once by an invite for ${maxUses} uses one up, and no one of ${Math.min(maxUses - 1, 9)} others is refused meanwhile`, async () => {
        const joiner = await makePerson(api);
        const others = await makePeople(api, Math.min(maxUses - 1, 9));
        const { code } = await makeInvite(api, owner, server.id, { maxUses });
        const everyone = [...Array.from({ length: 20 }, () => joiner), ...others];
        const answers = await Promise.all(everyone.map(({ as }) => api.call('POST', `/api/invites/${code}`, { as })));
        expect(tally(answers)).to.deep.equal({ 200: everyone.length });
        const stored = await api.platform.db.invites.findOne({ _id: code }).lean();
        expect([stored?.uses, stored?.joining]).to.deep.equal([1 + others.length, []]);
        expect((await api.platform.db.servers.findOne({ _id: server.id }).lean())?.memberCount).to.equal(3 + others.length);
      });

    it('a use that was taken by a request that died is taken over by its person, and by nobody else', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const joining = [{ userId: joiner.id, at: new Date(Date.now() - 60_000) }];
      await api.platform.db.invites.updateOne({ _id: code }, { $set: { uses: 1, joining } });
      await refused(api, [404, 'not_found'], outsider, 'POST', `/api/invites/${code}`);
      await send(api, 200, joiner, 'POST', `/api/invites/${code}`);
      const stored = await api.platform.db.invites.findOne({ _id: code }).lean();
      expect([stored?.uses, stored?.joining]).to.deep.equal([1, []]);
    });

    it('400 too_many_servers: of 20 joins at once from 95 servers on, 5 get in, and refused ones use nothing up', async () => {
      const joiner = await makePerson(api);
      await fillServers(joiner, 95);
      const servers = await Promise.all(Array.from({ length: 20 }, () => makeServer(api, outsider)));
      const invites = await Promise.all(servers.map(({ id }) => makeInvite(api, outsider, id, { maxUses: 1 })));
      const answers = await Promise.all(invites.map(({ code }) => api.call('POST', `/api/invites/${code}`, { as: joiner.as })));
      expect(tally(answers)).to.deep.equal({ 200: 5, 400: 15 });
      for (const [i, { code }] of invites.entries())
        if (answers[i]?.status === 400) {
          expect(answers[i].body.code).to.equal('too_many_servers');
          await send(api, 200, null, 'GET', `/api/invites/${code}`);
        }
    });

    it('400 too_many_servers: of 30 ways in at once from 95 servers on, made and joined, 5 end well, and the others leave nothing', async () => {
      const joiner = await makePerson(api);
      const { members, servers, channels } = api.platform.db;
      await fillServers(joiner, 95);
      const places = await Promise.all(Array.from({ length: 15 }, () => makeServer(api, outsider)));
      const invites = await Promise.all(places.map(({ id }) => makeInvite(api, outsider, id)));
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
      for (const { id } of places)
        expect((await servers.findOne({ _id: id }).lean())?.memberCount).to.equal(await members.countDocuments({ serverId: id }));
    });

    it('400 too_many_servers comes last: banned and invites_paused before it, who is in already gets the server', async () => {
      const joiner = await makePerson(api);
      await join(api, owner, server.id, joiner);
      await fillServers(joiner, 99);
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

    it('403 banned when the ban comes after it was looked for; the use is given back', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id, { maxUses: 1 });
      const { bans, members } = api.platform.db;
      const _id = `${server.id}:${joiner.id}`;
      meet(members, 'countDocuments', () =>
        bans.create({ _id, serverId: server.id, userId: joiner.id, reason: null, createdAt: new Date() }),
      );
      await refused(api, [403, 'banned'], joiner, 'POST', `/api/invites/${code}`);
      expect(await members.countDocuments({ _id })).to.equal(0);
      expect((await send<InvitePreview>(api, 200, null, 'GET', `/api/invites/${code}`)).server.memberCount).to.equal(2);
    });

    it('404 when the server goes after it was looked for', async () => {
      const joiner = await makePerson(api);
      const { code } = await makeInvite(api, owner, server.id);
      meet(api.platform.db.members, 'countDocuments', () => api.platform.db.servers.deleteOne({ _id: server.id }));
      await refused(api, [404, 'not_found'], joiner, 'POST', `/api/invites/${code}`);
      expect(await api.platform.db.members.countDocuments({ userId: joiner.id })).to.equal(0);
    });

    it('a ban at the same moment wins: nobody banned stays in', async () => {
      const people = await makePeople(api, 10);
      const { code } = await makeInvite(api, owner, server.id);
      const { bans, members } = api.platform.db;
      await Promise.all(
        people.flatMap(({ id, as }) => [
          api.call('POST', `/api/invites/${code}`, { as }),
          (async () => {
            const _id = `${server.id}:${id}`;
            await bans.create({ _id, serverId: server.id, userId: id, reason: null, createdAt: new Date() });
            await members.deleteOne({ _id });
          })(),
        ]),
      );
      expect(await members.countDocuments({ serverId: server.id })).to.equal(2);
    });

    it('joining again after leaving works', async () => {
      await join(api, owner, server.id, outsider);
      await send(api, 204, outsider, 'DELETE', `/api/users/@me/servers/${server.id}`);
      await join(api, owner, server.id, outsider);
    });
  });
});
