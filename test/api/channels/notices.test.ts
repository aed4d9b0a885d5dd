import { expect } from 'chai';
import { createLog } from '../../../lib/base/log.ts';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { systemAccount } from '../../../lib/domain/accounts/system-account.ts';
import { sweepNotices } from '../../../lib/domain/members/notices.ts';
import type { NoticeDoc } from '../../../lib/store/mongo/models/notice.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../../lib/store/platform.ts';
import { Later } from '../../../lib/store/queue/queue.ts';
import { sendNoticeJob } from '../../../workers/send-notice.ts';
import { startRacingTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  join,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  password,
  refused,
  send,
} from '../../harness/factories.ts';
import { meet } from '../../harness/meet.ts';

describe('notices', () => {
  let api: TestApi;
  let worker: WorkerPlatform;
  let owner: Caller;
  let server: Place;
  let member: Caller;
  before(async () => {
    api = await startRacingTestApi();
    worker = await openWorkerPlatform(api.platform.config, createLog('test', 'silent'));
    owner = await makePerson(api);
  });
  after(async () => {
    await worker.close();
    await api.close();
  });
  beforeEach(async () => {
    server = await makeServer(api, owner, 'A *bold* <@1> place');
    member = await makeMember(api, owner, server.id);
  });
  afterEach(() => api.platform.db.notices.deleteMany({}));

  const kick = (userId = member.id, as = owner, status = 204): Promise<unknown> =>
    send(api, status, as, 'DELETE', `/api/servers/${server.id}/members/${userId}`);
  const waiting = (): Promise<NoticeDoc[]> => api.platform.db.notices.find().sort({ _id: 1 }).lean().exec();
  const run = (noticeId: string): Promise<void> => sendNoticeJob(worker, { noticeId });
  const runAll = async (): Promise<void> => {
    for (const { _id } of await waiting()) await run(_id);
  };
  const dmsOf = (as: Caller): Promise<DmChannel[]> => send(api, 200, as, 'GET', '/api/users/@me/channels');
  const noticesOf = async (as: Caller): Promise<Message[]> => {
    const [dm] = await dmsOf(as);
    return dm ? send(api, 200, as, 'GET', `/api/channels/${dm.id}/messages`) : [];
  };
  const intent = (change: Partial<NoticeDoc>): NoticeDoc => ({
    _id: worker.ids.next(),
    userId: member.id,
    kind: 'kick',
    serverId: server.id,
    serverName: server.name,
    reason: null,
    at: new Date(),
    ...change,
  });
  const snapshot = async (): Promise<string> => {
    const { db } = api.platform;
    const all = [db.messages, db.dms, db.notices, db.accounts].map((model) => model.collection.find({}).sort({ _id: 1 }).toArray());
    return JSON.stringify(await Promise.all(all));
  };

  it('a kicked person finds a message of the system account in their DMs', async () => {
    await kick();
    await runAll();
    const [dm] = await dmsOf(member);
    const { _id: id, username, displayName } = systemAccount;
    expect(dm?.recipient).to.deep.equal({ id, username, displayName, status: 'offline', customStatus: null, tag: 'system' });
    const [message, ...rest] = await noticesOf(member);
    expect(rest).to.deep.equal([]);
    expect(message?.author).to.deep.equal({ id, username, displayName, avatarUrl: null, tag: 'system' });
    expect(message?.content).to.equal('You were kicked from **A \\*bold\\* \\<@1> place**. You can come back with an invite.');
    expect(message).to.deep.include({ mentions: [], embeds: [], mentionEveryone: false });
    expect(dm?.lastMessageId).to.equal(message?.id);
    expect(await waiting()).to.deep.equal([]);
  });

  it('the DM can be read and found, not posted into, and its messages are not theirs', async () => {
    await kick();
    await runAll();
    const [dm] = await dmsOf(member);
    const path = `/api/channels/${dm?.id}/messages`;
    const [message] = await noticesOf(member);
    await refused(api, [403, 'no_shared_server'], member, 'POST', path, { content: 'x' });
    await refused(api, [403, 'not_author'], member, 'PATCH', `${path}/${message?.id}`, { content: 'x' });
    await refused(api, [403, 'missing_permission'], member, 'DELETE', `${path}/${message?.id}`);
    const found = await send<DmChannel>(api, 200, member, 'POST', '/api/users/@me/channels', { recipientId: systemAccount._id });
    expect(found).to.deep.equal(dm);
    await refused(api, [403, 'no_shared_server'], owner, 'POST', '/api/users/@me/channels', { recipientId: systemAccount._id });
  });

  it('a second kick is a second message after the first, in the same DM, whatever the clock of its worker', async () => {
    await kick();
    await runAll();
    const [first] = await noticesOf(member);
    const ahead = String(BigInt(first?.id ?? 0) + (60_000n << 22n));
    await api.platform.db.messages.collection.insertOne({
      ...(await api.platform.db.messages.findOne({ _id: String(first?.id) }).lean()),
      _id: ahead,
      noticeId: 'ahead',
    } as never);
    await api.platform.db.dms.updateOne({ userIds: member.id }, { $set: { lastMessageId: ahead, activeId: ahead } });
    await join(api, owner, server.id, member);
    await kick();
    await runAll();
    const all = await noticesOf(member);
    expect(all.map(({ id }) => id).slice(0, 2)).to.deep.equal([first?.id, ahead]);
    expect(all).to.have.length(3);
    expect((await dmsOf(member))[0]?.lastMessageId).to.equal(all[2]?.id);
  });

  it('run twice, or 10 times at once, changes nothing more', async () => {
    await kick();
    const [{ _id } = { _id: '' }] = await waiting();
    await Promise.all(Array.from({ length: 10 }, () => run(_id)));
    const done = await snapshot();
    await run(_id);
    expect(await snapshot()).to.equal(done);
    expect(await noticesOf(member)).to.have.length(1);
  });

  it('a worker that died after posting it leaves one message when another takes it up', async () => {
    await kick();
    const [notice] = await waiting();
    await run(String(notice?._id));
    await api.platform.db.notices.insertMany([notice as NoticeDoc]);
    await run(String(notice?._id));
    expect(await noticesOf(member)).to.have.length(1);
    expect(await waiting()).to.deep.equal([]);
  });

  it('20 first notices at once make one system account and one DM a person', async () => {
    const people = await Promise.all(Array.from({ length: 4 }, () => makePerson(api)));
    const owed = people.flatMap(({ id: userId }) => Array.from({ length: 5 }, () => intent({ userId, removed: true })));
    await api.platform.db.accounts.deleteOne({ _id: systemAccount._id });
    await api.platform.db.notices.insertMany(owed);
    await Promise.all(owed.map(({ _id }) => run(_id)));
    for (const person of people) {
      expect(await dmsOf(person)).to.have.length(1);
      expect(await noticesOf(person)).to.have.length(5);
    }
    expect(await api.platform.db.accounts.countDocuments({ tag: 'system' })).to.equal(1);
  });

  it('none when the kick was refused, for a bot, and for who leaves', async () => {
    const bot = await makeBot(api, owner, server.id);
    await kick(owner.id, member, 403);
    await kick(owner.id, owner, 400);
    await kick('1000000000000000001', owner, 404);
    await kick(bot.id);
    await send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`);
    expect(await waiting()).to.deep.equal([]);
    expect(await dmsOf(member)).to.deep.equal([]);
  });

  it('none when they left at the same moment; one when 10 kick at once', async () => {
    meet(api.platform.db.members, 'findOneAndDelete', () => send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`));
    await kick(member.id, owner, 404);
    expect(await waiting()).to.deep.equal([]);
    const other = await makeMember(api, owner, server.id);
    const path = `/api/servers/${server.id}/members/${other.id}`;
    const answers = await Promise.all(Array.from({ length: 10 }, () => api.call('DELETE', path, { as: owner.as })));
    expect(answers.filter(({ status }) => status === 204)).to.have.length(1);
    await runAll();
    expect(await noticesOf(other)).to.have.length(1);
  });

  describe('when a process dies on the way', () => {
    const later = (act: Promise<void>): Promise<unknown> =>
      act.then(
        () => null,
        (error: unknown) => (error instanceof Later ? error.ms : error),
      );

    it('before the removal: it waits while it is young, and is dropped after 10 s', async () => {
      const [young, old] = [intent({}), intent({ at: new Date(Date.now() - 10_000) })];
      await api.platform.db.notices.insertMany([young, old]);
      expect(await later(run(young._id))).to.be.within(5_000, 10_000);
      expect(await later(run(old._id))).to.equal(null);
      expect((await waiting()).map(({ _id }) => _id)).to.deep.equal([young._id]);
      expect(await noticesOf(member)).to.deep.equal([]);
    });

    it('after the removal: the sweep posts those older than 10 s, and no others', async () => {
      const [young, old] = [intent({}), intent({ at: new Date(Date.now() - 11_000) })];
      await send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`);
      await api.platform.db.notices.insertMany([young, old]);
      await sweepNotices(worker);
      expect((await waiting()).map(({ _id }) => _id)).to.deep.equal([young._id]);
      expect(await noticesOf(member)).to.have.length(1);
    });

    it('one whose removal is known is posted although they are back in', async () => {
      await kick();
      await join(api, owner, server.id, member);
      await runAll();
      expect(await noticesOf(member)).to.have.length(1);
    });

    it('one that a sweep dropped while the removal took its time stands again', async () => {
      meet(api.platform.db.members, 'findOneAndDelete', () => api.platform.db.notices.deleteMany({}));
      await kick();
      await runAll();
      expect(await noticesOf(member)).to.have.length(1);
    });
  });

  it('a ban says so, with its reason as it was written', async () => {
    const notice = intent({ kind: 'ban', reason: '**spam**\nhttps://a.example @everyone', removed: true });
    await api.platform.db.notices.insertMany([notice]);
    await run(notice._id);
    const [message] = await noticesOf(member);
    expect(message?.content).to.match(
      /^You were banned from \*\*A .*place\*\*\.\nReason: \\\*\\\*spam\\\*\\\*\n\\https:\/\/a\.example \\@everyone$/,
    );
  });

  it('the username of the system account is nobody’s to register or log in with', async () => {
    const { username } = systemAccount;
    await refused(api, [409, 'username_taken'], null, 'POST', '/api/auth/register', { username, password });
    for (const name of [username, systemAccount._id, systemAccount.displayName])
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: name, password });
  });
});
