import { expect } from 'chai';
import { deleteFiles } from '../../lib/domain/files/files.ts';
import { convertImage, type EncodeImage } from '../../lib/domain/files/image-conversion.ts';
import { use } from '../harness/use.ts';
import { startConversionFixture } from './conversion-fixture.ts';
import { png } from './fixtures.ts';

/** A promise with its resolve function. */
const deferred = (): { promise: Promise<void>; resolve: () => void } => {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
};

describe('convert-image concurrent with a delete of its file', () => {
  const fixture = use(startConversionFixture);
  afterEach(async () => {
    const files = await fixture.api.platform.db.files.find().toArray();
    expect([files, await fixture.blobs(), await fixture.leftovers()]).to.deep.equal([[], [], 0]);
  });

  it('the next run deletes a WebP that was written during the delete although the store reported an error', async () => {
    const file = await fixture.upload(png);
    const { worker } = fixture;
    const [writeStarted, mayWrite, ended] = [deferred(), deferred(), deferred()];
    const put: typeof worker.blobs.put = async (...blob) => {
      writeStarted.resolve();
      await mayWrite.promise;
      await worker.blobs.put(...blob);
      throw new Error('no answer');
    };
    const converting = convertImage({ ...worker, blobs: { ...worker.blobs, put } }, file._id, fixture.encode)
      .catch((error: Error) => error.message)
      .finally(ended.resolve);
    await writeStarted.promise;
    // The delete has deleted both blobs, but not yet the document.
    let deletes = 0;
    const drop = async (name: string): Promise<void> => {
      await worker.blobs.delete(name);
      if (++deletes < 2) return;
      mayWrite.resolve();
      await ended.promise;
    };
    await deleteFiles({ ...worker, blobs: { ...worker.blobs, delete: drop } }, [file]);
    expect([await converting, await fixture.blobs()]).to.deep.equal(['no answer', [file.blob]]);
    expect((await fixture.stored(file))?.state).to.equal('freed');
    await convertImage(worker, file._id, fixture.encode);
  });

  it('keeps the document until both of two workers have finished, because each may still write its blob', async () => {
    const file = await fixture.upload(png);
    const { worker } = fixture;
    const mayEncode = deferred();
    const started = deferred();
    const slow: EncodeImage = async (from, to) => {
      started.resolve();
      await mayEncode.promise;
      return fixture.encode(from, to);
    };
    const late = convertImage(worker, file._id, slow);
    await started.promise;
    await convertImage(worker, file._id, async (from, to) => {
      await deleteFiles(worker, [file]);
      return fixture.encode(from, to);
    });
    expect(await fixture.stored(file)).to.deep.include({ state: 'freed', begun: 1, original: file.original });
    mayEncode.resolve();
    await late;
  });

  it('the next run deletes the WebP of a killed worker, after another worker converted the same file', async () => {
    const file = await fixture.upload(png);
    const { worker } = fixture;
    await fixture.api.platform.db.files.updateOne({ _id: file._id }, { $inc: { begun: 1 } });
    await convertImage(worker, file._id, async (from, to) => {
      await deleteFiles(worker, [file]);
      return fixture.encode(from, to);
    });
    await fixture.storeLateWebp(file);
    await convertImage(worker, file._id, fixture.encode);
  });
});
