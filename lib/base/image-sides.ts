import { avifSides, gifSides, type Sides } from './animation.ts';
import { limits } from './limits.ts';
import { sniffImage } from './magic.ts';

/** How much of a file's beginning tells the sides of its image, in bytes: in a JPEG a thumbnail of up to 64 KiB and a colour profile come first. */
export const sidesBytes = 128 * 1024;

/** The sides in the frame header of a JPEG; null when `head` ends before it. */
function jpegSides(head: Buffer): Sides | null {
  for (let at = 2; at + 9 <= head.length && head[at] === 0xff; at += 2 + head.readUInt16BE(at + 2)) {
    const marker = head[at + 1] ?? 0;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame) return { width: head.readUInt16BE(at + 7), height: head.readUInt16BE(at + 5) };
  }
  return null;
}

/** The sides of the canvas, or of the only picture, of a WebP. */
function webpSides(head: Buffer): Sides | null {
  if (head.length < 30) return null;
  const kind = head.toString('latin1', 12, 16);
  if (kind === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 };
  if (kind === 'VP8 ') return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff };
  const bits = head.readUInt32LE(21);
  return kind === 'VP8L' ? { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : null;
}

/**
 * The sides that an image says it has, by its first `sidesBytes` or all of a shorter file; null when they are not told there. Only a claim, as `sniffImage`'s:
 * good enough to estimate what the image costs, and nothing more.
 */
export function imageSides(head: Buffer): Sides | null {
  switch (sniffImage(head)) {
    case 'png':
      return head.length < 24 ? null : { width: head.readUInt32BE(16), height: head.readUInt32BE(20) };
    case 'gif':
      return head.length < 10 ? null : gifSides(head);
    case 'jpeg':
      return jpegSides(head);
    case 'webp':
      return webpSides(head);
    case 'avif':
      return avifSides(head);
    default:
      return null;
  }
}

/** What the conversion of an image costs, in whole megapixels: of one that does not tell its sides, and of one that is too large, the most that is converted. */
export function megapixelsOf(head: Buffer): number {
  const { width, height } = imageSides(head) ?? { width: Number.POSITIVE_INFINITY, height: 1 };
  return Math.max(1, Math.ceil(Math.min(width * height, limits.imagePixels) / 1_000_000));
}
