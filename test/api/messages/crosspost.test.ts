import { expect } from 'chai';
import { permissionBits } from '../../../lib/base/permissions.ts';
import type { AuditPage } from '../../../lib/contract/member.ts';
import type { Message } from '../../../lib/contract/message.ts';
import { makeChannel, makeThread, openDm, postMessage, setOverwrite, unknownId } from '../../harness/factories.ts';
import { type Caller, inParallel, refused, send, tally } from '../../harness/requests.ts';
import { make, newMember, useServer } from '../../harness/use.ts';
import { messageCalls, storedMessage } from './message-fixture.ts';

const { 'Send Messages': sendMessages, 'Manage Messages': manageMessages } = permissionBits;

describe('POST /api/channels/{channelId}/messages/{messageId}/crosspost', () => {
  const { api, owner, server, member } = useServer({ member: newMember() });
  const news = make(() => makeChannel(api, owner, server.id, { kind: 'announcement' }), { each: true });
  const { post, read, remove } = messageCalls(api, news, member);

  const pathOf = (id: string, channelId = news.id): string => `/api/channels/${channelId}/messages/${id}/crosspost`;
  const crosspost = (as: Caller, id: string): Promise<Message> => send(api, 200, as, 'POST', pathOf(id));
  const stored = (id: string) => storedMessage(api, id);
  const audit = async (): Promise<AuditPage['items']> =>
    (await send<AuditPage>(api, 200, owner, 'GET', `/api/servers/${server.id}/audit-log`)).items;

  it('200 with the message, as in reads; one write stores crossposted, the pending copies and the event; editedAt stays null', async () => {
    const posted = await post('news');
    expect(posted.crossposted).to.equal(false);
    const answer = await crosspost(member, posted.id);
    expect(answer).to.deep.equal({ ...posted, crossposted: true });
    expect(answer.editedAt).to.equal(null);
    expect(await read(posted.id, owner)).to.deep.equal(answer);
    const doc = await stored(posted.id);
    expect(doc).to.include({ crossposted: true, editedAt: null });
    expect(doc?.crosspostAt).to.be.instanceOf(Date);
    expect(doc?.outbox?.map(({ name }) => name)).to.deep.equal(['MESSAGE_UPDATE']);
  });

  it('30 in parallel: one 200, the others 400 already_crossposted, as a later one of another person; one event', async () => {
    const { id } = await post('news');
    const answers = await inParallel(30, () => api.call('POST', pathOf(id), { as: owner.as }));
    expect(tally(answers)).to.deep.equal({ 200: 1, 400: 29 });
    for (const { status, body } of answers) if (status === 400) expect(body.code).to.equal('already_crossposted');
    await refused(api, [400, 'already_crossposted'], member, 'POST', pathOf(id));
    expect((await stored(id))?.outbox?.filter(({ name }) => name === 'MESSAGE_UPDATE')).to.have.length(1);
  });

  it('with Manage Messages instead of Send Messages: an audit entry for the message of another, none for one’s own', async () => {
    const [theirs, own] = [await post('news', owner), await post('news')];
    await setOverwrite(api, owner, news.id, member.id, manageMessages, sendMessages);
    await crosspost(member, own.id);
    expect((await audit())[0]?.action).to.equal('overwrite_set');
    await crosspost(member, theirs.id);
    expect((await audit())[0]).to.include({ action: 'message_crosspost', targetId: theirs.id, actorId: member.id });
  });

  describe('400 for a message in', () => {
    it('a text channel, a thread of an announcement channel and a DM', async () => {
      const { id: thread } = await makeThread(api, member, news.id);
      const { id: dm } = await openDm(api, member, owner);
      for (const channelId of [server.general, thread, dm]) {
        const { id } = await postMessage(api, member, channelId);
        await refused(api, [400, 'invalid_request'], member, 'POST', pathOf(id, channelId));
      }
    });

    it('a channel that became a text channel; 200 when it is an announcement channel again', async () => {
      const { id } = await post('news');
      await send(api, 200, owner, 'PATCH', `/api/channels/${news.id}`, { kind: 'text' });
      await refused(api, [400, 'invalid_request'], member, 'POST', pathOf(id));
      await send(api, 200, owner, 'PATCH', `/api/channels/${news.id}`, { kind: 'announcement' });
      await crosspost(member, id);
    });

    it('a voice channel and a category', async () => {
      for (const kind of ['voice', 'category'] as const) {
        const { id } = await makeChannel(api, owner, server.id, { kind });
        await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(unknownId, id));
      }
    });

    it('an announcement channel, if the message is a copy', async () => {
      const { id } = await post('news');
      await api.platform.db.messages.updateOne({ _id: id }, { $set: { copyOf: unknownId } });
      await refused(api, [400, 'invalid_request'], owner, 'POST', pathOf(id));
    });
  });

  it('404 for a message that is unknown, deleted or of another channel', async () => {
    const [{ id: gone }, { id: elsewhere }] = [await post('news'), await postMessage(api, member, server.general)];
    await remove(gone);
    for (const messageId of [unknownId, gone, elsewhere]) await refused(api, [404, 'not_found'], owner, 'POST', pathOf(messageId));
  });

  it('a delete of a crossposted message removes its pending copies', async () => {
    const { id } = await post('news');
    await crosspost(member, id);
    await remove(id);
    expect((await stored(id))?.crosspostAt).to.equal(undefined);
  });
});

describe('a reply to a copy', () => {
  const { api, owner, server } = useServer();

  it('mentions nobody, because the author of a copy is no account', async () => {
    const { post } = messageCalls(api, { id: server.general }, owner);
    const { id } = await post('copy');
    const face = { username: 'Server', displayName: 'Server #news', avatarUrl: null };
    await api.platform.db.messages.updateOne({ _id: id }, { $set: { authorId: server.general, face, copyOf: unknownId } });
    const { mentions, reply } = await post({ content: 'yes', replyTo: id });
    expect(mentions).to.deep.equal([]);
    expect(reply?.author).to.deep.equal({ id: server.general, ...face });
  });
});
