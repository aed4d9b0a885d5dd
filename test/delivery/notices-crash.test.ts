import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createLog } from '../../lib/base/log.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { sweepNotices } from '../../lib/domain/members/notices.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';

describe('a notice whose process is killed on the way', function () {
  this.timeout(180_000); // a process starts in each
  let api: TestApi;
  let worker: WorkerPlatform;
  let owner: Caller;
  let server: Place;
  let member: Caller;
  let child: OwnProcess;
  before(async () => {
    api = await startTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
    owner = await makePerson(api);
    server = await makeServer(api, owner);
  });
  after(async () => {
    await worker.close();
    await api.close();
  });
  beforeEach(async () => {
    member = await makeMember(api, owner, server.id);
  });
  afterEach(() => {
    child.kill();
  });

  /** A process of its own over the same stores, that dies at `failpoint`. */
  const startChild = async (role: 'api' | 'worker', failpoint: Failpoint): Promise<void> => {
    child = await startOwn(role, api.platform.config, { failpoint });
  };
  const kick = (base: string): Promise<number | null> =>
    fetch(`${base}/api/servers/${server.id}/members/${member.id}`, { method: 'DELETE', headers: { Authorization: owner.as } }).then(
      (response) => response.status,
      () => null,
    );
  const ban = (base: string, userId = member.id): Promise<number | null> =>
    fetch(`${base}/api/servers/${server.id}/bans/${userId}`, { method: 'PUT', headers: { Authorization: owner.as } }).then(
      (response) => response.status,
      () => null,
    );
  const killedBy = async (act: () => Promise<unknown>): Promise<void> => {
    const died = child.ended;
    await act();
    expect((await died)[1]).to.equal('SIGKILL');
  };
  const sweepOld = async (): Promise<void> => {
    await api.platform.db.notices.updateMany({}, { $set: { at: new Date(Date.now() - 10_500) } });
    await sweepNotices(worker);
    expect(await api.platform.db.notices.countDocuments()).to.equal(0);
  };
  const told = async (): Promise<number> => {
    const [dm] = await send<DmChannel[]>(api, 200, member, 'GET', '/api/users/@me/channels');
    return dm ? (await send<unknown[]>(api, 200, member, 'GET', `/api/channels/${dm.id}/messages`)).length : 0;
  };

  it('an api before the removal: they are still in, and hear of nothing', async () => {
    await startChild('api', 'after-notice-write');
    await killedBy(async () => expect(await kick(child.url)).to.equal(null));
    await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.notices.countDocuments()).to.equal(1);
    await sweepOld();
    expect(await told()).to.equal(0);
  });

  it('an api after the removal: the sweep posts it', async () => {
    await startChild('api', 'after-removal');
    await killedBy(async () => expect(await kick(child.url)).to.equal(null));
    await send(api, 404, member, 'GET', `/api/servers/${server.id}`);
    await sweepOld();
    expect(await told()).to.equal(1);
  });

  it('an api before the ban: they are still in, and hear of nothing', async () => {
    await startChild('api', 'after-notice-write');
    await killedBy(async () => expect(await ban(child.url)).to.equal(null));
    await sweepOld();
    await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
    expect(await told()).to.equal(0);
  });

  it('an api between the ban and the removal: the sweep ends the membership and posts it, and a bot goes too', async () => {
    const bot = await makeBot(api, owner, server.id);
    for (const one of [member, bot]) {
      await startChild('api', 'after-ban-write');
      await killedBy(async () => expect(await ban(child.url, one.id)).to.equal(null));
      await send(api, 200, one, 'GET', `/api/servers/${server.id}`);
      await sweepOld();
      await send(api, 404, one, 'GET', `/api/servers/${server.id}`);
    }
    expect(await told()).to.equal(1);
    expect(await api.platform.db.dms.countDocuments({ userIds: bot.id })).to.equal(0);
  });

  it('an api after the removal of who is banned: the sweep posts it', async () => {
    await startChild('api', 'after-removal');
    await killedBy(async () => expect(await ban(child.url)).to.equal(null));
    await send(api, 404, member, 'GET', `/api/servers/${server.id}`);
    await sweepOld();
    expect(await told()).to.equal(1);
  });

  it('a worker after it posted the message: it is posted once', async () => {
    await startChild('worker', 'after-notice-post');
    await killedBy(async () => expect(await kick(api.url)).to.equal(204));
    expect([await api.platform.db.notices.countDocuments(), await told()]).to.deep.equal([1, 1]);
    await sweepOld();
    expect(await told()).to.equal(1);
  });
});
