import { expect } from 'chai';
import fc from 'fast-check';
import sharp, { type Sharp } from 'sharp';
import { removeMetadata } from '../../lib/base/metadata.ts';
import { formOf, getFile, type Posted, sendBody } from '../files/fixture.ts';
import { startParlance } from '../harness/parlance.ts';
import { ownerOf, seedServer } from '../harness/seed.ts';
import { make, use } from '../harness/use.ts';
import { animation, animationChunk, gif, picture, pngChunk, pngOf } from './fixtures.ts';

const secret = 'the place of the photograph';
const exif = {
  IFD0: { Copyright: secret, Make: secret },
  IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '51/1 30/1 3230/100', GPSDateStamp: secret },
};
const xmp = `<x:xmpmeta xmlns:x="adobe:ns:meta/">${secret}</x:xmpmeta>`;
const text = (content: string): Buffer => Buffer.from(content, 'latin1');
const withMetadata = (image: Sharp): Sharp => image.withExif(exif).withXmp(xmp).withIccProfile('p3');

/** A box of an ISO media file; with a size of 64 bits if `isWide`. */
function box(type: string, parts: readonly Buffer[], isWide = false): Buffer {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(isWide ? 16 : 8);
  head.writeUInt32BE(isWide ? 1 : 8 + body.length);
  head.write(type, 4, 'latin1');
  if (isWide) head.writeBigUInt64BE(BigInt(16 + body.length), 8);
  return Buffer.concat([head, body]);
}
const ftyp = (brand: string): Buffer => box('ftyp', [text(brand), Buffer.alloc(4), text(brand)]);
const film = text('the film');
/** A film whose metadata are in the places where phones and editors write them. */
const filmOf = (brand: string, isWide: boolean): Buffer =>
  Buffer.concat([
    ftyp(brand),
    box('moov', [
      box('mvhd', [film]),
      box('trak', [box('tkhd', [film]), box('meta', [text(secret)]), box('udta', [text(secret)], isWide)]),
      box('udta', [box('©xyz', [text(secret)])], isWide),
      box('meta', [text(secret)], isWide),
    ]),
    box('uuid', [text(secret)]),
    box('mdat', [film], isWide),
  ]);

/** An item of a HEIC: with construction method 1 its data are in `idat`, else in the file. */
function heicOf(isInIdat: boolean): Buffer {
  const item = (id: number, type: string): Buffer => box('infe', [Buffer.from([2, 0, 0, 0, 0, id, 0, 0]), text(`${type}\0`)]);
  const meta = (at: number): Buffer =>
    box('meta', [
      Buffer.alloc(4),
      box('iinf', [Buffer.from([0, 0, 0, 0, 0, 3]), item(1, 'hvc1'), item(2, 'Exif'), item(3, 'mime')]),
      box('iloc', [
        Buffer.from([1, 0, 0, 0, 0x44, 0, 0, 3]),
        ...[film, text(secret), text(secret)].map((data, index) => {
          const extent = Buffer.alloc(16);
          extent.writeUInt16BE(index + 1);
          extent.writeUInt16BE(isInIdat ? 1 : 0, 2);
          extent.writeUInt16BE(1, 6);
          extent.writeUInt32BE(at + [0, film.length, film.length + secret.length][index]!, 8);
          extent.writeUInt32BE(data.length, 12);
          return extent;
        }),
      ]),
      ...(isInIdat ? [box('idat', [film, text(secret), text(secret)])] : []),
    ]);
  const start = ftyp('heic').length + meta(0).length + 8;
  return Buffer.concat([ftyp('heic'), meta(isInIdat ? 0 : start), ...(isInIdat ? [] : [box('mdat', [film, text(secret), text(secret)])])]);
}

const avifSequence = async (): Promise<Buffer> => {
  const avif = await withMetadata(picture()).avif().toBuffer();
  avif.write('avis', 8, 'latin1');
  return avif;
};
/** A GIF with an extension that begins with `head`, whose only block of data is the secret. */
const gifWith = (head: readonly number[]): Buffer =>
  Buffer.concat([gif.subarray(0, -1), Buffer.from([...head, secret.length, ...text(secret), 0]), gif.subarray(-1)]);
const cut = async (image: Sharp): Promise<Buffer> => {
  const whole = await image.toBuffer();
  return whole.subarray(0, whole.length - 200);
};

/** A JPEG that cannot be decoded to its end, with `segments` before its own. */
const brokenJpeg = async (...segments: readonly Buffer[]): Promise<Buffer> => {
  const jpeg = await cut(picture(640, 480).jpeg());
  return Buffer.concat([jpeg.subarray(0, 2), ...segments, jpeg.subarray(2)]);
};
/** A segment of a JPEG after `fill` fill bytes. */
const segmentOf = (marker: number, body: Buffer, fill = 0): Buffer => {
  const head = Buffer.from([...Array<number>(fill).fill(0xff), 0xff, marker, 0, 0]);
  head.writeUInt16BE(body.length + 2, fill + 2);
  return Buffer.concat([head, body]);
};
/** An EXIF block with the secret as its maker and the orientation 6, which ends after its last entry. */
const cutExif = (): Buffer => {
  const entries = Buffer.from(`0002010f0002${'0'.repeat(8)}00000008011200030000000100060000`, 'hex');
  entries.writeUInt32BE(secret.length, 6);
  const head = Buffer.from('4d4d002a00000000', 'hex');
  head.writeUInt32BE(8 + secret.length, 4);
  return Buffer.concat([text('Exif\0\0'), head, text(secret), entries]);
};

const pngChunks = ['tEXt', 'iTXt', 'zTXt', 'eXIf', 'prVt'];
const animatedPng = (...chunks: Buffer[]): Buffer => pngOf({ width: 64, height: 48 }, 65 * 48, animationChunk(2), ...chunks);

/** Files that are not converted, each with the secret in all places of its format where metadata may be. */
const files: readonly (readonly [name: string, make: () => Buffer | Promise<Buffer>])[] = [
  [
    'animated.webp',
    async () =>
      withMetadata(await animation())
        .toFormat('webp')
        .toBuffer(),
  ],
  ['animated.png', () => Buffer.concat([animatedPng(...pngChunks.map((type) => pngChunk(type, text(secret)))), text(secret)])],
  ['comment.gif', () => gifWith([0x21, 0xfe])],
  ['xmp.gif', () => gifWith([0x21, 0xff, 11, ...text('XMP DataXMP')])],
  ['trailing.gif', () => Buffer.concat([gif, text(secret)])],
  ['sequence.avif', avifSequence],
  ['broken.jpg', () => cut(withMetadata(picture(640, 480)).jpeg())],
  ['broken-fill-bytes.jpg', () => brokenJpeg(segmentOf(0xfe, text(secret), 1), segmentOf(0xe1, cutExif(), 3))],
  ['broken-exif.jpg', () => brokenJpeg(segmentOf(0xe1, cutExif()))],
  ['broken-first-entry.jpg', () => brokenJpeg(segmentOf(0xe1, cutExif().subarray(0, -20)))],
  ['broken-in-exif.jpg', () => Buffer.concat([Buffer.from('ffd8', 'hex'), segmentOf(0xe1, cutExif()).subarray(0, -4)])],
  [
    'pages.tif',
    async () =>
      withMetadata(await animation())
        .toFormat('tiff')
        .toBuffer(),
  ],
  ['photo.heic', () => heicOf(false)],
  ['photo-idat.heic', () => heicOf(true)],
  ['film.mp4', () => filmOf('isom', false)],
  ['film.mov', () => filmOf('qt  ', true)],
];

describe('metadata of files that are not converted', () => {
  const parlance = use(startParlance);
  const seeded = make(() => seedServer(parlance.platform, { bots: 0, channels: 1 }));

  for (const [name, makeFile] of files)
    it(`are removed from ${name}, and the rest of it stays`, async () => {
      const bytes = await makeFile();
      expect(bytes.includes(secret), 'the upload').to.equal(true);
      const url = `${parlance.url}/api/channels/${seeded.channelIds[0]}/messages`;
      const { status, body } = await sendBody(url, ownerOf(seeded).as, formOf({ content: name }, [{ name, bytes, type: 'video/mp4' }]));
      expect(status).to.equal(201);
      const attachment = body.attachments[0] as Posted['attachments'][number];
      const served = await getFile(parlance, attachment);
      expect([served.status, attachment.filename, served.body.length]).to.deep.equal([200, name, attachment.size]);
      expect(served.body.includes(secret), 'the served file').to.equal(false);
      if (/heic|mp4|mov/.test(name)) expect(served.body.length).to.equal(bytes.length);
      if (/heic|mp4|mov/.test(name)) expect(served.body.includes(film)).to.equal(true);
      else if (!/avif|broken/.test(name)) {
        const [before, after] = await Promise.all([bytes, served.body].map((file) => sharp(file, { animated: true }).raw().toBuffer()));
        expect(after?.equals(before as Buffer), 'the same pixels').to.equal(true);
      }
    });

  it('keeps the orientation of a JPEG and its colour profile', async () => {
    const jpeg = await picture().withIccProfile('p3').withMetadata({ orientation: 6 }).withExifMerge(exif).jpeg().toBuffer();
    expect(await sharp(removeMetadata(Buffer.from(jpeg))).metadata()).to.include({ orientation: 6, hasProfile: true, width: 64 });
  });

  it('keeps the orientation of a JPEG whose EXIF block is cut off after its last entry', async () => {
    const jpeg = await brokenJpeg(segmentOf(0xe1, cutExif(), 2));
    expect((await sharp(jpeg).metadata()).orientation, 'the upload').to.equal(6);
    const cleaned = removeMetadata(Buffer.from(jpeg));
    expect([cleaned.includes(secret), (await sharp(cleaned).metadata()).orientation]).to.deep.equal([false, 6]);
  });

  it('keeps a file without metadata as it is', async () => {
    const webp = await (await animation()).webp().toBuffer();
    for (const file of [gif, webp, animatedPng(), text('GIF89a'), text('plain text')])
      expect(removeMetadata(Buffer.from(file)).equals(file)).to.equal(true);
  });

  it('ends for every file, however broken', async () => {
    const whole = await Promise.all(files.map(async ([, makeFile]) => makeFile()));
    const changes = fc.array(fc.tuple(fc.nat(2_000), fc.constantFrom(0, 1, 0x7f, 0x80, 0xff)), { maxLength: 8 });
    fc.assert(
      fc.property(fc.constantFrom(...whole), changes, fc.nat(2_000), (file, bytes, end) => {
        const broken = Buffer.from(file.subarray(0, end < 500 ? end : file.length));
        for (const [at, value] of bytes) if (at < broken.length) broken[at] = value;
        expect(removeMetadata(broken).length).to.be.at.most(broken.length + 40);
      }),
      { numRuns: 3_000 },
    );
  });
});
