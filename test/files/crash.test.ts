import { rm, utimes, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { expect } from 'chai';
import { sweepFiles } from '../../lib/domain/files/files.ts';
import { loseAnswers } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expectKilled, type OwnProcess, useOwnProcess } from '../harness/own-process.ts';
import { ageFiles, expectNoOrphans, expectSameFiles, fileDocs, formOf, getFile, onDisk, sendBody, useUploads } from './fixture.ts';

describe('files: an API process killed during an upload', () => {
  const { api, bot, path, upload } = useUploads();
  const start = useOwnProcess(() => api.platform.config);
  const countBlobs = async (): Promise<number> => (await onDisk(api)).blobs.length;
  const countMessages = (): Promise<number> => api.platform.db.messages.countDocuments({});
  const filesOf = async (id: string | undefined) => (await fileDocs(api)).filter(({ messageId }) => messageId === id);

  const form = (): FormData =>
    formOf({ content: 'x' }, [
      { name: 'a.txt', bytes: 'one' },
      { name: 'b.txt', bytes: 'two' },
    ]);
  /** Posts the form to a process, and expects that it is killed before it responds. */
  const postAndExpectKill = (child: OwnProcess, headers: Record<string, string> = {}): Promise<void> =>
    expectKilled(child, async () => {
      const answer = await sendBody(child.url + path(), bot.as, form(), headers).catch(() => null);
      expect(answer).to.equal(null);
    });
  /** Makes the unfinished files 16 minutes old, sweeps, and expects that a second sweep changes nothing. */
  const sweepAfterAging = async (): Promise<void> => {
    await ageFiles(api);
    await sweepFiles(api.platform);
    await api.platform.blobs.removeOldTemp(-1);
    await expectNoOrphans(api);
    await expectSameFiles(api, () => sweepFiles(api.platform));
  };

  it('after-file-write: posts no message, and the sweep deletes the documents; a starting process deletes old local files, and no recent ones', async () => {
    const { blobs } = api.platform;
    const [old, recent] = [await blobs.newTempPath(), await blobs.newTempPath()];
    await Promise.all([old, recent].map((file) => writeFile(file, 'x')));
    await utimes(old, new Date(0), new Date(Date.now() - 16 * 60_000));
    const child = await start('api', 'after-file-write');
    await waitUntil(async () => (await onDisk(api)).incoming.length === 1, 'the old file is deleted');
    expect((await onDisk(api)).incoming).to.deep.equal([basename(recent)]);
    await rm(recent);
    const before = await countBlobs();
    await postAndExpectKill(child);
    expect(await countBlobs()).to.equal(before);
    expect((await fileDocs(api)).filter(({ openAt }) => openAt)).to.have.length(2);
    await sweepAfterAging();
    expect([await countBlobs(), await countMessages()]).to.deep.equal([before, 0]);
  });

  it('after-blob-write: posts no message, a retry with the Idempotency-Key posts one, and the sweep deletes the files of the first attempt', async () => {
    const headers = { 'Idempotency-Key': 'crash' };
    const before = await countBlobs();
    await postAndExpectKill(await start('api', 'after-blob-write'), headers);
    expect((await countBlobs()) - before).to.equal(2);
    expect((await fileDocs(api)).filter(({ openAt }) => openAt)).to.have.length(2);
    expect(await countMessages()).to.equal(0);
    await loseAnswers(api);
    const again = await upload(form(), headers);
    expect(again.status).to.equal(201);
    expect(await filesOf(again.body.id)).to.have.length(2);
    await sweepAfterAging();
    expect([(await countBlobs()) - before, await countMessages()]).to.deep.equal([2, 1]);
    for (const attachment of again.body.attachments) expect((await getFile(api, attachment)).status).to.equal(200);
  });

  it('after-message-write: the message and its files are stored, and the sweep keeps them', async () => {
    await postAndExpectKill(await start('api', 'after-message-write'));
    const [message] = await api.platform.db.messages.find().sort({ _id: -1 }).limit(1).toArray();
    await sweepAfterAging();
    expect((await filesOf(message?._id)).map(({ state, openAt }) => [state, openAt])).to.deep.equal([
      ['stored', undefined],
      ['stored', undefined],
    ]);
  });
});
