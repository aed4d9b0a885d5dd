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
    it(`detects ${format} files of sharp by their first ${magicBytes} bytes`, async () => {
      const image = sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } });
      const file = await image.toFormat(format).toBuffer();
      expect(sniffImage(file)).to.equal(format);
      expect(sniffImage(file.subarray(0, magicBytes))).to.equal(format);
    });

  const heads: [what: string, head: Buffer, format: ImageFormat | null][] = [
    ['JPEG with EXIF', bytes('\xff\xd8\xff\xe1\x00\x10Exif'), 'jpeg'],
    ['GIF87a', bytes('GIF87a'), 'gif'],
    ['little-endian TIFF', bytes('II*\x00'), 'tiff'],
    ['big-endian TIFF', bytes('MM\x00*'), 'tiff'],
    ['BigTIFF', bytes('II+\x00'), 'tiff'],
    ['AVIF sequence', ftyp('avis', 'msf1'), 'avif'],
    ['HEIF container with a compatible brand avif', ftyp('mif1', 'miaf', 'avif'), 'avif'],
    ['HEIF container whose box ends before the brand avif', Buffer.concat([ftyp('mif1', 'miaf'), bytes('avif')]), null],
    ['HEIF container whose box has a huge size', Buffer.concat([bytes('\xff\xff\xff\xffftypmif1\x00\x00\x00\x00avif')]), 'avif'],
    ['HEIC', ftyp('heic', 'mif1', 'heic'), null],
    ['HEIC with a compatible brand avif', ftyp('heic', 'mif1', 'avif'), null],
    ['HEIF container with a compatible brand heic', ftyp('mif1', 'heic'), null],
    ['MP4 video', ftyp('isom', 'mp41'), null],
    ['BMP', bytes('BM\x46\x00\x00\x00\x00\x00\x00\x00'), null],
    ['ICO', bytes('\x00\x00\x01\x00\x01\x00'), null],
    ['JPEG XL', bytes('\xff\x0a'), null],
    ['JPEG 2000', bytes('\x00\x00\x00\x0cjP  \r\n\x87\n'), null],
    ['PSD', bytes('8BPS\x00\x01'), null],
    ['PDF', bytes('%PDF-1.7'), null],
    ['SVG', bytes('<svg xmlns="http://www.w3.org/2000/svg"/>'), null],
    ['SVG after an XML declaration', bytes('<?xml version="1.0"?><svg/>'), null],
    ['HTML', bytes('<!doctype html>'), null],
    ['WAV audio', bytes('RIFF\x10\x00\x00\x00WAVEfmt '), null],
    ['empty file', Buffer.alloc(0), null],
    ['zero bytes', Buffer.alloc(magicBytes), null],
    ['PNG after a space', bytes(' \x89PNG\r\n\x1a\n'), null],
    ['PNG with line ends converted by a text mode', bytes('\x89PNG\n\x1a\n\x00'), null],
    ['JPEG that contains HTML', bytes('\xff\xd8\xff\xfe\x00\x1b<script>alert(1)</script>'), 'jpeg'],
    ['GIF that is also a script', bytes('GIF89a/*<script>*/=1;'), 'gif'],
    ['GIF that is also a ZIP archive', bytes('GIF89a\x01\x00\x01\x00PK\x03\x04'), 'gif'],
  ];
  for (const [what, head, format] of heads) it(`${what}: ${format ?? 'no image'}`, () => expect(sniffImage(head)).to.equal(format));

  const shortest: [format: ImageFormat, head: Buffer][] = [
    ['png', bytes('\x89PNG\r\n\x1a\n')],
    ['jpeg', bytes('\xff\xd8\xff')],
    ['webp', bytes('RIFF\x10\x00\x00\x00WEBP')],
    ['gif', bytes('GIF89a')],
    ['tiff', bytes('MM\x00*')],
    ['avif', bytes('\x00\x00\x00\x1cftypavif')],
  ];
  for (const [format, head] of shortest)
    it(`${format}: detects the complete signature, and returns null for every shorter beginning`, () => {
      expect(sniffImage(head)).to.equal(format);
      for (let length = 0; length < head.length; length++) expect(sniffImage(head.subarray(0, length)), `${length} bytes`).to.equal(null);
    });
});
