import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { deleteFiles } from '../../lib/domain/files/files.ts';
import { convertImage } from '../../lib/domain/files/image-conversion.ts';
import type { FileDoc } from '../../lib/store/mongo/models/file.ts';
import { startWorker } from '../../workers/start.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { expireLocks } from '../harness/jobs.ts';
import { expectKilled, useOwnProcess } from '../harness/own-process.ts';
import { use } from '../harness/use.ts';
import { startConversionFixture } from './conversion-fixture.ts';
import { brokenPng, costlyPng, png } from './fixtures.ts';

/** The running child processes of `pid`. */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number);
/** The most memory that a process has used so far, in MB. Unlike what it uses now, it does not shrink between two looks. */
const peakMemoryOf = (pid: number): number => Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('convert-image: a killed worker process', () => {
  const fixture = use(startConversionFixture);
  const start = useOwnProcess(() => fixture.worker.config);
  afterEach(async () => {
    await fixture.worker.blobs.removeOldTemp(-1_000); // temporary files of the killed worker, otherwise deleted after 15 minutes
    const left: FileDoc[] = await fixture.api.platform.db.files.find().toArray();
    expect(await fixture.blobs()).to.deep.equal(left.map(({ blob }) => blob).sort());
    expect(left.filter((file) => file.original ?? file.begun)).to.deep.equal([]);
  });

  const convert = (file: FileDoc): Promise<unknown> => convertImage(fixture.worker, file._id, fixture.encode);
  /** Starts a worker that dies at `failpoint`, and lets it convert the file. */
  const convertAndDie = async (failpoint: Failpoint, file: FileDoc): Promise<void> =>
    expectKilled(await start('worker', failpoint), () => fixture.worker.jobs.enqueue('convert-image', { fileId: file._id }));
  /** Expects that the file is stored with this type, and that the attachment of its message equals it. */
  const expectShown = async (file: FileDoc, contentType: string): Promise<void> => {
    const stored = await fixture.stored(file);
    expect([stored?.state, stored?.contentType]).to.deep.equal(['stored', contentType]);
    const [, shown] = (await fixture.message(file))?.attachments ?? [];
    expect(shown).to.deep.include({ id: file._id, contentType, size: stored?.size, width: stored?.width });
  };

  for (const [failpoint, what, image, contentType] of [
    ['after-image-encode', 'an image', png, 'image/webp'],
    ['after-image-put', 'an image', png, 'image/webp'],
    ['after-image-put', 'a broken image', brokenPng, 'application/octet-stream'],
    ['after-image-stored', 'an image', png, 'image/webp'],
    ['after-image-stored', 'a broken image', brokenPng, 'application/octet-stream'],
    ['after-original-delete', 'an image', png, 'image/webp'],
  ] as const)
    it(`${failpoint}, ${what}: the next run finishes the conversion, and another run changes nothing`, async () => {
      const file = await fixture.upload(image, { posted: true });
      await convertAndDie(failpoint, file);
      expect((await fixture.stored(file))?.original).not.to.equal(undefined);
      await convert(file);
      await expectShown(file, contentType);
      expect((await fixture.message(file))?.outbox ?? []).to.have.length.at.most(1);
      await fixture.expectNoChange(() => convert(file));
    });

  it('after-image-put, then the file is deleted: the next run leaves nothing', async () => {
    const file = await fixture.upload(png);
    await convertAndDie('after-image-put', file);
    expect(await fixture.blobs()).to.include(file.blob);
    await deleteFiles(fixture.worker, [file]);
    await convert(file);
    expect(await fixture.stored(file)).to.equal(null);
  });

  it('during an encode: another worker runs the job once, and the encoder process ends', async () => {
    const child = await start('worker', '');
    const file = await fixture.upload(costlyPng(), { posted: true });
    await fixture.worker.jobs.enqueue('convert-image', { fileId: file._id });
    await waitUntil(() => childrenOf(child.pid).length > 0, 'the encoder process starts');
    const encoders = childrenOf(child.pid);
    await waitUntil(() => encoders.some((pid) => peakMemoryOf(pid) > 120), 'the encode starts');
    child.kill('SIGKILL');
    await child.ended;
    expect(await fixture.stored(file)).to.deep.include({ state: 'waiting', begun: 1 });
    await waitUntil(() => !encoders.some(isRunning), 'the encoder process ends');
    await expireLocks(fixture.worker.config, 'media');
    const running = startWorker(fixture.worker, createMetrics('worker'));
    await waitUntil(async () => (await fixture.stored(file))?.original === undefined, 'another worker finishes the job');
    await waitUntil(async () => (await fixture.message(file))?.outbox === undefined, 'its event is relayed');
    await running.close();
    await expectShown(file, 'image/webp');
  });
});
