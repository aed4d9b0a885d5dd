import { expect } from 'chai';
import { createLog } from '../../../lib/base/log.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { sweepNotices } from '../../../lib/domain/members/notices.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../../lib/store/platform.ts';
import { sendNoticeJob } from '../../../workers/send-notice.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import { type Caller, makeBot, makeMember, makePerson, makeServer, type Place, send } from '../../harness/factories.ts';

describe('notices of bans', () => {
  let api: TestApi;
  let worker: WorkerPlatform;
  let owner: Caller;
  let server: Place;
  before(async () => {
    api = await startTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
    owner = await makePerson(api);
  });
  after(async () => {
    await worker.close();
    await api.close();
  });
  beforeEach(async () => {
    server = await makeServer(api, owner, 'A *bold* place');
  });

  const dmsOf = (as: Caller): Promise<DmChannel[]> => send(api, 200, as, 'GET', '/api/users/@me/channels');
  const noticesOf = async (as: Caller): Promise<string[]> => {
    const [dm] = await dmsOf(as);
    return dm ? (await send<Message[]>(api, 200, as, 'GET', `/api/channels/${dm.id}/messages`)).map(({ content }) => content) : [];
  };

  it('a banned person gets one, a banned bot and who was not in the server get none; nor does a refused ban', async () => {
    const [member, bot, stranger] = [await makeMember(api, owner, server.id), await makeBot(api, owner, server.id), await makePerson(api)];
    const ban = (userId: string, status = 204) =>
      send(api, status, owner, 'PUT', `/api/servers/${server.id}/bans/${userId}`, { reason: 'because' });
    for (const { id } of [member, bot, stranger, member]) await ban(id);
    await ban(owner.id, 400);
    const { notices } = api.platform.db;
    for (const { _id } of await notices.find().lean()) await sendNoticeJob(worker, { noticeId: _id });
    expect(await noticesOf(member)).to.deep.equal(['You were banned from **A \\*bold\\* place**.\nReason: because']);
    for (const one of [bot, stranger]) expect(await dmsOf(one)).to.deep.equal([]);
    expect(await notices.countDocuments()).to.equal(0);
  });

  it('a ban that never came is not told of, also to who left by themselves; one that came is', async () => {
    const at = new Date(Date.now() - 11_000);
    const [never, came] = [await makeMember(api, owner, server.id), await makeMember(api, owner, server.id)];
    for (const one of [never, came]) await send(api, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`);
    const { bans, notices } = api.platform.db;
    await bans.create({ _id: `${server.id}:${came.id}`, serverId: server.id, userId: came.id, reason: null, createdAt: at });
    const owed = { kind: 'ban' as const, serverId: server.id, serverName: server.name, reason: null, at };
    await notices.insertMany([never, came].map(({ id: userId }) => ({ _id: worker.ids.next(), userId, ...owed })));
    await sweepNotices(worker);
    expect(await notices.countDocuments()).to.equal(0);
    expect([await noticesOf(never), await noticesOf(came)].map((all) => all.length)).to.deep.equal([0, 1]);
  });
});
