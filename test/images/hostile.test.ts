import { readdir } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { createImageEncoder } from '../../workers/image-encoder.ts';
import { use } from '../harness/use.ts';
import { animation, costlyPng, type Encoded, encodingWith, gif, noise, picture, png, pngChunk, pngOf } from './fixtures.ts';

const formats = ['png', 'jpeg', 'webp', 'avif', 'tiff', 'gif'] as const;
const text = (words: string): Buffer => Buffer.from(words, 'latin1');
const zeros = (bytes: number): Buffer => deflateSync(Buffer.alloc(bytes), { level: 9 });

describe('images: hostile files', () => {
  const encoding = use(() => encodingWith(createImageEncoder()));
  /** After every test, expects that the next image is converted and that no temporary file is left. */
  afterEach(async () => {
    expect((await encoding.encode(png)).outcome).to.equal('webp');
    expect(await readdir(encoding.folder)).to.deep.equal([]);
  });

  const expectPlain = async (image: Buffer): Promise<void> => {
    expect(await encoding.encode(image)).to.include({ outcome: 'plain', size: image.length });
  };

  const hugeAvif = async (): Promise<Buffer> => {
    const avif = await picture().avif().toBuffer();
    return avif.fill(0x7f, avif.indexOf('ispe') + 8, avif.indexOf('ispe') + 16);
  };
  const hugeJpeg = async (): Promise<Buffer> => {
    const jpeg = await picture().jpeg().toBuffer();
    const at = jpeg.indexOf(Buffer.from('ffc0', 'hex')) + 5;
    return jpeg.fill(0xff, at, at + 4);
  };
  const wrongChecksum = (): Buffer => {
    const at = png.indexOf('IDAT') + 4;
    return Buffer.concat([png.subarray(0, at), Buffer.alloc(4, ~png.readUInt8(at)), png.subarray(at + 4)]);
  };
  const unconverted: [what: string, image: () => Buffer | Promise<Buffer>][] = [
    ['an empty file', () => Buffer.alloc(0)],
    ['an SVG', () => text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['an SVG after a PNG signature', () => text('\x89PNG\r\n\x1a\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['a PNG of 3,600 megapixels in 1 KB', () => pngOf({ width: 60_000, height: 60_000, depth: 1 }, 1_000_000)],
    ['a complete PNG of 100 megapixels', () => pngOf({ width: 10_000, height: 10_000, depth: 1 }, 1_251 * 10_000)],
    ['a PNG that takes over 10 s without limits', () => pngOf({ width: 16_000, height: 16_000, depth: 1, interlaced: true }, 40_000_000)],
    ['a PNG wider than WebP allows', () => pngOf({ width: 16_384, height: 2 }, 16_385 * 2)],
    ['a PNG without data', () => pngOf({ width: 64, height: 48 }, 0)],
    ['a PNG with half its data', () => pngOf({ width: 64, height: 48 }, 65 * 24)],
    ['a PNG of width 0', () => pngOf({ width: 0, height: 48 }, 65)],
    ['a PNG whose data is not that of its checksum', wrongChecksum],
    ['a GIF of only a signature', () => text('GIF89a')],
    ['a GIF of 4,000 megapixels', () => Buffer.from(gif).fill(0xff, 6, 10)],
    ['a JPEG of 4,000 megapixels', hugeJpeg],
    ['an AVIF of 10^18 pixels', hugeAvif],
    ['an AVIF sequence of 10^18 pixels', async () => (await hugeAvif()).fill('avis', 8, 12, 'latin1')],
    // The canvas of VP8X.
    ['a WebP of 16,383 pixels on each side', async () => (await (await animation()).webp().toBuffer()).fill(0xff, 24, 30)],
    ['an empty AVIF container', () => text('\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf')],
    ['an empty AVIF sequence', () => text('\x00\x00\x00\x1cftypavis\x00\x00\x00\x00avifmif1miaf')],
    ['a TIFF whose offset is outside of the file', () => text('II*\x00\xff\xff\xff\x7f')],
    ['a TIFF whose offset points to itself', () => text('II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00')],
  ];
  for (const [what, image] of unconverted) it(`does not convert ${what}`, async () => expectPlain(await image()));

  for (const format of formats.filter((one) => one !== 'gif'))
    it(`does not convert the first half of a ${format}`, async () => {
      const complete = await noise(300, 200).toFormat(format).toBuffer();
      await expectPlain(complete.subarray(0, complete.length / 2));
    });

  it('does not decompress PNG chunks to gigabytes', async () => {
    const header = text('k\x00\x01\x00\x00\x00');
    const comment = pngChunk('iTXt', Buffer.concat([header, zeros(7_000_000)]));
    const profile = pngChunk('iCCP', Buffer.concat([text('k\x00\x00'), zeros(200_000_000)]));
    for (const chunks of [Array.from({ length: 900 }, () => comment), [profile]]) {
      const encoded = await encoding.encode(pngOf({ width: 8, height: 8 }, 72, ...chunks));
      expect(encoded.outcome).to.be.oneOf(['webp', 'plain']);
      expect(JSON.stringify(encoded)).not.to.contain('not converted within');
    }
  });

  it('converts 50 megapixels in the format that is most costly to decode', async () => {
    const { webp, ...result }: Encoded = await encoding.encode(costlyPng());
    expect(result).to.include({ outcome: 'webp', width: 7_071, height: 7_071 });
    expect(webp?.length).to.equal(result.size);
  });

  it('removes HTML from a JPEG that is also a web page', async () => {
    const page = '<script>alert(1)</script>';
    const jpeg = await picture().jpeg().toBuffer();
    const comment = Buffer.concat([Buffer.from('fffe', 'hex'), Buffer.from([0, page.length + 2]), text(page)]);
    const polyglot = Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2), text(`<html>${page}`)]);
    const { outcome, webp } = await encoding.encode(polyglot);
    expect([polyglot.includes('<script>'), outcome, webp?.includes('<script>')]).to.deep.equal([true, 'webp', false]);
  });

  it('keeps only the GIF of a file that is also an archive', async () => {
    const { file, ...result } = await encoding.encode(Buffer.concat([gif, text('PK\x03\x04 and so on')]));
    expect(result).to.deep.equal({ outcome: 'kept', format: 'gif', size: gif.length, width: 64, height: 48 });
    expect(file?.equals(gif)).to.equal(true);
  });

  for (const format of formats)
    it(`returns a result for a ${format} with random wrong bytes`, async () => {
      const complete = await noise(64, 48).toFormat(format).toBuffer();
      // A simple random number generator with a fixed seed, so that every run has the same bytes.
      let seed = 42;
      const random = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return seed % below;
      };
      for (let round = 0; round < 6; round++) {
        const broken = Buffer.from(complete.subarray(0, round % 4 === 0 ? random(complete.length) : complete.length));
        for (let at = 0; at < 4 && broken.length > 0; at++) broken[random(Math.min(broken.length, 400))] = random(256);
        expect((await encoding.encode(broken)).outcome).to.be.oneOf(['webp', 'kept', 'plain']);
      }
    });
});

describe('images: the decoder without limits', () => {
  it('accepts the PNG that is refused above', async () => {
    const metadata = await sharp(pngOf({ width: 16_000, height: 16_000, depth: 1, interlaced: true }, 40_000_000)).metadata();
    expect([metadata.width, metadata.height]).to.deep.equal([16_000, 16_000]);
  });
});
