// These tests cover images: uploads, their conversion to WebP in a separate process, hostile files, and the pictures of accounts, servers and applications.
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32, deflateSync } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import type { ConvertedImage } from '../../lib/domain/files/image-conversion.ts';
import type { ImageEncoder } from '../../workers/image-encoder.ts';
import { makeFolder } from '../harness/folder.ts';

/** A picture with a red left half and a blue right half, so that tests can detect rotation and lost colours. */
export const picture = (width = 64, height = 48): Sharp =>
  sharp({ create: { width, height, channels: 3, background: 'red' } }).composite([
    { input: { create: { width: width / 2, height, channels: 3, background: 'blue' } }, left: width / 2, top: 0 },
  ]);

/** The picture as PNG and GIF, and a PNG that cannot be decoded. */
export const [png, gif] = await Promise.all([picture().png().toBuffer(), picture().gif().toBuffer()]);
export const brokenPng: Buffer = png.subarray(0, 60);

/** A picture of noise, which is slow to encode. */
export const noise = (width: number, height: number): Sharp =>
  sharp({ create: { width, height, channels: 3, background: 'gray', noise: { type: 'gaussian', mean: 128, sigma: 30 } } });

/** Builds a PNG chunk with its length and checksum. */
export function pngChunk(type: string, data: Buffer): Buffer {
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

/** Builds a PNG with this header (`colour` is the colour type, 0 grey to 6 RGBA), `chunks` before its data, and `zeros` zero bytes as its data, compressed. */
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

/** A PNG of 6 KB with 50 megapixels, whose conversion takes at least a second and 250 MB. */
export const costlyPng = (): Buffer => pngOf({ width: 7_071, height: 7_071, depth: 1, interlaced: true }, 6_300_000);

/** Builds the `acTL` chunk of a PNG with this number of frames. */
export function animationChunk(frames: number): Buffer {
  const data = Buffer.alloc(8);
  data.writeUInt32BE(frames);
  return pngChunk('acTL', data);
}

/** The result of an encoder, with the WebP if it made one, else the file that it made. */
export type Encoded = ConvertedImage & { webp?: Buffer; file?: Buffer };

/** An encoder that works on images in a new folder. */
export interface Encoding {
  encode(image: Buffer): Promise<Encoded>;
  folder: string;
  close(): Promise<void>;
}

/** Runs `encoder` on images in a new folder. */
export async function encodingWith(encoder: ImageEncoder): Promise<Encoding> {
  const { path: folder, close } = await makeFolder();
  let count = 0;
  return {
    folder,
    async encode(image) {
      const [from, to] = [join(folder, `${++count}.in`), join(folder, `${count}.out`)];
      await writeFile(from, image);
      const converted = await encoder.encode(from, to);
      const file = await readFile(to);
      await rm(to);
      return { ...converted, [converted.outcome === 'webp' ? 'webp' : 'file']: file };
    },
    close: async () => {
      await encoder.close();
      await close();
    },
  };
}

/** An animation of three pictures of 64 × 48. */
export async function animation(): Promise<Sharp> {
  const frame = (background: string): Promise<Buffer> =>
    sharp({ create: { width: 64, height: 48, channels: 3, background } })
      .png()
      .toBuffer();
  return sharp(await Promise.all(['red', 'green', 'blue'].map(frame)), { join: { animated: true } });
}
