import { expect } from 'chai';
import type { Server, ServerSummary } from '../../../lib/contract/server.ts';
import {
  join,
  loseAnswers,
  makeBot,
  makeChannel,
  makeInvite,
  makeMember,
  makePerson,
  makeRole,
  makeServer,
  setOverwrite,
  unknownId,
} from '../../harness/factories.ts';
import { fillMemberships } from '../../harness/memberships.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newMember, newPerson, useServer } from '../../harness/use.ts';

const [viewChannel, manageServer] = [1, 1 << 8];

describe('servers', () => {
  const { api, owner, server, member, outsider } = useServer({ member: newMember(), outsider: newPerson() });

  describe('POST /api/servers', () => {
    it('201 with @everyone and the text channel general', async () => {
      const made = await send<Server>(api, 201, owner, 'POST', '/api/servers', { name: '  Trimmed  ' });
      expect(made).to.deep.include({ name: 'Trimmed', ownerId: owner.id, iconUrl: null, myRoles: [], invitesPaused: false, types: [] });
      expect(made).to.deep.include({ community: false, listed: false });
      expect(made.roles).to.deep.equal([{ id: made.id, name: '@everyone', color: null, hoist: false, position: 0, permissions: 15 }]);
      expect(made.channels).to.have.length(1);
      expect(made.channels[0]).to.deep.include({ serverId: made.id, name: 'general', kind: 'text', position: 0, parentId: null });
    });

    it('400 invalid_request for a body without a name, with a longer one or one of another type', async () => {
      for (const body of [{}, { name: 'x'.repeat(101) }, { name: 7 }, { name: null }, []])
        await refused(api, [400, 'invalid_request'], owner, 'POST', '/api/servers', body);
    });

    it('201 for a name of 100 emoji: the limit counts code points', () =>
      send(api, 201, owner, 'POST', '/api/servers', { name: '🏠'.repeat(100) }));

    it('400 too_many_servers beyond 100, also of 30 at once; a deleted one does not count', async () => {
      const person = await makePerson(api);
      await fillMemberships(api.platform, person.id, 90);
      const answers = await inParallel(30, (i) => api.call<Server>('POST', '/api/servers', { as: person.as, body: { name: `s${i}` } }));
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      for (const answer of answers) if (answer.status === 400) expect(answer.body).to.have.property('code', 'too_many_servers');
      const made = answers.filter((one) => one.status === 201).map((one) => one.body.id);
      expect(await api.platform.db.servers.countDocuments({ ownerId: person.id })).to.equal(10);
      const { channels, servers } = api.platform.db;
      expect(await channels.distinct('serverId')).to.have.members(await servers.distinct('_id'));
      await send(api, 204, person, 'DELETE', `/api/servers/${made[0]}`);
      await makeServer(api, person);
    });

    it('the same Idempotency-Key makes one server, also after a crash at any point', async () => {
      const options = { as: owner.as, body: { name: 'Once' }, headers: { 'Idempotency-Key': 'once' } };
      const first = await api.call<Server>('POST', '/api/servers', options);
      const { db } = api.platform;
      for (const crash of [
        () => db.members.deleteOne({ serverId: first.body.id }),
        () => Promise.all([db.members.deleteOne({ serverId: first.body.id }), db.channels.deleteMany({ serverId: first.body.id })]),
        () => undefined,
      ]) {
        await crash();
        await loseAnswers(api);
        api.platform.accessCache.clear();
        const again = await api.call<Server>('POST', '/api/servers', options);
        expect(again.status).to.equal(201);
        expect(again.body.id).to.equal(first.body.id);
        expect(again.body.channels.map((one) => one.name)).to.deep.equal(['general']);
      }
      expect(await db.servers.countDocuments({ name: 'Once' })).to.equal(1);
    });
  });

  describe('GET /api/servers', () => {
    it('200 with summaries of the caller’s servers, oldest first', async () => {
      const person = await makePerson(api);
      expect(await send(api, 200, person, 'GET', '/api/servers')).to.deep.equal([]);
      const names = ['one', 'two', 'three'];
      for (const name of names) await makeServer(api, person, name);
      await join(api, owner, server.id, person);
      const list = await send<ServerSummary[]>(api, 200, person, 'GET', '/api/servers');
      expect(list.map((one) => one.name)).to.deep.equal([server.name, ...names]);
      expect(list[0]).to.deep.equal({ id: server.id, name: server.name, iconUrl: null, types: [], community: false, listed: false });
    });
  });

  describe('GET /api/servers/{serverId}', () => {
    it('200 with only the channels that the caller may view', async () => {
      const hidden = await makeChannel(api, owner, server.id, { name: 'hidden' });
      await setOverwrite(api, owner, hidden.id, server.id, 0, viewChannel);
      const seen = async (as: Caller): Promise<string[]> =>
        (await send<Server>(api, 200, as, 'GET', `/api/servers/${server.id}`)).channels.map((one) => one.id);
      expect(await seen(owner)).to.include(hidden.id);
      expect(await seen(member)).to.not.include(hidden.id);
      await setOverwrite(api, owner, hidden.id, member.id, viewChannel, 0);
      expect(await seen(member)).to.include(hidden.id);
    });

    it('200 with roles from the highest to @everyone, and with a bot’s own role in myRoles', async () => {
      const bot = await makeBot(api, owner, server.id, 3);
      const role = await makeRole(api, owner, server.id, { position: 2 });
      const full = await send<Server>(api, 200, bot, 'GET', `/api/servers/${server.id}`);
      expect(full.roles.map((one) => one.id).slice(-3)).to.deep.equal([role.id, bot.roleId, server.id]);
      expect(full.roles.map((one) => one.position)).to.deep.equal(full.roles.map((_, at) => full.roles.length - 1 - at));
      expect(full.myRoles).to.deep.equal([bot.roleId]);
      expect(full.roles.find((one) => one.id === bot.roleId)).to.deep.include({ name: bot.username, permissions: 3 });
    });

    it('404 not_found for an unknown id', () => refused(api, [404, 'not_found'], owner, 'GET', `/api/servers/${unknownId}`));
  });

  describe('PATCH /api/servers/{serverId}', () => {
    const path = (): string => `/api/servers/${server.id}`;

    it('200 with Manage Server changes name and invitesPaused, with effect on the next request', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const changed = await send<Server>(api, 200, manager, 'PATCH', path(), { name: ' New ', invitesPaused: true, unknown: 1 });
      expect(changed).to.deep.include({ name: 'New', invitesPaused: true });
      expect(await send(api, 200, member, 'GET', path())).to.deep.include({ name: 'New', invitesPaused: true });
      await send(api, 200, manager, 'PATCH', path(), { invitesPaused: false });
    });

    it('200 for {}, which changes nothing', async () => {
      const before = await send(api, 200, owner, 'GET', path());
      expect(await send(api, 200, owner, 'PATCH', path(), {})).to.deep.equal(before);
    });

    it('400 invalid_request for values of another type', async () => {
      for (const body of [{ name: null }, { invitesPaused: 'yes' }, { ownerId: 'x' }, { ownerId: null }])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', path(), body);
    });

    it('ownerId: 200 for a member, 400 for a bot, a non-member and an unknown id', async () => {
      const otherServer = await makeServer(api, owner);
      const newOwner = await makeMember(api, owner, otherServer.id);
      const bot = await makeBot(api, owner, otherServer.id);
      for (const ownerId of [bot.id, outsider.id, unknownId])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/servers/${otherServer.id}`, { ownerId });
      const handed = await send<Server>(api, 200, owner, 'PATCH', `/api/servers/${otherServer.id}`, { ownerId: newOwner.id });
      expect(handed.ownerId).to.equal(newOwner.id);
      await refused(api, [403, 'not_owner'], owner, 'DELETE', `/api/servers/${otherServer.id}`);
      await send(api, 204, newOwner, 'DELETE', `/api/servers/${otherServer.id}`);
    });

    it('ownerId: 200 for one of 20 transfers at once', async () => {
      const otherServer = await makeServer(api, owner);
      const candidates = await inParallel(4, () => makeMember(api, owner, otherServer.id));
      const answers = await inParallel(20, (i) =>
        api.call('PATCH', `/api/servers/${otherServer.id}`, { as: owner.as, body: { ownerId: candidates[i % 4]?.id } }),
      );
      expect(answers.filter((one) => one.status === 200)).to.have.length(1);
      expect(tally(answers)[500]).to.equal(undefined);
    });
  });

  describe('DELETE /api/servers/{serverId}', () => {
    it('204, then 404 for the server, its channels, messages and invites', async () => {
      const otherServer = await makeServer(api, owner);
      const bot = await makeBot(api, owner, otherServer.id, 0b11);
      const { code } = await makeInvite(api, owner, otherServer.id);
      await send(api, 201, bot, 'POST', `/api/channels/${otherServer.general}/messages`, { content: 'bye' });
      await send(api, 204, owner, 'DELETE', `/api/servers/${otherServer.id}`);
      for (const path of [
        `/api/servers/${otherServer.id}`,
        `/api/channels/${otherServer.general}`,
        `/api/channels/${otherServer.general}/messages`,
      ])
        for (const as of [owner, bot]) await refused(api, [404, 'not_found'], as, 'GET', path);
      await refused(api, [404, 'not_found'], null, 'GET', `/api/invites/${code}`);
      await refused(api, [404, 'not_found'], owner, 'DELETE', `/api/servers/${otherServer.id}`);
      expect(await send(api, 200, bot, 'GET', '/api/servers')).to.deep.equal([]);
      expect(await api.platform.db.members.countDocuments({ serverId: otherServer.id })).to.equal(0);
    });
  });
});
