import { expect } from 'chai';
import type { DirectoryPage } from '../../../lib/contract/discovery.ts';
import { recountServers } from '../../../lib/domain/applications/app-directory.ts';
import { trusted } from '../../../lib/store/mongo/database.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { authorize, type Bot, type Caller, makeApplication, makePerson, makeServer, type Place, send } from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

describe('GET /api/discovery/apps, serverCount', () => {
  let api: TestApi;
  let owner: Caller;
  let servers: Place[];
  before(async () => {
    api = await startTestApi();
  });
  after(() => api.close());
  beforeEach(async () => {
    await api.platform.db.applications.updateMany({}, { $set: { inDirectory: false } });
    owner = await makePerson(api);
    servers = [await makeServer(api, owner), await makeServer(api, owner), await makeServer(api, owner)];
  });

  const patch = (bot: Bot, body: object) => send(api, 200, owner, 'PATCH', `/api/applications/${bot.applicationId}`, body);
  /** A listed application whose bot is in so many servers. */
  const list = async (name: string, many = 0, about: object = {}): Promise<Bot> => {
    const bot = await makeApplication(api, owner, name);
    await patch(bot, { public: true, inDirectory: true, ...about });
    for (const { id } of servers.slice(0, many)) await authorize(api, owner, bot, id);
    return bot;
  };
  const counts = async (): Promise<number[]> =>
    (await send<DirectoryPage>(api, 200, owner, 'GET', '/api/discovery/apps')).items.map((one) => one.serverCount);
  /** Recounts as the sweep does, as if it had been quiet for a while. */
  const recount = async (): Promise<void> => {
    await api.platform.db.applications.updateMany({ recountAt: trusted({ $exists: true }) }, { $set: { recountAt: new Date(0) } });
    await recountServers(api.platform);
  };

  it('is right at once when bots are added, leave, are kicked and banned, and when servers are deleted', async () => {
    const bot = await list('bot', 3);
    const [first, second, third] = servers as [Place, Place, Place];
    expect(await counts()).to.deep.equal([3]);
    await send(api, 200, owner, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId: first.id });
    expect(await counts(), 'in already').to.deep.equal([3]);
    await send(api, 204, bot, 'DELETE', `/api/users/@me/servers/${first.id}`);
    expect(await counts()).to.deep.equal([2]);
    await send(api, 204, owner, 'DELETE', `/api/servers/${second.id}/members/${bot.id}`);
    expect(await counts()).to.deep.equal([1]);
    await authorize(api, owner, bot, second.id);
    await send(api, 204, owner, 'PUT', `/api/servers/${second.id}/bans/${bot.id}`);
    expect(await counts()).to.deep.equal([1]);
    await send(api, 204, owner, 'DELETE', `/api/servers/${third.id}`);
    expect(await counts()).to.deep.equal([0]);
    await recount();
    expect(await counts()).to.deep.equal([0]);
  });

  it('counts what came before it was listed', async () => {
    const bot = await makeApplication(api, owner, 'late');
    for (const { id } of servers) await authorize(api, owner, bot, id);
    await patch(bot, { public: true, inDirectory: true });
    expect(await counts()).to.deep.equal([3]);
  });

  it('of 20 calls at once that add the bot, one counts', async () => {
    const bot = await list('bot');
    const body = { serverId: servers[0]?.id };
    await Promise.all(
      Array.from({ length: 20 }, () => api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body })),
    );
    expect(await counts()).to.deep.equal([1]);
  });

  const dies = (): Promise<never> => Promise.reject(Object.assign(new Error('it died here'), { name: 'MongoNetworkError' }));
  it('is right in the end when a process dies before it has counted a bot that came', async () => {
    const bot = await list('bot');
    meet(api.platform.db.servers, 'updateOne', async () => {
      meet(api.platform.db.servers, 'updateOne', dies);
      await Promise.resolve();
    });
    const body = { serverId: servers[0]?.id };
    await api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body });
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
    expect(await counts()).to.deep.equal([0]);
    await recount();
    expect(await counts()).to.deep.equal([1]);
  });

  it('is right in the end when a process dies before it has counted a bot that left', async () => {
    const bot = await list('bot', 2);
    await recount();
    meet(api.platform.db.applications, 'updateMany', async () => {
      meet(api.platform.db.applications, 'updateMany', dies);
      await Promise.resolve();
    });
    await api.call('DELETE', `/api/users/@me/servers/${servers[0]?.id}`, { as: bot.as });
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
    expect(await counts()).to.deep.equal([2]);
    await recount();
    expect(await counts()).to.deep.equal([1]);
  });

  it('the recount waits until it is quiet, and repeating it changes nothing', async () => {
    await list('bot', 2);
    const { applications } = api.platform.db;
    await applications.updateMany({ inDirectory: true }, { $set: { serverCount: 9 } });
    await recountServers(api.platform);
    expect(await counts()).to.deep.equal([9]);
    await recount();
    const once = await applications.find().sort({ _id: 1 }).lean();
    expect(await counts()).to.deep.equal([2]);
    await recount();
    expect(await applications.find().sort({ _id: 1 }).lean()).to.deep.equal(once);
    expect(await applications.countDocuments({ recountAt: trusted({ $exists: true }) })).to.equal(0);
  });
});
