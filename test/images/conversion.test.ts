import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { showStoredFile } from '../../lib/domain/files/attachment-updates.ts';
import { dropFiles } from '../../lib/domain/files/files.ts';
import { convertImage, type EncodeImage, sweepImages } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { startWorker } from '../../workers/start.ts';
import { until } from '../harness/scene.ts';
import { openStudio, type Studio } from './conversion-fixture.ts';
import { picture } from './fixtures.ts';

describe('convert-image', function () {
  this.timeout(180_000);
  let studio: Studio;
  let png: Buffer;
  let gif: Buffer;
  before(async () => {
    studio = await openStudio();
    [png, gif] = await Promise.all([picture().png().toBuffer(), picture().gif().toBuffer()]);
  });
  after(() => studio.close());
  /** Nothing but the blobs that files hold, and no local file, whatever happened. */
  afterEach(async () => {
    const { files } = studio.api.platform.db;
    const left: FileDoc[] = await files.find({ state: 'stored' }).lean();
    expect(await studio.blobs()).to.deep.equal([...new Set(left.map(({ blob }) => blob))].sort());
    expect(left.filter((file) => file.original || file.uploadedAs || file.begun !== undefined)).to.deep.equal([]);
    expect([await files.countDocuments(), await studio.leftovers()]).to.deep.equal([left.length, 0]);
  });

  const convert = (file: FileDoc, encode: EncodeImage = studio.encode): Promise<void> => convertImage(studio.worker, file._id, encode);
  const shape = ({ blob, filename, contentType, width, height, size }: FileDoc): object => ({
    blob,
    filename,
    contentType,
    width,
    height,
    size,
  });
  /** Converts a file and expects its final form, the bytes at it, and that a second run changes nothing. */
  async function expectForm(file: FileDoc, form: object, bytes?: Buffer): Promise<void> {
    await convert(file);
    const stored = await studio.stored(file);
    const found = (await studio.bytesOf(stored?.blob ?? '')) ?? Buffer.alloc(0);
    expect(stored?.state).to.equal('stored');
    expect(shape(stored as FileDoc)).to.deep.equal({ ...form, size: found.length });
    if (bytes) expect(found.equals(bytes)).to.equal(true);
    const before = await studio.snapshot();
    await convert(file);
    expect(await studio.snapshot()).to.equal(before);
  }

  it('an image becomes WebP under its own blob, and the upload goes', async () => {
    const file = await studio.upload(png);
    await expectForm(file, { blob: file.blob, filename: 'a photograph.webp', contentType: 'image/webp', width: 64, height: 48 });
    expect((await studio.bytesOf(file.blob))?.toString('latin1', 8, 12)).to.equal('WEBP');
  });

  it('a GIF stays as it is, under the name it came with', async () => {
    const file = await studio.upload(gif, { filename: 'cat.gif' });
    await expectForm(file, { blob: file.original, filename: 'cat.gif', contentType: 'image/gif', width: 64, height: 48 }, gif);
  });

  it('what cannot be decoded stays a plain file that no browser shows as an image', async () => {
    const broken = png.subarray(0, 60);
    const file = await studio.upload(broken, { filename: 'broken.png' });
    const form = { blob: file.original, filename: 'broken.png', contentType: 'application/octet-stream', width: null, height: null };
    await expectForm(file, form, broken);
  });

  it('a file that is gone is skipped', async () => convertImage(studio.worker, '1000000000000000001', studio.encode));

  it('a message that stands already shows it: MESSAGE_UPDATE in the same write, editedAt untouched, the other attachment too', async () => {
    for (const image of [png, gif, png.subarray(0, 60)]) {
      const file = await studio.upload(image, { posted: true });
      const was = await studio.message(file);
      await convert(file);
      await convert(file);
      const stored = await studio.stored(file);
      const message = await studio.message(file);
      const { filename, contentType, width, height, size } = stored as FileDoc;
      const shown = { id: file._id, key: file.key, filename, contentType, width, height, size };
      expect(message?.attachments).to.deep.equal([was?.attachments[0], shown]);
      expect(message?.ob?.map((entry) => entry.name)).to.deep.equal(['MESSAGE_UPDATE']);
      expect(message?.editedAt).to.equal(null);
    }
  });

  it('a message that was deleted is left alone', async () => {
    const file = await studio.upload(png, { posted: true });
    await studio.api.platform.db.messages.updateOne({ _id: file.messageId }, { $set: { deleted: true, attachments: [] } });
    await convert(file);
    expect(await studio.message(file)).to.deep.include({ deleted: true, attachments: [] });
    expect(await studio.message(file)).not.to.have.property('ob');
  });

  it('as many at once as may begin do it once', async () => {
    const file = await studio.upload(png, { posted: true });
    await Promise.all(Array.from({ length: limits.imageAttempts }, () => convert(file)));
    expect((await studio.stored(file))?.contentType).to.equal('image/webp');
    expect((await studio.message(file))?.ob).to.have.length(1);
  });

  /** Finds every image undecodable. */
  const plainly: EncodeImage = async (from) => {
    const { size } = await stat(from);
    await rm(from);
    return { outcome: 'plain', why: 'for the test', size };
  };

  it('a worker that comes late, seeing it differently, leaves the form that stands, and no blob of its own', async () => {
    for (const [late, first] of [
      [studio.encode, plainly],
      [plainly, studio.encode],
      [studio.encode, studio.encode],
    ] as const) {
      const file = await studio.upload(png, { posted: true });
      let before = '';
      await convert(file, async (from, to) => {
        const made = await late(from, to);
        await convert(file, first);
        before = JSON.stringify(await studio.stored(file));
        return made;
      });
      expect(JSON.stringify(await studio.stored(file))).to.equal(before);
      expect((await studio.stored(file))?.contentType).to.equal(first === plainly ? 'application/octet-stream' : 'image/webp');
      expect((await studio.message(file))?.ob).to.have.length(1);
    }
  });

  it('twenty that bring one message up to date owe one event', async () => {
    const file = await studio.upload(png, { posted: true });
    const stored: FileDoc = { ...file, state: 'stored', width: 64, height: 48 };
    await Promise.all(Array.from({ length: 20 }, () => showStoredFile(studio.worker, stored)));
    expect((await studio.message(file))?.ob).to.have.length(1);
    await dropFiles(studio.worker, [file._id]);
  });

  it('an image that stays plain at last loses the WebP that a worker wrote before it died', async () => {
    const file = await studio.upload(png);
    const path = await studio.worker.blobs.tempPath();
    await writeFile(path, 'WebP');
    await studio.worker.blobs.put(file.blob, path);
    await convert(file, plainly);
    expect(await studio.bytesOf(file.blob)).to.equal(null);
    expect((await studio.bytesOf(file.original ?? ''))?.equals(png)).to.equal(true);
  });

  it('a file deleted while it is converted leaves nothing', async () => {
    for (const encode of [studio.encode, plainly]) {
      const file = await studio.upload(png);
      await convert(file, async (from, to) => {
        const made = await encode(from, to);
        await dropFiles(studio.worker, [file._id]);
        expect((await studio.stored(file))?.state).to.equal('freed');
        return made;
      });
      expect(await studio.stored(file)).to.equal(null);
    }
  });

  it('a file deleted under a worker that died with its WebP written is found by the next run', async () => {
    const file = await studio.upload(png);
    await studio.api.platform.db.files.updateOne({ _id: file._id }, { $inc: { begun: 1 } });
    await dropFiles(studio.worker, [file._id]);
    const path = await studio.worker.blobs.tempPath();
    await writeFile(path, 'WebP');
    await studio.worker.blobs.put(file.blob, path);
    await convert(file);
    expect(await studio.stored(file)).to.equal(null);
  });

  it('copies that share the blobs are converted one by one, and none takes the bytes of another', async () => {
    for (const [one, other] of [
      [studio.encode, studio.encode],
      [plainly, plainly],
    ] as const) {
      const file = await studio.upload(png);
      const copy: FileDoc = { ...file, _id: studio.worker.ids.next(), key: `${file.key}2`, messageId: studio.worker.ids.next() };
      await studio.api.platform.db.files.collection.insertOne({ ...copy } as never);
      await convert(file, one);
      await convert(copy, other);
      const [first, second] = [await studio.stored(file), await studio.stored(copy)];
      expect(shape(second as FileDoc)).to.deep.equal(shape(first as FileDoc));
      expect(await studio.bytesOf(second?.blob ?? '')).not.to.equal(null);
    }
  });

  it('with the blob store away it waits, and is done once it is back', async () => {
    const file = await studio.upload(png);
    const folder = join(studio.worker.config.FILES_DIR, 'blobs');
    await rename(folder, `${folder}-aside`);
    await writeFile(folder, 'no folder');
    const failed = await convert(file).catch((error: Error) => error.name);
    await rm(folder);
    await rename(`${folder}-aside`, folder);
    expect([failed, (await studio.stored(file))?.state]).to.deep.equal(['BlobsUnavailable', 'waiting']);
    await convert(file);
    expect((await studio.stored(file))?.contentType).to.equal('image/webp');
  });

  it('with the encoder away it waits, however often, and is done once it is back', async () => {
    const file = await studio.upload(png);
    const away: EncodeImage = async (from) => {
      await rm(from);
      throw new Error('no encoder');
    };
    for (let time = 0; time <= limits.imageAttempts; time++)
      expect(await convert(file, away).catch((error: Error) => error.message)).to.equal('no encoder');
    expect((await studio.stored(file))?.state).to.equal('waiting');
    await convert(file);
    expect((await studio.stored(file))?.contentType).to.equal('image/webp');
  });

  it('an image under which five workers died is not tried again: it stays plain', async () => {
    const file = await studio.upload(png);
    await studio.api.platform.db.files.updateOne({ _id: file._id }, { $set: { begun: limits.imageAttempts } });
    await convert(file, () => Promise.reject(new Error('tried again')));
    expect(await studio.stored(file)).to.include({ contentType: 'application/octet-stream', size: png.length });
  });

  it('the sweep nudges what waits for 30 s, and what has a blob left to delete, and nothing younger', async () => {
    const { files } = studio.api.platform.db;
    const [young, old, left] = [await studio.upload(png), await studio.upload(png), await studio.upload(png)];
    const aged = { createdAt: new Date(Date.now() - 31_000) };
    await files.updateOne({ _id: old._id }, { $set: aged });
    await files.updateOne({ _id: left._id }, { $set: { ...aged, state: 'stored' }, $unset: { uploadedAs: 1 } });
    const nudged: string[] = [];
    await sweepImages({ ...studio.worker, nudge: (_name, data) => nudged.push(...Object.values(data)) });
    expect(nudged).to.have.members([old._id, left._id]);
    // And the worker that sweeps does them.
    const running = startWorker(studio.worker, createMetrics('worker'));
    await until(async () => !(await files.exists({ _id: old._id, original: old.original as string })), 'the sweep');
    await until(async () => !(await files.exists({ _id: left._id, original: left.original as string })), 'the sweep');
    await running.close();
    expect((await studio.stored(young))?.state).to.equal('waiting');
    await convert(young);
    await dropFiles(studio.worker, [left._id]); // made by hand: nothing stands at its blob
  });
});
