import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { avifSides, gifSides, isAnimatedPng, isAvifSequence, type Sides } from '../lib/base/animation.ts';
import { limits } from '../lib/base/limits.ts';
import { type ImageFormat, magicBytes, sniffImage } from '../lib/base/magic.ts';

/** A request to encode the file at `from` into the new file `to`. With `side`, the result is a square with that side in pixels. */
export interface EncodeAsk {
  from: string;
  to: string;
  side?: number;
}

/**
 * The result for an image. `webp`: it was converted. `kept`: it is a GIF or animated, and stays as uploaded. `plain`: it cannot be shown as an image. `failed`:
 * an error of this machine, such as a full disk, not of the image.
 */
export type EncodeAnswer =
  | ({ outcome: 'webp' } & Sides)
  | ({ outcome: 'kept'; format: ImageFormat } & Sides)
  | { outcome: 'plain'; why: string }
  | { outcome: 'failed'; why: string };

/** The file cannot be shown as an image. The message is the reason, which is logged. */
class Plain extends Error {}

/** The decoder's name for each format that `sniffImage` recognizes. AVIF and HEIC are both `heif`; the compression `av1` tells AVIF apart. */
const decoders: Record<ImageFormat, string> = { png: 'png', jpeg: 'jpeg', webp: 'webp', avif: 'heif', tiff: 'tiff', gif: 'gif' };

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['Jpeg', 'Png', 'Webp', 'Heif', 'Tiff', 'Nsgif'].map((loader) => `VipsForeignLoad${loader}File`) });

const words = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

/** Checks the declared size of a file that the decoder does not read in full. Throws `Plain` if there is none or it has too many pixels. */
function saidSides(sides: Sides | null): Sides {
  if (!sides || sides.width * sides.height > limits.imagePixels) throw new Plain('it says no sides, or too many pixels');
  return sides;
}

async function encode({ from, to, side }: EncodeAsk): Promise<EncodeAnswer> {
  const file = await readFile(from);
  const format = sniffImage(file.subarray(0, magicBytes));
  if (!format) throw new Plain('no image that is converted');
  // The decoder does not accept the first box of an AVIF sequence.
  if (format === 'avif' && isAvifSequence(file)) return { outcome: 'kept', format, ...saidSides(avifSides(file)) };
  const image = sharp(from, { limitInputPixels: limits.imagePixels, failOn: 'error', autoOrient: true, sequentialRead: true });
  const undecodable = (error: unknown): never => {
    throw new Plain(words(error));
  };
  const facts = await image.metadata().catch(undecodable);
  if (facts.format !== decoders[format] || (format === 'avif' && facts.compression !== 'av1')) throw new Plain(`no ${format} inside`);
  const { width, height, pages = 1, subifds = 0 } = facts;
  if (side !== undefined) image.resize(side, side, { fit: 'cover' });
  // The decoder returns the size of the frames, but browsers draw them on the logical screen that the file declares.
  else if (format === 'gif') return { outcome: 'kept', format, ...saidSides(gifSides(file) ?? { width, height }) };
  const moves = (format === 'webp' && pages > 1) || (format === 'png' && isAnimatedPng(file));
  if (moves && side === undefined) return { outcome: 'kept', format, width, height };
  // This is a document of several pages, or a camera's raw file with a small picture in front. One converted picture would lose the rest.
  if (format === 'tiff' && (pages > 1 || subifds > 0)) throw new Plain('a TIFF of several pages');
  // Images of more than 8 bits are processed in a wide color space, and would stay in it without this conversion.
  if (facts.depth !== 'uchar') image.withIccProfile('srgb', { attach: false });
  const { data, info } = await image.webp({ effort: 2 }).toBuffer({ resolveWithObject: true }).catch(undecodable);
  await writeFile(to, data, { flag: 'wx' });
  return { outcome: 'webp', width: info.width, height: info.height };
}

const answer = (ask: EncodeAsk): Promise<EncodeAnswer> =>
  encode(ask).catch((error: unknown) => ({ outcome: error instanceof Plain ? 'plain' : 'failed', why: words(error) }));

const [, , folder = '', heldBytes = ''] = process.argv;
/** Deletes the temporary folder and kills this process. A normal exit would wait for the running encode. */
const end = (): void => {
  rmSync(folder, { recursive: true, force: true });
  process.kill(process.pid, 'SIGKILL');
};
const say = (said: EncodeAnswer | 'ready'): void => void process.send?.(said);

// Decoding runs on other threads, so this timer fires in time and measures their memory too.
setInterval(() => {
  if (process.memoryUsage.rss() > Number(heldBytes)) process.send?.({ outcome: 'plain', why: 'it takes too much memory' }, end);
}, 25).unref();
// The worker decides when this process ends. A signal that both receive must not make an image count as broken.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', end);
process.on('message', (ask: EncodeAsk) => void answer(ask).then(say));
say('ready');
