import { expect } from 'chai';
import type { DmChannel } from '../../../lib/contract/dm.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { sendNotice, sweepNotices } from '../../../lib/domain/members/notices.ts';
import { systemAccount } from '../../../lib/domain/system-account.ts';
import type { NoticeDoc } from '../../../lib/store/mongo/models/notice.ts';
import { startRacingTestApi, startTestApiWithWorker } from '../../harness/api.ts';
import { join, makeBot, makeMember, makePeople, makePerson, makeServer, password, storeBan } from '../../harness/factories.ts';
import { beforeNextQuery } from '../../harness/intercept.ts';
import { type Caller, inParallel, refused, send } from '../../harness/requests.ts';
import { make, use } from '../../harness/use.ts';

describe('notices', () => {
  const api = use(() => startTestApiWithWorker(startRacingTestApi));
  const owner = make(() => makePerson(api));
  const server = make(() => makeServer(api, owner, 'A *bold* <@1> place'), { each: true });
  const member = make(() => makeMember(api, owner, server.id), { each: true });
  afterEach(() => api.platform.db.notices.deleteMany({}));

  const kick = (userId = member.id, as = owner, status = 204): Promise<unknown> =>
    send(api, status, as, 'DELETE', `/api/servers/${server.id}/members/${userId}`);
  const pending = (): Promise<NoticeDoc[]> => api.platform.db.notices.find().sort({ _id: 1 }).toArray();
  const run = (noticeId: string): Promise<number | null> => sendNotice(api.worker, noticeId);
  const runAll = async (): Promise<void> => {
    for (const { _id } of await pending()) await run(_id);
  };
  const listDms = (as: Caller = member): Promise<DmChannel[]> => send(api, 200, as, 'GET', '/api/users/@me/channels');
  /** The messages of an account's newest DM: those of the system account, unless the account has written to others. */
  const notices = async (as: Caller = member): Promise<Message[]> => {
    const [dm] = await listDms(as);
    return dm ? send(api, 200, as, 'GET', `/api/channels/${dm.id}/messages`) : [];
  };
  const noticeOf = (change: Partial<NoticeDoc>): NoticeDoc => ({
    _id: api.worker.ids.next(),
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
    const all = [db.messages, db.dms, db.notices, db.accounts].map((model) => model.find({}).sort({ _id: 1 }).toArray());
    return JSON.stringify(await Promise.all(all));
  };

  it('a kicked person gets a message of the system account in a DM', async () => {
    await kick();
    await runAll();
    const [dm] = await listDms();
    const { _id: id, username, displayName } = systemAccount;
    expect(dm?.recipient).to.deep.equal({ id, username, displayName, status: 'offline', customStatus: null, tag: 'system' });
    const [message, ...rest] = await notices();
    expect(rest).to.deep.equal([]);
    expect(message?.author).to.deep.equal({ id, username, displayName, avatarUrl: null, tag: 'system' });
    expect(message?.content).to.equal('You were kicked from **A \\*bold\\* \\<@1> place**. You can come back with an invite.');
    expect(message).to.deep.include({ mentions: [], embeds: [], mentionEveryone: false });
    expect(dm?.lastMessageId).to.equal(message?.id);
    expect(await pending()).to.deep.equal([]);
  });

  it('the person can read and find the DM, but not post into it or change its messages', async () => {
    await kick();
    await runAll();
    const [dm] = await listDms();
    const path = `/api/channels/${dm?.id}/messages`;
    const [message] = await notices();
    await refused(api, [403, 'no_shared_server'], member, 'POST', path, { content: 'x' });
    await refused(api, [403, 'not_author'], member, 'PATCH', `${path}/${message?.id}`, { content: 'x' });
    await refused(api, [403, 'missing_permission'], member, 'DELETE', `${path}/${message?.id}`);
    const found = await send<DmChannel>(api, 200, member, 'POST', '/api/users/@me/channels', { recipientId: systemAccount._id });
    expect(found).to.deep.equal(dm);
    await refused(api, [403, 'no_shared_server'], owner, 'POST', '/api/users/@me/channels', { recipientId: systemAccount._id });
  });

  it('a second kick adds a message after the first in the same DM, also when the first worker’s clock was ahead', async () => {
    await kick();
    await runAll();
    const [first] = await notices();
    const ahead = String(BigInt(first?.id ?? 0) + (60_000n << 22n));
    await api.platform.db.messages.insertOne({
      ...(await api.platform.db.messages.findOne({ _id: String(first?.id) })),
      _id: ahead,
      noticeId: 'ahead',
    } as never);
    await api.platform.db.dms.updateOne({ userIds: member.id }, { $set: { lastMessageId: ahead, activeId: ahead } });
    await join(api, owner, server.id, member);
    await kick();
    await runAll();
    const all = await notices();
    expect(all.map(({ id }) => id).slice(0, 2)).to.deep.equal([first?.id, ahead]);
    expect(all).to.have.length(3);
    expect((await listDms())[0]?.lastMessageId).to.equal(all[2]?.id);
  });

  it('running a job again, also 10 times at once, changes nothing', async () => {
    await kick();
    const [{ _id } = { _id: '' }] = await pending();
    await inParallel(10, () => run(_id));
    const done = await snapshot();
    await run(_id);
    expect(await snapshot()).to.equal(done);
    expect(await notices()).to.have.length(1);
  });

  it('one message when a worker dies after posting and another repeats the job', async () => {
    await kick();
    const [notice] = await pending();
    await run(String(notice?._id));
    await api.platform.db.notices.insertMany([notice as NoticeDoc]);
    await run(String(notice?._id));
    expect(await notices()).to.have.length(1);
    expect(await pending()).to.deep.equal([]);
  });

  it('20 first notices at once make one system account and one DM for each person', async () => {
    const people = await makePeople(api, 4);
    const docs = people.flatMap(({ id: userId }) => Array.from({ length: 5 }, () => noticeOf({ userId, removed: true })));
    await api.platform.db.accounts.deleteOne({ _id: systemAccount._id });
    await api.platform.db.notices.insertMany(docs);
    await Promise.all(docs.map(({ _id }) => run(_id)));
    for (const person of people) {
      expect(await listDms(person)).to.have.length(1);
      expect(await notices(person)).to.have.length(5);
    }
    expect(await api.platform.db.accounts.countDocuments({ tag: 'system' })).to.equal(1);
  });

  it('none for a refused kick, a kicked bot and a person who leaves', async () => {
    const bot = await makeBot(api, owner, server.id);
    await kick(owner.id, member, 403);
    await kick(owner.id, owner, 400);
    await kick('1000000000000000001', owner, 404);
    await kick(bot.id);
    await send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`);
    expect(await pending()).to.deep.equal([]);
    expect(await listDms()).to.deep.equal([]);
  });

  it('none for a person who leaves during the kick; one for 10 kicks at once', async () => {
    beforeNextQuery(api.platform.db.members, 'findOneAndDelete', () =>
      send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`),
    );
    await kick(member.id, owner, 404);
    expect(await pending()).to.deep.equal([]);
    const other = await makeMember(api, owner, server.id);
    const path = `/api/servers/${server.id}/members/${other.id}`;
    const answers = await inParallel(10, () => api.call('DELETE', path, { as: owner.as }));
    expect(answers.filter(({ status }) => status === 204)).to.have.length(1);
    await runAll();
    expect(await notices(other)).to.have.length(1);
  });

  describe('when a process dies', () => {
    it('before the removal: the notice waits, and is deleted after 10 s', async () => {
      const [young, old] = [noticeOf({}), noticeOf({ at: new Date(Date.now() - 10_000) })];
      await api.platform.db.notices.insertMany([young, old]);
      expect(await run(young._id)).to.be.within(5_000, 10_000);
      expect(await run(old._id)).to.equal(null);
      expect((await pending()).map(({ _id }) => _id)).to.deep.equal([young._id]);
      expect(await notices()).to.deep.equal([]);
    });

    it('after the removal: the sweep posts only notices older than 10 s', async () => {
      const [young, old] = [noticeOf({}), noticeOf({ at: new Date(Date.now() - 11_000) })];
      await send(api, 204, member, 'DELETE', `/api/users/@me/servers/${server.id}`);
      await api.platform.db.notices.insertMany([young, old]);
      await sweepNotices(api.worker);
      expect((await pending()).map(({ _id }) => _id)).to.deep.equal([young._id]);
      expect(await notices()).to.have.length(1);
    });

    it('a notice whose removal is recorded is posted, also when the person has joined again', async () => {
      await kick();
      await join(api, owner, server.id, member);
      await runAll();
      expect(await notices()).to.have.length(1);
    });

    it('a notice is posted if its removal ends just before a worker deletes the notice', async () => {
      const notice = noticeOf({ at: new Date(Date.now() - 11_000) });
      const stored = api.platform.db.notices;
      await stored.insertMany([notice]);
      beforeNextQuery(api.worker.db.notices, 'deleteOne', () => stored.updateOne({ _id: notice._id }, { $set: { removed: true } }));
      for (let n = 0; n < 2; n++) await run(notice._id);
      expect(await notices()).to.have.length(1);
    });

    it('a notice that a sweep deleted during a slow removal is stored again', async () => {
      beforeNextQuery(api.platform.db.members, 'findOneAndDelete', () => api.platform.db.notices.deleteMany({}));
      await kick();
      await runAll();
      expect(await notices()).to.have.length(1);
    });
  });

  it('one for a banned member; none for a banned bot, a banned non-member and a refused ban', async () => {
    const [bot, stranger] = [await makeBot(api, owner, server.id), await makePerson(api)];
    const ban = (userId: string, status = 204) =>
      send(api, status, owner, 'PUT', `/api/servers/${server.id}/bans/${userId}`, { reason: 'because' });
    for (const { id } of [member, bot, stranger, member]) await ban(id);
    await ban(owner.id, 400);
    await runAll();
    expect((await notices()).map(({ content }) => content)).to.deep.equal([
      'You were banned from **A \\*bold\\* \\<@1> place**.\nReason: because',
    ]);
    for (const one of [bot, stranger]) expect(await listDms(one)).to.deep.equal([]);
    expect(await pending()).to.deep.equal([]);
  });

  it('after a crash of a ban: one for a stored ban, none for a ban that was never stored', async () => {
    const at = new Date(Date.now() - 11_000);
    const banned = await makeMember(api, owner, server.id);
    for (const one of [member, banned]) await send(api, 204, one, 'DELETE', `/api/users/@me/servers/${server.id}`);
    await storeBan(api, server.id, banned.id, at);
    await api.platform.db.notices.insertMany([member, banned].map(({ id: userId }) => noticeOf({ userId, kind: 'ban', at })));
    await sweepNotices(api.worker);
    expect(await pending()).to.deep.equal([]);
    expect([await notices(), await notices(banned)].map((all) => all.length)).to.deep.equal([0, 1]);
  });

  it('the notice of a ban contains the reason literally', async () => {
    const notice = noticeOf({ kind: 'ban', reason: '**spam**\nhttps://a.example @everyone', removed: true });
    await api.platform.db.notices.insertMany([notice]);
    await run(notice._id);
    const [message] = await notices();
    expect(message?.content).to.match(
      /^You were banned from \*\*A .*place\*\*\.\nReason: \\\*\\\*spam\\\*\\\*\n\\https:\/\/a\.example \\@everyone$/,
    );
  });

  it('nobody can register or log in with the username of the system account', async () => {
    const { username } = systemAccount;
    await refused(api, [409, 'username_taken'], null, 'POST', '/api/auth/register', { username, password });
    for (const name of [username, systemAccount._id, systemAccount.displayName])
      await refused(api, [401, 'unauthorized'], null, 'POST', '/api/auth/login', { username: name, password });
  });
});
