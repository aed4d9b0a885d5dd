import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { toStoredAttachment } from '../../lib/domain/files/attachment-updates.ts';
import { discardPostFiles, finishPostFiles, storePostFiles } from '../../lib/domain/files/attachments.ts';
import { copyFiles, decideCopies } from '../../lib/domain/files/file-copies.ts';
import { decideMessageFiles, deleteFiles, removeChannelFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc, StoredAttachment } from '../../lib/store/mongo/models/message.ts';
import { storedMessage } from '../api/messages/message-fixture.ts';
import { makeChannel } from '../harness/factories.ts';
import { beforeNextQuery, interceptNext } from '../harness/intercept.ts';
import { make } from '../harness/use.ts';
import {
  ageFiles,
  expectNoOrphans,
  expectSameFiles,
  fileDocs,
  formOf,
  getFile,
  onDisk,
  type Posted,
  sendBody,
  useUploads,
} from './fixture.ts';

describe('files of messages', () => {
  const { api, owner, server, bot, remove, postFiles } = useUploads();
  const other = make(() => makeChannel(api, owner, server.id));
  afterEach(() => expectNoOrphans(api));

  const post = (count = 2): Promise<Posted> =>
    postFiles(
      Array.from({ length: count }, (_, at) => ({ name: `${at}.txt`, bytes: `file ${at}` })),
      { content: 'x' },
    );
  const stored = async (id: string): Promise<MessageDoc> => (await storedMessage(api, id)) as MessageDoc;
  const statusOf = async (attachment: { url: string } | undefined): Promise<number> =>
    (await getFile(api, attachment as { url: string })).status;

  it('deleting a message marks its files, and the job deletes their blobs and documents; running it again changes nothing', async () => {
    const [kept, { id, attachments }] = [await post(), await post()];
    await remove(id);
    expect((await fileDocs(api)).filter(({ messageId }) => messageId === id).every(({ openAt }) => openAt)).to.equal(true);
    await decideMessageFiles(api.platform, id);
    expect(await Promise.all(attachments.map(statusOf))).to.deep.equal([404, 404]);
    await expectSameFiles(api, async () => {
      await decideMessageFiles(api.platform, id);
      await decideMessageFiles(api.platform, kept.id);
    });
    expect(await Promise.all(kept.attachments.map(statusOf))).to.deep.equal([200, 200]);
  });

  it('deletes the files of a message that is deleted right after its insert', async () => {
    const { files } = api.platform.db;
    // The first update sets the message's id before the insert; the second confirms that the message has the files.
    beforeNextQuery(files, 'updateMany', async () => {
      beforeNextQuery(files, 'updateMany', async () => {
        const [message] = await api.platform.db.messages.find().sort({ _id: -1 }).limit(1).toArray();
        await remove(String(message?._id));
      });
    });
    const { id } = await post();
    await decideMessageFiles(api.platform, id);
    expect((await fileDocs(api)).filter(({ messageId }) => messageId === id)).to.deep.equal([]);
  });

  it('the sweep ignores recent files, keeps old ones that their message lists, deletes the others, and changes nothing the second time', async () => {
    const message = await post();
    const old = new Date(Date.now() - 16 * 60_000);
    const recent = new Date(Date.now() - 14 * 60_000);
    const [first, second] = await fileDocs(api).then((docs) => docs.filter(({ messageId }) => messageId === message.id));
    await api.platform.db.files.updateOne({ _id: String(first?._id) }, { $set: { openAt: old } });
    await api.platform.db.files.updateOne({ _id: String(second?._id) }, { $set: { openAt: recent } });
    const unlisted = {
      ...first,
      _id: api.platform.ids.next(),
      key: 'f'.repeat(32),
      blob: 'e'.repeat(32),
      messageId: api.platform.ids.next(),
      openAt: old,
    };
    await api.platform.db.files.insertOne(unlisted as never);
    await sweepFiles(api.platform);
    const left = (await fileDocs(api)).filter(({ _id }) => [first?._id, second?._id, unlisted._id].includes(_id));
    expect(left.map(({ _id, openAt }) => [_id, openAt?.getTime()])).to.deep.equal([
      [first?._id, undefined],
      [second?._id, recent.getTime()],
    ]);
    await expectSameFiles(api, () => sweepFiles(api.platform));
  });

  /** A message id in another channel. */
  const newOwner = () => ({ messageId: api.platform.ids.next(), channelId: other.id });
  const copyTo = async (source: MessageDoc, to: { messageId: string; channelId: string }): Promise<StoredAttachment[]> =>
    (await copyFiles(api.platform, source, [to])).get(to.messageId) ?? [];
  /** Copies a message with its files, as a crosspost does. */
  const copyMessage = async (source: Posted): Promise<{ id: string; attachments: StoredAttachment[] }> => {
    const to = newOwner();
    const attachments = await copyTo(await stored(source.id), to);
    const { outbox: _, outboxAt: __, ...rest } = await stored(source.id);
    await api.platform.db.messages.insertOne({ ...rest, _id: to.messageId, channelId: to.channelId, attachments });
    await decideCopies(api.platform, [to.messageId]);
    return { id: to.messageId, attachments };
  };
  /** Runs `act` after the next insert of file documents, before its caller continues. */
  const afterNextInsert = (act: () => Promise<unknown>): void =>
    interceptNext(api.platform.db.files, 'insertMany', async (real) => {
      const result = await real();
      await act();
      return result;
    });
  const addressOf = ({ key, filename }: StoredAttachment): { url: string } => ({ url: `http://x/files/${key}/${filename}` });

  it('a copy has its own ids and keys, shares the blobs and survives its source; deleting the last one deletes the blobs', async () => {
    const source = await post();
    const copy = await copyMessage(source);
    expect(copy.attachments.map(({ filename }) => filename)).to.deep.equal(['0.txt', '1.txt']);
    expect(copy.attachments.map(({ id }) => id)).not.to.include.members(source.attachments.map(({ id }) => id));
    const before = (await onDisk(api)).blobs;
    await remove(source.id);
    await decideMessageFiles(api.platform, source.id);
    expect((await onDisk(api)).blobs).to.deep.equal(before);
    expect(await statusOf(source.attachments[0])).to.equal(404);
    expect(String((await getFile(api, addressOf(copy.attachments[1] as StoredAttachment))).body)).to.equal('file 1');
    await api.platform.db.messages.deleteOne({ _id: copy.id });
    await api.platform.db.files.updateMany({ messageId: copy.id }, { $set: { openAt: new Date() } });
    await decideMessageFiles(api.platform, copy.id);
    expect(await statusOf(addressOf(copy.attachments[1] as StoredAttachment))).to.equal(404);
  });

  it('deleting the source during a copy keeps the bytes of the copy, and leaves no other blob', async () => {
    for (const moment of ['insertMany', 'find'] as const) {
      const source = await post();
      const docs = await api.platform.db.files.find({ messageId: source.id }).toArray();
      const drop = async (): Promise<void> => {
        await api.platform.db.messages.deleteOne({ _id: source.id });
        await deleteFiles(api.platform, docs);
      };
      const message = await stored(source.id);
      const to = newOwner();
      if (moment === 'find') afterNextInsert(drop);
      else
        interceptNext(api.platform.db.files, 'find', (find) => {
          setImmediate(() => void drop());
          return find();
        });
      const attachments = await copyTo(message, to);
      for (const attachment of attachments) expect(await statusOf(addressOf(attachment))).to.equal(200);
      await decideCopies(api.platform, [to.messageId]);
      await drop();
    }
  });

  it('30 copies concurrent with a delete of the source: every copied file can be read, all others are deleted', async () => {
    for (let round = 0; round < 5; round++) {
      const source = await post(1);
      const message = await stored(source.id);
      const targets = Array.from({ length: 30 }, newOwner);
      const [copies] = await Promise.all([
        Promise.all(targets.map((one) => copyFiles(api.platform, message, [one]))),
        remove(source.id).then(() => decideMessageFiles(api.platform, source.id)),
      ]);
      const made = copies.flatMap((byMessage) => [...byMessage.values()].flat());
      for (const attachment of made) expect(await statusOf(addressOf(attachment))).to.equal(200);
      await decideCopies(
        api.platform,
        targets.map(({ messageId }) => messageId),
      );
    }
  });

  it('inserts copies for 500 targets, and deletes those whose messages were never stored', async () => {
    const source = await post();
    const targets = Array.from({ length: 500 }, newOwner);
    const copies = await copyFiles(api.platform, await stored(source.id), targets);
    expect([copies.size, [...copies.values()].every((one) => one.length === 2)]).to.deep.equal([500, true]);
    await decideCopies(api.platform, [...copies.keys()]);
    expect(await statusOf(source.attachments[0])).to.equal(200);
  });

  it('a copy made during the conversion of an image has the converted form', async () => {
    const source = await post(1);
    const [file] = await api.platform.db.files.find({ messageId: source.id }).toArray();
    const waiting = { state: 'waiting' as const, original: file?.blob as string, blob: 'd'.repeat(32) };
    await api.platform.db.files.updateOne({ _id: String(file?._id) }, { $set: waiting });
    const converted = { state: 'stored' as const, blob: file?.blob as string, original: waiting.blob, filename: 'final.txt', size: 6 };
    afterNextInsert(() => api.platform.db.files.updateOne({ _id: String(file?._id) }, { $set: converted }));
    const to = newOwner();
    const [copy] = (await copyTo(await stored(source.id), to)) as [StoredAttachment];
    const doc = await api.platform.db.files.findOne({ _id: copy.id });
    expect([doc?.state, doc?.blob, doc?.original]).to.deep.equal(['stored', file?.blob, waiting.blob]);
    expect(doc && toStoredAttachment(doc)).to.deep.equal(copy);
    expect([copy.filename, await statusOf(addressOf(copy))]).to.deep.equal(['final.txt', 200]);
    await api.platform.db.files.updateMany({}, { $unset: { original: 1 } });
    await decideCopies(api.platform, [to.messageId]);
  });

  it('deletes all files of a deleted channel in batches; running it again changes nothing', async () => {
    const { id: channelId } = await makeChannel(api, owner, server.id);
    await sendBody(`${api.url}/api/channels/${channelId}/messages`, bot.as, formOf({}, [{ name: 'a.txt', bytes: 'x' }]));
    const doc = await api.platform.db.files.findOne({ channelId });
    const id = (): string => api.platform.ids.next();
    const more = Array.from({ length: 450 }, () => ({ ...doc, _id: id(), key: id(), blob: id() }));
    await api.platform.db.files.insertMany(more as never[]);
    await api.platform.db.messages.deleteMany({ channelId });
    let rounds = 0;
    await removeChannelFiles(api.platform, channelId, async () => ++rounds);
    expect([rounds, await api.platform.db.files.countDocuments({ channelId })]).to.deep.equal([3, 0]);
    await expectSameFiles(api, () => removeChannelFiles(api.platform, channelId));
  });
});

describe('files that are written only after the sweep has deleted their documents', () => {
  const { api, owner, server, post, postFiles, remove } = useUploads();

  /** Posts with a file. The sweep runs before its blob is written, as if 16 minutes had passed. */
  const postLate = async (store: (message: MessageDoc) => Promise<MessageDoc>): Promise<MessageDoc> => {
    const { platform } = api;
    const [messageId, path] = [platform.ids.next(), await platform.blobs.newTempPath()];
    await writeFile(path, 'bytes');
    const put: typeof platform.blobs.put = async (...blob) => {
      await ageFiles(api, messageId);
      await sweepFiles(platform);
      await platform.blobs.put(...blob);
    };
    const template = (await platform.db.messages.findOne()) as MessageDoc;
    const late = { ...platform, blobs: { ...platform.blobs, put } };
    const files = await storePostFiles(late, { messageId, channelId: server.general, accountId: owner.id, serverId: server.id }, [
      { path, filename: 'a.txt', contentType: 'text/plain', size: 5, sha256: '', head: Buffer.from('bytes'), megapixels: 50 },
    ]);
    try {
      const message = { ...template, _id: messageId, channelId: server.general, attachments: files.map(toStoredAttachment) };
      return await finishPostFiles(late, files, await store(message));
    } catch (error) {
      await discardPostFiles(late, files, error);
      throw error;
    }
  };
  const expectNothing = async (): Promise<void> => {
    await expectNoOrphans(api);
    expect([await fileDocs(api), (await onDisk(api)).blobs]).to.deep.equal([[], []]);
  };

  it('the message is posted without them, and no blob is left', async () => {
    const { messages } = api.platform.db;
    await post('x');
    const message = await postLate(async (one) => {
      await messages.insertOne({ ...one });
      return one;
    });
    const stored = await messages.findOne({ _id: message._id });
    expect([stored?.attachments, message.attachments]).to.deep.equal([[], []]);
    await expectNothing();
  });

  it('a message posted just after the sweep looked for it keeps its files', async () => {
    const { id, attachments } = await postFiles([{ name: 'a.txt', bytes: 'kept' }]);
    const { messages, files } = api.platform.db;
    const message = await messages.findOne({ _id: id });
    await messages.deleteOne({ _id: id });
    await ageFiles(api, id);
    beforeNextQuery(files, 'updateMany', async () => {
      await messages.insertOne({ ...message } as never);
      await files.updateMany({ messageId: id }, { $unset: { openAt: 1 } });
    });
    await sweepFiles(api.platform);
    expect((await getFile(api, attachments[0] as { url: string })).status).to.equal(200);
    await expectNoOrphans(api);
    await remove(id);
    await decideMessageFiles(api.platform, id);
  });

  it('no blob is left when the message is refused', async () => {
    await post('x');
    const reason = await postLate(() => Promise.reject(new Error('refused'))).catch((error: Error) => error.message);
    expect(reason).to.equal('refused');
    await expectNothing();
  });
});
