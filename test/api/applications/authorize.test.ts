import { expect } from 'chai';
import { everyoneDefault } from '../../../lib/base/permissions.ts';
import type { BotAuthorization } from '../../../lib/contract/application.ts';
import type { Member } from '../../../lib/contract/member.ts';
import type { Role, Server } from '../../../lib/contract/server.ts';
import { startRacingTestApi } from '../../harness/api.ts';
import {
  authorize,
  grantTypes,
  leave,
  makeApplication,
  makeMember,
  makePerson,
  makeRole,
  memberCountOf,
  storeBan,
  unknownId,
} from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { inParallel, refused, send, tally } from '../../harness/requests.ts';
import { newApplication, useServer } from '../../harness/use.ts';

const [view, post, manageServer, administrator, all] = [1, 2, 1 << 8, 1 << 12, 8191];

describe('POST /api/applications/{applicationId}/authorize', () => {
  const { api, owner, server } = useServer({}, { each: true });
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

  it('400 for an unknown server, 404 for an unknown application', async () => {
    const bot = await makeApplication(api, owner);
    for (const body of [{ serverId: unknownId }, { serverId: 'x' }, {}])
      await refused(api, [400, 'invalid_request'], owner, 'POST', path(bot.applicationId), body);
    await refused(api, [404, 'not_found'], owner, 'POST', path(unknownId), { serverId: server.id });
  });

  it('400 too_many_roles when the server has 250', async () => {
    const fields = { color: null, hoist: false, permissions: 0, botId: null };
    const extra = Array.from({ length: 250 }, (_, at) => ({ id: String(at), name: `r${at}`, ...fields }));
    await api.platform.db.servers.updateOne({ _id: server.id }, { $push: { roles: { $each: extra } } });
    const bot = await makeApplication(api, owner);
    await refused(api, [400, 'too_many_roles'], owner, 'POST', path(bot.applicationId), { serverId: server.id });
  });
});

describe('POST /api/applications/{applicationId}/authorize: concurrent changes and access', () => {
  const { api, owner, server, bot } = useServer({ bot: newApplication(true) }, { each: true, start: startRacingTestApi });

  const path = ({ applicationId } = bot): string => `/api/applications/${applicationId}/authorize`;
  const body = (permissions = view): object => ({ serverId: server.id, permissions });
  const roles = (): Promise<Role[]> => send(api, 200, owner, 'GET', `/api/servers/${server.id}/roles`);
  /** Expects no role, member, member count or audit entry of the bot. */
  const expectNothing = async (): Promise<void> => {
    const { db } = api.platform;
    expect((await roles()).map(({ id }) => id)).to.deep.equal([server.id]);
    expect(await db.members.countDocuments({ userId: bot.id })).to.equal(0);
    expect(await memberCountOf(api, server.id)).to.equal(1);
    expect(await db.audit.countDocuments({ serverId: server.id, action: 'bot_add' })).to.equal(0);
  };

  /** Runs `act` at one moment during the next request. */
  const during = (
    moment: 'before the role is made' | 'before the bot joins' | 'after the bot joins',
    act: () => Promise<unknown>,
  ): void => {
    const { members, servers } = api.platform.db;
    if (moment === 'before the role is made') interceptNext(servers, 'updateOne', (real) => act().then(real));
    else
      interceptNext(members, 'insertOne', (real) =>
        moment === 'before the bot joins' ? act().then(real) : real().then(async (made) => (await act(), made)),
      );
  };

  for (const moment of ['before the role is made', 'before the bot joins', 'after the bot joins'] as const) {
    it(`403 banned for a ban just ${moment}; no role or member is left`, async () => {
      during(moment, () => storeBan(api, server.id, bot.id));
      await refused(api, [403, 'banned'], owner, 'POST', path(), body());
      await expectNothing();
      await api.platform.db.bans.deleteOne({ _id: `${server.id}:${bot.id}` });
      await authorize(api, owner, bot, server.id, view);
    });

    it(`404 for an application that is deleted just ${moment}; no role or member is left`, async () => {
      during(moment, () => send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`));
      await refused(api, [404, 'not_found'], owner, 'POST', path(), body());
      await expectNothing();
    });

    it(`the role of a bot that is renamed just ${moment} has the new name`, async () => {
      during(moment, () => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'Crier' }));
      await authorize(api, owner, bot, server.id, view);
      expect((await roles()).map(({ name }) => name)).to.deep.equal(['Crier', '@everyone']);
    });
  }

  it('404 during the deletion of the application; no role or member is left', async () => {
    const { commands } = api.platform.db;
    interceptNext(commands, 'deleteMany', async (real) => {
      await refused(api, [404, 'not_found'], owner, 'POST', path(), body());
      return real();
    });
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    await expectNothing();
  });

  it('400 or 404 for a server that is deleted just before the membership; no member is left', async () => {
    during('before the bot joins', () => send(api, 204, owner, 'DELETE', `/api/servers/${server.id}`));
    const { status } = await api.call('POST', path(), { as: owner.as, body: body() });
    expect(status).to.be.oneOf([400, 404]);
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(0);
  });

  it('the same Idempotency-Key returns the first response again; 409 idempotency_conflict with another body', async () => {
    const headers = { 'Idempotency-Key': 'add' };
    const first = await api.call<BotAuthorization>('POST', path(), { as: owner.as, body: body(), headers });
    const again = await api.call<BotAuthorization>('POST', path(), { as: owner.as, body: body(), headers });
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    const other = await api.call('POST', path(), { as: owner.as, body: body(0), headers });
    expect(other.body).to.have.property('code', 'idempotency_conflict');
    await send(api, 200, owner, 'POST', path(), body());
  });

  it('400 invalid_request for other permissions', async () => {
    for (const permissions of [null, '1', 1.5, -1, 8192, 2 ** 53, true, [1]]) {
      const { errors } = await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { serverId: server.id, permissions });
      const paths = errors?.map((one) => one.path);
      expect(paths, JSON.stringify(permissions)).to.deep.equal(['/permissions']);
    }
    await expectNothing();
  });

  it('grants those of the requested permissions that the person has, any to an Administrator, and none by default', async () => {
    const admin = await makeMember(api, owner, server.id, administrator);
    const manager = await makeMember(api, owner, server.id, manageServer);
    expect(await authorize(api, admin, bot, server.id, all)).to.include({ permissions: all });
    const [second, third] = [await makeApplication(api, owner, 'Second', true), await makeApplication(api, owner)];
    expect(await authorize(api, manager, second, server.id, all)).to.include({ permissions: manageServer | everyoneDefault });
    const none = await send<BotAuthorization>(api, 201, owner, 'POST', path(third), { serverId: server.id });
    expect(none.permissions).to.equal(0);
  });

  it('only the owner adds a private bot, in any server that they manage', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    const own = await makeApplication(api, manager, 'Own');
    await refused(api, [403, 'not_owner'], owner, 'POST', path(own), body());
    await authorize(api, manager, own, server.id, view);
  });

  it('a bot that becomes private stays in its servers, and others cannot add it', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    const first = await authorize(api, manager, bot, server.id, view);
    await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { public: false });
    expect((await send<{ id: string }[]>(api, 200, bot, 'GET', '/api/servers')).map(({ id }) => id)).to.deep.equal([server.id]);
    await refused(api, [403, 'not_owner'], manager, 'POST', path(), body());
    expect(await send(api, 200, owner, 'POST', path(), body(0))).to.deep.equal(first);
  });

  it('in a developer server only its owner adds bots, public ones of others too; in a staff server whoever manages it', async () => {
    const [other, admin] = [await makePerson(api), await makeMember(api, owner, server.id, administrator)];
    const [open, closed] = [await makeApplication(api, other, 'Open', true), await makeApplication(api, other, 'Closed')];
    await grantTypes(api, server.id, ['developer']);
    await refused(api, [403, 'not_owner'], owner, 'POST', path(closed), body());
    await refused(api, [403, 'not_owner'], admin, 'POST', path(open), body());
    await authorize(api, owner, open, server.id);
    await refused(api, [403, 'not_owner'], admin, 'POST', path(open), body());
    await grantTypes(api, server.id, ['staff']);
    await authorize(api, admin, bot, server.id);
  });

  it('a bot that leaves and is added again has a new role with the new permissions', async () => {
    const first = await authorize(api, owner, bot, server.id, administrator);
    await leave(api, bot, server.id);
    expect((await roles()).map(({ id }) => id)).to.deep.equal([server.id]);
    await refused(api, [404, 'not_found'], bot, 'GET', `/api/servers/${server.id}`);
    const second = await authorize(api, owner, bot, server.id, view);
    expect(second.roleId).to.not.equal(first.roleId);
    expect((await roles()).map(({ id, permissions }) => [id, permissions])).to.deep.equal([
      [second.roleId, view],
      [server.id, 15],
    ]);
  });
});
