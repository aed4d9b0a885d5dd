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

  it('the next API process deletes old local files of a killed one, and no recent ones', async () => {
    const { blobs } = api.platform;
    const [old, recent] = [await blobs.newTempPath(), await blobs.newTempPath()];
    await Promise.all([old, recent].map((file) => writeFile(file, 'x')));
    await utimes(old, new Date(0), new Date(Date.now() - 16 * 60_000));
    await start('api', 'after-file-write');
    await waitUntil(async () => (await onDisk(api)).incoming.length === 1, 'the old file is deleted');
    expect((await onDisk(api)).incoming).to.deep.equal([basename(recent)]);
    await rm(recent);
  });

  for (const [failpoint, blobs] of [
    ['after-file-write', 0],
    ['after-blob-write', 2],
  ] as const)
    it(`${failpoint}: posts no message, and the sweep deletes blobs and documents`, async () => {
      const before = await countBlobs();
      await postAndExpectKill(await start('api', failpoint));
      expect((await countBlobs()) - before).to.equal(blobs);
      expect((await fileDocs(api)).filter(({ openAt }) => openAt)).to.have.length(2);
      await sweepAfterAging();
      expect(await countBlobs()).to.equal(before);
    });

  it('after-blob-write with an Idempotency-Key: the retry posts one message, and the sweep deletes the files of the first attempt', async () => {
    const headers = { 'Idempotency-Key': 'crash' };
    await postAndExpectKill(await start('api', 'after-blob-write'), headers);
    await loseAnswers(api);
    const again = await upload(form(), headers);
    expect(again.status).to.equal(201);
    expect(await filesOf(again.body.id)).to.have.length(2);
    await sweepAfterAging();
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
