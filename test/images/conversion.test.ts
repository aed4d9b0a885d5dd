import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { copyWithoutMetadata } from '../../lib/base/metadata.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { updateAttachment } from '../../lib/domain/files/attachment-updates.ts';
import { deleteFiles } from '../../lib/domain/files/files.ts';
import { convertImage, type EncodeImage, sweepImages } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { startWorker } from '../../workers/start.ts';
import { unknownId } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { inParallel } from '../harness/requests.ts';
import { use } from '../harness/use.ts';
import { startConversionFixture } from './conversion-fixture.ts';
import { brokenPng, gif, png } from './fixtures.ts';

describe('convert-image', () => {
  const fixture = use(startConversionFixture);
  /** Expects that only the blobs of stored files exist, and no temporary file. */
  afterEach(async () => {
    const { files } = fixture.api.platform.db;
    const left: FileDoc[] = await files.find({ state: 'stored' }).toArray();
    expect(await fixture.blobs()).to.deep.equal([...new Set(left.map(({ blob }) => blob))].sort());
    expect(left.filter((file) => file.original || file.uploadedAs || file.begun !== undefined)).to.deep.equal([]);
    expect([await files.countDocuments(), await fixture.leftovers()]).to.deep.equal([left.length, 0]);
  });

  const convert = (file: FileDoc, encode: EncodeImage = fixture.encode): Promise<void> => convertImage(fixture.worker, file._id, encode);
  const shape = ({ blob, filename, contentType, width, height, size }: FileDoc): object => {
    return { blob, filename, contentType, width, height, size };
  };
  /** Converts a file and expects these fields and bytes, and that a second run changes nothing. */
  async function expectResult(file: FileDoc, expected: object, bytes?: Buffer): Promise<void> {
    await convert(file);
    const stored = await fixture.stored(file);
    const found = (await fixture.bytesOf(stored?.blob ?? '')) ?? Buffer.alloc(0);
    expect(stored?.state).to.equal('stored');
    expect(shape(stored as FileDoc)).to.deep.equal({ ...expected, size: found.length });
    if (bytes) expect(found.equals(bytes)).to.equal(true);
    await fixture.expectNoChange(() => convert(file));
  }

  it('converts an image to WebP, stores it under its own blob name and deletes the upload', async () => {
    const file = await fixture.upload(png);
    await expectResult(file, { blob: file.blob, filename: 'a photograph.webp', contentType: 'image/webp', width: 64, height: 48 });
    expect((await fixture.bytesOf(file.blob))?.toString('latin1', 8, 12)).to.equal('WEBP');
  });

  for (const [what, image, filename, contentType, width, height] of [
    ['a GIF', gif, 'cat.gif', 'image/gif', 64, 48],
    // No browser displays it as an image.
    ['an image that cannot be decoded', brokenPng, 'broken.png', 'application/octet-stream', null, null],
  ] as const)
    it(`keeps ${what} and its file name unchanged, as ${contentType}`, async () => {
      const file = await fixture.upload(image, { filename });
      await expectResult(file, { blob: file.original, filename, contentType, width, height }, image);
    });

  it('skips a deleted file', async () => convertImage(fixture.worker, unknownId, fixture.encode));

  it('updates the attachment of a posted message and adds MESSAGE_UPDATE in one write, without changing editedAt or the other attachment', async () => {
    for (const image of [png, gif, brokenPng]) {
      const file = await fixture.upload(image, { posted: true });
      const before = await fixture.message(file);
      await convert(file);
      await convert(file);
      const stored = await fixture.stored(file);
      const message = await fixture.message(file);
      const { filename, contentType, width, height, size } = stored as FileDoc;
      const shown = { id: file._id, key: file.key, filename, contentType, width, height, size };
      expect(message?.attachments).to.deep.equal([before?.attachments[0], shown]);
      expect(message?.outbox?.map((entry) => entry.name)).to.deep.equal(['MESSAGE_UPDATE']);
      expect(message?.editedAt).to.equal(null);
    }
  });

  it('does not change a deleted message', async () => {
    const file = await fixture.upload(png, { posted: true });
    await fixture.api.platform.db.messages.updateOne({ _id: file.messageId }, { $set: { deleted: true, attachments: [] } });
    await convert(file);
    expect(await fixture.message(file)).to.deep.include({ deleted: true, attachments: [] });
    expect(await fixture.message(file)).not.to.have.property('outbox');
  });

  it('the maximum number of concurrent attempts converts the image once', async () => {
    const file = await fixture.upload(png, { posted: true });
    await inParallel(limits.imageAttempts, () => convert(file));
    expect((await fixture.stored(file))?.contentType).to.equal('image/webp');
    expect((await fixture.message(file))?.outbox).to.have.length(1);
  });

  /** An encoder that can decode no image. */
  const encodeNothing: EncodeImage = async (from, to) => {
    const size = await copyWithoutMetadata(from, to);
    await rm(from);
    return { outcome: 'plain', reason: 'for the test', size };
  };

  it('a worker that finishes second keeps the result of the first, whatever its own result, and leaves no blob', async () => {
    for (const [late, first] of [
      [fixture.encode, encodeNothing],
      [encodeNothing, fixture.encode],
      [fixture.encode, fixture.encode],
    ] as const) {
      const file = await fixture.upload(png, { posted: true });
      let before = '';
      await convert(file, async (from, to) => {
        const made = await late(from, to);
        await convert(file, first);
        before = JSON.stringify(await fixture.stored(file));
        return made;
      });
      expect(JSON.stringify(await fixture.stored(file))).to.equal(before);
      expect((await fixture.stored(file))?.contentType).to.equal(first === encodeNothing ? 'application/octet-stream' : 'image/webp');
      expect((await fixture.message(file))?.outbox).to.have.length(1);
    }
  });

  it('20 concurrent updates of one message add one event', async () => {
    const file = await fixture.upload(png, { posted: true });
    const stored: FileDoc = { ...file, state: 'stored', width: 64, height: 48 };
    await inParallel(20, () => updateAttachment(fixture.worker, stored));
    expect((await fixture.message(file))?.outbox).to.have.length(1);
    await deleteFiles(fixture.worker, [file]);
  });

  it('deletes the WebP of a killed worker when the image cannot be decoded later', async () => {
    const file = await fixture.upload(png);
    await fixture.storeLateWebp(file);
    await convert(file, encodeNothing);
    expect(await fixture.bytesOf(file.blob)).to.equal(null);
    expect((await fixture.bytesOf(file.original ?? ''))?.equals(png)).to.equal(true);
  });

  it('leaves nothing of a file deleted during its conversion', async () => {
    for (const encode of [fixture.encode, encodeNothing]) {
      const file = await fixture.upload(png);
      await convert(file, async (from, to) => {
        const made = await encode(from, to);
        await deleteFiles(fixture.worker, [file]);
        expect((await fixture.stored(file))?.state).to.equal('freed');
        return made;
      });
      expect(await fixture.stored(file)).to.equal(null);
    }
  });

  it('the next run deletes the WebP that a killed worker wrote for a deleted file', async () => {
    const file = await fixture.upload(png);
    await fixture.api.platform.db.files.updateOne({ _id: file._id }, { $inc: { begun: 1 } });
    await deleteFiles(fixture.worker, [file]);
    await fixture.storeLateWebp(file);
    await convert(file);
    expect(await fixture.stored(file)).to.equal(null);
  });

  it('converts each of the copies that share blobs, and deletes no bytes of another copy', async () => {
    for (const [one, other] of [
      [fixture.encode, fixture.encode],
      [encodeNothing, encodeNothing],
    ] as const) {
      const file = await fixture.upload(png);
      const copy: FileDoc = { ...file, _id: fixture.worker.ids.next(), key: `${file.key}2`, messageId: fixture.worker.ids.next() };
      await fixture.api.platform.db.files.insertOne({ ...copy });
      await convert(file, one);
      await convert(copy, other);
      const [first, second] = [await fixture.stored(file), await fixture.stored(copy)];
      expect(shape(second as FileDoc)).to.deep.equal(shape(first as FileDoc));
      expect(await fixture.bytesOf(second?.blob ?? '')).not.to.equal(null);
    }
  });

  it('stays waiting while the blob store is unavailable, and succeeds afterwards', async () => {
    const file = await fixture.upload(png);
    const folder = join(fixture.worker.config.FILES_DIR, 'blobs');
    await rename(folder, `${folder}-aside`);
    await writeFile(folder, 'not a folder');
    const failed = await convert(file).catch((error: Error) => error.name);
    await rm(folder);
    await rename(`${folder}-aside`, folder);
    expect([failed, (await fixture.stored(file))?.state]).to.deep.equal(['BlobsUnavailable', 'waiting']);
    await convert(file);
    expect((await fixture.stored(file))?.contentType).to.equal('image/webp');
  });

  it('stays waiting while the encoder is unavailable, after any number of attempts, and succeeds afterwards', async () => {
    const file = await fixture.upload(png);
    const unavailable: EncodeImage = async (from) => {
      await rm(from);
      throw new Error('no encoder');
    };
    for (let time = 0; time <= limits.imageAttempts; time++)
      expect(await convert(file, unavailable).catch((error: Error) => error.message)).to.equal('no encoder');
    expect((await fixture.stored(file))?.state).to.equal('waiting');
    await convert(file);
    expect((await fixture.stored(file))?.contentType).to.equal('image/webp');
  });

  it('keeps an image unconverted after five attempts that did not finish', async () => {
    const file = await fixture.upload(png);
    await fixture.api.platform.db.files.updateOne({ _id: file._id }, { $set: { begun: limits.imageAttempts } });
    await convert(file, () => Promise.reject(new Error('tried again')));
    expect(await fixture.stored(file)).to.include({ contentType: 'application/octet-stream', size: png.length });
  });

  it('the sweep enqueues images that wait for 30 s or have a blob to delete, and no more recent ones', async () => {
    const { files } = fixture.api.platform.db;
    const [recent, old, left] = [await fixture.upload(png), await fixture.upload(png), await fixture.upload(png)];
    const aged = { createdAt: new Date(Date.now() - 31_000) };
    await files.updateOne({ _id: old._id }, { $set: aged });
    await files.updateOne({ _id: left._id }, { $set: { ...aged, state: 'stored' }, $unset: { uploadedAs: 1 } });
    const enqueued: string[] = [];
    await sweepImages({
      ...fixture.worker,
      jobs: { ...fixture.worker.jobs, tryEnqueue: (_name, data) => enqueued.push(...Object.values(data)) },
    });
    expect(enqueued).to.have.members([old._id, left._id]);
    // The worker runs the jobs.
    const running = startWorker(fixture.worker, createMetrics('worker'));
    for (const { _id, original } of [old, left])
      await waitUntil(async () => !(await files.findOne({ _id, original: original as string }, { projection: { _id: 1 } })), 'the sweep');
    await running.close();
    expect((await fixture.stored(recent))?.state).to.equal('waiting');
    await convert(recent);
    await deleteFiles(fixture.worker, [left]); // this document was changed directly: its blob does not exist
  });
});
