import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import type { ReceivedFile } from '../../lib/domain/files/attachments.ts';
import { postWithFiles } from '../../lib/domain/files/attachments.ts';
import { settleFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { meet } from '../harness/meet.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, onDisk, sendBody } from './fixture.ts';

describe('files whose process was paused while it wrote them, for longer than the sweep waits', () => {
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

  const received = async (): Promise<ReceivedFile> => {
    const path = await worker.blobs.tempPath();
    await writeFile(path, 'bytes');
    return { path, filename: 'a.txt', contentType: 'text/plain', size: 5, sha256: '', head: Buffer.from('bytes'), megapixels: 50 };
  };
  /** Posts with files, the sweep 16 minutes later coming before their blobs are written. */
  const postLate = async (post: (message: MessageDoc) => Promise<MessageDoc>): Promise<MessageDoc> => {
    const owner = {
      messageId: worker.ids.next(),
      channelId: fixture.world.channelIds[0] as string,
      accountId: fixture.world.ownerId,
      serverId: fixture.world.serverId,
    };
    const put: typeof worker.blobs.put = async (...blob) => {
      await worker.db.files.updateMany({ messageId: owner.messageId }, { $set: { openAt: new Date(Date.now() - 16 * 60_000) } });
      await sweepFiles(worker);
      await worker.blobs.put(...blob);
    };
    const [standing] = await worker.db.messages.find().limit(1).lean();
    return postWithFiles({ ...worker, blobs: { ...worker.blobs, put } }, owner, [await received()], (attachments) =>
      post({ ...(standing as MessageDoc), _id: owner.messageId, channelId: owner.channelId, attachments }),
    );
  };
  const expectNothing = async (): Promise<void> => {
    await expectNoOrphans(fixture.api);
    expect([await fileDocs(fixture.api), (await onDisk(fixture.api)).blobs]).to.deep.equal([[], []]);
  };

  it('the message stands without them, and no blob stays', async () => {
    await fixture.post({ content: 'x' });
    const message = await postLate(async (one) => {
      await worker.db.messages.collection.insertOne({ ...one } as never);
      return one;
    });
    const stored = await worker.db.messages.findOne({ _id: message._id }).lean();
    expect([stored?.attachments, message.attachments]).to.deep.equal([[], []]);
    await expectNothing();
  });

  it('posted while the sweep had looked for its message in vain: the message keeps them', async () => {
    const { body } = await sendBody(fixture.api.url + fixture.path, fixture.bot, formOf({}, [{ name: 'a.txt', bytes: 'kept' }]));
    const { messages, files } = worker.db;
    const message = await messages.findOne({ _id: body.id }).lean();
    await messages.deleteOne({ _id: body.id });
    await files.updateMany({ messageId: body.id }, { $set: { openAt: new Date(Date.now() - 16 * 60_000) } });
    meet(files, 'updateMany' as never, async () => {
      await messages.collection.insertOne({ ...message } as never);
      await files.collection.updateMany({ messageId: body.id }, { $unset: { openAt: 1 } });
    });
    await sweepFiles(worker);
    expect((await getFile(fixture.api, body.attachments[0] as { url: string })).status).to.equal(200);
    await expectNoOrphans(fixture.api);
    await fixture.api.call('DELETE', `${fixture.path}/${body.id}`, { as: fixture.bot });
    await settleFiles(worker, body.id);
  });

  it('no message, and no blob stays', async () => {
    await fixture.post({ content: 'x' });
    const fault = await postLate(() => Promise.reject(new Error('refused'))).catch((error: Error) => error.message);
    expect(fault).to.equal('refused');
    await expectNothing();
  });
});
