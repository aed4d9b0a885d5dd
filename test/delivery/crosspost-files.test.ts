import { expect } from 'chai';
import type { Message } from '../../lib/contract/message.ts';
import { toStoredAttachment } from '../../lib/domain/files/attachment-updates.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { allChunks, copiesOf, makeFollowing, nextChunk } from '../harness/crosspost.ts';
import { make, use } from '../harness/use.ts';

describe('crosspost-server: files', () => {
  const api = use(startTestApiWithWorker);
  const following = make(() => makeFollowing(api.platform, 60), { each: true });

  /** Crossposts a message that has only two stored files. */
  const crosspostFiles = async (): Promise<{ id: string; files: FileDoc[] }> => {
    const { news, from } = following;
    const as = `Bearer ${from.ownerToken}`;
    const { body } = await api.call<Message>('POST', `/api/channels/${news}/messages`, { as, body: { content: 'x' } });
    const { db, ids } = api.platform;
    const files = ['a.txt', 'b.txt'].map((filename): FileDoc => {
      const key = ids.next();
      const about = { filename, contentType: 'text/plain', size: 3, width: null, height: null, state: 'stored' as const };
      return { _id: ids.next(), key, blob: `${key}b`, messageId: body.id, channelId: news, ...about, createdAt: new Date() };
    });
    await db.files.insertMany(files);
    await db.messages.updateOne({ _id: body.id }, { $set: { content: '', attachments: files.map(toStoredAttachment) } });
    expect((await api.call('POST', `/api/channels/${news}/messages/${body.id}/crosspost`, { as })).status).to.equal(200);
    return { id: body.id, files };
  };
  const copiedFiles = async (files: readonly FileDoc[]): Promise<FileDoc[]> =>
    await api.platform.db.files
      .find({ blob: { $in: files.map(({ blob }) => blob) }, _id: { $nin: files.map(({ _id }) => _id) } })
      .sort({ _id: 1 })
      .toArray();

  it('each copy has its own files with their own URLs, which share the bytes', async () => {
    const { id, files } = await crosspostFiles();
    await allChunks(api.worker, id);
    const copies = await copiesOf(api.platform, id);
    expect(copies.map(({ channelId }) => channelId)).to.deep.equal(following.targets);
    for (const { attachments } of copies) expect(attachments.map(({ filename }) => filename)).to.deep.equal(['a.txt', 'b.txt']);
    const attached = copies.flatMap(({ attachments }) => attachments);
    for (const field of ['id', 'key'] as const) expect(new Set(attached.map((one) => one[field])).size).to.equal(120);
    const stored = await copiedFiles(files);
    expect(stored.map(({ _id }) => _id)).to.have.members(attached.map((one) => one.id));
    for (const file of stored) expect(file).not.to.have.property('openAt');
  });

  it('leaves no file without a copy when the job runs repeatedly and in parallel', async () => {
    const { id, files } = await crosspostFiles();
    await nextChunk(api.worker, id);
    await api.platform.db.messages.updateOne({ _id: id }, { $unset: { crosspostTo: 1 } });
    await Promise.all(Array.from({ length: 4 }, () => nextChunk(api.worker, id)));
    await Promise.all(Array.from({ length: 4 }, () => allChunks(api.worker, id)));
    const attachedIds = (await copiesOf(api.platform, id)).flatMap(({ attachments }) => attachments.map((one) => one.id));
    expect(attachedIds).to.have.length(120);
    const kept = (await copiedFiles(files)).filter(({ state }) => state !== 'freed');
    expect(kept.map(({ _id }) => _id)).to.have.members(attachedIds);
  });

  it('makes no empty copies when the files were deleted before', async () => {
    const { id, files } = await crosspostFiles();
    await api.platform.db.files.deleteMany({ _id: { $in: files.map(({ _id }) => _id) } });
    await allChunks(api.worker, id);
    expect(await copiesOf(api.platform, id)).to.deep.equal([]);
  });
});
