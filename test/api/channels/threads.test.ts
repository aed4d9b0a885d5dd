import { expect } from 'chai';
import type { Channel } from '../../../lib/contract/channel.ts';
import type { Message } from '../../../lib/contract/message.ts';
import type { Server } from '../../../lib/contract/server.ts';
import { loseAnswers, makeBot, makeChannel, makePerson, makeServer, setOverwrite, unknownId } from '../../harness/factories.ts';
import { inParallel, refused, refusedWithout, send, tally } from '../../harness/requests.ts';
import { newMember, useServer } from '../../harness/use.ts';

const [view, post, manageChannels] = [1, 2, 1 << 6];

describe('threads', () => {
  const { api, owner, server, manager, member } = useServer({ manager: newMember(manageChannels), member: newMember() });

  const threadsOf = (channelId: string): string => `/api/channels/${channelId}/threads`;
  const start = (channelId: string, body: object = {}, as = member): Promise<Channel> =>
    send(api, 201, as, 'POST', threadsOf(channelId), { name: 'thread', ...body });
  const postIn = (channelId: string, as = member): Promise<Message> =>
    send(api, 201, as, 'POST', `/api/channels/${channelId}/messages`, { content: 'x' });
  const read = (id: string, as = member): Promise<Channel> => send(api, 200, as, 'GET', `/api/channels/${id}`);
  const listIds = async (channelId: string, as = member): Promise<string[]> =>
    (await send<Channel[]>(api, 200, as, 'GET', threadsOf(channelId))).map((one) => one.id);
  const serverChannels = async (as = member): Promise<Channel[]> =>
    (await send<Server>(api, 200, as, 'GET', `/api/servers/${server.id}`)).channels;
  const patch = (id: string, body: object): Promise<Channel> => send(api, 200, manager, 'PATCH', `/api/channels/${id}`, body);

  describe('POST /api/channels/{channelId}/threads', () => {
    it('201 in a text and an announcement channel, with all fields of a thread', async () => {
      for (const kind of ['text', 'announcement'] as const) {
        const { id: parentId } = await makeChannel(api, manager, server.id, { kind });
        const made = await start(parentId, { name: ' talk ', autoArchiveMinutes: 4320 });
        const { id, ...rest } = made;
        expect(rest).to.deep.equal({
          serverId: server.id,
          name: 'talk',
          position: null,
          kind: 'thread',
          parentId,
          topic: null,
          slowmodeSecs: 0,
          contentMode: null,
          autoArchiveMinutes: 4320,
          archived: false,
          threadOwnerId: member.id,
          threadStarterId: null,
          messageCount: 0,
          overwrites: [],
        });
        expect(await read(id)).to.deep.equal(made);
        expect(await listIds(parentId)).to.deep.equal([id]);
      }
    });

    it('201 from a message; deleting the message keeps the thread', async () => {
      const starter = await postIn(server.general);
      const { id, threadStarterId } = await start(server.general, { messageId: starter.id });
      expect(threadStarterId).to.equal(starter.id);
      await send(api, 204, member, 'DELETE', `/api/channels/${server.general}/messages/${starter.id}`);
      expect(await read(id)).to.include({ threadStarterId: starter.id, archived: false });
      await postIn(id);
    });

    it('autoArchiveMinutes is by default the channel’s, else a day', async () => {
      const { id } = await makeChannel(api, manager, server.id);
      expect((await start(id)).autoArchiveMinutes).to.equal(1440);
      await patch(id, { autoArchiveMinutes: 10080 });
      expect((await start(id)).autoArchiveMinutes).to.equal(10080);
      expect((await start(id, { autoArchiveMinutes: 60 })).autoArchiveMinutes).to.equal(60);
    });

    it('400 invalid_request without a name, for a long one, another auto-archive time and an unknown message', async () => {
      const times = [61, null, '60'].map((autoArchiveMinutes) => ({ name: 'x', autoArchiveMinutes }));
      const messages = ['x', unknownId].map((messageId) => ({ name: 'x', messageId }));
      for (const body of [{}, { name: 'x'.repeat(101) }, ...times, ...messages])
        await refused(api, [400, 'invalid_request'], member, 'POST', threadsOf(server.general), body);
    });

    it('400 for a message of another channel and for a deleted one', async () => {
      const elsewhere = await makeChannel(api, manager, server.id);
      const starter = await postIn(elsewhere.id);
      await refused(api, [400, 'invalid_request'], member, 'POST', threadsOf(server.general), { name: 'x', messageId: starter.id });
      await send(api, 204, member, 'DELETE', `/api/channels/${elsewhere.id}/messages/${starter.id}`);
      await refused(api, [400, 'invalid_request'], member, 'POST', threadsOf(elsewhere.id), { name: 'x', messageId: starter.id });
    });

    it('400 in a thread, voice channel, category and DM, also for GET', async () => {
      const dm = await send<{ id: string }>(api, 201, member, 'POST', '/api/users/@me/channels', { recipientId: owner.id });
      const voice = await makeChannel(api, manager, server.id, { kind: 'voice' });
      const category = await makeChannel(api, manager, server.id, { kind: 'category' });
      for (const { id } of [dm, voice, category, await start(server.general)]) {
        await refused(api, [400, 'invalid_request'], member, 'POST', threadsOf(id), { name: 'x' });
        await refused(api, [400, 'invalid_request'], member, 'GET', threadsOf(id));
      }
    });

    it('400 thread_exists for all but one of 50 at once from one message', async () => {
      const starter = await postIn(server.general);
      const body = { name: 'racing', messageId: starter.id };
      const answers = await inParallel(50, () => api.call('POST', threadsOf(server.general), { as: member.as, body }));
      expect(tally(answers)).to.deep.equal({ 201: 1, 400: 49 });
      expect(answers.find((one) => one.status === 400)?.body.code).to.equal('thread_exists');
      expect(await api.platform.db.channels.countDocuments({ threadStarterId: starter.id })).to.equal(1);
    });

    it('a create that is repeated after a crash returns the thread that it made, also without its starter message', async () => {
      const starter = await postIn(server.general);
      const options = { as: member.as, body: { name: 'mine', messageId: starter.id }, headers: { 'Idempotency-Key': 'crash' } };
      const first = await api.call<Channel>('POST', threadsOf(server.general), options);
      await send(api, 204, member, 'DELETE', `/api/channels/${server.general}/messages/${starter.id}`);
      await loseAnswers(api);
      const again = await api.call<Channel>('POST', threadsOf(server.general), options);
      expect([again.status, again.body]).to.deep.equal([201, first.body]);
      expect(await api.platform.db.channels.countDocuments({ threadStarterId: starter.id })).to.equal(1);
    });
  });

  describe('GET /api/channels/{channelId}/threads and the channels of a server', () => {
    it('newest activity first; a server lists threads after its channels, without archived ones', async () => {
      const { id } = await makeChannel(api, manager, server.id);
      const [a, b, c] = [await start(id), await start(id), await start(id)];
      await postIn(a.id);
      await patch(b.id, { archived: true });
      expect(await listIds(id)).to.deep.equal([a.id, c.id, b.id]);
      const channels = await serverChannels();
      const firstThread = channels.findIndex((one) => one.kind === 'thread');
      expect(channels.slice(firstThread).every((one) => one.kind === 'thread')).to.equal(true);
      expect(channels.filter((one) => one.parentId === id).map((one) => one.id)).to.deep.equal([a.id, c.id]);
      await patch(b.id, { archived: false });
      expect((await serverChannels()).filter((one) => one.parentId === id).map((one) => one.id)).to.deep.equal([b.id, a.id, c.id]);
    });

    it('a thread has the permissions of its channel, and is hidden with it', async () => {
      const { id } = await makeChannel(api, manager, server.id);
      const thread = await start(id);
      await setOverwrite(api, owner, id, server.id, 0, view);
      expect((await serverChannels()).map((one) => one.id)).not.to.include(thread.id);
      expect((await serverChannels(owner)).map((one) => one.id)).to.include(thread.id);
      await refused(api, [403, 'missing_permission'], member, 'GET', `/api/channels/${thread.id}`);
      await refused(api, [403, 'missing_permission'], member, 'POST', `/api/channels/${thread.id}/messages`, { content: 'x' });
      await refused(api, [404, 'not_found'], await makePerson(api), 'GET', `/api/channels/${thread.id}`);
      await setOverwrite(api, owner, id, member.id, view | post, 0);
      await postIn(thread.id);
      await refused(api, [400, 'invalid_request'], owner, 'PUT', `/api/channels/${thread.id}/overwrites/${server.id}`, {
        allow: 0,
        deny: 0,
      });
    });

    it('at most 1,000 threads, those with the newest activity', async () => {
      const otherServer = await makeServer(api, owner);
      const first = await start(otherServer.general, {}, owner);
      const stored = await api.platform.db.channels.findOne({ _id: first.id });
      const rows = Array.from({ length: 1_000 }, (_, at) => ({
        ...stored,
        _id: String(2n * 10n ** 18n + BigInt(at)),
        lastActivityAt: new Date(Date.now() + 60_000 + at),
      }));
      await api.platform.db.channels.insertMany(rows as never);
      const ids = await listIds(otherServer.general, owner);
      expect([ids.length, ids[0], ids.includes(first.id)]).to.deep.equal([1_000, rows.at(-1)?._id, false]);
      const { channels } = await send<Server>(api, 200, owner, 'GET', `/api/servers/${otherServer.id}`);
      expect(channels.slice(1).map((one) => one.id)).to.deep.equal(ids);
    });
  });

  describe('PATCH and DELETE /api/channels/{threadId}', () => {
    it('200 with Manage Channels for name, slowmodeSecs, autoArchiveMinutes and archived, with an audit log entry', async () => {
      const { id } = await start(server.general);
      const changed = { name: 'renamed', slowmodeSecs: 5, autoArchiveMinutes: 60, archived: true };
      expect(await patch(id, changed)).to.include(changed);
      expect(await read(id)).to.include(changed);
      for (const body of [{ archived: false }, { name: 'x' }])
        await refusedWithout(api, 'Manage Channels', member, 'PATCH', `/api/channels/${id}`, body);
      const entries = await api.platform.db.audit.find({ targetId: id }).toArray();
      expect(entries.map((one) => [one.action, one.changes.archived])).to.deep.equal([['channel_update', { from: false, to: true }]]);
    });

    it('400 invalid_request for fields that a thread does not have', async () => {
      const { id } = await start(server.general);
      for (const body of [{ parentId: null }, { parentId: unknownId }, { kind: 'text' }, { topic: 'x' }, { contentMode: 'spoiler' }])
        await refused(api, [400, 'invalid_request'], manager, 'PATCH', `/api/channels/${id}`, body);
    });

    it('204 for DELETE with Manage Channels, then 404; 403 without it, also for who started the thread', async () => {
      const { id } = await start(server.general);
      const bot = await makeBot(api, owner, server.id, view | post);
      await postIn(id, bot);
      await refusedWithout(api, 'Manage Channels', member, 'DELETE', `/api/channels/${id}`);
      await send(api, 204, manager, 'DELETE', `/api/channels/${id}`);
      for (const path of ['', '/messages', '/threads']) await refused(api, [404, 'not_found'], bot, 'GET', `/api/channels/${id}${path}`);
    });
  });
});
