import { expect } from 'chai';
import sharp, { type Sharp } from 'sharp';
import { createImageEncoder } from '../../workers/image-encoder.ts';
import { use } from '../harness/use.ts';
import { animation, animationChunk, type Encoded, encodingWith, gif, picture, pngOf } from './fixtures.ts';

const secret = 'the location of the photograph';
const exif = {
  IFD0: { Copyright: secret, Make: 'a camera' },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSLongitudeRef: 'W', GPSLongitude: '0/1 7/1 4366/100' },
};

/** The colours in the middle of the left, right, top and bottom half of an image, as red, green, blue and alpha. */
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

describe('images: conversion by format', () => {
  const encoding = use(() => encodingWith(createImageEncoder()));

  /** Expects that `image` is converted to a WebP of this width and height without metadata, and that the result describes it. */
  async function expectWebp(image: Buffer, width: number, height: number): Promise<Buffer> {
    const { webp = Buffer.alloc(0), ...result }: Encoded = await encoding.encode(image);
    expect(result).to.deep.equal({ outcome: 'webp', size: webp.length, width, height });
    const metadata = await sharp(webp).metadata();
    expect(metadata).to.include({ format: 'webp', width, height, space: 'srgb' });
    expect(metadata.pages ?? 1).to.equal(1);
    for (const field of ['exif', 'icc', 'xmp', 'iptc', 'orientation'] as const) expect(metadata[field], field).to.equal(undefined);
    return webp;
  }
  async function expectKept(image: Buffer, format: string, width = 64, height = 48): Promise<void> {
    const { file = Buffer.alloc(0), ...result } = await encoding.encode(image);
    expect(result).to.deep.equal({ outcome: 'kept', format, size: image.length, width, height });
    expect(file.equals(image), 'the same bytes').to.equal(true);
  }

  for (const format of ['png', 'jpeg', 'webp', 'avif', 'tiff'] as const)
    it(`converts ${format} to WebP of the same size and colours`, async () => {
      const colours = await coloursOf(await expectWebp(await picture().toFormat(format).toBuffer(), 64, 48));
      expectColour(colours.left, red);
      expectColour(colours.right, blue);
    });

  it('applies the EXIF orientation of a JPEG, and removes its EXIF data with the location', async () => {
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
    it(`applies orientation ${orientation}`, async () => {
      const rotated = await picture().withMetadata({ orientation }).jpeg().toBuffer();
      const colours = await coloursOf(await expectWebp(rotated, orientation < 5 ? 64 : 48, orientation < 5 ? 48 : 64));
      const shown = await coloursOf(await sharp(rotated).autoOrient().png().toBuffer());
      for (const side of ['left', 'right', 'top', 'bottom'] as const) expectColour(colours[side], shown[side], 30);
    });

  it('removes the metadata of PNG, WebP, AVIF and TIFF', async () => {
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

  it('keeps the transparency of a PNG', async () => {
    const background = { r: 0, g: 255, b: 0, alpha: 0.5 };
    const png = await sharp({ create: { width: 32, height: 32, channels: 4, background } })
      .png()
      .toBuffer();
    expectColour((await coloursOf(await expectWebp(png, 32, 32))).left, [0, 255, 0, 128]);
  });

  // A saturated colour has the same values in many colour spaces, so it would hide a wrong conversion.
  const background = { r: 220, g: 30, b: 30, alpha: 1 };
  const deep = (channels: 3 | 4 = 3): Sharp =>
    sharp({ create: { width: 64, height: 48, channels, background: { ...background, alpha: channels === 4 ? 0.5 : 1 } } }).toColourspace(
      'rgb16',
    );
  for (const [what, image, wanted] of [
    ['without a profile', () => deep().png(), [220, 30, 30, 255]],
    ['with transparency', () => deep(4).png(), [220, 30, 30, 128]],
    ['with an sRGB profile', () => deep().withIccProfile('srgb').png(), [220, 30, 30, 255]],
    ['with a wide-gamut profile', () => deep().withIccProfile('p3').png(), [220, 30, 30, 255]],
    ['in grey', () => deep().toColourspace('grey16').png(), [112, 112, 112, 255]],
    ['as AVIF of 10 bits', () => deep().avif({ bitdepth: 10 }), [220, 30, 30, 255]],
  ] as const)
    it(`keeps the colours of an image of more than 8 bits ${what}`, async () => {
      const bytes = await image().toBuffer();
      expect((await sharp(bytes).metadata()).depth).to.equal('ushort');
      expectColour((await coloursOf(await expectWebp(bytes, 64, 48))).left, [...wanted], 4);
    });

  it('converts a JPEG with a colour profile to sRGB', async () => {
    const wide = await picture().withIccProfile('p3').jpeg({ chromaSubsampling: '4:4:4', quality: 100 }).toBuffer();
    const withoutProfile = await sharp(wide, { ignoreIcc: true }).png().toBuffer();
    expectColour((await coloursOf(withoutProfile)).left, [234, 51, 35, 255]);
    const colours = await coloursOf(await expectWebp(wide, 64, 48));
    expectColour(colours.left, red);
    expectColour(colours.right, blue);
  });

  it('converts CMYK and grey JPEGs to sRGB', async () => {
    const cmyk = await picture().toColourspace('cmyk').withIccProfile('cmyk').jpeg({ quality: 100 }).toBuffer();
    expect((await sharp(cmyk).metadata()).space).to.equal('cmyk');
    const [left = 0, , , alpha] = (await coloursOf(await expectWebp(cmyk, 64, 48))).left;
    expect([left > 200, alpha]).to.deep.equal([true, 255]);
    const grey = await picture().greyscale().jpeg().toBuffer();
    const [r, g, b] = (await coloursOf(await expectWebp(grey, 64, 48))).left;
    expect([g, b]).to.deep.equal([r, r]);
  });

  it('keeps a GIF unchanged, animated or not', async () => {
    await expectKept(gif, 'gif');
    await expectKept(await (await animation()).gif().toBuffer(), 'gif');
  });

  it('keeps an animated WebP unchanged', async () => expectKept(await (await animation()).webp().toBuffer(), 'webp'));

  it('keeps an animated PNG unchanged, but converts one of a single frame or with acTL after its data', async () => {
    const sides = { width: 64, height: 48 };
    await expectKept(pngOf(sides, 65 * 48, animationChunk(2)), 'png');
    await expectWebp(pngOf(sides, 65 * 48, animationChunk(1)), 64, 48);
    const png = pngOf(sides, 65 * 48);
    await expectWebp(Buffer.concat([png.subarray(0, -12), animationChunk(2), png.subarray(-12)]), 64, 48);
  });

  it('keeps an AVIF sequence unchanged', async () => {
    const avif = await picture().avif().toBuffer();
    avif.write('avis', 8, 'latin1');
    await expectKept(avif, 'avif');
  });

  it('does not convert a TIFF of several pages, because one picture would lose the others', async () => {
    const pages = await (await animation()).tiff().toBuffer();
    expect(await encoding.encode(pages)).to.include({ outcome: 'plain', size: pages.length });
  });
});
