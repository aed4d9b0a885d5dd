// Tests of applications: their fields and secrets, the App Directory, adding their bots to servers, and the commands of their bots.
import { expect } from 'chai';
import { mongo } from 'mongoose';
import type { DirectoryPage } from '../../../lib/contract/discovery.ts';
import { recountBotServers } from '../../../lib/domain/counts/bot-servers.ts';
import { authorize, leave, makeApplication } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { inParallel, send } from '../../harness/requests.ts';
import { useAppDirectory } from './directory-fixture.ts';

describe('GET /api/discovery/apps, serverCount', () => {
  const { api, owner, servers, patch, list } = useAppDirectory();
  const counts = async (): Promise<number[]> =>
    (await send<DirectoryPage>(api, 200, owner, 'GET', '/api/discovery/apps')).items.map((one) => one.serverCount);
  /** Recounts as the sweep does, as if the last change were old enough. */
  const recount = async (): Promise<void> => {
    await api.platform.db.applications.updateMany({ recountAt: { $exists: true } }, { $set: { recountAt: new Date(0) } });
    await recountBotServers(api.platform);
  };

  it('changes at once when bots are added, leave, are kicked and banned, and when servers are deleted', async () => {
    const bot = await list('bot', 3);
    const [first, second, third] = servers;
    expect(await counts()).to.deep.equal([3]);
    await send(api, 200, owner, 'POST', `/api/applications/${bot.applicationId}/authorize`, { serverId: first.id });
    expect(await counts(), 'already in the server').to.deep.equal([3]);
    await leave(api, bot, first.id);
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

  it('includes servers from before the application was listed', async () => {
    const bot = await makeApplication(api, owner, 'late');
    for (const { id } of servers) await authorize(api, owner, bot, id);
    await patch(bot, { public: true, inDirectory: true });
    expect(await counts()).to.deep.equal([3]);
  });

  it('counts one of 20 concurrent requests that add the bot', async () => {
    const bot = await list('bot');
    const body = { serverId: servers[0].id };
    await inParallel(20, () => api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body }));
    expect(await counts()).to.deep.equal([1]);
  });

  const crash = (): Promise<never> => Promise.reject(new mongo.MongoNetworkError('a crash'));

  it('is corrected by the recount after a crash before an added bot was counted', async () => {
    const bot = await list('bot');
    beforeNextQuery(api.platform.db.servers, 'updateOne', async () => {
      beforeNextQuery(api.platform.db.servers, 'updateOne', crash);
      await Promise.resolve();
    });
    const body = { serverId: servers[0].id };
    await api.call('POST', `/api/applications/${bot.applicationId}/authorize`, { as: owner.as, body });
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
    expect(await counts()).to.deep.equal([0]);
    await recount();
    expect(await counts()).to.deep.equal([1]);
  });

  it('is corrected by the recount after a crash before a bot that left was counted', async () => {
    const bot = await list('bot', 2);
    await recount();
    beforeNextQuery(api.platform.db.applications, 'updateMany', async () => {
      beforeNextQuery(api.platform.db.applications, 'updateMany', crash);
      await Promise.resolve();
    });
    await api.call('DELETE', `/api/users/@me/servers/${servers[0].id}`, { as: bot.as });
    expect(await api.platform.db.members.countDocuments({ userId: bot.id })).to.equal(1);
    expect(await counts()).to.deep.equal([2]);
    await recount();
    expect(await counts()).to.deep.equal([1]);
  });

  it('is not recounted right after a change, and a repeated recount changes nothing', async () => {
    await list('bot', 2);
    const { applications } = api.platform.db;
    await applications.updateMany({ inDirectory: true }, { $set: { serverCount: 9 } });
    await recountBotServers(api.platform);
    expect(await counts()).to.deep.equal([9]);
    await recount();
    const once = await applications.find().sort({ _id: 1 }).toArray();
    expect(await counts()).to.deep.equal([2]);
    await recount();
    expect(await applications.find().sort({ _id: 1 }).toArray()).to.deep.equal(once);
    expect(await applications.countDocuments({ recountAt: { $exists: true } })).to.equal(0);
  });
});
