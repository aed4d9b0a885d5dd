import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import sharp from 'sharp';
import type { FileDoc } from '../../../lib/store/mongo/models/file.ts';
import type { WebpAsk } from '../bare/webp.ts';
import { type Row, shareRow } from '../report.ts';
import { type Bench, openSetting, type Setting, startHelper } from '../setting.ts';

const watchMs = 25;

/** An image similar to a photograph: blurred noise. */
const photograph = (width: number, height: number) =>
  sharp({ create: { width, height, channels: 3, background: 'gray', noise: { type: 'gaussian', mean: 128, sigma: 60 } } }).blur(1.5);

const name = (): string => randomBytes(16).toString('hex');

/** Creates files in state `waiting` with `image` as their upload, as the API stores them. */
async function upload({ platform }: Setting, image: Buffer, count: number): Promise<string[]> {
  const { blobs, db, ids } = platform;
  const files: FileDoc[] = Array.from({ length: count }, () => ({
    _id: ids.next(),
    key: name(),
    blob: name(),
    original: name(),
    messageId: ids.next(),
    channelId: ids.next(),
    filename: 'image.webp',
    contentType: 'image/webp',
    uploadedAs: { filename: 'image', contentType: 'image/png' },
    size: image.length,
    width: null,
    height: null,
    state: 'waiting',
    createdAt: new Date(),
  }));
  await db.files.insertMany(files);
  for (const { original } of files) {
    const path = await blobs.newTempPath();
    await writeFile(path, image);
    await blobs.put(original as string, path);
  }
  return files.map(({ _id }) => _id);
}

/** Images per second that the worker converts to their final form, from the first enqueued job until the last image is done. */
async function convert(setting: Setting, image: Buffer, count: number): Promise<number> {
  const { files } = setting.platform.db;
  const fileIds = await upload(setting, image, count);
  const began = performance.now();
  for (const fileId of fileIds) await setting.platform.enqueue('convert-image', { fileId });
  // The last file is checked first, because checking all of them takes time too.
  const left = (filter: object) => files.findOne({ ...filter, original: { $exists: true } }, { projection: { _id: 1 } });
  while (await left({ _id: fileIds.at(-1) })) await pause(watchMs);
  while (await left({})) await pause(watchMs);
  const took = performance.now() - began;
  const failed = await files.countDocuments({ width: null });
  if (failed > 0) throw new Error(`${failed} images were not converted`);
  return count / (took / 1000);
}

/** The conversion of images by a worker, one of 12 megapixels and one of 1, compared with the bare encoder from file to file in one process. */
export async function webpRows(bench: Bench): Promise<Row[]> {
  const folder = await mkdtemp(join(tmpdir(), 'parlance-bench-webp-'));
  const setting = await openSetting(bench, { api: 0, gateway: 0, worker: 1 }, { FILES_DIR: join(folder, 'files') });
  const bare = await startHelper('webp', {});
  const rows: Row[] = [];
  try {
    for (const [what, image] of [
      ['JPEG of 12 megapixels', await photograph(4_000, 3_000).jpeg().toBuffer()],
      ['PNG of 1 megapixel', await photograph(1_250, 800).png().toBuffer()],
    ] as const) {
      const [from, to] = [join(folder, 'from'), join(folder, 'to')];
      await writeFile(from, image);
      const limitOf = (count: number): Promise<number> => bare.ask<number>({ from, to, count } satisfies WebpAsk);
      await limitOf(1);
      const count = Math.max(2, Math.round((await limitOf(2)) * bench.seconds));
      await convert(setting, image, 2);
      const [mine, bound]: [number[], number[]] = [[], []];
      for (let i = 0; i < bench.rounds; i++) {
        mine.push(await convert(setting, image, count));
        bound.push(await limitOf(count));
      }
      rows.push(shareRow(`WebP of a ${what}`, 'images/s', mine, bound, 0.8));
    }
    return rows;
  } finally {
    await bare.close();
    await setting.close();
    await rm(folder, { recursive: true, force: true });
  }
}
