import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { AuditPage } from '../../../lib/contract/server.ts';
import type { MessageDoc } from '../../../lib/store/mongo/models/message.ts';
import { startTestApi, type TestApi } from '../../harness/api.ts';
import {
  type Caller,
  makeBot,
  makeChannel,
  makeMember,
  makePerson,
  makeServer,
  refused,
  send,
  setOverwrite,
  tally,
} from '../../harness/factories.ts';

const { 'Send Messages': sendMessages, 'Manage Messages': manageMessages, 'View Channel': viewChannel } = permissionBits;

describe('POST /api/channels/{channelId}/messages/{messageId}/crosspost', () => {
  let api: TestApi;
  let owner: Caller;
  let member: Caller;
  let serverId: string;
  let general: string;
  let news: string;

  before(async () => {
    api = await startTestApi();
    owner = await makePerson(api);
    ({ id: serverId, general } = await makeServer(api, owner));
    member = await makeMember(api, owner, serverId);
  });
  after(() => api.close());
  beforeEach(async () => {
    news = (await makeChannel(api, owner, serverId, { kind: 'announcement' })).id;
  });

  const post = (as: Caller, channelId = news): Promise<Message> =>
    send(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content: 'news' });
  const pathOf = (id: string, channelId = news): string => `/api/channels/${channelId}/messages/${id}/crosspost`;
  const crosspost = (as: Caller, id: string): Promise<Message> => send(api, 200, as, 'POST', pathOf(id));
  const stored = async (id: string): Promise<MessageDoc | null> => await api.platform.db.messages.findOne({ _id: id }).lean();
  const audit = async (): Promise<AuditPage['items']> =>
    (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${serverId}/audit-log`)).items;

  it('200 with the Message, crossposted and not edited; reads show it', async () => {
    const posted = await post(member);
    expect(posted.crossposted).to.equal(false);
    const answer = await crosspost(member, posted.id);
    expect(answer).to.deep.equal({ ...posted, crossposted: true });
    expect(answer.editedAt).to.equal(null);
    expect(await send(api, 200, owner, 'GET', `/api/channels/${news}/messages/${posted.id}`)).to.deep.equal(answer);
  });

  it('the flag, the mark of the copies owed and the event are one write', async () => {
    const { id } = await post(member);
    await crosspost(member, id);
    const doc = await stored(id);
    expect(doc).to.include({ crossposted: true, editedAt: null });
    expect(doc?.crosspostAt).to.be.instanceOf(Date);
    expect(doc?.ob?.map(({ name }) => name)).to.deep.equal(['MESSAGE_CREATE', 'MESSAGE_UPDATE']);
  });

  it('400 already_crossposted the second time, also by another', async () => {
    const { id } = await post(member);
    await crosspost(member, id);
    await refused(api, [400, 'already_crossposted'], member, 'POST', pathOf(id));
    await refused(api, [400, 'already_crossposted'], owner, 'POST', pathOf(id));
  });

  it('30 at once: one 200, the others 400 already_crossposted, one event', async () => {
    const { id } = await post(owner);
    const answers = await Promise.all(Array.from({ length: 30 }, () => api.call('POST', pathOf(id), { as: owner.as })));
    expect(tally(answers)).to.deep.equal({ 200: 1, 400: 29 });
    for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('already_crossposted');
    expect((await stored(id))?.ob?.filter(({ name }) => name === 'MESSAGE_UPDATE')).to.have.length(1);
  });

  describe('own: Send Messages; anyone’s: Manage Messages', () => {
    it('403 for someone else’s without Manage Messages, 200 with it, and an audit entry', async () => {
      const { id } = await post(owner);
      const error = await refused(api, [403, 'missing_permission'], member, 'POST', pathOf(id));
      expect(error.missing).to.deep.equal(['Manage Messages']);
      expect((await stored(id))?.crossposted).to.equal(undefined);
      await setOverwrite(api, owner, news, member.id, manageMessages, sendMessages);
      await crosspost(member, id);
      const [entry] = await audit();
      expect(entry).to.include({ action: 'message_crosspost', targetId: id, actorId: member.id });
    });

    it('403 for one’s own without Send Messages; Manage Messages is enough; no audit entry', async () => {
      const { id } = await post(member);
      await setOverwrite(api, owner, news, member.id, 0, sendMessages);
      const error = await refused(api, [403, 'missing_permission'], member, 'POST', pathOf(id));
      expect(error.missing).to.deep.equal(['Send Messages']);
      await setOverwrite(api, owner, news, member.id, manageMessages, sendMessages);
      await crosspost(member, id);
      expect((await audit())[0]?.action).to.equal('overwrite_set');
    });

    it('a bot crossposts its own', async () => {
      const bot = await makeBot(api, owner, serverId);
      expect((await crosspost(bot, (await post(bot)).id)).crossposted).to.equal(true);
    });
  });

  describe('400 outside announcement channels', () => {
    it('a text channel', async () => {
      const { id } = await post(member, general);
      await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(id, general));
    });

    it('a channel that became a text channel, and 200 when it is one of announcements again', async () => {
      const { id } = await post(member);
      await send(api, 200, owner, 'PATCH', `/api/channels/${news}`, { kind: 'text' });
      await refused(api, [400, 'invalid_request'], member, 'POST', pathOf(id));
      await send(api, 200, owner, 'PATCH', `/api/channels/${news}`, { kind: 'announcement' });
      await crosspost(member, id);
    });

    it('a thread of an announcement channel', async () => {
      const { channels } = api.platform.db;
      const thread = api.platform.ids.next();
      const parent = await channels.findById(news).lean();
      const made = { ...parent, _id: thread, kind: 'thread', parentId: news, slot: 1_000 };
      await channels.collection.insertOne(made as never);
      const { id } = await post(member, thread);
      await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(id, thread));
    });

    for (const kind of ['voice', 'category'] as const)
      it(`a ${kind} channel`, async () => {
        const { id } = await makeChannel(api, owner, serverId, { kind });
        await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf('1000000000000000001', id));
      });

    it('a DM', async () => {
      const { body } = await api.call('POST', '/api/users/@me/channels', { as: member.as, body: { recipientId: owner.id } });
      const { id } = await post(member, String(body.id));
      await refused(api, [400, 'invalid_request'], member, 'POST', pathOf(id, String(body.id)));
    });

    it('a copy, also where it stands in an announcement channel now', async () => {
      const { id } = await post(member);
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { copyOf: '1000000000000000001' } });
      await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(id));
    });
  });

  it('404 for a message that is not there, deleted, of another channel, and no id; 404 outside the server, 403 where hidden', async () => {
    const [{ id: gone }, { id: elsewhere }, { id }] = [await post(member), await post(member, general), await post(member)];
    await send(api, 204, member, 'DELETE', `/api/channels/${news}/messages/${gone}`);
    for (const messageId of ['1000000000000000001', gone, elsewhere, 'nope'])
      await refused(api, [404, 'not_found'], owner, 'POST', pathOf(messageId));
    await refused(api, [404, 'not_found'], await makePerson(api), 'POST', pathOf(id));
    await setOverwrite(api, owner, news, serverId, 0, viewChannel);
    expect((await refused(api, [403, 'missing_permission'], member, 'POST', pathOf(id))).missing).to.deep.equal(['View Channel']);
  });

  it('deleting a crossposted message ends what it owes', async () => {
    const { id } = await post(member);
    await crosspost(member, id);
    await send(api, 204, member, 'DELETE', `/api/channels/${news}/messages/${id}`);
    expect((await stored(id))?.crosspostAt).to.equal(undefined);
  });
});

describe('a reply to a copy', () => {
  it('pings nobody: its author is no account', async () => {
    const api = await startTestApi();
    try {
      const owner = await makePerson(api);
      const { general } = await makeServer(api, owner);
      const { id } = await send<Message>(api, 201, owner, 'POST', `/api/channels/${general}/messages`, { content: 'copy' });
      const face = { username: 'Server', displayName: 'Server #news', avatarUrl: null };
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { authorId: general, face, copyOf: '1000000000000000001' } });
      const reply = await send<Message>(api, 201, owner, 'POST', `/api/channels/${general}/messages`, { content: 'yes', replyTo: id });
      expect(reply.mentions).to.deep.equal([]);
      expect(reply.reply?.author).to.deep.equal({ id: general, ...face });
    } finally {
      await api.close();
    }
  });
});
