import { expect } from 'chai';
import type { Ban } from '../../../lib/contract/server.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  type Caller,
  giveRole,
  join,
  makeApplication,
  makeInvite,
  makeMember,
  makePeople,
  makePerson,
  makeRole,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

const ban = 1 << 11;
const rounds = 25;

describe('bans in a race', function () {
  this.timeout(180_000);
  let api: TestApi;
  let owner: Caller;
  let server: Place;
  let people: Caller[];
  before(async () => {
    api = await startRacingTestApi();
    owner = await makePerson(api);
    people = await makePeople(api, rounds);
  });
  after(() => api.close());
  beforeEach(async () => {
    server = await makeServer(api, owner);
  });

  type Told = Awaited<ReturnType<TestApi['call']>>;
  const path = (userId: string): string => `/api/servers/${server.id}/bans/${userId}`;
  const banOf = ({ id }: Caller): Promise<Told> => api.call('PUT', path(id), { as: owner.as });
  const joinAll = async (): Promise<void> => {
    const { code } = await makeInvite(api, owner, server.id);
    await Promise.all(people.map((one) => send(api, 200, one, 'POST', `/api/invites/${code}`)));
  };
  /** Bans everybody while `act` runs for each; then nobody is in, everybody is banned, and the count is right. */
  const race = async (targets: readonly Caller[], act: (one: Caller, at: number) => Promise<Told>): Promise<Told[]> => {
    const answers = await Promise.all(targets.flatMap((one, at) => [banOf(one), act(one, at)]));
    expect(answers.filter((_, at) => at % 2 === 0).map(({ status }) => status)).to.deep.equal(targets.map(() => 204));
    const { members, servers, bans } = api.platform.db;
    expect(await members.find({ serverId: server.id }).lean()).to.have.length(1);
    expect((await servers.findOne({ _id: server.id }).lean())?.memberCount).to.equal(1);
    expect(await bans.countDocuments({ serverId: server.id })).to.equal(targets.length);
    return answers.filter((_, at) => at % 2 === 1);
  };

  it('an invite at the same moment: nobody banned stays in', async () => {
    const { code } = await makeInvite(api, owner, server.id);
    const answers = await race(people, ({ as }) => api.call('POST', `/api/invites/${code}`, { as }));
    for (const { status, body } of answers) expect([200, 403, 404], JSON.stringify(body)).to.include(status);
  });

  it('a join that comes to its end just before the ban is written is undone by the ban', async () => {
    const { code } = await makeInvite(api, owner, server.id);
    const [joiner = owner] = people;
    const { collection } = api.platform.db.bans;
    const insert = collection.insertOne.bind(collection);
    collection.insertOne = async (...args: Parameters<typeof insert>) => {
      collection.insertOne = insert;
      await send(api, 200, joiner, 'POST', `/api/invites/${code}`);
      return insert(...args);
    };
    await send(api, 204, owner, 'PUT', path(joiner.id));
    await refused(api, [404, 'not_found'], joiner, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(1);
  });

  it('an authorize at the same moment: no bot stays in, and none leaves a role behind', async () => {
    const bots: Bot[] = [];
    for (let i = 0; i < rounds; i++) bots.push(await makeApplication(api, owner));
    const answers = await race(bots, (_, at) =>
      api.call('POST', `/api/applications/${bots[at]?.applicationId}/authorize`, { as: owner.as, body: { serverId: server.id } }),
    );
    for (const { status, body } of answers) expect([200, 201, 403, 404], JSON.stringify(body)).to.include(status);
    const [first = bots[0] as Bot] = bots;
    expect((await api.platform.db.servers.findOne({ _id: server.id }).lean())?.roles).to.have.length(1);
    await send(api, 204, owner, 'DELETE', path(first.id));
    await authorize(api, owner, first, server.id);
  });

  it('leaving at the same moment', async () => {
    await joinAll();
    const answers = await race(people, ({ as }) => api.call('DELETE', `/api/users/@me/servers/${server.id}`, { as }));
    for (const { status } of answers) expect([204, 404]).to.include(status);
  });

  it('a kick at the same moment: one of the two tells them, or both do, never neither', async () => {
    await joinAll();
    await api.platform.db.notices.deleteMany({});
    const answers = await race(people, ({ id }) => api.call('DELETE', `/api/servers/${server.id}/members/${id}`, { as: owner.as }));
    for (const { status } of answers) expect([204, 404]).to.include(status);
    const waiting = await api.platform.db.notices.find().lean();
    expect(waiting.map(({ userId }) => userId).toSorted()).to.deep.equal(people.map(({ id }) => id).toSorted());
    const kicked = answers.filter(({ status }) => status === 204).length;
    expect(waiting.filter(({ kind }) => kind === 'kick')).to.have.length(kicked);
  });

  it('one person banned 30 times at once: 204 each, one ban, one notice, one entry', async () => {
    const member = await makeMember(api, owner, server.id);
    await api.platform.db.notices.deleteMany({});
    const answers = await Promise.all(Array.from({ length: 30 }, () => banOf(member)));
    expect(tally(answers)).to.deep.equal({ 204: 30 });
    expect(await send<Ban[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/bans`)).to.have.length(1);
    expect(await api.platform.db.notices.countDocuments({ userId: member.id })).to.equal(1);
    expect(await api.platform.db.audit.countDocuments({ serverId: server.id, action: 'member_ban' })).to.equal(1);
  });

  it('who loses Ban Members at the same moment bans whole or not at all', async () => {
    await joinAll();
    const role = await makeRole(api, owner, server.id, { permissions: ban });
    const keeper = await makeMember(api, owner, server.id);
    await giveRole(api, owner, server.id, keeper.id, role.id);
    const take = `/api/servers/${server.id}/members/${keeper.id}/roles/${role.id}`;
    const [, ...answers] = await Promise.all([
      api.call('DELETE', take, { as: owner.as }),
      ...people.map(({ id }) => api.call('PUT', path(id), { as: keeper.as })),
    ]);
    const { members, bans } = api.platform.db;
    for (const [at, { status }] of answers.entries()) {
      const _id = `${server.id}:${people[at]?.id}`;
      const done = [await members.countDocuments({ _id }), await bans.countDocuments({ _id })];
      expect([status, ...done]).to.deep.equal(status === 204 ? [204, 0, 1] : [403, 1, 0]);
    }
    await refused(api, [403, 'missing_permission'], keeper, 'PUT', path(owner.id));
  });

  it('who is handed the server while a ban or kick takes them out stays in it, and is not banned', async () => {
    for (const [method, at] of [
      ['PUT', 'bans'],
      ['DELETE', 'members'],
    ] as const) {
      const place = await makeServer(api, owner);
      const keeper = await makeMember(api, owner, place.id, ban | (1 << 10));
      const heir = await makeMember(api, owner, place.id);
      meet(api.platform.db.members, 'findOneAndDelete', () =>
        send(api, 200, owner, 'PATCH', `/api/servers/${place.id}`, { ownerId: heir.id }),
      );
      await refused(api, [403, 'role_hierarchy'], keeper, method, `/api/servers/${place.id}/${at}/${heir.id}`);
      await send(api, 200, heir, 'PATCH', `/api/servers/${place.id}`, { name: 'mine' });
      expect(await send(api, 200, heir, 'GET', `/api/servers/${place.id}/bans`)).to.deep.equal([]);
      expect((await api.platform.db.servers.findOne({ _id: place.id }).lean())?.memberCount).to.equal(3);
    }
  });

  it('a server keeps an owner who is in it, whoever bans the heir at the same moment', async () => {
    const round = async (heir: Caller): Promise<void> => {
      const place = await makeServer(api, owner);
      const keeper = await makeMember(api, owner, place.id, ban);
      await join(api, owner, place.id, heir);
      await Promise.all([
        api.call('PATCH', `/api/servers/${place.id}`, { as: owner.as, body: { ownerId: heir.id } }),
        api.call('PUT', `/api/servers/${place.id}/bans/${heir.id}`, { as: keeper.as }),
      ]);
      const { servers, members, bans } = api.platform.db;
      const { ownerId, memberCount } = (await servers.findOne({ _id: place.id }).lean()) ?? {};
      expect(await members.countDocuments({ _id: `${place.id}:${ownerId}` })).to.equal(1);
      expect(await bans.countDocuments({ _id: `${place.id}:${ownerId}` })).to.equal(0);
      expect(memberCount).to.equal(await members.countDocuments({ serverId: place.id }));
    };
    await Promise.all(people.slice(0, 20).map(round));
  });
});
