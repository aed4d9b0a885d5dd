import { readdir } from 'node:fs/promises';
import { deflateSync } from 'node:zlib';
import { expect } from 'chai';
import sharp from 'sharp';
import { createImageEncoder } from '../../workers/image-encoder.ts';
import { type Encoded, encodingWith, film, noise, picture, pngChunk, pngOf } from './fixtures.ts';

const formats = ['png', 'jpeg', 'webp', 'avif', 'tiff', 'gif'] as const;
const text = (words: string): Buffer => Buffer.from(words, 'latin1');
const zeros = (bytes: number): Buffer => deflateSync(Buffer.alloc(bytes), { level: 9 });

describe('Images: what is not meant well', function () {
  this.timeout(180_000);
  let encoding: Awaited<ReturnType<typeof encodingWith>>;
  let good: Buffer;
  before(async () => {
    encoding = await encodingWith(createImageEncoder());
    good = await picture().png().toBuffer();
  });
  after(() => encoding.close());
  /** Whatever came before: the next image works, and nothing lies about. */
  afterEach(async () => {
    expect((await encoding.encode(good)).outcome).to.equal('webp');
    expect(await readdir(encoding.folder)).to.deep.equal([]);
  });

  const expectPlain = async (image: Buffer): Promise<void> => {
    const { outcome, size } = await encoding.encode(image);
    expect([outcome, size]).to.deep.equal(['plain', image.length]);
  };

  const plain: [what: string, image: () => Buffer | Promise<Buffer>][] = [
    ['nothing', () => Buffer.alloc(0)],
    ['an SVG, whatever its name', () => text('<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['an SVG after the mark of a PNG', () => text('\x89PNG\r\n\x1a\n<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>')],
    ['a PNG of 3,600 megapixels in 1 KB', () => pngOf({ width: 60_000, height: 60_000, depth: 1 }, 1_000_000)],
    ['a PNG of 100 megapixels, whole', () => pngOf({ width: 10_000, height: 10_000, depth: 1 }, 1_251 * 10_000)],
    [
      'a PNG that takes over 10 s where nothing is bounded',
      () => pngOf({ width: 16_000, height: 16_000, depth: 1, interlaced: true }, 40_000_000),
    ],
    ['a side that WebP cannot have', () => pngOf({ width: 16_384, height: 2 }, 16_385 * 2)],
    ['a PNG with no data', () => pngOf({ width: 64, height: 48 }, 0)],
    ['a PNG with half its data', () => pngOf({ width: 64, height: 48 }, 65 * 24)],
    ['a PNG of no width', () => pngOf({ width: 0, height: 48 }, 65)],
    [
      'a PNG whose data has a wrong checksum',
      () => {
        const png = Buffer.from(good);
        const at = png.indexOf('IDAT') + 4;
        png.writeUInt32BE(png.readUInt32BE(at) ^ 1, at);
        return png;
      },
    ],
    ['a GIF of a mark alone', () => text('GIF89a')],
    [
      'a GIF of 4,000 megapixels',
      async () => {
        const gif = await picture().gif().toBuffer();
        gif.fill(0xff, 6, 10);
        return gif;
      },
    ],
    [
      'a JPEG of 4,000 megapixels',
      async () => {
        const jpeg = await picture().jpeg().toBuffer();
        jpeg.fill(0xff, jpeg.indexOf(Buffer.from('ffc0', 'hex')) + 5, jpeg.indexOf(Buffer.from('ffc0', 'hex')) + 9);
        return jpeg;
      },
    ],
    [
      'an AVIF of 10^18 pixels',
      async () => {
        const avif = await picture().avif().toBuffer();
        avif.fill(0x7f, avif.indexOf('ispe') + 8, avif.indexOf('ispe') + 16);
        return avif;
      },
    ],
    [
      'a sequence of AVIF of 10^18 pixels',
      async () => {
        const avif = await picture().avif().toBuffer();
        avif.write('avis', 8, 'latin1');
        avif.fill(0x7f, avif.indexOf('ispe') + 8, avif.indexOf('ispe') + 16);
        return avif;
      },
    ],
    [
      'a WebP of 16,383 pixels on each side',
      async () => {
        const webp = await (await film()).webp().toBuffer();
        webp.fill(0xff, 24, 30); // canvas of VP8X
        return webp;
      },
    ],
    ['a container of AVIF with nothing in it', () => text('\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf')],
    ['a sequence of AVIF with nothing in it', () => text('\x00\x00\x00\x1cftypavis\x00\x00\x00\x00avifmif1miaf')],
    ['a TIFF that points nowhere', () => text('II*\x00\xff\xff\xff\x7f')],
    ['a TIFF that points at itself', () => text('II*\x00\x08\x00\x00\x00\x00\x00\x08\x00\x00\x00')],
  ];
  for (const [what, image] of plain) it(`${what} stays a plain file`, async () => expectPlain(await image()));

  for (const format of formats.filter((one) => one !== 'gif'))
    it(`half a ${format} stays a plain file`, async () => {
      const whole = await noise(300, 200).toFormat(format).toBuffer();
      await expectPlain(whole.subarray(0, whole.length / 2));
    });

  it('chunks of a PNG that unpack to gigabytes are not unpacked', async () => {
    const header = text('k\x00\x01\x00\x00\x00');
    const comment = pngChunk('iTXt', Buffer.concat([header, zeros(7_000_000)]));
    const profile = pngChunk('iCCP', Buffer.concat([text('k\x00\x00'), zeros(200_000_000)]));
    for (const chunks of [Array.from({ length: 900 }, () => comment), [profile]]) {
      const encoded = await encoding.encode(pngOf({ width: 8, height: 8 }, 72, ...chunks));
      expect(encoded.outcome).to.be.oneOf(['webp', 'plain']);
      expect(JSON.stringify(encoded)).not.to.contain('not done in');
    }
  });

  it('50 megapixels are taken, in a form that makes them dear', async () => {
    const { webp, ...said }: Encoded = await encoding.encode(pngOf({ width: 7_071, height: 7_071, depth: 1, interlaced: true }, 6_300_000));
    expect(said).to.include({ outcome: 'webp', width: 7_071, height: 7_071 });
    expect(webp?.length).to.equal(said.size);
  });

  it('a JPEG that is a web page too is encoded anew: the page is gone', async () => {
    const page = '<script>alert(1)</script>';
    const jpeg = await picture().jpeg().toBuffer();
    const comment = Buffer.concat([Buffer.from('fffe', 'hex'), Buffer.from([0, page.length + 2]), text(page)]);
    const both = Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2), text(`<html>${page}`)]);
    const { outcome, webp } = await encoding.encode(both);
    expect([both.includes('<script>'), outcome, webp?.includes('<script>')]).to.deep.equal([true, 'webp', false]);
  });

  it('a GIF that is an archive too stays as it is', async () => {
    const gif = Buffer.concat([await picture().gif().toBuffer(), text('PK\x03\x04 and so on')]);
    expect(await encoding.encode(gif)).to.deep.equal({ outcome: 'kept', format: 'gif', size: gif.length, width: 64, height: 48 });
  });

  for (const format of formats)
    it(`a ${format} with broken bytes gives an answer each time`, async () => {
      const whole = await noise(64, 48).toFormat(format).toBuffer();
      // The same bytes in each run: a plain generator of numbers.
      let seed = 42;
      const random = (below: number): number => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
        return seed % below;
      };
      for (let round = 0; round < 6; round++) {
        const broken = Buffer.from(whole.subarray(0, round % 4 === 0 ? random(whole.length) : whole.length));
        for (let at = 0; at < 4 && broken.length > 0; at++) broken[random(Math.min(broken.length, 400))] = random(256);
        expect((await encoding.encode(broken)).outcome).to.be.oneOf(['webp', 'kept', 'plain']);
      }
    });
});

describe('Images: the decoder without bounds', () => {
  it('would take the PNG that is refused above', async () => {
    const bare = await sharp(pngOf({ width: 16_000, height: 16_000, depth: 1, interlaced: true }, 40_000_000)).metadata();
    expect([bare.width, bare.height]).to.deep.equal([16_000, 16_000]);
  });
});
