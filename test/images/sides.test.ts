import { expect } from 'chai';
import sharp from 'sharp';
import { imageSides, megapixelsOf } from '../../lib/base/image-sides.ts';
import { picture } from './fixtures.ts';

describe('the sides that the beginning of an image tells', () => {
  const sides = { width: 64, height: 48 };
  const profile = { icc: 'p3' };
  const files: [what: string, file: () => Promise<Buffer>][] = [
    ['PNG', () => picture().png().toBuffer()],
    ['JPEG', () => picture().jpeg().toBuffer()],
    [
      'a progressive JPEG with EXIF and a colour profile',
      () =>
        picture()
          .withMetadata(profile)
          .withExif({ IFD0: { Copyright: 'x'.repeat(9_000) } })
          .jpeg({ progressive: true })
          .toBuffer(),
    ],
    ['a lossy WebP', () => picture().webp().toBuffer()],
    ['a lossless WebP', () => picture().webp({ lossless: true }).toBuffer()],
    ['a WebP with a colour profile', () => picture().withMetadata(profile).webp().toBuffer()],
    ['GIF', () => picture().gif().toBuffer()],
    ['AVIF', () => picture().avif().toBuffer()],
  ];
  for (const [what, file] of files)
    it(what, async () => {
      const bytes = await file();
      expect(imageSides(bytes)).to.deep.equal(sides);
      for (let length = 0; length < 200; length++) imageSides(bytes.subarray(0, length)); // none throws
    });

  it('cost at least one megapixel, and the most that is converted when they are not told or too large', async () => {
    const png = await sharp({ create: { width: 3_000, height: 1_001, channels: 3, background: 'red' } })
      .png()
      .toBuffer();
    const huge = Buffer.from(png);
    huge.writeUInt32BE(0xffffffff, 16);
    const tiff = await picture().tiff().toBuffer();
    expect([await picture().png().toBuffer(), png, huge, tiff, png.subarray(0, 20)].map(megapixelsOf)).to.deep.equal([1, 4, 50, 50, 50]);
  });
});
