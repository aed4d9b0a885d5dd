import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import type { ConvertedImage } from '../../lib/domain/files/image-conversion.ts';
import type { ImageEncoder } from '../../workers/image-encoder.ts';

/** A picture of two halves, red and blue, that is easy to tell when it was turned or its colours were lost. */
export const picture = (width = 64, height = 48): Sharp =>
  sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    { input: { create: { width: width / 2, height, channels: 3, background: 'blue' } }, left: width / 2, top: 0 },
  ]);

/** A picture that costs time to encode: noise. */
export const noise = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 3, background: 'gray', noise: { type: 'gaussian', mean: 128, sigma: 30 } } });

/** A chunk of a PNG with its length and checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** A PNG that says it is so wide and high, `colour` 0 grey to 6 RGBA, with `chunks` before its data and so many zero bytes as its data, compressed. */
export function pngOf(
  sides: { width: number; height: number; depth?: number; colour?: number; interlaced?: boolean },
  zeros: number,
  ...chunks: Buffer[]
): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(sides.width);
  header.writeUInt32BE(sides.height, 4);
  header[8] = sides.depth ?? 8;
  header[9] = sides.colour ?? 0;
  header[12] = sides.interlaced ? 1 : 0;
  const data = deflateSync(Buffer.alloc(zeros), { level: 9 });
  const mark = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([mark, pngChunk('IHDR', header), ...chunks, pngChunk('IDAT', data), pngChunk('IEND', Buffer.alloc(0))]);
}

/** `acTL` of a PNG with so many frames. */
export function animationChunk(frames: number): Buffer {
  const data = Buffer.alloc(8);
  data.writeUInt32BE(frames);
  return pngChunk('acTL', data);
}

/** What an encoder made of an image: its outcome, and the WebP when there is one. */
export type Encoded = ConvertedImage & { webp?: Buffer };

/** A folder of its own in which `encoder` is asked; `leftovers` tells the files that an encode left there. */
export async function encodingWith(
  encoder: ImageEncoder,
): Promise<{ encode(image: Buffer): Promise<Encoded>; folder: string; close(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'parlance-test-'));
  let count = 0;
  return {
    folder,
    async encode(image) {
      const [from, to] = [join(folder, `${++count}.in`), join(folder, `${count}.out`)];
      await writeFile(from, image);
      const converted = await encoder.encode(from, to);
      if (converted.outcome !== 'webp') return converted;
      const webp = await readFile(to);
      await rm(to);
      return { ...converted, webp };
    },
    close: async () => {
      await encoder.close();
      await rm(folder, { recursive: true });
    },
  };
}

/** Three pictures one after another, 64 × 48: to be written in a format that can move. */
export async function film(): Promise<Sharp> {
  const still = (background: string): Promise<Buffer> =>
    sharp({ create: { width: 64, height: 48, channels: 3, background } })
      .png()
      .toBuffer();
  return sharp(await Promise.all(['red', 'green', 'blue'].map(still)), { join: { animated: true } });
}
