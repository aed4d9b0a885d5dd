/*
 * Removes from files what a camera or an editor wrote into them besides the picture: place, time, device, names, comments. It keeps what decides how the picture
 * looks: colour profiles, animation, the orientation of a JPEG or TIFF. Files are untrusted: all loops move forward, and what cannot be read stays as it is.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { findBox, readBoxes } from './animation.ts';
import { magicBytes, sniffImage } from './magic.ts';

const latin1 = (file: Buffer, from: number, to: number): string => file.toString('latin1', from, to);

/** The chunks of a PNG that decide how it looks. */
const pngChunks = new Set('IHDR PLTE IDAT IEND tRNS cHRM gAMA iCCP sBIT sRGB cICP mDCV cLLI bKGD hIST pHYs sPLT acTL fcTL fdAT'.split(' '));

function cleanPng(file: Buffer): Buffer {
  const kept = [file.subarray(0, 8)];
  let at = 8;
  while (at + 12 <= file.length) {
    const type = latin1(file, at + 4, at + 8);
    if (!/^[A-Za-z]{4}$/.test(type)) break; // no PNG any more
    const end = at + 12 + file.readUInt32BE(at);
    if (pngChunks.has(type)) kept.push(file.subarray(at, end));
    if (type === 'IEND') return Buffer.concat(kept);
    at = end;
  }
  return Buffer.concat([...kept, file.subarray(at)]);
}

/** The chunks of a WebP that decide how it looks. */
const webpChunks = new Set(['VP8 ', 'VP8L', 'VP8X', 'ALPH', 'ANIM', 'ANMF', 'ICCP']);

function cleanWebp(file: Buffer): Buffer {
  const kept: Buffer[] = [];
  for (let at = 12; at + 8 <= file.length; ) {
    const size = file.readUInt32LE(at + 4);
    const end = at + 8 + size + (size % 2);
    const type = latin1(file, at, at + 4);
    if (webpChunks.has(type)) {
      const chunk = Buffer.from(file.subarray(at, end));
      // The flags of the extended header no longer announce EXIF and XMP.
      if (type === 'VP8X' && chunk.length > 8) chunk.writeUInt8(chunk.readUInt8(8) & ~0x0c, 8);
      kept.push(chunk);
    }
    at = end;
  }
  const head = Buffer.from(file.subarray(0, 12));
  head.writeUInt32LE(
    kept.reduce((sum, { length }) => sum + length, 4),
    4,
  );
  return Buffer.concat([head, ...kept]);
}

/** The end of the sub-blocks of a GIF that begin at `at`. */
function skipGifBlocks(file: Buffer, at: number): number {
  let end = at;
  while (end < file.length && file[end] !== 0) end += 1 + (file[end] ?? 0);
  return end + 1;
}

/** The size of the colour table that the flags of a GIF announce, in bytes. */
const gifTableBytes = (flags = 0): number => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);

function cleanGif(file: Buffer): Buffer {
  let at = 13 + gifTableBytes(file[10]);
  const kept = [file.subarray(0, at)];
  while (at < file.length) {
    const start = at;
    const [kind, label] = [file[at], file[at + 1]];
    if (kind === 0x3b) return Buffer.concat([...kept, file.subarray(at, at + 1)]);
    if (kind === 0x2c) at = skipGifBlocks(file, at + 11 + gifTableBytes(file[at + 9]));
    else if (kind === 0x21) at = skipGifBlocks(file, at + 2);
    else return file; // no GIF any more
    // Of the extensions, only the control of a frame and the number of repetitions stay.
    const isShown =
      kind === 0x2c || label === 0xf9 || (label === 0xff && /^(NETSCAPE2\.0|ANIMEXTS1\.0)$/.test(latin1(file, start + 3, start + 14)));
    if (isShown) kept.push(file.subarray(start, at));
  }
  return Buffer.concat(kept);
}

/** Whether a JPEG segment decides how the picture looks: JFIF, a colour profile, Adobe's colour transform, and all that is no application data or comment. */
function isShownSegment(segment: Buffer, marker: number): boolean {
  if (marker === 0xe2) return latin1(segment, 4, 15) === 'ICC_PROFILE';
  return marker === 0xe0 || marker === 0xee || !((marker >= 0xe0 && marker <= 0xef) || marker === 0xfe);
}

/** The orientation in an EXIF block; 1 if it has none or cannot be read. */
function readOrientation(tiff: Buffer): number {
  try {
    const [main] = readTiffDirectories(tiff);
    return main?.entries.find(({ tag }) => tag === tiffTags.orientation)?.firstValue ?? 1;
  } catch (error) {
    if (error instanceof RangeError) return 1;
    throw error;
  }
}

/** An EXIF segment that has only the orientation of `segment`; empty if that has none. */
function toOrientationSegment(segment: Buffer): Buffer {
  if (latin1(segment, 4, 8) !== 'Exif') return Buffer.alloc(0);
  const orientation = readOrientation(segment.subarray(10));
  if (orientation < 2 || orientation > 8) return Buffer.alloc(0);
  return Buffer.from(`ffe100224578696600004d4d002a0000000800010112000300000001000${orientation}000000000000`, 'hex');
}

/** Whether compressed data of a JPEG continue after 0xff and this byte. */
const isInsideScan = (next = 0): boolean => next === 0 || next === 0xff || (next >= 0xd0 && next <= 0xd7);

function cleanJpeg(file: Buffer): Buffer {
  const kept = [file.subarray(0, 2)];
  for (let at = 2; at + 4 <= file.length; ) {
    const marker = file.readUInt8(at + 1);
    if (file[at] !== 0xff) return Buffer.concat([...kept, file.subarray(at)]); // no JPEG any more
    if (marker === 0xff) {
      at++; // any number of fill bytes may precede a marker
      continue;
    }
    const end = at + 2 + file.readUInt16BE(at + 2);
    const segment = file.subarray(at, end);
    if (isShownSegment(segment, marker)) kept.push(segment);
    else if (marker === 0xe1) kept.push(toOrientationSegment(segment));
    at = end;
    if (marker !== 0xda) continue;
    // Compressed data follow, in which 0xff comes only before 0x00, before the numbers of restarts and before fill bytes.
    while (at < file.length && (file[at] !== 0xff || isInsideScan(file[at + 1]))) at++;
    kept.push(file.subarray(end, at));
    // Phones append a video or a second picture, with metadata of its own.
    if (file[at + 1] === 0xd9) return Buffer.concat([...kept, file.subarray(at, at + 2)]);
  }
  return Buffer.concat(kept);
}

/** Overwrites parts of a file with zeros, at most twice its length in all, so that a hostile file cannot name the same part without end. */
function createEraser(file: Buffer): (from: number, to: number) => void {
  let remaining = 2 * file.length;
  return (from, to) => {
    const end = Math.min(to, file.length);
    remaining -= Math.max(0, end - from);
    if (remaining < 0) throw new RangeError('the file names the same part too often');
    if (from < end) file.fill(0, from, end);
  };
}

const tiffTags = { orientation: 0x112, subDirectories: 0x14a, exif: 0x8769, gps: 0x8825 };
/** Description, make, model, software, date, artist, host, copyright, XMP, IPTC, Photoshop. */
const tiffTextTags = new Set([0x10e, 0x10f, 0x110, 0x131, 0x132, 0x13b, 0x13c, 0x8298, 0x2bc, 0x83bb, 0x8649]);
/** The size of a value of each type, in bytes. */
const tiffTypeBytes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 0, 0, 8, 8, 8];

/** A directory of a TIFF: its bytes, and its entries with the place of their values. */
interface TiffDirectory {
  from: number;
  to: number;
  isPrivate: boolean;
  entries: { tag: number; firstValue: number; from: number; to: number }[];
}

/** Yields the directories of a TIFF or BigTIFF, at most 100. `isPrivate` is true for EXIF and GPS. Throws `RangeError` at the end of a file that is cut off. */
function* readTiffDirectories(tiff: Buffer): Generator<TiffDirectory> {
  const isLittle = tiff[0] === 0x49;
  const isBig = (isLittle ? tiff[2] : tiff[3]) === 0x2b;
  const read = (at: number, bytes: number): number => {
    if (bytes === 8) return Number(isLittle ? tiff.readBigUInt64LE(at) : tiff.readBigUInt64BE(at));
    return isLittle ? tiff.readUIntLE(at, bytes) : tiff.readUIntBE(at, bytes);
  };
  const [countBytes, wordBytes, entryBytes] = isBig ? [8, 8, 20] : [2, 4, 12];
  const waiting = [{ at: read(isBig ? 8 : 4, wordBytes), isPrivate: false }];
  const seen = new Set<number>();
  for (let next = waiting.shift(); next && seen.size < 100; next = waiting.shift()) {
    const { at: from, isPrivate } = next;
    if (from === 0 || seen.has(from)) continue;
    seen.add(from);
    const first = from + countBytes;
    const to = first + Math.min(read(from, countBytes), 5_000) * entryBytes;
    const entries: TiffDirectory['entries'] = [];
    for (let at = first; at < to; at += entryBytes) {
      const [tag, type] = [read(at, 2), read(at + 2, 2)];
      const bytes = (tiffTypeBytes[type] ?? 0) * read(at + 4, wordBytes);
      const field = at + 4 + wordBytes;
      const value = bytes > wordBytes ? read(field, wordBytes) : field;
      entries.push({ tag, firstValue: type === 3 ? read(field, 2) : read(field, wordBytes), from: value, to: value + bytes });
      if (tag === tiffTags.exif || tag === tiffTags.gps) waiting.push({ at: read(field, wordBytes), isPrivate: true });
      if (tag === tiffTags.subDirectories)
        for (let sub = value; sub < value + bytes && waiting.length < 100; sub += wordBytes)
          waiting.push({ at: read(sub, wordBytes), isPrivate });
    }
    yield { from, to, isPrivate, entries };
    if (!isPrivate) waiting.push({ at: read(to, wordBytes), isPrivate: false });
  }
}

function cleanTiff(file: Buffer): Buffer {
  const erase = createEraser(file);
  for (const { from, to, isPrivate, entries } of readTiffDirectories(file)) {
    for (const entry of entries) if (isPrivate || tiffTextTags.has(entry.tag)) erase(entry.from, entry.to);
    if (isPrivate) erase(from, to); // it then has no entries
  }
  return file;
}

/** Boxes of an ISO media file that contain others. */
const mediaContainers = new Set(['moov', 'trak', 'mdia', 'moof', 'traf']);

/** The ids of the EXIF and XMP items of an image file. `infos` is the body of its `iinf` box. */
function listPrivateItems(infos: Buffer): Set<number> {
  const ids = new Set<number>();
  for (const { type, body } of readBoxes(infos.subarray(infos[0] === 0 ? 6 : 8))) {
    const idBytes = body[0] === 3 ? 4 : 2;
    if (type === 'infe' && ['Exif', 'mime'].includes(latin1(body, 4 + idBytes + 2, 4 + idBytes + 6))) ids.add(body.readUIntBE(4, idBytes));
  }
  return ids;
}

/** Yields where the items `ids` are, in the file or in the `idat` box. `locations` is the body of the `iloc` box. */
function* locateItems(locations: Buffer, ids: ReadonlySet<number>): Generator<{ isInIdat: boolean; from: number; to: number }> {
  const version = locations.readUInt8(0);
  const sizes = locations.readUInt16BE(4);
  let at = 6;
  const read = (bytes: number): number => {
    at += bytes;
    if (bytes === 0) return 0;
    return bytes === 8 ? Number(locations.readBigUInt64BE(at - 8)) : locations.readUIntBE(at - bytes, bytes);
  };
  for (let items = read(version < 2 ? 2 : 4); items > 0; items--) {
    const id = read(version < 2 ? 2 : 4);
    const isInIdat = version > 0 && (read(2) & 15) === 1;
    read(2); // data reference
    const base = read((sizes >> 4) & 15);
    for (let extents = read(2); extents > 0; extents--) {
      if (version > 0) read(sizes & 15);
      const from = base + read(sizes >> 12);
      const to = from + read((sizes >> 8) & 15);
      if (ids.has(id)) yield { isInIdat, from, to };
    }
  }
}

/** Removes the metadata of an ISO media file (HEIC, AVIF, MP4, MOV) in place: a box becomes free space of the same size, so no offset changes. */
function cleanMedia(file: Buffer): Buffer {
  const erase = createEraser(file);
  const visit = (level: Buffer, isTop: boolean): void => {
    for (const { type, typeAt, body } of readBoxes(level)) {
      const from = body.byteOffset - file.byteOffset;
      if (mediaContainers.has(type)) visit(body, false);
      else if (type === 'udta' || type === 'uuid' || (type === 'meta' && !isTop)) {
        level.write('free', typeAt, 'latin1');
        erase(from, from + body.length);
      } else if (type === 'meta') {
        const items = listPrivateItems(findBox(body.subarray(4), ['iinf']) ?? Buffer.alloc(6));
        const idat = findBox(body.subarray(4), ['idat']);
        const locations = findBox(body.subarray(4), ['iloc']);
        for (const item of locations ? locateItems(locations, items) : []) {
          const offset = item.isInIdat ? (idat ?? file).byteOffset - file.byteOffset : 0;
          erase(offset + item.from, offset + item.to);
        }
      }
    }
  };
  visit(file, true);
  return file;
}

/** Whether a file is an ISO media file, such as HEIC, AVIF, MP4 and MOV. `head` is its first `magicBytes`. */
export const isIsoMedia = (head: Buffer): boolean => ['ftyp', 'moov', 'wide', 'mdat', 'free', 'skip'].includes(latin1(head, 4, 8));

const cleaners = { png: cleanPng, webp: cleanWebp, gif: cleanGif, jpeg: cleanJpeg, tiff: cleanTiff, avif: cleanMedia };

/**
 * The file without its metadata (docs/behavior/messages.md#images). Files of other formats, and those that cannot be read to their end, are returned as they
 * are or with what was removed until then. May change `file`.
 */
export function removeMetadata(file: Buffer): Buffer {
  const head = file.subarray(0, magicBytes);
  const format = sniffImage(head);
  try {
    if (format) return cleaners[format](file);
    return isIsoMedia(head) ? cleanMedia(file) : file;
  } catch (error) {
    if (error instanceof RangeError) return file;
    throw error;
  }
}

/** Writes the local file `from` without its metadata (`removeMetadata`) to the new file `to`. Returns its size in bytes. */
export async function copyWithoutMetadata(from: string, to: string): Promise<number> {
  const file = removeMetadata(await readFile(from));
  await writeFile(to, file, { flag: 'wx' });
  return file.length;
}
