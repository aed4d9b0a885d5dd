import { rmSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import sharp from 'sharp';
import { avifSides, gifSides, isAnimatedPng, isAvifSequence, type Sides } from '../lib/base/animation.ts';
import { limits } from '../lib/base/limits.ts';
import { type ImageFormat, magicBytes, sniffImage } from '../lib/base/magic.ts';

/** Asks the child to encode the file at `from` into a new one at `to`; with `side` as a square of that side, in pixels. */
export interface EncodeAsk {
  from: string;
  to: string;
  side?: number;
}

/** What the child says of an image. `failed` is a fault of this machine, such as a full disk, not of the image. */
export type EncodeAnswer =
  | ({ outcome: 'webp' } & Sides)
  | ({ outcome: 'kept'; format: ImageFormat } & Sides)
  | { outcome: 'plain'; why: string }
  | { outcome: 'failed'; why: string };

/** An image that cannot be shown as one, for a reason that people may read in the log. */
class Plain extends Error {}

/** What the decoder calls each format that the first bytes say; `av1` apart, which HEIC shares its name with. */
const decoders: Record<ImageFormat, string> = { png: 'png', jpeg: 'jpeg', webp: 'webp', avif: 'heif', tiff: 'tiff', gif: 'gif' };

sharp.cache(false);
sharp.concurrency(1);
sharp.block({ operation: ['VipsForeignLoad'] });
sharp.unblock({ operation: ['Jpeg', 'Png', 'Webp', 'Heif', 'Tiff', 'Nsgif'].map((loader) => `VipsForeignLoad${loader}File`) });

const words = (error: unknown): string => (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';

/** The sides that a file of another kind than the decoder reads whole says it has. */
function saidSides(sides: Sides | null): Sides {
  if (!sides || sides.width * sides.height > limits.imagePixels) throw new Plain('it says no sides, or too many pixels');
  return sides;
}

async function encode({ from, to, side }: EncodeAsk): Promise<EncodeAnswer> {
  const file = await readFile(from);
  const format = sniffImage(file.subarray(0, magicBytes));
  if (!format) throw new Plain('no image that is converted');
  // Its first box is none that the decoder takes.
  if (format === 'avif' && isAvifSequence(file)) return { outcome: 'kept', format, ...saidSides(avifSides(file)) };
  const image = sharp(from, { limitInputPixels: limits.imagePixels, failOn: 'error', autoOrient: true, sequentialRead: true });
  const undecodable = (error: unknown): never => {
    throw new Plain(words(error));
  };
  const facts = await image.metadata().catch(undecodable);
  if (facts.format !== decoders[format] || (format === 'avif' && facts.compression !== 'av1')) throw new Plain(`no ${format} inside`);
  const { width, height, pages = 1, subifds = 0 } = facts;
  if (side !== undefined) image.resize(side, side, { fit: 'cover' });
  // The decoder says how large its frames are, browsers draw them on the screen that it names.
  else if (format === 'gif') return { outcome: 'kept', format, ...saidSides(gifSides(file) ?? { width, height }) };
  const moves = (format === 'webp' && pages > 1) || (format === 'png' && isAnimatedPng(file));
  if (moves && side === undefined) return { outcome: 'kept', format, width, height };
  // A document of several pages, or a camera's raw file with a small picture in front: one picture would lose the rest.
  if (format === 'tiff' && (pages > 1 || subifds > 0)) throw new Plain('a TIFF of several pages');
  // More than 8 bits would be left in the wide colours that they are worked on in.
  if (facts.depth !== 'uchar') image.withIccProfile('srgb', { attach: false });
  const { data, info } = await image.webp({ effort: 2 }).toBuffer({ resolveWithObject: true }).catch(undecodable);
  await writeFile(to, data, { flag: 'wx' });
  return { outcome: 'webp', width: info.width, height: info.height };
}

const answer = (ask: EncodeAsk): Promise<EncodeAnswer> =>
  encode(ask).catch((error: unknown) => ({ outcome: error instanceof Plain ? 'plain' : 'failed', why: words(error) }));

const [, , folder = '', heldBytes = ''] = process.argv;
/** At once: an orderly exit would wait for the encode under way. */
const end = (): void => {
  rmSync(folder, { recursive: true, force: true });
  process.kill(process.pid, 'SIGKILL');
};
const say = (said: EncodeAnswer | 'ready'): void => void process.send?.(said);

// Decoding runs on other threads, so this one sees in time what they hold.
setInterval(() => {
  if (process.memoryUsage.rss() > Number(heldBytes)) process.send?.({ outcome: 'plain', why: 'it takes too much memory' }, end);
}, 25).unref();
// The worker decides when this process ends: a signal to both must not make an image look broken.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.on('disconnect', end);
process.on('message', (ask: EncodeAsk) => void answer(ask).then(say));
say('ready');
