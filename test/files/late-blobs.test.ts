import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { toStoredAttachment } from '../../lib/domain/files/attachment-updates.ts';
import { discardPostFiles, finishPostFiles, storePostFiles } from '../../lib/domain/files/attachments.ts';
import { decideMessageFiles, sweepFiles } from '../../lib/domain/files/files.ts';
import type { MessageDoc } from '../../lib/store/mongo/models/message.ts';
import { beforeNextQuery } from '../harness/intercept.ts';
import { ageFiles, expectNoOrphans, fileDocs, getFile, onDisk, useUploads } from './fixture.ts';

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
