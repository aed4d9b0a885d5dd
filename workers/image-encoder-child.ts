import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { avifDimensions, type Dimensions, gifDimensions, isAnimatedPng, isAvifSequence } from '../lib/base/animation.ts';
import { limits } from '../lib/base/limits.ts';
import { type ImageFormat, magicBytes, sniffImage } from '../lib/base/magic.ts';

/** A request to encode the file at `from` into the new file `to`. With `side`, the result is a square with that side in pixels. */
export interface EncodeRequest {
  from: string;
  to: string;
  side?: number;
}

/**
 * The result for an image. `webp`: it was converted. `kept`: it is a GIF or animated, and stays as uploaded. `plain`: it cannot be shown as an image. `failed`:
 * an error of this machine, such as a full disk, not of the image.
 */
export type EncodeResult =
  | ({ outcome: 'webp' } & Dimensions)
  | ({ outcome: 'kept'; format: ImageFormat } & Dimensions)
  | { outcome: 'plain'; reason: string }
  | { outcome: 'failed'; reason: string };

/** The file cannot be shown as an image. The message is the reason, which is logged. */
class UnsupportedImage extends Error {}

/** The decoder's name for each format that `sniffImage` recognizes. AVIF and HEIC are both `heif`; the compression `av1` tells AVIF apart. */
const decoders: Record<ImageFormat, string> = { png: 'png', jpeg: 'jpeg', webp: 'webp', avif: 'heif', tiff: 'tiff', gif: 'gif' };

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['Jpeg', 'Png', 'Webp', 'Heif', 'Tiff', 'Nsgif'].map((loader) => `VipsForeignLoad${loader}File`) });

const toFirstLine = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

/** Checks the declared dimensions of a file that the decoder does not read in full. Throws `UnsupportedImage` if there are none or too many pixels. */
function requireDimensions(dimensions: Dimensions | null): Dimensions {
  if (!dimensions || dimensions.width * dimensions.height > limits.imagePixels)
    throw new UnsupportedImage('the file declares no dimensions or too many pixels');
  return dimensions;
}

async function encode({ from, to, side }: EncodeRequest): Promise<EncodeResult> {
  const file = await readFile(from);
  const format = sniffImage(file.subarray(0, magicBytes));
  if (!format) throw new UnsupportedImage('not an image format that is converted');
  // The decoder does not accept the first box of an AVIF sequence.
  if (format === 'avif' && isAvifSequence(file)) return { outcome: 'kept', format, ...requireDimensions(avifDimensions(file)) };
  const image = sharp(from, { limitInputPixels: limits.imagePixels, failOn: 'error', autoOrient: true, sequentialRead: true });
  const throwUnsupported = (error: unknown): never => {
    throw new UnsupportedImage(toFirstLine(error));
  };
  const metadata = await image.metadata().catch(throwUnsupported);
  if (metadata.format !== decoders[format] || (format === 'avif' && metadata.compression !== 'av1'))
    throw new UnsupportedImage(`the content is not ${format}`);
  const { width, height, pages = 1, subifds = 0 } = metadata;
  if (side !== undefined) image.resize(side, side, { fit: 'cover' });
  // The decoder returns the size of the frames, but browsers draw them on the logical screen that the file declares.
  else if (format === 'gif') return { outcome: 'kept', format, ...requireDimensions(gifDimensions(file) ?? { width, height }) };
  const isAnimated = (format === 'webp' && pages > 1) || (format === 'png' && isAnimatedPng(file));
  if (isAnimated && side === undefined) return { outcome: 'kept', format, width, height };
  // This is a document of several pages, or a camera's raw file with a small picture in front. One converted picture would lose the rest.
  if (format === 'tiff' && (pages > 1 || subifds > 0)) throw new UnsupportedImage('a TIFF with several pages');
  // An image of more than 8 bits with a color profile is processed in a wide color space, and would stay in it without this conversion. Without a profile its
  // colors are sRGB already, and the conversion would change them.
  if (metadata.depth !== 'uchar' && metadata.icc) image.withIccProfile('srgb', { attach: false });
  const { data, info } = await image.webp({ effort: 2 }).toBuffer({ resolveWithObject: true }).catch(throwUnsupported);
  await writeFile(to, data, { flag: 'wx' });
  return { outcome: 'webp', width: info.width, height: info.height };
}

const toResult = (request: EncodeRequest): Promise<EncodeResult> =>
  encode(request).catch((error: unknown) => ({
    outcome: error instanceof UnsupportedImage ? 'plain' : 'failed',
    reason: toFirstLine(error),
  }));

const [, , folder = '', maxMemoryBytes = ''] = process.argv;
/** Deletes the temporary folder and kills this process. A normal exit would wait for the running encode. */
const exit = (): void => {
  rmSync(folder, { recursive: true, force: true });
  process.kill(process.pid, 'SIGKILL');
};
const send = (message: EncodeResult | 'ready'): void => void process.send?.(message);

// Decoding runs on other threads, so this timer fires in time and measures their memory too.
setInterval(() => {
  if (process.memoryUsage.rss() > Number(maxMemoryBytes))
    process.send?.({ outcome: 'plain', reason: 'the conversion needs too much memory' }, exit);
}, 25).unref();
// The worker decides when this process ends. A signal that both receive must not make an image count as broken.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', exit);
process.on('message', (request: EncodeRequest) => void toResult(request).then(send));
send('ready');
