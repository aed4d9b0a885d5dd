import { expect } from 'chai';
import sharp from 'sharp';
import { createImageEncoder } from '../../workers/image-encoder.ts';
import { animationChunk, type Encoded, encodingWith, film, picture, pngOf } from './fixtures.ts';

const secret = 'where the photograph was taken';
const exif = {
  IFD0: { Copyright: secret, Make: 'a camera' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSLongitudeRef: 'W', GPSLongitude: '0/1 7/1 4366/100' },
};

/** The colour in the middle of the left, right, upper and lower part of an image, as red, green, blue and alpha. */
async function coloursOf(image: Buffer): Promise<Record<'left' | 'right' | 'top' | 'bottom', number[]>> {
  const { data, info } = await sharp(image).ensureAlpha().raw().toBuffer({ resolveWithObject: true });
  const at = (x: number, y: number): number[] => {
    const pixel = (Math.floor(y * info.height) * info.width + Math.floor(x * info.width)) * info.channels;
    return [...data.subarray(pixel, pixel + 4)];
  };
  return { left: at(0.25, 0.5), right: at(0.75, 0.5), top: at(0.5, 0.25), bottom: at(0.5, 0.75) };
}
const [red, blue] = [
  [255, 0, 0, 255],
  [0, 0, 255, 255],
];
function expectColour(found: number[], wanted: number[] | undefined, within = 12): void {
  const off = found.map((value, at) => Math.abs(value - (wanted?.[at] ?? 0)));
  expect(Math.max(...off), `${found.join(' ')} instead of ${wanted?.join(' ')}`).to.be.at.most(within);
}

describe('Images: conversion by format', function () {
  let encoding: Awaited<ReturnType<typeof encodingWith>>;
  before(async () => {
    encoding = await encodingWith(createImageEncoder());
  });
  after(() => encoding.close());

  /** Expects that `image` became a WebP so wide and high, and what is said of it is so. */
  async function expectWebp(image: Buffer, width: number, height: number): Promise<Buffer> {
    const { webp = Buffer.alloc(0), ...said }: Encoded = await encoding.encode(image);
    expect(said).to.deep.equal({ outcome: 'webp', size: webp.length, width, height });
    const facts = await sharp(webp).metadata();
    expect([facts.format, facts.width, facts.height, facts.pages ?? 1, facts.space]).to.deep.equal(['webp', width, height, 1, 'srgb']);
    for (const field of ['exif', 'icc', 'xmp', 'iptc', 'orientation'] as const) expect(facts[field], field).to.equal(undefined);
    return webp;
  }
  async function expectKept(image: Buffer, format: string, width = 64, height = 48): Promise<void> {
    expect(await encoding.encode(image)).to.deep.equal({ outcome: 'kept', format, size: image.length, width, height });
  }

  for (const format of ['png', 'jpeg', 'webp', 'avif', 'tiff'] as const)
    it(`${format} becomes WebP of the same sides and colours`, async () => {
      const colours = await coloursOf(await expectWebp(await picture().toFormat(format).toBuffer(), 64, 48));
      expectColour(colours.left, red);
      expectColour(colours.right, blue);
    });

  it('a JPEG lies as its EXIF says, and its EXIF is gone with the place it was taken at', async () => {
    const jpeg = await picture().withExif(exif).withMetadata({ orientation: 6 }).withExifMerge(exif).jpeg().toBuffer();
    expect(jpeg.includes(secret)).to.equal(true);
    expect((await sharp(jpeg).metadata()).orientation).to.equal(6);
    const webp = await expectWebp(jpeg, 48, 64);
    expect(webp.includes(secret)).to.equal(false);
    const colours = await coloursOf(webp);
    expectColour(colours.top, red);
    expectColour(colours.bottom, blue);
  });

  for (const orientation of [2, 3, 4, 5, 7, 8])
    it(`orientation ${orientation} is applied`, async () => {
      const turned = await picture().withMetadata({ orientation }).jpeg().toBuffer();
      const colours = await coloursOf(await expectWebp(turned, orientation < 5 ? 64 : 48, orientation < 5 ? 48 : 64));
      const shown = await coloursOf(await sharp(turned).autoOrient().png().toBuffer());
      for (const side of ['left', 'right', 'top', 'bottom'] as const) expectColour(colours[side], shown[side], 30);
    });

  it('what PNG, WebP, AVIF and TIFF carry beside the picture is gone too', async () => {
    for (const format of ['png', 'webp', 'avif', 'tiff'] as const) {
      const image = await picture()
        .withExif(exif)
        .withXmp(`<x:xmpmeta xmlns:x="adobe:ns:meta/">${secret}</x:xmpmeta>`)
        .withIccProfile('srgb')
        .toFormat(format)
        .toBuffer();
      expect(image.includes(secret), format).to.equal(true);
      expect((await expectWebp(image, 64, 48)).includes(secret), format).to.equal(false);
    }
  });

  it('a transparent PNG stays transparent', async () => {
    const background = { r: 0, g: 255, b: 0, alpha: 0.5 };
    const png = await sharp({ create: { width: 32, height: 32, channels: 4, background } })
      .png()
      .toBuffer();
    expectColour((await coloursOf(await expectWebp(png, 32, 32))).left, [0, 255, 0, 128]);
  });

  it('a PNG of 16 bits keeps its colours, also those of a wide profile', async () => {
    const deep = await picture().toColourspace('rgb16').png().toBuffer();
    const wide = await picture().toColourspace('rgb16').withIccProfile('p3').png().toBuffer();
    for (const png of [deep, wide]) {
      expect((await sharp(png).metadata()).depth).to.equal('ushort');
      expectColour((await coloursOf(await expectWebp(png, 64, 48))).left, red);
    }
  });

  it('a JPEG with a profile is brought to sRGB', async () => {
    const wide = await picture().withIccProfile('p3').jpeg({ chromaSubsampling: '4:4:4', quality: 100 }).toBuffer();
    const untold = await sharp(wide, { ignoreIcc: true }).png().toBuffer();
    expectColour((await coloursOf(untold)).left, [234, 51, 35, 255]);
    const colours = await coloursOf(await expectWebp(wide, 64, 48));
    expectColour(colours.left, red);
    expectColour(colours.right, blue);
  });

  it('a JPEG of CMYK and a grey one are brought to sRGB', async () => {
    const cmyk = await picture().toColourspace('cmyk').withIccProfile('cmyk').jpeg({ quality: 100 }).toBuffer();
    expect((await sharp(cmyk).metadata()).space).to.equal('cmyk');
    const [left = 0, , , alpha] = (await coloursOf(await expectWebp(cmyk, 64, 48))).left;
    expect([left > 200, alpha]).to.deep.equal([true, 255]);
    const grey = await picture().greyscale().jpeg().toBuffer();
    const [r, g, b] = (await coloursOf(await expectWebp(grey, 64, 48))).left;
    expect([g, b]).to.deep.equal([r, r]);
  });

  it('a GIF stays as it is, moving or not', async () => {
    await expectKept(await picture().gif().toBuffer(), 'gif');
    await expectKept(await (await film()).gif().toBuffer(), 'gif');
  });

  it('a WebP that moves stays as it is', async () => expectKept(await (await film()).webp().toBuffer(), 'webp'));

  it('a PNG that moves stays as it is; one frame, or a mark after the picture, does not count', async () => {
    const sides = { width: 64, height: 48 };
    await expectKept(pngOf(sides, 65 * 48, animationChunk(2)), 'png');
    await expectWebp(pngOf(sides, 65 * 48, animationChunk(1)), 64, 48);
    const late = pngOf(sides, 65 * 48);
    await expectWebp(Buffer.concat([late.subarray(0, -12), animationChunk(2), late.subarray(-12)]), 64, 48);
  });

  it('an AVIF that is a sequence stays as it is', async () => {
    const avif = await picture().avif().toBuffer();
    avif.write('avis', 8, 'latin1');
    await expectKept(avif, 'avif');
  });

  it('a TIFF of several pages stays a plain file: one picture would lose the rest', async () => {
    const pages = await (await film()).tiff().toBuffer();
    expect(await encoding.encode(pages)).to.include({ outcome: 'plain', size: pages.length });
  });
});
