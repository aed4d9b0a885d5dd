import { expect } from 'chai';
import type { Ban } from '../../../lib/contract/member.ts';
import { type Answer, startRacingTestApi } from '../../harness/api.ts';
import {
  authorize,
  type Bot,
  giveRole,
  join,
  makeApplication,
  makeInvite,
  makeMember,
  makePeople,
  makeRole,
  makeServer,
  memberCountOf,
} from '../../harness/factories.ts';
import { beforeNextQuery, interceptNext } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, useServer } from '../../harness/use.ts';

const ban = 1 << 11;
const rounds = 25;

describe('bans and other requests at the same moment', () => {
  const { api, owner, server } = useServer({}, { each: true, start: startRacingTestApi });
  const people = make(() => makePeople(api, rounds));

  const path = (userId: string): string => `/api/servers/${server.id}/bans/${userId}`;
  const banOf = ({ id }: Caller): Promise<Answer> => api.call('PUT', path(id), { as: owner.as });
  const joinAll = async (): Promise<void> => {
    const { code } = await makeInvite(api, owner, server.id);
    await Promise.all(people.map((one) => send(api, 200, one, 'POST', `/api/invites/${code}`)));
  };
  /** Bans all targets while `act` runs for each of them. Expects that then all are banned, none is a member, and the member count is correct. */
  const race = async (targets: readonly Caller[], act: (one: Caller, at: number) => Promise<Answer>): Promise<Answer[]> => {
    const answers = await Promise.all(targets.flatMap((one, at) => [banOf(one), act(one, at)]));
    expect(answers.filter((_, at) => at % 2 === 0).map(({ status }) => status)).to.deep.equal(targets.map(() => 204));
    const { members, bans } = api.platform.db;
    expect(await members.find({ serverId: server.id }).toArray()).to.have.length(1);
    expect(await memberCountOf(api, server.id)).to.equal(1);
    expect(await bans.countDocuments({ serverId: server.id })).to.equal(targets.length);
    return answers.filter((_, at) => at % 2 === 1);
  };

  it('a join by an invite: no banned person stays a member', async () => {
    const { code } = await makeInvite(api, owner, server.id);
    const answers = await race(people, ({ as }) => api.call('POST', `/api/invites/${code}`, { as }));
    for (const { status, body } of answers) expect([200, 403, 404], JSON.stringify(body)).to.include(status);
  });

  it('a join that ends just before the ban is stored: the ban removes the member', async () => {
    const { code } = await makeInvite(api, owner, server.id);
    const [joiner = owner] = people;
    interceptNext(api.platform.db.bans, 'insertOne', (insert) => send(api, 200, joiner, 'POST', `/api/invites/${code}`).then(insert));
    await send(api, 204, owner, 'PUT', path(joiner.id));
    await refused(api, [404, 'not_found'], joiner, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.members.countDocuments({ serverId: server.id })).to.equal(1);
  });

  it('an authorize: no bot stays a member, and no bot’s role stays', async () => {
    const bots = await inParallel(rounds, () => makeApplication(api, owner));
    const answers = await race(bots, (_, at) =>
      api.call('POST', `/api/applications/${bots[at]?.applicationId}/authorize`, { as: owner.as, body: { serverId: server.id } }),
    );
    for (const { status, body } of answers) expect([200, 201, 403, 404], JSON.stringify(body)).to.include(status);
    const [first] = bots as [Bot];
    expect((await api.platform.db.servers.findOne({ _id: server.id }))?.roles).to.have.length(1);
    await send(api, 204, owner, 'DELETE', path(first.id));
    await authorize(api, owner, first, server.id);
  });

  it('leaving: 204 or 404, and all are banned', async () => {
    await joinAll();
    const answers = await race(people, ({ as }) => api.call('DELETE', `/api/users/@me/servers/${server.id}`, { as }));
    for (const { status } of answers) expect([204, 404]).to.include(status);
  });

  it('a kick: everyone gets one notice, of the kick if it succeeded', async () => {
    await joinAll();
    await api.platform.db.notices.deleteMany({});
    const answers = await race(people, ({ id }) => api.call('DELETE', `/api/servers/${server.id}/members/${id}`, { as: owner.as }));
    for (const { status } of answers) expect([204, 404]).to.include(status);
    const notices = await api.platform.db.notices.find().toArray();
    expect(notices.map(({ userId }) => userId).toSorted()).to.deep.equal(people.map(({ id }) => id).toSorted());
    const kicked = answers.filter(({ status }) => status === 204).length;
    expect(notices.filter(({ kind }) => kind === 'kick')).to.have.length(kicked);
  });

  it('30 bans of one person: 204 each, one ban, one notice, one audit log entry', async () => {
    const member = await makeMember(api, owner, server.id);
    await api.platform.db.notices.deleteMany({});
    expect(tally(await inParallel(30, () => banOf(member)))).to.deep.equal({ 204: 30 });
    expect(await send<Ban[]>(api, 200, owner, 'GET', `/api/servers/${server.id}/bans`)).to.have.length(1);
    expect(await api.platform.db.notices.countDocuments({ userId: member.id })).to.equal(1);
    expect(await api.platform.db.audit.countDocuments({ serverId: server.id, action: 'member_ban' })).to.equal(1);
  });

  it('a caller who loses Ban Members: each ban succeeds or changes nothing', async () => {
    await joinAll();
    const role = await makeRole(api, owner, server.id, { permissions: ban });
    const moderator = await makeMember(api, owner, server.id);
    await giveRole(api, owner, server.id, moderator.id, role.id);
    const take = `/api/servers/${server.id}/members/${moderator.id}/roles/${role.id}`;
    const [, ...answers] = await Promise.all([
      api.call('DELETE', take, { as: owner.as }),
      ...people.map(({ id }) => api.call('PUT', path(id), { as: moderator.as })),
    ]);
    const { members, bans } = api.platform.db;
    for (const [at, { status }] of answers.entries()) {
      const _id = `${server.id}:${people[at]?.id}`;
      const done = [await members.countDocuments({ _id }), await bans.countDocuments({ _id })];
      expect([status, ...done]).to.deep.equal(status === 204 ? [204, 0, 1] : [403, 1, 0]);
    }
    await refused(api, [403, 'missing_permission'], moderator, 'PUT', path(owner.id));
  });

  it('a member who becomes the owner during their ban or kick: 403 role_hierarchy, and they stay a member', async () => {
    for (const [method, at] of [
      ['PUT', 'bans'],
      ['DELETE', 'members'],
    ] as const) {
      const otherServer = await makeServer(api, owner);
      const moderator = await makeMember(api, owner, otherServer.id, ban | (1 << 10));
      const newOwner = await makeMember(api, owner, otherServer.id);
      beforeNextQuery(api.platform.db.members, 'findOneAndDelete', () =>
        send(api, 200, owner, 'PATCH', `/api/servers/${otherServer.id}`, { ownerId: newOwner.id }),
      );
      await refused(api, [403, 'role_hierarchy'], moderator, method, `/api/servers/${otherServer.id}/${at}/${newOwner.id}`);
      await send(api, 200, newOwner, 'PATCH', `/api/servers/${otherServer.id}`, { name: 'mine' });
      expect(await send(api, 200, newOwner, 'GET', `/api/servers/${otherServer.id}/bans`)).to.deep.equal([]);
      expect(await memberCountOf(api, otherServer.id)).to.equal(3);
    }
  });

  it('a transfer of ownership to the banned person: the owner is a member and not banned', async () => {
    const round = async (newOwner: Caller): Promise<void> => {
      const otherServer = await makeServer(api, owner);
      const moderator = await makeMember(api, owner, otherServer.id, ban);
      await join(api, owner, otherServer.id, newOwner);
      await Promise.all([
        api.call('PATCH', `/api/servers/${otherServer.id}`, { as: owner.as, body: { ownerId: newOwner.id } }),
        api.call('PUT', `/api/servers/${otherServer.id}/bans/${newOwner.id}`, { as: moderator.as }),
      ]);
      const { servers, members, bans } = api.platform.db;
      const { ownerId, memberCount } = (await servers.findOne({ _id: otherServer.id })) ?? {};
      expect(await members.countDocuments({ _id: `${otherServer.id}:${ownerId}` })).to.equal(1);
      expect(await bans.countDocuments({ _id: `${otherServer.id}:${ownerId}` })).to.equal(0);
      expect(memberCount).to.equal(await members.countDocuments({ serverId: otherServer.id }));
    };
    await Promise.all(people.slice(0, 20).map(round));
  });
});
