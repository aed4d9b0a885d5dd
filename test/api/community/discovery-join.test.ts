import { expect } from 'chai';
import type { DiscoveryPage } from '../../../lib/contract/discovery.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { grantServerTypes } from '../../../lib/domain/servers/grants.ts';
import type { Answer } from '../../harness/api.ts';
import { grantTypes, makeBot, makeMember, makePeople, makePerson, makeServer } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { fillMemberships } from '../../harness/memberships.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { useCommunity } from './community-fixture.ts';

describe('POST /api/discovery/servers/{serverId}/join', () => {
  const { api, owner, server, turnOn, change } = useCommunity();
  beforeEach(async () => {
    await turnOn();
    await change('discovery', { listed: true, description: 'x' });
  });

  const path = (id = server.id): string => `/api/discovery/servers/${id}/join`;
  const joinBy = (who: Caller, id = server.id): Promise<Answer> => api.call('POST', path(id), { as: who.as });
  const ban = (who: Caller) => send(api, 204, owner, 'PUT', `/api/servers/${server.id}/bans/${who.id}`);
  const pause = (invitesPaused = true) => send(api, 200, owner, 'PATCH', `/api/servers/${server.id}`, { invitesPaused });
  const count = async (): Promise<number> => {
    const { items } = await send<DiscoveryPage>(api, 200, owner, 'GET', `/api/discovery/servers?q=${server.name}`);
    return items.find((one) => one.id === server.id)?.memberCount ?? 0;
  };
  const fill = ({ id }: Caller, servers: number): Promise<void> => fillMemberships(api.platform, id, servers);
  const expectUnlisted = (answer: Answer): void => {
    expect(answer.status, JSON.stringify(answer.body)).to.equal(404);
    expect(answer.body).to.deep.equal({
      message: 'This Discovery listing doesn’t exist or you don’t have access.',
      requestId: answer.headers.get('X-Request-Id'),
    });
  };

  it('200 with the full server, as with an invite; the same when it is repeated', async () => {
    const joiner = await makePerson(api);
    const joined = await send<Server>(api, 200, joiner, 'POST', path());
    expect(joined).to.deep.equal(await send(api, 200, joiner, 'GET', `/api/servers/${server.id}`));
    expect(joined).to.deep.include({ id: server.id, community: true, listed: true, myRoles: [] });
    expect(await send(api, 200, joiner, 'POST', path())).to.deep.equal(joined);
    expect(await send<Server>(api, 200, owner, 'POST', path())).to.include({ id: server.id });
    expect(await count()).to.equal(2);
  });

  it('403 bots_not_allowed before all other checks', async () => {
    const bot = await makeBot(api, owner, server.id);
    for (const id of [server.id, '1000000000000000000', 'nonsense']) await refused(api, [403, 'bots_not_allowed'], bot, 'POST', path(id));
  });

  // Servers that are not listed get the same 404 without a code, before all other checks of the server (docs/behavior/community.md#joining).
  const unlisted: [what: string, act: () => Promise<unknown>][] = [
    ['is not listed', () => change('discovery', { listed: false })],
    ['is no longer a Community server', () => change('community', { enabled: false })],
    ['became a staff server', () => grantServerTypes(api.platform, server.id, ['staff'])],
    ['became a developer server, before it is unlisted', () => grantTypes(api, server.id, ['developer'])],
    ['is deleted', () => send(api, 204, owner, 'DELETE', `/api/servers/${server.id}`)],
  ];
  for (const [what, act] of unlisted)
    it(`404 without a code when the server ${what}: for an outsider, a member, a banned person and a person in 100 servers`, async () => {
      const [outsider, banned, full] = (await makePeople(api, 3)) as [Caller, Caller, Caller];
      const member = await makeMember(api, owner, server.id);
      await ban(banned);
      await fill(full, 100);
      await pause();
      await act();
      for (const who of [outsider, member, banned, full]) expectUnlisted(await joinBy(who));
    });

  it('checks in this order: already a member, banned, invites_paused, too_many_servers', async () => {
    const [banned, full, other] = (await makePeople(api, 3)) as [Caller, Caller, Caller];
    const member = await makeMember(api, owner, server.id);
    for (const who of [banned, full]) await fill(who, 100);
    await ban(banned);
    await pause();
    const codes = async () => (await Promise.all([member, banned, full, other].map((who) => joinBy(who)))).map(({ body }) => body.code);
    expect(await codes()).to.deep.equal([undefined, 'banned', 'invites_paused', 'invites_paused']);
    await refused(api, [403, 'invites_paused'], full, 'POST', path());
    await pause(false);
    expect(await codes()).to.deep.equal([undefined, 'banned', 'too_many_servers', undefined]);
    await refused(api, [403, 'banned'], banned, 'POST', path());
    await refused(api, [400, 'too_many_servers'], full, 'POST', path());
  });

  it('20 concurrent joins of a person make one membership', async () => {
    const joiner = await makePerson(api);
    expect(tally(await inParallel(20, () => joinBy(joiner)))).to.deep.equal({ 200: 20 });
    expect(await count()).to.equal(2);
  });

  it('a person in 95 servers joins 5 of 20 servers at once', async () => {
    const joiner = await makePerson(api);
    await fill(joiner, 95);
    const servers = await inParallel(20, () => makeServer(api, owner));
    await api.platform.accessVersions.runChange({ servers: servers.map(({ id }) => id) }, () =>
      api.platform.db.servers.updateMany({ ownerId: owner.id }, { $set: { community: true, listed: true } }),
    );
    const answers = await Promise.all(servers.map(({ id }) => joinBy(joiner, id)));
    expect(tally(answers)).to.deep.equal({ 200: 5, 400: 15 });
    for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('too_many_servers');
  });

  it('404 without a code when the server is deleted after the first check', async () => {
    const joiner = await makePerson(api);
    beforeNextQuery(api.platform.db.memberships, 'countDocuments', () => api.platform.db.servers.deleteOne({ _id: server.id }));
    expectUnlisted(await joinBy(joiner));
    expect(await api.platform.db.members.countDocuments({ userId: joiner.id })).to.equal(0);
  });

  it('403 banned when the ban is made after the first check', async () => {
    const joiner = await makePerson(api);
    beforeNextQuery(api.platform.db.memberships, 'countDocuments', () => ban(joiner));
    await refused(api, [403, 'banned'], joiner, 'POST', path());
    expect(await count()).to.equal(1);
  });
});
