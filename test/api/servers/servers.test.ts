import { expect } from 'chai';
import type { Server, ServerSummary } from '../../../lib/contract/server.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  join,
  makeBot,
  makeChannel,
  makeInvite,
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

const viewChannel = 1;
const manageServer = 1 << 8;
const unknownId = '1000000000000000000';

describe('servers', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let outsider: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    server = await makeServer(api, owner, 'Home');
    member = await makeMember(api, owner, server.id);
    outsider = await makePerson(api);
  });
  after(() => api.close());

  describe('POST /api/servers', () => {
    it('201 with @everyone and the text channel general', async () => {
      const made = await send<Server>(api, 201, owner, 'POST', '/api/servers', { name: '  Trimmed  ' });
      expect(made).to.deep.include({ name: 'Trimmed', ownerId: owner.id, iconUrl: null, myRoles: [], invitesPaused: false, types: [] });
      expect(made).to.deep.include({ community: false, listed: false });
      expect(made.roles).to.deep.equal([{ id: made.id, name: '@everyone', color: null, hoist: false, position: 0, permissions: 15 }]);
      expect(made.channels).to.have.length(1);
      expect(made.channels[0]).to.deep.include({ serverId: made.id, name: 'general', kind: 'text', position: 0, parentId: null });
    });

    const bad: [what: string, body: unknown][] = [
      ['no name', {}],
      ['a blank name', { name: '   ' }],
      ['a name of 101', { name: 'x'.repeat(101) }],
      ['a line break', { name: 'a\nb' }],
      ['a number', { name: 7 }],
      ['null', { name: null }],
      ['a list', []],
    ];
    for (const [what, body] of bad)
      it(`400 invalid_request for ${what}`, () => refused(api, [400, 'invalid_request'], owner, 'POST', '/api/servers', body));

    it('names count code points: 100 emoji pass', async () => {
      await send(api, 201, owner, 'POST', '/api/servers', { name: '🏠'.repeat(100) });
    });

    it('401 without a credential, 403 bots_not_allowed for a bot', async () => {
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/servers', { name: 'x' });
      await refused(api, [403, 'bots_not_allowed'], await makeBot(api, owner, server.id), 'POST', '/api/servers', { name: 'x' });
    });

    it('400 too_many_servers: of 30 at once from 90 on, 10 are made, and one more after leaving one', async () => {
      const person = await makePerson(api);
      const rows = Array.from({ length: 90 }, (_, slot) => ({
        _id: `${10n ** 18n + BigInt(slot)}:${person.id}`,
        serverId: String(10n ** 18n + BigInt(slot)),
        userId: person.id,
        bot: false,
        slot,
        roles: [],
        joinedAt: new Date(),
      }));
      await api.platform.db.members.insertMany(rows);
      const answers = await Promise.all(
        Array.from({ length: 30 }, (_, i) => api.call<Server>('POST', '/api/servers', { as: person.as, body: { name: `s${i}` } })),
      );
      expect(tally(answers)).to.deep.equal({ 201: 10, 400: 20 });
      for (const answer of answers) if (answer.status === 400) expect(answer.body).to.have.property('code', 'too_many_servers');
      const made = answers.filter((one) => one.status === 201).map((one) => one.body.id);
      expect(await api.platform.db.servers.countDocuments({ ownerId: person.id })).to.equal(10);
      const { channels, servers } = api.platform.db;
      expect(await channels.distinct('serverId')).to.have.members(await servers.distinct('_id'));
      await send(api, 204, person, 'DELETE', `/api/servers/${made[0]}`);
      await makeServer(api, person);
    });

    it('the same Idempotency-Key makes one server, also when the first process died at any point', async () => {
      const options = { as: owner.as, body: { name: 'Once' }, headers: { 'Idempotency-Key': 'once' } };
      const first = await api.call<Server>('POST', '/api/servers', options);
      const { db } = api.platform;
      for (const died of [
        () => db.members.deleteOne({ serverId: first.body.id }),
        () => Promise.all([db.members.deleteOne({ serverId: first.body.id }), db.channels.deleteMany({ serverId: first.body.id })]),
        () => undefined,
      ]) {
        await died();
        await db.idempotency.updateMany({}, { $set: { answer: null, claimedAt: new Date(0) } });
        api.platform.cache.clear();
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
      expect(list.map((one) => one.name)).to.deep.equal(['Home', ...names]);
      expect(list[0]).to.deep.equal({ id: server.id, name: 'Home', iconUrl: null, types: [], community: false, listed: false });
    });
  });

  describe('GET /api/servers/{serverId}', () => {
    it('200 lists only channels that the caller can see', async () => {
      const hidden = await makeChannel(api, owner, server.id, { name: 'hidden' });
      await setOverwrite(api, owner, hidden.id, server.id, 0, viewChannel);
      const seen = async (as: Caller): Promise<string[]> =>
        (await send<Server>(api, 200, as, 'GET', `/api/servers/${server.id}`)).channels.map((one) => one.id);
      expect(await seen(owner)).to.include(hidden.id);
      expect(await seen(member)).to.not.include(hidden.id);
      await setOverwrite(api, owner, hidden.id, member.id, viewChannel, 0);
      expect(await seen(member)).to.include(hidden.id);
    });

    it('roles are highest first and end with @everyone; myRoles hold a bot’s own role', async () => {
      const bot = await makeBot(api, owner, server.id, 3);
      const role = await makeRole(api, owner, server.id, { position: 2 });
      const full = await send<Server>(api, 200, bot, 'GET', `/api/servers/${server.id}`);
      expect(full.roles.map((one) => one.id).slice(-3)).to.deep.equal([role.id, bot.roleId, server.id]);
      expect(full.roles.map((one) => one.position)).to.deep.equal(full.roles.map((_, at) => full.roles.length - 1 - at));
      expect(full.myRoles).to.deep.equal([bot.roleId]);
      expect(full.roles.find((one) => one.id === bot.roleId)).to.deep.include({ name: bot.username, permissions: 3 });
    });

    it('404 not_found alike outside it, for an unknown id and a malformed one', async () => {
      for (const [as, id] of [
        [outsider, server.id],
        [owner, unknownId],
        [owner, 'nonsense'],
        [owner, '%24ne'],
        [owner, server.id.slice(1)],
      ] as const) {
        await refused(api, [404, 'not_found'], as, 'GET', `/api/servers/${id}`);
        await refused(api, [404, 'not_found'], as, 'PATCH', `/api/servers/${id}`, { name: 'x' });
        await refused(api, [404, 'not_found'], as, 'DELETE', `/api/servers/${id}`);
      }
    });
  });

  describe('PATCH /api/servers/{serverId}', () => {
    const path = (): string => `/api/servers/${server.id}`;

    it('200 changes name and invitesPaused with Manage Server, and takes effect on the next request', async () => {
      const manager = await makeMember(api, owner, server.id, manageServer);
      const changed = await send<Server>(api, 200, manager, 'PATCH', path(), { name: ' New ', invitesPaused: true, unknown: 1 });
      expect(changed).to.deep.include({ name: 'New', invitesPaused: true });
      expect(await send(api, 200, member, 'GET', path())).to.deep.include({ name: 'New', invitesPaused: true });
      await send(api, 200, manager, 'PATCH', path(), { invitesPaused: false });
      await refused(api, [403, 'not_owner'], manager, 'PATCH', path(), { ownerId: manager.id });
    });

    it('200 unchanged for {}', async () => {
      const before = await send(api, 200, owner, 'GET', path());
      expect(await send(api, 200, owner, 'PATCH', path(), {})).to.deep.equal(before);
    });

    it('403 missing_permission without Manage Server', async () => {
      const { missing } = await refused(api, [403, 'missing_permission'], member, 'PATCH', path(), { name: 'x' });
      expect(missing).to.deep.equal(['Manage Server']);
    });

    for (const body of [{ name: '' }, { name: null }, { invitesPaused: 'yes' }, { ownerId: 'x' }, { ownerId: null }])
      it(`400 invalid_request for ${JSON.stringify(body)}`, () => refused(api, [400, 'invalid_request'], owner, 'PATCH', path(), body));

    it('ownerId: 400 for a bot, an outsider, an unknown id; a person in the server takes over', async () => {
      const place = await makeServer(api, owner);
      const heir = await makeMember(api, owner, place.id);
      const bot = await makeBot(api, owner, place.id);
      for (const ownerId of [bot.id, outsider.id, unknownId])
        await refused(api, [400, 'invalid_request'], owner, 'PATCH', `/api/servers/${place.id}`, { ownerId });
      const handed = await send<Server>(api, 200, owner, 'PATCH', `/api/servers/${place.id}`, { ownerId: heir.id });
      expect(handed.ownerId).to.equal(heir.id);
      await refused(api, [403, 'not_owner'], owner, 'DELETE', `/api/servers/${place.id}`);
      await send(api, 204, heir, 'DELETE', `/api/servers/${place.id}`);
    });

    it('ownerId: of 20 heirs at once one takes over', async () => {
      const place = await makeServer(api, owner);
      const heirs = await Promise.all([1, 2, 3, 4].map(() => makeMember(api, owner, place.id)));
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          api.call('PATCH', `/api/servers/${place.id}`, { as: owner.as, body: { ownerId: heirs[i % 4]?.id } }),
        ),
      );
      expect(answers.filter((one) => one.status === 200)).to.have.length(1);
      expect(tally(answers)[500]).to.equal(undefined);
    });
  });

  describe('DELETE /api/servers/{serverId}', () => {
    it('403 not_owner for who is not the owner, even with Administrator', async () => {
      const admin = await makeMember(api, owner, server.id, 1 << 12);
      await refused(api, [403, 'not_owner'], admin, 'DELETE', `/api/servers/${server.id}`);
    });

    it('204, and all of it is gone for everyone at once', async () => {
      const place = await makeServer(api, owner);
      const bot = await makeBot(api, owner, place.id, 0b11);
      const { code } = await makeInvite(api, owner, place.id);
      await send(api, 201, bot, 'POST', `/api/channels/${place.general}/messages`, { content: 'bye' });
      await send(api, 204, owner, 'DELETE', `/api/servers/${place.id}`);
      for (const path of [`/api/servers/${place.id}`, `/api/channels/${place.general}`, `/api/channels/${place.general}/messages`])
        for (const as of [owner, bot]) await refused(api, [404, 'not_found'], as, 'GET', path);
      await refused(api, [404, 'not_found'], null, 'GET', `/api/invites/${code}`);
      await refused(api, [404, 'not_found'], owner, 'DELETE', `/api/servers/${place.id}`);
      expect(await send(api, 200, bot, 'GET', '/api/servers')).to.deep.equal([]);
      expect(await api.platform.db.members.countDocuments({ serverId: place.id })).to.equal(0);
    });
  });
});
