/** Width and height in pixels. */
export interface Dimensions {
  width: number;
  height: number;
}

/** Whether a PNG is animated: it has an `acTL` chunk with more than one frame before the first `IDAT`. `file` is the whole file or its beginning. */
export function isAnimatedPng(file: Buffer): boolean {
  for (let at = 8; at + 12 <= file.length; at += 12 + file.readUInt32BE(at)) {
    const type = file.toString('latin1', at + 4, at + 8);
    if (type === 'acTL') return file.readUInt32BE(at + 8) > 1;
    if (type === 'IDAT') return false;
  }
  return false;
}

/** The size of a GIF's logical screen, on which its frames are drawn. Null if a side is 0. `file` has at least the first 10 bytes. */
export function gifDimensions(file: Buffer): Dimensions | null {
  const sides = { width: file.readUInt16LE(6), height: file.readUInt16LE(8) };
  return sides.width > 0 && sides.height > 0 ? sides : null;
}

/** Yields the boxes of one level of an ISO media file; `typeAt` is the position of the type in `level`. Stops at the first incomplete box. */
export function* readBoxes(level: Buffer): Generator<{ type: string; typeAt: number; body: Buffer }> {
  for (let at = 0; at + 8 <= level.length; ) {
    const short = level.readUInt32BE(at);
    const wide = short === 1 && at + 16 <= level.length;
    const size = short === 0 ? level.length - at : wide ? Number(level.readBigUInt64BE(at + 8)) : short;
    const head = wide ? 16 : 8;
    if (size < head || at + size > level.length) return;
    yield { type: level.toString('latin1', at + 4, at + 8), typeAt: at + 4, body: level.subarray(at + head, at + size) };
    at += size;
  }
}

/** The body of the first box at `path`, which lists box types from the outermost to the innermost. Null if there is none. */
export function findBox(level: Buffer, path: readonly string[]): Buffer | null {
  const [type, ...rest] = path;
  if (type === undefined) return level;
  for (const box of readBoxes(level)) if (box.type === type) return findBox(type === 'meta' ? box.body.subarray(4) : box.body, rest);
  return null;
}

/** Whether an AVIF declares itself as an image sequence (brand `avis`). `file` is the whole file or its beginning. */
export function isAvifSequence(file: Buffer): boolean {
  const brands = findBox(file, ['ftyp'])?.toString('latin1') ?? '';
  return (brands.match(/.{4}/gs) ?? []).some((brand, at) => brand === 'avis' && at !== 1); // the second field is the minor version
}

/** The size that an AVIF declares: that of its largest picture, or of its largest track if it has no picture. Null if it declares none. */
export function avifDimensions(file: Buffer): Dimensions | null {
  const pictures = [...readBoxes(findBox(file, ['meta', 'iprp', 'ipco']) ?? Buffer.alloc(0))]
    .filter(({ type, body }) => type === 'ispe' && body.length >= 12)
    .map(({ body }) => ({ width: body.readUInt32BE(4), height: body.readUInt32BE(8) }));
  const tracks = [...readBoxes(findBox(file, ['moov']) ?? Buffer.alloc(0))]
    .flatMap(({ type, body }) => (type === 'trak' ? (findBox(body, ['tkhd']) ?? []) : []))
    .filter((body) => body.length >= 84)
    .map((body) => ({ width: body.readUInt32BE(body.length - 8) >>> 16, height: body.readUInt32BE(body.length - 4) >>> 16 }));
  const declared = (pictures.length ? pictures : tracks).filter(({ width, height }) => width > 0 && height > 0);
  return declared.sort((a, b) => b.width * b.height - a.width * a.height)[0] ?? null;
}
