import { expect } from 'chai';
import { estimateMegapixels, readImageDimensions } from '../../lib/base/image-dimensions.ts';
import { gif, picture, png } from './fixtures.ts';

describe('image size from the first bytes', () => {
  const size = { width: 64, height: 48 };
  const profile = { icc: 'p3' };
  const files: [what: string, file: () => Promise<Buffer>][] = [
    ['a PNG', async () => png],
    ['a JPEG', () => picture().jpeg().toBuffer()],
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
    ['a GIF', async () => gif],
    ['an AVIF', () => picture().avif().toBuffer()],
  ];
  for (const [what, file] of files)
    it(`reads the size of ${what}`, async () => {
      const bytes = await file();
      expect(readImageDimensions(bytes)).to.deep.equal(size);
      for (let length = 0; length < 200; length++) readImageDimensions(bytes.subarray(0, length)); // none throws
    });

  it('counts at least one megapixel, and the maximum for an unknown or larger size', async () => {
    const large = await picture(3_000, 1_001).png().toBuffer();
    const huge = Buffer.from(large);
    huge.writeUInt32BE(0xffffffff, 16);
    const tiff = await picture().tiff().toBuffer();
    expect([png, large, huge, tiff, large.subarray(0, 20)].map(estimateMegapixels)).to.deep.equal([1, 4, 50, 50, 50]);
  });
});
