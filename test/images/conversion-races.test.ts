import { writeFile } from 'node:fs/promises';
import { expect } from 'chai';
import { dropFiles } from '../../lib/domain/files/files.ts';
import { convertImage, type EncodeImage } from '../../lib/domain/files/image-conversion.ts';
import { openStudio, type Studio } from './conversion-fixture.ts';
import { picture } from './fixtures.ts';

/** A promise to be resolved from outside. */
const gate = (): { opened: Promise<void>; open: () => void } => {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
};

describe('convert-image beside a delete of its file', function () {
  this.timeout(180_000);
  let studio: Studio;
  let png: Buffer;
  before(async () => {
    studio = await openStudio();
    png = await picture().png().toBuffer();
  });
  after(() => studio.close());
  afterEach(async () => {
    expect([await studio.api.platform.db.files.find().lean(), await studio.blobs(), await studio.leftovers()]).to.deep.equal([[], [], 0]);
  });

  it('a WebP that was written although its store says it failed, in the middle of the delete, goes with the next run', async () => {
    const file = await studio.upload(png);
    const { worker } = studio;
    const [writing, mayWrite, ended] = [gate(), gate(), gate()];
    const put: typeof worker.blobs.put = async (...blob) => {
      writing.open();
      await mayWrite.opened;
      await worker.blobs.put(...blob);
      throw new Error('no answer');
    };
    const converting = convertImage({ ...worker, blobs: { ...worker.blobs, put } }, file._id, studio.encode)
      .catch((error: Error) => error.message)
      .finally(ended.open);
    await writing.opened;
    // The delete has seen to both blobs, and not yet to the document.
    let deletes = 0;
    const drop = async (name: string): Promise<void> => {
      await worker.blobs.delete(name);
      if (++deletes < 2) return;
      mayWrite.open();
      await ended.opened;
    };
    await dropFiles({ ...worker, blobs: { ...worker.blobs, delete: drop } }, [file._id]);
    expect([await converting, await studio.blobs()]).to.deep.equal(['no answer', [file.blob]]);
    expect((await studio.stored(file))?.state).to.equal('freed');
    await convertImage(worker, file._id, studio.encode);
  });

  it('two workers at it: the file stands until both have ended, as each may yet write its blob', async () => {
    const file = await studio.upload(png);
    const { worker } = studio;
    const held = gate();
    const begun = gate();
    const slow: EncodeImage = async (from, to) => {
      begun.open();
      await held.opened;
      return studio.encode(from, to);
    };
    const late = convertImage(worker, file._id, slow);
    await begun.opened;
    await convertImage(worker, file._id, async (from, to) => {
      await dropFiles(worker, [file._id]);
      return studio.encode(from, to);
    });
    expect(await studio.stored(file)).to.deep.include({ state: 'freed', begun: 1, original: file.original });
    held.open();
    await late;
  });

  it('two workers at it, and one dies with its WebP written: the next run finds it', async () => {
    const file = await studio.upload(png);
    const { worker } = studio;
    await studio.api.platform.db.files.updateOne({ _id: file._id }, { $inc: { begun: 1 } });
    await convertImage(worker, file._id, async (from, to) => {
      await dropFiles(worker, [file._id]);
      return studio.encode(from, to);
    });
    const path = await worker.blobs.tempPath();
    await writeFile(path, 'WebP');
    await worker.blobs.put(file.blob, path);
    await convertImage(worker, file._id, studio.encode);
  });
});
