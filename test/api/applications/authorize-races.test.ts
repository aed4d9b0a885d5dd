import { expect } from 'chai';
import { everyoneDefault } from '../../../lib/base/permissions.ts';
import type { BotAuthorization } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import { startRacingTestApi } from '../../harness/api.ts';
import { authorize, grantTypes, leave, makeApplication, makeMember, makePerson, memberCountOf, storeBan } from '../../harness/factories.ts';
import { interceptNext } from '../../harness/intercept.ts';
import { refused, send } from '../../harness/requests.ts';
import { newApplication, useServer } from '../../harness/use.ts';

const [view, manageServer, administrator, all] = [1, 1 << 8, 1 << 12, 8191];

describe('POST /api/applications/{applicationId}/authorize: concurrent changes and access', () => {
  const { api, owner, server, bot } = useServer({ bot: newApplication(true) }, { each: true, start: startRacingTestApi });

  const path = (): string => `/api/applications/${bot.applicationId}/authorize`;
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

  for (const permissions of [null, '1', 1.5, -1, 8192, 2 ** 53, true, [1]])
    it(`400 invalid_request for permissions ${JSON.stringify(permissions)}`, async () => {
      const { errors } = await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { serverId: server.id, permissions });
      expect(errors?.map((one) => one.path)).to.deep.equal(['/permissions']);
      await expectNothing();
    });

  it('an Administrator grants any permission; a member with Manage Server grants those that they have', async () => {
    const admin = await makeMember(api, owner, server.id, administrator);
    const manager = await makeMember(api, owner, server.id, manageServer);
    expect(await authorize(api, admin, bot, server.id, all)).to.include({ permissions: all });
    const second = await makeApplication(api, owner, 'Second', true);
    expect(await authorize(api, manager, second, server.id, all)).to.include({ permissions: manageServer | everyoneDefault });
  });

  it('only the owner adds a private bot, in any server that they manage; 401 without a credential', async () => {
    const manager = await makeMember(api, owner, server.id, manageServer);
    const own = await makeApplication(api, manager, 'Own');
    const to = `/api/applications/${own.applicationId}/authorize`;
    await refused(api, [403, 'not_owner'], owner, 'POST', to, body());
    await refused(api, [401, 'unauthorized'], null, 'POST', to, body());
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
    await refused(api, [403, 'not_owner'], owner, 'POST', `/api/applications/${closed.applicationId}/authorize`, body());
    await refused(api, [403, 'not_owner'], admin, 'POST', `/api/applications/${open.applicationId}/authorize`, body());
    await authorize(api, owner, open, server.id);
    await refused(api, [403, 'not_owner'], admin, 'POST', `/api/applications/${open.applicationId}/authorize`, body());
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
