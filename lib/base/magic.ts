/** The formats that count as images. Every other file is a plain file, whatever its name and declared type (docs/behavior/messages.md#images). */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'avif' | 'tiff' | 'gif';

/** How many bytes from the beginning of a file are enough to recognize its format. */
export const magicBytes = 64;

const hasBytesAt = (head: Buffer, hex: string, at = 0): boolean => head.subarray(at, at + hex.length / 2).toString('hex') === hex;
const ascii = (head: Buffer, from: number, to: number): string => head.subarray(from, to).toString('latin1');

/** General brands of the container format that AVIF and HEIC share. An AVIF file can have one of them as its major brand. */
const containerBrands = ['mif1', 'msf1', 'miaf'];

/** A file is AVIF if the major brand of its `ftyp` box is AVIF's, or is general and a compatible brand is AVIF's. HEIC has major brands of its own. */
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
 * The image format that the first bytes of a file declare. `head` is its first `magicBytes`, or all of a shorter file. Null for everything that is not an
 * `ImageFormat`, such as SVG, BMP, HEIC, ICO, text or an empty file. The result is not verified: only decoding checks the rest of the file.
 */
export function sniffImage(head: Buffer): ImageFormat | null {
  if (hasBytesAt(head, '89504e470d0a1a0a')) return 'png';
  if (hasBytesAt(head, 'ffd8ff')) return 'jpeg';
  if (ascii(head, 0, 4) === 'RIFF' && ascii(head, 8, 12) === 'WEBP') return 'webp';
  if (/^GIF8[79]a/.test(ascii(head, 0, 6))) return 'gif';
  // Classic TIFF and BigTIFF, each in both byte orders.
  if (['49492a00', '4d4d002a', '49492b00', '4d4d002b'].some((magic) => hasBytesAt(head, magic))) return 'tiff';
  return isAvif(head) ? 'avif' : null;
}

/** Content types of images that browsers show, with their aliases. */
const imageType = /^image\/(?:png|x-png|apng|jpe?g|pjpeg|webp|avif|tiff?|gif)$/;
const binaryType = 'application/octet-stream';

/** The content type of a file that is not shown as an image: its declared type, or `application/octet-stream` if that is missing or the type of an image. */
export const toPlainFileType = (declared = binaryType): string => (imageType.test(declared) ? binaryType : declared);
