import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { attachmentOfFile } from '../../lib/domain/files/attachment-updates.ts';
import { copyFiles, settleCopies } from '../../lib/domain/files/file-copies.ts';
import { dropFiles, removeChannelFiles, settleFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc, StoredAttachment } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { meet } from '../harness/meet.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, onDisk, type Posted, sendBody } from './fixture.ts';

describe('files of messages, from post to delete', () => {
  let fixture: MessageFixture;
  let worker: WorkerPlatform;
  before(async () => {
    fixture = await messageFixture();
    worker = await openWorkerPlatform(fixture.api.platform.config, createLog('worker', 'error'));
  });
  after(async () => {
    await worker.close();
    await fixture.api.close();
  });
  afterEach(() => expectNoOrphans(fixture.api));

  const post = async (count = 2): Promise<Posted> => {
    const files = Array.from({ length: count }, (_, at) => ({ name: `${at}.txt`, bytes: `file ${at}` }));
    const { status, body } = await sendBody(fixture.api.url + fixture.path, fixture.bot, formOf({ content: 'x' }, files));
    expect(status).to.equal(201);
    return body;
  };
  const stored = async (id: string): Promise<MessageDoc> => {
    const found = await worker.db.messages.findOne({ _id: id }).lean();
    return found as MessageDoc;
  };
  const remove = async (id: string): Promise<void> => {
    expect((await fixture.api.call('DELETE', `${fixture.path}/${id}`, { as: fixture.bot })).status).to.equal(204);
  };
  const servedAs = async (attachment: { url: string } | undefined): Promise<number> =>
    (await getFile(fixture.api, attachment as { url: string })).status;
  const snapshot = async (): Promise<string> => JSON.stringify([await fileDocs(fixture.api), await onDisk(fixture.api)]);

  it('deleting a message opens the fate of its files; the job deletes blobs and documents, once and again', async () => {
    const [kept, { id, attachments }] = [await post(), await post()];
    await remove(id);
    expect((await fileDocs(fixture.api)).filter(({ messageId }) => messageId === id).every(({ openAt }) => openAt)).to.equal(true);
    await settleFiles(worker, id);
    expect(await Promise.all(attachments.map(servedAs))).to.deep.equal([404, 404]);
    const after = await snapshot();
    await settleFiles(worker, id);
    await settleFiles(worker, kept.id);
    expect(await snapshot()).to.equal(after);
    expect(await Promise.all(kept.attachments.map(servedAs))).to.deep.equal([200, 200]);
  });

  it('a delete in the moment after the insert still takes the files', async () => {
    const { files } = fixture.api.platform.db;
    // The first update of file documents gives them the message's id before the insert; the second says that the message has them.
    meet(files, 'updateMany' as never, async () => {
      meet(files, 'updateMany' as never, async () => {
        const [message] = await worker.db.messages.find().sort({ _id: -1 }).limit(1).lean();
        await remove(String(message?._id));
      });
    });
    const { id } = await post();
    await settleFiles(worker, id);
    expect((await fileDocs(fixture.api)).filter(({ messageId }) => messageId === id)).to.deep.equal([]);
  });

  it('the sweep leaves young files alone, decides about old ones by their message, and changes nothing the second time', async () => {
    const message = await post();
    const old = new Date(Date.now() - 16 * 60_000);
    const young = new Date(Date.now() - 14 * 60_000);
    const [first, second] = await fileDocs(fixture.api).then((docs) => docs.filter(({ messageId }) => messageId === message.id));
    await worker.db.files.updateOne({ _id: String(first?._id) }, { $set: { openAt: old } });
    await worker.db.files.updateOne({ _id: String(second?._id) }, { $set: { openAt: young } });
    const never = {
      ...first,
      _id: worker.ids.next(),
      key: 'f'.repeat(32),
      blob: 'e'.repeat(32),
      messageId: worker.ids.next(),
      openAt: old,
    };
    await worker.db.files.collection.insertOne(never as never);
    await sweepFiles(worker);
    const left = (await fileDocs(fixture.api)).filter(({ _id }) => [first?._id, second?._id, never._id].includes(_id));
    expect(left.map(({ _id, openAt }) => [_id, openAt?.getTime()])).to.deep.equal([
      [first?._id, undefined],
      [second?._id, young.getTime()],
    ]);
    const after = await snapshot();
    await sweepFiles(worker);
    expect(await snapshot()).to.equal(after);
  });

  const copyTo = async (source: MessageDoc, to: { messageId: string; channelId: string }): Promise<StoredAttachment[]> =>
    (await copyFiles(worker, source, [to])).get(to.messageId) ?? [];
  /** Makes a copy of a message with its files, as a crosspost does. */
  const copyMessage = async (source: Posted): Promise<{ id: string; attachments: StoredAttachment[] }> => {
    const to = { messageId: worker.ids.next(), channelId: fixture.world.channelIds[1] as string };
    const attachments = await copyTo(await stored(source.id), to);
    const { ob: _, obAt: __, ...rest } = await stored(source.id);
    await worker.db.messages.collection.insertOne({ ...rest, _id: to.messageId, channelId: to.channelId, attachments } as never);
    await settleCopies(worker, [to.messageId]);
    return { id: to.messageId, attachments };
  };
  const addressOf = ({ key, filename }: StoredAttachment): { url: string } => ({ url: `http://x/files/${key}/${filename}` });

  it('a copy has ids and keys of its own, shares the blobs, and outlives its source; the last one takes them along', async () => {
    const source = await post();
    const copy = await copyMessage(source);
    expect(copy.attachments.map(({ filename }) => filename)).to.deep.equal(['0.txt', '1.txt']);
    expect(copy.attachments.map(({ id }) => id)).not.to.include.members(source.attachments.map(({ id }) => id));
    const before = (await onDisk(fixture.api)).blobs;
    await remove(source.id);
    await settleFiles(worker, source.id);
    expect((await onDisk(fixture.api)).blobs).to.deep.equal(before);
    expect(await servedAs(source.attachments[0])).to.equal(404);
    expect(String((await getFile(fixture.api, addressOf(copy.attachments[1] as StoredAttachment))).body)).to.equal('file 1');
    await worker.db.messages.deleteOne({ _id: copy.id });
    await worker.db.files.updateMany({ messageId: copy.id }, { $set: { openAt: new Date() } });
    await settleFiles(worker, copy.id);
    expect(await servedAs(addressOf(copy.attachments[1] as StoredAttachment))).to.equal(404);
  });

  it('a source that goes while it is copied takes no bytes of the copy along, and leaves none', async () => {
    for (const worst of ['insertMany', 'find'] as const) {
      const source = await post();
      const ids = source.attachments.map(({ id }) => id);
      const drop = async (): Promise<void> => {
        await worker.db.messages.deleteOne({ _id: source.id });
        await dropFiles(fixture.api.platform, ids);
      };
      const message = await stored(source.id);
      const to = { messageId: worker.ids.next(), channelId: fixture.world.channelIds[1] as string };
      if (worst === 'find') {
        const { collection } = worker.db.files;
        const real = collection.insertMany.bind(collection);
        collection.insertMany = async (...args: Parameters<typeof real>) => {
          collection.insertMany = real;
          const result = await real(...args);
          await drop();
          return result;
        };
      } else meet(worker.db.files, 'find' as never, async () => setImmediate(() => void drop()));
      const attachments = await copyTo(message, to);
      for (const attachment of attachments) expect(await servedAs(addressOf(attachment))).to.equal(200);
      await settleCopies(worker, [to.messageId]);
      await drop();
    }
  });

  it('thirty copies and a delete of the source at once: what is copied can be read, the rest is gone', async () => {
    for (let round = 0; round < 5; round++) {
      const source = await post(1);
      const message = await stored(source.id);
      const targets = Array.from({ length: 30 }, () => ({
        messageId: worker.ids.next(),
        channelId: fixture.world.channelIds[1] as string,
      }));
      const [copies] = await Promise.all([
        Promise.all(targets.map((one) => copyFiles(worker, message, [one]))),
        remove(source.id).then(() => settleFiles(fixture.api.platform, source.id)),
      ]);
      const made = copies.flatMap((byMessage) => [...byMessage.values()].flat());
      for (const attachment of made) expect(await servedAs(addressOf(attachment))).to.equal(200);
      await settleCopies(
        worker,
        targets.map(({ messageId }) => messageId),
      );
    }
  });

  it('copies that never stood are deleted; 500 targets are one insert', async () => {
    const source = await post();
    const targets = Array.from({ length: 500 }, () => ({ messageId: worker.ids.next(), channelId: fixture.world.channelIds[1] as string }));
    const copies = await copyFiles(worker, await stored(source.id), targets);
    expect([copies.size, [...copies.values()].every((one) => one.length === 2)]).to.deep.equal([500, true]);
    await settleCopies(worker, [...copies.keys()]);
    expect(await servedAs(source.attachments[0])).to.equal(200);
  });

  it('an image that is converted while it is copied: the copy is what the source became', async () => {
    const source = await post(1);
    const [file] = await worker.db.files.find({ messageId: source.id }).lean();
    const waiting = { state: 'waiting' as const, original: file?.blob as string, blob: 'd'.repeat(32) };
    await worker.db.files.updateOne({ _id: String(file?._id) }, { $set: waiting });
    const { collection } = worker.db.files;
    const real = collection.insertMany.bind(collection);
    collection.insertMany = async (...args: Parameters<typeof real>) => {
      collection.insertMany = real;
      const result = await real(...args);
      const form = { state: 'stored' as const, blob: file?.blob as string, original: waiting.blob, filename: 'final.txt', size: 6 };
      await worker.db.files.updateOne({ _id: String(file?._id) }, { $set: form });
      return result;
    };
    const to = { messageId: worker.ids.next(), channelId: fixture.world.channelIds[1] as string };
    const [copy] = (await copyTo(await stored(source.id), to)) as [StoredAttachment];
    const doc = await worker.db.files.findOne({ _id: copy.id }).lean();
    expect([doc?.state, doc?.blob, doc?.original]).to.deep.equal(['stored', file?.blob, waiting.blob]);
    expect(doc && attachmentOfFile(doc)).to.deep.equal(copy);
    expect([copy.filename, await servedAs(addressOf(copy))]).to.deep.equal(['final.txt', 200]);
    await worker.db.files.updateMany({}, { $unset: { original: 1 } });
    await settleCopies(worker, [to.messageId]);
  });

  it('a channel that goes takes all its files, in batches, and again changes nothing', async () => {
    const [, , channelId = ''] = fixture.world.channelIds;
    const path = fixture.api.url + `/api/channels/${channelId}/messages`;
    const { body } = await sendBody(path, fixture.bot, formOf({}, [{ name: 'a.txt', bytes: 'x' }]));
    const [doc] = await worker.db.files.find({ messageId: body.id }).lean();
    const more = Array.from({ length: 450 }, () => ({ ...doc, _id: worker.ids.next(), key: worker.ids.next(), blob: worker.ids.next() }));
    await worker.db.files.collection.insertMany(more as never[]);
    await worker.db.messages.deleteMany({ channelId });
    let rounds = 0;
    await removeChannelFiles(worker, channelId, async () => ++rounds);
    expect([rounds, await worker.db.files.countDocuments({ channelId })]).to.deep.equal([3, 0]);
    const after = await snapshot();
    await removeChannelFiles(worker, channelId);
    expect(await snapshot()).to.equal(after);
  });
});
