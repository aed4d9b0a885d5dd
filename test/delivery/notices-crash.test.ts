import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createLog } from '../../lib/base/log.ts';
import type { DmChannel } from '../../lib/contract/dm.ts';
import { sweepNotices } from '../../lib/domain/notices.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startTestApi, type TestApi } from '../harness/api.ts';
import { type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../harness/factories.ts';
import { freePort, isReady } from '../harness/stack.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

describe('a notice whose process is killed on the way', function () {
  this.timeout(60_000); // a process starts in each
  let api: TestApi;
  let worker: WorkerPlatform;
  let owner: Caller;
  let server: Place;
  let member: Caller;
  let child: ChildProcess;
  let url: string;
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
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  });

  /** A process of its own over the same stores, that dies at `failpoint`. */
  const startChild = async (entry: string, failpoint: Failpoint): Promise<void> => {
    const { MONGODB_URL, REDIS_URL, REDIS_PREFIX, APP_KEY, LOG_LEVEL } = api.platform.config;
    const port = await freePort();
    const own = { MONGODB_URL, REDIS_URL, REDIS_PREFIX, LOG_LEVEL, APP_KEY: APP_KEY.toString('base64'), PORT: String(port) };
    child = spawn(process.execPath, ['--import=tsx', entry], {
      cwd: root,
      env: { ...process.env, ...own, RATE_LIMIT: 'off', FAILPOINTS: failpoint },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    await isReady(child);
    url = `http://127.0.0.1:${port}`;
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
    const died = once(child, 'exit');
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
    await startChild('apps/api/main.ts', 'after-notice-write');
    await killedBy(async () => expect(await kick(url)).to.equal(null));
    await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
    expect(await api.platform.db.notices.countDocuments()).to.equal(1);
    await sweepOld();
    expect(await told()).to.equal(0);
  });

  it('an api after the removal: the sweep posts it', async () => {
    await startChild('apps/api/main.ts', 'after-removal');
    await killedBy(async () => expect(await kick(url)).to.equal(null));
    await send(api, 404, member, 'GET', `/api/servers/${server.id}`);
    await sweepOld();
    expect(await told()).to.equal(1);
  });

  it('an api before the ban: they are still in, and hear of nothing', async () => {
    await startChild('apps/api/main.ts', 'after-notice-write');
    await killedBy(async () => expect(await ban(url)).to.equal(null));
    await sweepOld();
    await send(api, 200, member, 'GET', `/api/servers/${server.id}`);
    expect(await told()).to.equal(0);
  });

  it('an api between the ban and the removal: the sweep ends the membership and posts it, and a bot goes too', async () => {
    const bot = await makeBot(api, owner, server.id);
    for (const one of [member, bot]) {
      await startChild('apps/api/main.ts', 'after-ban-write');
      await killedBy(async () => expect(await ban(url, one.id)).to.equal(null));
      await send(api, 200, one, 'GET', `/api/servers/${server.id}`);
      await sweepOld();
      await send(api, 404, one, 'GET', `/api/servers/${server.id}`);
    }
    expect(await told()).to.equal(1);
    expect(await api.platform.db.dms.countDocuments({ userIds: bot.id })).to.equal(0);
  });

  it('an api after the removal of who is banned: the sweep posts it', async () => {
    await startChild('apps/api/main.ts', 'after-removal');
    await killedBy(async () => expect(await ban(url)).to.equal(null));
    await send(api, 404, member, 'GET', `/api/servers/${server.id}`);
    await sweepOld();
    expect(await told()).to.equal(1);
  });

  it('a worker after it posted the message: it is posted once', async () => {
    await startChild('workers/main.ts', 'after-notice-post');
    await killedBy(async () => expect(await kick(api.url)).to.equal(204));
    expect([await api.platform.db.notices.countDocuments(), await told()]).to.deep.equal([1, 1]);
    await sweepOld();
    expect(await told()).to.equal(1);
  });
});
