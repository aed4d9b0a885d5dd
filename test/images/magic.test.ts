import { expect } from 'chai';
import sharp from 'sharp';
import { type ImageFormat, magicBytes, sniffImage } from '../../lib/base/magic.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const ftyp = (major: string, ...compatible: string[]): Buffer => {
  const box = bytes(`\x00\x00\x00\x00ftyp${major}\x00\x00\x00\x00${compatible.join('')}`);
  box.writeUInt32BE(box.length);
  return box;
};

describe('sniffImage', () => {
  for (const format of ['png', 'jpeg', 'webp', 'avif', 'tiff', 'gif'] as const)
    it(`knows what sharp writes as ${format}, by its first ${magicBytes} bytes`, async () => {
      const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });
      const file = await image.toFormat(format).toBuffer();
      expect(sniffImage(file)).to.equal(format);
      expect(sniffImage(file.subarray(0, magicBytes))).to.equal(format);
    });

  const heads: [what: string, head: Buffer, format: ImageFormat | null][] = [
    ['a JPEG of a camera', bytes('\xff\xd8\xff\xe1\x00\x10Exif'), 'jpeg'],
    ['a GIF of 1987', bytes('GIF87a'), 'gif'],
    ['a TIFF with the low byte first', bytes('II*\x00'), 'tiff'],
    ['a TIFF with the high byte first', bytes('MM\x00*'), 'tiff'],
    ['a big TIFF', bytes('II+\x00'), 'tiff'],
    ['a sequence of AVIF', ftyp('avis', 'msf1'), 'avif'],
    ['a container with AVIF in it', ftyp('mif1', 'miaf', 'avif'), 'avif'],
    ['a container whose box ends before the brand', Buffer.concat([ftyp('mif1', 'miaf'), bytes('avif')]), null],
    ['a container whose box says it is huge', Buffer.concat([bytes('\xff\xff\xff\xffftypmif1\x00\x00\x00\x00avif')]), 'avif'],
    ['HEIC', ftyp('heic', 'mif1', 'heic'), null],
    ['HEIC that names AVIF beside', ftyp('heic', 'mif1', 'avif'), null],
    ['a container of HEIC', ftyp('mif1', 'heic'), null],
    ['a film', ftyp('isom', 'mp41'), null],
    ['BMP', bytes('BM\x46\x00\x00\x00\x00\x00\x00\x00'), null],
    ['ICO', bytes('\x00\x00\x01\x00\x01\x00'), null],
    ['JPEG XL', bytes('\xff\x0a'), null],
    ['JPEG 2000', bytes('\x00\x00\x00\x0cjP  \r\n\x87\n'), null],
    ['PSD', bytes('8BPS\x00\x01'), null],
    ['PDF', bytes('%PDF-1.7'), null],
    ['SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>'), null],
    ['SVG after a declaration', bytes('<?xml version="1.0"?><svg/>'), null],
    ['HTML', bytes('<!doctype html>'), null],
    ['a sound in RIFF', bytes('RIFF\x10\x00\x00\x00WAVEfmt '), null],
    ['nothing', Buffer.alloc(0), null],
    ['zeroes', Buffer.alloc(magicBytes), null],
    ['a PNG after a space', bytes(' \x89PNG\r\n\x1a\n'), null],
    ['a PNG spoiled by text mode', bytes('\x89PNG\n\x1a\n\x00'), null],
    ['a JPEG with HTML in it', bytes('\xff\xd8\xff\xfe\x00\x1b<script>alert(1)</script>'), 'jpeg'],
    ['a GIF that is a script too', bytes('GIF89a/*<script>*/=1;'), 'gif'],
    ['a GIF that is a zip too', bytes('GIF89a\x01\x00\x01\x00PK\x03\x04'), 'gif'],
  ];
  for (const [what, head, format] of heads) it(`${what}: ${format}`, () => expect(sniffImage(head)).to.equal(format));

  const shortest: [format: ImageFormat, head: Buffer][] = [
    ['png', bytes('\x89PNG\r\n\x1a\n')],
    ['jpeg', bytes('\xff\xd8\xff')],
    ['webp', bytes('RIFF\x10\x00\x00\x00WEBP')],
    ['gif', bytes('GIF89a')],
    ['tiff', bytes('MM\x00*')],
    ['avif', bytes('\x00\x00\x00\x1cftypavif')],
  ];
  for (const [format, head] of shortest)
    it(`${format}: the whole mark counts, each shorter beginning does not, and it never throws`, () => {
      expect(sniffImage(head)).to.equal(format);
      for (let length = 0; length < head.length; length++) expect(sniffImage(head.subarray(0, length)), `${length} bytes`).to.equal(null);
    });
});
