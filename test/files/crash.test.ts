import { rm, utimes, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createLog } from '../../lib/base/log.ts';
import { sweepFiles } from '../../lib/domain/files/files.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, onDisk, sendBody } from './fixture.ts';

describe('files: an api process killed on the way', function () {
  this.timeout(180_000); // a process starts in each
  let fixture: MessageFixture;
  let worker: WorkerPlatform;
  let child: OwnProcess;
  before(async () => {
    fixture = await messageFixture();
    worker = await openWorkerPlatform(fixture.api.platform.config, createLog('worker', 'error'));
  });
  after(async () => {
    await worker.close();
    await fixture.api.close();
  });
  afterEach(() => {
    child.kill();
  });

  /** An api process of its own over the same stores and files, that dies at `failpoint`. */
  const startChild = async (failpoint: Failpoint): Promise<void> => {
    child = await startOwn('api', fixture.api.platform.config, { failpoint });
  };
  const form = (): FormData =>
    formOf({ content: 'x' }, [
      { name: 'a.txt', bytes: 'one' },
      { name: 'b.txt', bytes: 'two' },
    ]);
  const lastWords = async (headers: Record<string, string> = {}): Promise<void> => {
    const died = child.ended;
    const answered = await sendBody(child.url + fixture.path, fixture.bot, form(), headers).then(
      ({ status }) => status,
      () => null,
    );
    expect([answered, (await died)[1]]).to.deep.equal([null, 'SIGKILL']);
  };
  /** Lets 16 minutes pass for what the dead process left, then sweeps, twice. */
  const sweepLater = async (): Promise<void> => {
    await worker.db.files.collection.updateMany({ openAt: { $exists: true } }, { $set: { openAt: new Date(Date.now() - 16 * 60_000) } });
    await sweepFiles(worker);
    await worker.blobs.sweepTemp(-1);
    await expectNoOrphans(fixture.api);
    const after = JSON.stringify([await fileDocs(fixture.api), await onDisk(fixture.api)]);
    await sweepFiles(worker);
    expect(JSON.stringify([await fileDocs(fixture.api), await onDisk(fixture.api)])).to.equal(after);
  };

  it('the next api process on the machine takes the local files of one that died, and no young ones', async () => {
    const [old, young] = [await worker.blobs.tempPath(), await worker.blobs.tempPath()];
    await Promise.all([old, young].map((path) => writeFile(path, 'x')));
    await utimes(old, new Date(0), new Date(Date.now() - 16 * 60_000));
    await startChild('after-file-write');
    await until(async () => (await onDisk(fixture.api)).incoming.length === 1, 'the old one to go');
    expect((await onDisk(fixture.api)).incoming).to.deep.equal([basename(young)]);
    await rm(young);
  });

  for (const [failpoint, blobs] of [
    ['after-file-write', 0],
    ['after-blob-write', 2],
  ] as const)
    it(`${failpoint}: no message, and the sweep leaves neither blob nor document`, async () => {
      const before = (await onDisk(fixture.api)).blobs.length;
      await startChild(failpoint);
      await lastWords();
      expect((await onDisk(fixture.api)).blobs.length - before).to.equal(blobs);
      expect((await fileDocs(fixture.api)).filter(({ openAt }) => openAt)).to.have.length(2);
      await sweepLater();
      expect((await onDisk(fixture.api)).blobs).to.have.length(before);
    });

  it('after-blob-write under an Idempotency-Key: the retry makes the message once, the sweep takes the first files', async () => {
    await startChild('after-blob-write');
    await lastWords({ 'Idempotency-Key': 'crash' });
    await worker.db.idempotency.updateMany({}, { $set: { claimedAt: new Date(0) } });
    const again = await sendBody(fixture.api.url + fixture.path, fixture.bot, form(), { 'Idempotency-Key': 'crash' });
    expect(again.status).to.equal(201);
    expect(await fileDocs(fixture.api).then((docs) => docs.filter(({ messageId }) => messageId === again.body.id))).to.have.length(2);
    await sweepLater();
    for (const attachment of again.body.attachments) expect((await getFile(fixture.api, attachment)).status).to.equal(200);
  });

  it('after-message-write: the message stands with its files, and the sweep leaves them', async () => {
    await startChild('after-message-write');
    await lastWords();
    const [message] = await worker.db.messages.find().sort({ _id: -1 }).limit(1).lean();
    await sweepLater();
    const docs = (await fileDocs(fixture.api)).filter(({ messageId }) => messageId === message?._id);
    expect(docs.map(({ state, openAt }) => [state, openAt])).to.deep.equal([
      ['stored', undefined],
      ['stored', undefined],
    ]);
  });
});
