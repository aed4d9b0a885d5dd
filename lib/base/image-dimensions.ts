import { avifDimensions, type Dimensions, gifDimensions } from './animation.ts';
import { limits } from './limits.ts';
import { sniffImage } from './magic.ts';

/** How many bytes from the beginning of a file are enough to read the image size. In a JPEG, a thumbnail of up to 64 KiB and a color profile may come first. */
export const dimensionsHeadBytes = 128 * 1024;

/** The size in the frame header of a JPEG. Null if `head` ends before it. */
function jpegDimensions(head: Buffer): Dimensions | null {
  for (let at = 2; at + 9 <= head.length && head[at] === 0xff; at += 2 + head.readUInt16BE(at + 2)) {
    const marker = head[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
  }
  return null;
}

/** The size of a WebP: of its canvas, or of its only picture. */
function webpDimensions(head: Buffer): Dimensions | null {
  if (head.length < 30) return null;
  const kind = head.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8 ') return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  const bits = head.readUInt32LE(21);
  return kind === 'VP8L' ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : null;
}

/**
 * The size that an image declares. `head` is its first `dimensionsHeadBytes`, or all of a shorter file. Null if the size is not in `head`. The size is not
 * verified, like the result of `sniffImage`: use it only to estimate the cost of a conversion.
 */
export function readImageDimensions(head: Buffer): Dimensions | null {
  switch (sniffImage(head)) {
    case 'png':
      return head.length < 24 ? null : { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
    case 'gif':
      return head.length < 10 ? null : gifDimensions(head);
    case 'jpeg':
      return jpegDimensions(head);
    case 'webp':
      return webpDimensions(head);
    case 'avif':
      return avifDimensions(head);
    default:
      return null;
  }
}

/** The estimated cost of converting an image, in whole megapixels. An image whose size is unknown or too large counts as the largest that is converted. */
export function estimateMegapixels(head: Buffer): number {
  const { width, height } = readImageDimensions(head) ?? { width: Number.POSITIVE_INFINITY, height: 1 };
  return Math.max(1, Math.ceil(Math.min(width * height, limits.imagePixels) / 1_000_000));
}
