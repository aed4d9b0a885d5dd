import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { dropFiles } from '../../lib/domain/files/files.ts';
import { convertImage } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { startWorker } from '../../workers/start.ts';
import { type OwnProcess, startOwn } from '../harness/own-process.ts';
import { until } from '../harness/scene.ts';
import { openStudio, type Studio } from './conversion-fixture.ts';
import { picture, pngOf } from './fixtures.ts';

/** The processes that `pid` started and that run. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);

describe('convert-image: a worker process killed', function () {
  this.timeout(180_000);
  let studio: Studio;
  let child: OwnProcess;
  before(async () => {
    studio = await openStudio();
  });
  after(() => studio.close());
  afterEach(async () => {
    child.kill();
    await studio.worker.blobs.sweepTemp(-1_000); // what the dead worker was writing, otherwise after 15 minutes
    const left: FileDoc[] = await studio.api.platform.db.files.find().lean();
    expect(await studio.blobs()).to.deep.equal(left.map(({ blob }) => blob).sort());
    expect(left.filter((file) => file.original ?? file.begun)).to.deep.equal([]);
  });

  /** A worker process of its own over the same stores, that dies at `failpoint`. */
  const startChild = async (failpoint: Failpoint | ''): Promise<void> => {
    child = await startOwn('worker', studio.worker.config, { failpoint });
  };
  /** The message shows what the file is, and owed or owes that once. */
  const expectShown = async (file: FileDoc, contentType: string): Promise<void> => {
    const stored = await studio.stored(file);
    expect([stored?.state, stored?.contentType]).to.deep.equal(['stored', contentType]);
    const [, shown] = (await studio.message(file))?.attachments ?? [];
    expect(shown).to.deep.include({ id: file._id, contentType, size: stored?.size, width: stored?.width });
  };

  for (const failpoint of ['after-image-encode', 'after-image-put', 'after-image-stored', 'after-original-delete'] as const)
    for (const [what, contentType] of [
      ['an image', 'image/webp'],
      ['a broken image', 'application/octet-stream'],
    ] as const)
      it(`${failpoint}, ${what}: the next run finishes it, and one more changes nothing`, async () => {
        await startChild(failpoint);
        const png = await picture().png().toBuffer();
        const file = await studio.upload(contentType === 'image/webp' ? png : png.subarray(0, 60), { posted: true });
        const died = child.ended;
        await studio.worker.enqueue('convert-image', { fileId: file._id });
        expect((await died)[1]).to.equal('SIGKILL');
        expect((await studio.stored(file))?.original).not.to.equal(undefined);
        await convertImage(studio.worker, file._id, studio.encode);
        await expectShown(file, contentType);
        expect((await studio.message(file))?.ob ?? []).to.have.length.at.most(1);
        const before = await studio.snapshot();
        await convertImage(studio.worker, file._id, studio.encode);
        expect(await studio.snapshot()).to.equal(before);
      });

  it('after-image-put, and the file deleted then: the next run leaves nothing', async () => {
    await startChild('after-image-put');
    const file = await studio.upload(await picture().png().toBuffer());
    const died = child.ended;
    await studio.worker.enqueue('convert-image', { fileId: file._id });
    await died;
    expect(await studio.blobs()).to.include(file.blob);
    await dropFiles(studio.worker, [file._id]);
    await convertImage(studio.worker, file._id, studio.encode);
    expect(await studio.stored(file)).to.equal(null);
  });

  it('in the middle of an encode: another worker takes the job and does it once; the process that encoded is gone', async () => {
    await startChild('');
    const file = await studio.upload(pngOf({ width: 7_071, height: 7_071, depth: 1, interlaced: true }, 6_300_000), { posted: true });
    await studio.worker.enqueue('convert-image', { fileId: file._id });
    await until(() => childrenOf(child.pid).length > 0, 'the process that encodes');
    const encoders = childrenOf(child.pid);
    await until(() => encoders.some((pid) => /VmRSS:\s+1\d\d{4}/.test(readFileSync(`/proc/${pid}/status`, 'utf8'))), 'the encode');
    child.kill('SIGKILL');
    await child.ended;
    expect(await studio.stored(file)).to.deep.include({ state: 'waiting', begun: 1 });
    const running = startWorker(studio.worker, createMetrics('worker'));
    const finished = (): Promise<void> =>
      until(async () => (await studio.stored(file))?.original === undefined, 'another worker to finish it');
    await finished().catch(finished); // the lock's 5 s, two looks for stalled jobs, and the encode may be more than 10 s
    await until(async () => (await studio.message(file))?.ob === undefined, 'its event');
    await running.close();
    await expectShown(file, 'image/webp');
    for (const pid of encoders) expect(() => process.kill(pid, 0), `process ${pid}`).to.throw('ESRCH');
  });
});
