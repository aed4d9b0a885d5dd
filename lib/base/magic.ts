/** The raster formats that count as images. Everything else is a plain file, whatever its name and declared type are (docs/behavior/messages.md#images). */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'avif' | 'tiff' | 'gif';

/** How much of a file's beginning tells its format, in bytes. */
export const magicBytes = 64;

const begins = (head: Buffer, hex: string, at = 0): boolean => head.subarray(at, at + hex.length / 2).toString('hex') === hex;
const ascii = (head: Buffer, from: number, to: number): string => head.subarray(from, to).toString('latin1');

/** Brands under which AVIF also goes, as one kind of the container that HEIC shares. */
const containerBrands = ['mif1', 'msf1', 'miaf'];

/** AVIF says so first in its `ftyp` box, or among the compatible brands of a general container; HEIC leads with brands of its own. */
function isAvif(head: Buffer): boolean {
  if (ascii(head, 4, 8) !== 'ftyp') return false;
  const major = ascii(head, 8, 12);
  if (major === 'avif' || major === 'avis') return true;
  if (!containerBrands.includes(major)) return false;
  const end = Math.min(head.readUInt32BE(0), head.length);
  for (let at = 16; at + 4 <= end; at += 4) if (['avif', 'avis'].includes(ascii(head, at, at + 4))) return true;
  return false;
}

/**
 * The format that the first bytes of a file say, `head` being its first `magicBytes` or all of a shorter one; null for what is no image of ours: SVG, BMP,
 * HEIC, ICO, text, nothing. Only a claim: what the rest of the file holds is seen when it is decoded.
 */
export function sniffImage(head: Buffer): ImageFormat | null {
  if (begins(head, '89504e470d0a1a0a')) return 'png';
  if (begins(head, 'ffd8ff')) return 'jpeg';
  if (ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP') return 'webp';
  if (/^GIF8[79]a/.test(ascii(head, 0, 6))) return 'gif';
  // Both byte orders, each as classic and as big TIFF.
  if (['49492a00', '4d4d002a', '49492b00', '4d4d002b'].some((magic) => begins(head, magic))) return 'tiff';
  return isAvif(head) ? 'avif' : null;
}

/** Types of images that browsers show, under the names they go by. */
const imageType = /^image\/(?:png|x-png|apng|jpe?g|pjpeg|webp|avif|tiff?|gif)$/;
const anyBytes = 'application/octet-stream';

/** What a file is served as that cannot be shown as an image: the type that it declares, unless that is an image's; default: any bytes. */
export const plainType = (declared = anyBytes): string => (imageType.test(declared) ? anyBytes : declared);
