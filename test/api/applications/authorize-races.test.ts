import { expect } from 'chai';
import type { Authorized } from '../../../lib/contract/application.ts';
import type { Role } from '../../../lib/contract/server.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import { around } from '../../harness/around.ts';
import {
  authorize,
  type Bot,
  type Caller,
  grantTypes,
  makeApplication,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
} from '../../harness/factories.ts';

const [view, manageServer, administrator, everything] = [1, 1 << 8, 1 << 12, 8191];

describe('POST /api/applications/{id}/authorize: what comes in between, and who may', () => {
  let api: TestApi;
  let owner: Caller;
  let place: Place;
  let bot: Bot;
  before(async () => {
    api = await startRacingTestApi();
    owner = await makePerson(api);
  });
  after(() => api.close());
  beforeEach(async () => {
    place = await makeServer(api, owner);
    bot = await makeApplication(api, owner, 'Porter', true);
  });

  const path = (): string => `/api/applications/${bot.applicationId}/authorize`;
  const body = (permissions = view): object => ({ serverId: place.id, permissions });
  const roles = (): Promise<Role[]> => send(api, 200, owner, 'GET', `/api/servers/${place.id}/roles`);
  /** As before anything: no role, no member, nobody more counted, nothing in the audit log. */
  const expectNothing = async (): Promise<void> => {
    const { db } = api.platform;
    expect((await roles()).map(({ id }) => id)).to.deep.equal([place.id]);
    expect(await db.members.countDocuments({ userId: bot.id })).to.equal(0);
    expect((await db.servers.findOne({ _id: place.id }).lean())?.memberCount).to.equal(1);
    expect(await db.audit.countDocuments({ serverId: place.id, action: 'bot_add' })).to.equal(0);
  };
  const ban = (): Promise<unknown> =>
    api.platform.db.bans.create({ _id: `${place.id}:${bot.id}`, serverId: place.id, userId: bot.id, reason: null, createdAt: new Date() });

  /** Does `act` at one moment within the next authorize. */
  const during = (moment: 'before the role' | 'before the membership' | 'after the membership', act: () => Promise<unknown>): void => {
    const { members, servers } = api.platform.db;
    if (moment === 'before the role') around(servers.collection, 'updateOne', (real) => act().then(real));
    else
      around(members.collection, 'insertOne', (real) =>
        moment === 'before the membership' ? act().then(real) : real().then(async (made) => (await act(), made)),
      );
  };

  for (const moment of ['before the role', 'before the membership', 'after the membership'] as const) {
    it(`403 banned for a ban that comes just ${moment}, and nothing is left of it`, async () => {
      during(moment, ban);
      await refused(api, [403, 'banned'], owner, 'POST', path(), body());
      await expectNothing();
      await api.platform.db.bans.deleteOne({ _id: `${place.id}:${bot.id}` });
      await authorize(api, owner, bot, place.id, view);
    });

    it(`404 for an application that is deleted just ${moment}, and nothing is left of it`, async () => {
      during(moment, () => send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`));
      await refused(api, [404, 'not_found'], owner, 'POST', path(), body());
      await expectNothing();
    });

    it(`the own role of a bot that is renamed just ${moment} has its new name`, async () => {
      during(moment, () => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { name: 'Crier' }));
      await authorize(api, owner, bot, place.id, view);
      expect((await roles()).map(({ name }) => name)).to.deep.equal(['Crier', '@everyone']);
    });
  }

  it('404 for an application whose deletion is under way: nothing is added behind it', async () => {
    const { commands } = api.platform.db;
    around(commands.collection, 'deleteMany', async (real) => {
      await refused(api, [404, 'not_found'], owner, 'POST', path(), body());
      return real();
    });
    await send(api, 204, owner, 'DELETE', `/api/applications/${bot.applicationId}`);
    await expectNothing();
  });

  it('refused, and no membership stays, when the server is deleted just before it', async () => {
    during('before the membership', () => send(api, 204, owner, 'DELETE', `/api/servers/${place.id}`));
    const { status } = await api.call('POST', path(), { as: owner.as, body: body() });
    expect(status).to.be.oneOf([400, 404]);
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(0);
  });

  it('the same Idempotency-Key answers the same again; another body with it is 409', async () => {
    const headers = { 'Idempotency-Key': 'add' };
    const first = await api.call<Authorized>('POST', path(), { as: owner.as, body: body(), headers });
    const again = await api.call<Authorized>('POST', path(), { as: owner.as, body: body(), headers });
    expect([again.status, again.body]).to.deep.equal([201, first.body]);
    expect((await api.call('POST', path(), { as: owner.as, body: body(0), headers })).body).to.have.property(
      'code',
      'idempotency_conflict',
    );
    await send(api, 200, owner, 'POST', path(), body());
  });

  for (const permissions of [null, '1', 1.5, -1, 8192, 2 ** 53, true, [1]])
    it(`400 invalid_request for permissions ${JSON.stringify(permissions)}`, async () => {
      const { errors } = await refused(api, [400, 'invalid_request'], owner, 'POST', path(), { serverId: place.id, permissions });
      expect(errors?.map((one) => one.path)).to.deep.equal(['/permissions']);
      await expectNothing();
    });

  it('an Administrator gives any permission; one with Manage Server alone gives what they hold', async () => {
    const admin = await makeMember(api, owner, place.id, administrator);
    const manager = await makeMember(api, owner, place.id, manageServer);
    expect(await authorize(api, admin, bot, place.id, everything)).to.include({ permissions: everything });
    const second = await makeApplication(api, owner, 'Second', true);
    // The first four are @everyone's.
    expect(await authorize(api, manager, second, place.id, everything)).to.include({ permissions: manageServer | 15 });
  });

  it('a private bot is added by its owner alone, wherever they manage the server; 401 without a login', async () => {
    const manager = await makeMember(api, owner, place.id, manageServer);
    const own = await makeApplication(api, manager, 'Own');
    const to = `/api/applications/${own.applicationId}/authorize`;
    await refused(api, [403, 'not_owner'], owner, 'POST', to, body());
    await refused(api, [401, 'unauthorized'], null, 'POST', to, body());
    await authorize(api, manager, own, place.id, view);
  });

  it('made private, a bot stays where it is, and is added nowhere else by others', async () => {
    const manager = await makeMember(api, owner, place.id, manageServer);
    const first = await authorize(api, manager, bot, place.id, view);
    await send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, { public: false });
    expect((await send<{ id: string }[]>(api, 200, bot, 'GET', '/api/servers')).map(({ id }) => id)).to.deep.equal([place.id]);
    await refused(api, [403, 'not_owner'], manager, 'POST', path(), body());
    expect(await send(api, 200, owner, 'POST', path(), body(0))).to.deep.equal(first);
  });

  it('a developer server: its owner adds public bots of others, not private ones; a staff server: who manages it', async () => {
    const [other, admin] = [await makePerson(api), await makeMember(api, owner, place.id, administrator)];
    const [open, closed] = [await makeApplication(api, other, 'Open', true), await makeApplication(api, other, 'Closed')];
    await grantTypes(api, place.id, ['developer']);
    await refused(api, [403, 'not_owner'], owner, 'POST', `/api/applications/${closed.applicationId}/authorize`, body());
    await refused(api, [403, 'not_owner'], admin, 'POST', `/api/applications/${open.applicationId}/authorize`, body());
    await authorize(api, owner, open, place.id);
    await refused(api, [403, 'not_owner'], admin, 'POST', `/api/applications/${open.applicationId}/authorize`, body());
    await grantTypes(api, place.id, ['staff']);
    await authorize(api, admin, bot, place.id);
  });

  it('left and added again, a bot has a new role with what is given now', async () => {
    const first = await authorize(api, owner, bot, place.id, administrator);
    await send(api, 204, bot, 'DELETE', `/api/users/@me/servers/${place.id}`);
    expect((await roles()).map(({ id }) => id)).to.deep.equal([place.id]);
    await refused(api, [404, 'not_found'], bot, 'GET', `/api/servers/${place.id}`);
    const second = await authorize(api, owner, bot, place.id, view);
    expect(second.roleId).to.not.equal(first.roleId);
    expect((await roles()).map(({ id, permissions }) => [id, permissions])).to.deep.equal([
      [second.roleId, view],
      [place.id, 15],
    ]);
  });
});
