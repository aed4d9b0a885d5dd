import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { toStoredAttachment } from '../../lib/domain/files/attachment-updates.ts';
import { copyToNextFollowers } from '../../lib/domain/jobs/crosspost-copies.ts';
import { resumeCrosspost } from '../../lib/domain/messages/crossposts.ts';
import { deleteMessages } from '../../lib/domain/messages/removal.ts';
import { relayEvents } from '../../lib/domain/relay/relay.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { allChunks, changeChannel, copiesOf, type Following, makeFollowing, nextChunk } from '../harness/crosspost.ts';
import { postMessage } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { ownerOf } from '../harness/seed.ts';
import { use } from '../harness/use.ts';

describe('crosspost-server', () => {
  const api = use(startTestApiWithWorker);
  let following: Following;
  let targets: string[];
  let news: string;

  const setUpFollowers = async (followers: number): Promise<void> => {
    following = await makeFollowing(api.platform, followers);
    ({ targets, news } = following);
  };
  const asOwner = (): string => `Bearer ${following.from.ownerToken}`;
  const asTarget = (): string => `Bearer ${following.to.ownerToken}`;
  const crosspost = async (): Promise<string> => {
    const { id } = await postMessage(api, ownerOf(following.from), news, 'news');
    await send(api, 200, ownerOf(following.from), 'POST', `/api/channels/${news}/messages/${id}/crosspost`);
    return id;
  };
  const copies = (id: string): Promise<MessageDoc[]> => copiesOf(api.platform, id);
  const channelsWithCopies = async (id: string): Promise<string[]> => (await copies(id)).map(({ channelId }) => channelId);
  const stored = (id: string): Promise<MessageDoc | null> => api.platform.db.messages.findOne({ _id: id });
  const tombstones = (id: string): Promise<number> => api.platform.db.messages.countDocuments({ copyOf: id, deleted: true });
  const snapshot = async (): Promise<string> => {
    const { messages, follows } = api.platform.db;
    return JSON.stringify([await messages.find().sort({ _id: 1 }).toArray(), await follows.find().sort({ _id: 1 }).toArray()]);
  };
  /** Removes the mark, as a process that died after the copies of the first chunk and before the mark. */
  const loseMark = (id: string): Promise<unknown> => api.platform.db.messages.updateOne({ _id: id }, { $unset: { crosspostTo: 1 } });
  const requestDelete = ({ channelId, _id }: MessageDoc): Promise<void> =>
    send(api, 204, ownerOf(following.to), 'DELETE', `/api/channels/${channelId}/messages/${_id}`);
  /** Sets the mark back to `to`, as a process that died after the copies of a later chunk and before its mark. */
  const setMarkBack = (id: string, to: string | undefined): Promise<unknown> =>
    api.platform.db.messages.updateOne(
      { _id: id },
      { $set: { crosspostAt: new Date(), ...(to && { crosspostTo: to }) }, ...(!to && { $unset: { crosspostTo: 1 } }) },
    );
  const runServerJob = (): Promise<void> => copyToNextFollowers(api.worker, following.from.serverId);
  const deleteCopy = async (copy: MessageDoc): Promise<void> => {
    await requestDelete(copy);
    await relayEvents(api.worker, 'channel', copy.channelId);
  };

  it('a copy of a reply has the content, embeds and previews, no reference, and names the source server as author', async () => {
    await setUpFollowers(1);
    const content = `hello **all** <@${following.from.ownerId}> <@&${following.from.serverId}> @everyone`;
    const path = `/api/channels/${news}/messages`;
    const { id: replyTo } = await postMessage(api, ownerOf(following.from), news);
    const reply = { content, embeds: [{ title: 'rich' }], replyTo };
    const { body } = await api.call<Message>('POST', path, { as: `Bot ${following.from.bots[0]?.token}`, body: reply });
    await api.platform.db.messages.updateOne(
      { _id: body.id },
      { $set: { previews: [{ title: 'preview' }], mentionEveryone: true, mentionRoles: [following.from.serverId] } },
    );
    await api.call('POST', `${path}/${body.id}/crosspost`, { as: asOwner() });
    await allChunks(api.worker, body.id);
    expect((await copies(body.id))[0]).to.deep.include({ replyTo: null, mentions: [] });
    const [shown] = (await api.call<Message[]>('GET', `/api/channels/${targets[0]}/messages`, { as: asTarget() })).body;
    expect(shown).to.deep.include({
      channelId: targets[0],
      author: { id: news, username: 'world', displayName: 'world #channel-0', avatarUrl: null },
      content,
      embeds: [{ title: 'rich' }, { title: 'preview' }],
      mentions: [],
      mentionRoles: [],
      mentionEveryone: false,
      crossposted: false,
      editedAt: null,
      replyDeleted: false,
      pinned: false,
    });
    expect(String(shown?.id) > body.id).to.equal(true);
  });

  describe('in chunks of 50', () => {
    beforeEach(() => setUpFollowers(120));

    it('each chunk moves the mark, in the order of the targets', async () => {
      const id = await crosspost();
      for (const done of [50, 100]) {
        await nextChunk(api.worker, id);
        expect(await channelsWithCopies(id)).to.deep.equal(targets.slice(0, done));
        expect((await stored(id))?.crosspostTo).to.equal(targets[done - 1]);
      }
      expect(await nextChunk(api.worker, id)).to.equal(true);
      expect(await channelsWithCopies(id)).to.deep.equal(targets);
      expect(await nextChunk(api.worker, id)).to.equal(false);
    });

    it('running every chunk again changes nothing', async () => {
      const id = await crosspost();
      for (const mark of [undefined, targets[49], targets[99]]) {
        await runServerJob();
        const before = await copies(id);
        await setMarkBack(id, mark);
        await runServerJob();
        expect(await copies(id)).to.deep.equal(before);
      }
      expect(await channelsWithCopies(id)).to.deep.equal(targets);
      const before = await snapshot();
      await runServerJob();
      expect(await snapshot()).to.equal(before);
    });

    it('six parallel jobs make and relay one copy in each channel, and leave nothing pending', async () => {
      const id = await crosspost();
      await Promise.all(Array.from({ length: 6 }, () => allChunks(api.worker, id)));
      expect(await channelsWithCopies(id)).to.deep.equal(targets);
      for (const copy of await copies(id)) expect(copy).not.to.have.any.keys('outbox', 'outboxAt');
      expect(await stored(id)).not.to.have.any.keys('crosspostAt', 'crosspostTo');
    });

    it('does not make a deleted copy again, not even after its mark was lost', async () => {
      const id = await crosspost();
      await nextChunk(api.worker, id);
      await loseMark(id);
      const [first, second] = (await copies(id)) as [MessageDoc, MessageDoc];
      await deleteCopy(first);
      expect(await tombstones(id)).to.equal(1);
      await nextChunk(api.worker, id);
      expect(await tombstones(id)).to.equal(0);
      await deleteCopy(second);
      await allChunks(api.worker, id);
      expect(await channelsWithCopies(id)).to.deep.equal(targets.slice(2));
      expect(await tombstones(id)).to.equal(0);
    });

    it('keeps the tombstone of a copy until its MESSAGE_DELETE is relayed, and no copies are pending', async () => {
      const id = await crosspost();
      await nextChunk(api.worker, id);
      const copy = (await copies(id))[0] as MessageDoc;
      await requestDelete(copy);
      await allChunks(api.worker, id);
      expect(await tombstones(id)).to.equal(1);
      await relayEvents(api.worker, 'channel', copy.channelId);
      expect(await tombstones(id)).to.equal(0);
      await deleteCopy((await copies(id))[0] as MessageDoc);
      expect(await tombstones(id)).to.equal(0);
    });

    const deleteMessage = async (id: string): Promise<void> => {
      await api.call('DELETE', `/api/channels/${news}/messages/${id}`, { as: asOwner() });
      await relayEvents(api.worker, 'channel', news);
    };
    const removals: [what: string, remove: (id: string) => Promise<unknown>][] = [
      ['the message is deleted', deleteMessage],
      ['its channel is deleted with all its messages', () => deleteMessages(api.worker, news, () => Promise.resolve())],
    ];
    for (const [what, remove] of removals)
      it(`stops when ${what}, keeps the copies made so far, and leaves no tombstone`, async () => {
        const id = await crosspost();
        await nextChunk(api.worker, id);
        await loseMark(id);
        await deleteCopy((await copies(id))[0] as MessageDoc);
        expect(await tombstones(id)).to.equal(1);
        await remove(id);
        await runServerJob();
        expect(await channelsWithCopies(id)).to.deep.equal(targets.slice(1, 50));
        expect(await tombstones(id)).to.equal(0);
      });

    it('stops when the source becomes a text channel, and does not continue when it is an announcement channel again', async () => {
      const id = await crosspost();
      await nextChunk(api.worker, id);
      await changeChannel(api.platform, following.from.serverId, news, { kind: 'text' });
      await nextChunk(api.worker, id);
      expect(await nextChunk(api.worker, id)).to.equal(false);
      await changeChannel(api.platform, following.from.serverId, news, { kind: 'announcement' });
      await runServerJob();
      expect(await channelsWithCopies(id)).to.deep.equal(targets.slice(0, 50));
      expect(await api.platform.db.follows.countDocuments({ sourceId: news })).to.equal(120);
      const next = await crosspost();
      await allChunks(api.worker, next);
      expect(await channelsWithCopies(next)).to.deep.equal(targets);
    });
  });

  it('removes the follow of a deleted target, and skips a target that is no longer a text channel', async () => {
    await setUpFollowers(3);
    const [gone, other, last] = targets as [string, string, string];
    await api.platform.db.channels.deleteOne({ _id: gone });
    await changeChannel(api.platform, following.to.serverId, other, { kind: 'announcement' });
    const id = await crosspost();
    await allChunks(api.worker, id);
    expect(await channelsWithCopies(id)).to.deep.equal([last]);
    const rows = await api.platform.db.follows.find({ sourceId: news }).sort({ targetId: 1 }).toArray();
    expect(rows.map(({ targetId }) => targetId)).to.deep.equal([other, last]);
  });

  it('does nothing without followers, for a missing message and for one that was not crossposted', async () => {
    await setUpFollowers(0);
    const id = await crosspost();
    await allChunks(api.worker, id);
    expect(await stored(id)).not.to.have.any.keys('crosspostAt', 'crosspostTo');
    const plain = await postMessage(api, ownerOf(following.from), news);
    const before = await snapshot();
    await runServerJob();
    for (const messageId of [plain.id, id, following.to.serverId]) await resumeCrosspost(api.worker, messageId);
    expect(await snapshot()).to.equal(before);
  });

  it('ignores slow mode and permissions of the target', async () => {
    await setUpFollowers(1);
    const deny = { overwrites: [{ id: following.to.serverId, allow: 0, deny: 15 }], slowmodeSecs: 21_600 };
    await changeChannel(api.platform, following.to.serverId, targets[0] as string, deny);
    for (const id of [await crosspost(), await crosspost()]) {
      await allChunks(api.worker, id);
      expect(await channelsWithCopies(id)).to.deep.equal(targets);
    }
  });

  describe('files', () => {
    beforeEach(() => setUpFollowers(60));

    /** Crossposts a message that has only two stored files. */
    const crosspostFiles = async (): Promise<{ id: string; files: FileDoc[] }> => {
      const { id } = await postMessage(api, ownerOf(following.from), news);
      const { db, ids } = api.platform;
      const files = ['a.txt', 'b.txt'].map((filename): FileDoc => {
        const key = ids.next();
        const about = { filename, contentType: 'text/plain', size: 3, width: null, height: null, state: 'stored' as const };
        return { _id: ids.next(), key, blob: `${key}b`, messageId: id, channelId: news, ...about, createdAt: new Date() };
      });
      await db.files.insertMany(files);
      await db.messages.updateOne({ _id: id }, { $set: { content: '', attachments: files.map(toStoredAttachment) } });
      await send(api, 200, ownerOf(following.from), 'POST', `/api/channels/${news}/messages/${id}/crosspost`);
      return { id, files };
    };
    const copiedFiles = async (files: readonly FileDoc[]): Promise<FileDoc[]> =>
      await api.platform.db.files
        .find({ blob: { $in: files.map(({ blob }) => blob) }, _id: { $nin: files.map(({ _id }) => _id) } })
        .sort({ _id: 1 })
        .toArray();

    it('each copy has its own files with their own URLs, which share the bytes', async () => {
      const { id, files } = await crosspostFiles();
      await allChunks(api.worker, id);
      const made = await copies(id);
      expect(made.map(({ channelId }) => channelId)).to.deep.equal(targets);
      for (const { attachments } of made) expect(attachments.map(({ filename }) => filename)).to.deep.equal(['a.txt', 'b.txt']);
      const attached = made.flatMap(({ attachments }) => attachments);
      for (const field of ['id', 'key'] as const) expect(new Set(attached.map((one) => one[field])).size).to.equal(120);
      const copied = await copiedFiles(files);
      expect(copied.map(({ _id }) => _id)).to.have.members(attached.map((one) => one.id));
      for (const file of copied) expect(file).not.to.have.property('openAt');
    });

    it('leaves no file without a copy when the job runs repeatedly and in parallel', async () => {
      const { id, files } = await crosspostFiles();
      await nextChunk(api.worker, id);
      await api.platform.db.messages.updateOne({ _id: id }, { $unset: { crosspostTo: 1 } });
      await Promise.all(Array.from({ length: 4 }, () => nextChunk(api.worker, id)));
      await Promise.all(Array.from({ length: 4 }, () => allChunks(api.worker, id)));
      const attachedIds = (await copies(id)).flatMap(({ attachments }) => attachments.map((one) => one.id));
      expect(attachedIds).to.have.length(120);
      const kept = (await copiedFiles(files)).filter(({ state }) => state !== 'freed');
      expect(kept.map(({ _id }) => _id)).to.have.members(attachedIds);
    });

    it('makes no empty copies when the files were deleted before', async () => {
      const { id, files } = await crosspostFiles();
      await api.platform.db.files.deleteMany({ _id: { $in: files.map(({ _id }) => _id) } });
      await allChunks(api.worker, id);
      expect(await copies(id)).to.deep.equal([]);
    });
  });
});
