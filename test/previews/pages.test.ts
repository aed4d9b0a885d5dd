import { expect } from 'chai';
import fc from 'fast-check';
import { parseMarkup } from '../../lib/base/markup.ts';
import { toPlainText } from '../../lib/base/plain-text.ts';
import { countCodePoints } from '../../lib/base/text.ts';
import type { Embed } from '../../lib/contract/embed.ts';
import { createHeadReader } from '../../lib/domain/previews/page-head.ts';
import { toPagePreview } from '../../lib/domain/previews/page-preview.ts';

const link = 'https://example.com/a/b';
const read = (page: string | Uint8Array, contentType = 'text/html', pieceBytes = Number.POSITIVE_INFINITY): Embed | null => {
  const bytes = typeof page === 'string' ? Buffer.from(page) : page;
  const reader = createHeadReader(contentType);
  for (let at = 0; at < bytes.length; at += pieceBytes) if (reader.write(bytes.subarray(at, at + pieceBytes))) break;
  return toPagePreview(reader.end(), link, link);
};
const utf16 = (text: string, big: boolean): Buffer => (big ? Buffer.from(text, 'utf16le').swap16() : Buffer.from(text, 'utf16le'));
const og = (name: string, content: string): string => `<meta property="og:${name}" content="${content}">`;
const filler = `<!-- ${'x'.repeat(2_000)} -->`;

const pages: readonly [what: string, page: string | Uint8Array, found: object | null, contentType?: string][] = [
  [
    'Open Graph',
    `<head>${og('title', 'T')}${og('description', 'D')}${og('site_name', 'S')}</head>`,
    { title: 'T', description: 'D', author: { name: 'S' } },
  ],
  ['Open Graph before the title', `<title>no</title>${og('title', 'yes')}`, { title: 'yes' }],
  ['Open Graph before a twitter card', `<meta name="twitter:title" content="no">${og('title', 'yes')}`, { title: 'yes' }],
  [
    'a twitter card',
    '<meta name="twitter:title" content="T"><meta name="twitter:description" content="D">',
    { title: 'T', description: 'D' },
  ],
  ['a twitter card with property attributes', '<meta property="twitter:title" content="T">', { title: 'T' }],
  ['only a title', '<!doctype html><html><head><title>T</title></head><body><p>x</p></body></html>', { title: 'T' }],
  ['only a description', '<meta name="description" content="D">', { description: 'D' }],
  ['uppercase tags', '<HEAD><META PROPERTY="OG:TITLE" CONTENT="T"></HEAD>', { title: 'T' }],
  [
    'attributes with single and without quotes',
    "<meta property='og:title' content='T'><meta name=description content=D>",
    { title: 'T', description: 'D' },
  ],
  ['two og:title, of which it takes the first', `${og('title', 'one')}${og('title', 'two')}`, { title: 'one' }],
  ['a blank og:title before another', `${og('title', ' ')}${og('title', 'two')}`, { title: 'two' }],
  ['two titles', '<title>one</title><title>two</title>', { title: 'one' }],
  ['a title in svg', '<svg><title>no</title></svg><title>yes</title>', { title: 'yes' }],
  ['entities', '<title>a &amp; b &lt;c&gt; &#233; &#x1F600; &eacute;</title>', { title: 'a & b <c> é 😀 é' }],
  ['entities in an attribute', og('title', '&quot;a&quot; &amp;amp; b'), { title: '"a" &amp; b' }],
  ['whitespace', '<title>\n  a\t\n b&nbsp; c \r\n</title>', { title: 'a b c' }],
  ['control and direction characters', '<title>a\u0007b\u202ec\u2066d</title>', { title: 'a b c d' }],
  [
    'markup',
    '<title>**b** _u_ `c` ||s|| ~~t~~ @everyone [x](https://evil.example)</title>',
    { title: '\\*\\*b\\*\\* _u_ \\`c\\` \\|\\|s\\|\\| \\~\\~t\\~\\~ \\@everyone [x](\\https://evil.example)' },
  ],
  ['mentions', og('description', '&lt;@1000000000000000001&gt; &lt;:a:1&gt;'), { description: '\\<@1000000000000000001> \\<:a:1>' }],
  ['a page without a head tag', '<title>T</title><p>text</p>', { title: 'T' }],
  ['a meta tag in the body, which it ignores', `<head><title>T</title></head><body>${og('title', 'no')}</body>`, { title: 'T' }],
  ['a body after a head without an end tag', `<head><title>T</title><body>${og('title', 'no')}`, { title: 'T' }],
  ['a script that contains head and body tags', `<head><script>x = "</head><body>"</script>${og('title', 'T')}</head>`, { title: 'T' }],
  ['a comment that contains a head tag', `<head><!-- </head> -->${og('title', 'T')}</head>`, { title: 'T' }],
  ['a title without an end tag', '<title>T', { title: 'T' }],
  ['a tag without an end', '<title>T</title><meta property="og:title" content="x', { title: 'T' }],
  ['broken nesting', '<html></p><head><div><title>T</title></head></div></b>', { title: 'T' }],
  ['NUL bytes', '<title>a\0b</title>', { title: 'a b' }],
  ['an empty page', '', null],
  ['plain text', 'just text', null],
  ['an empty title', '<title> </title>', null],
  ['only an image', og('image', 'https://example.com/i.png'), null],
  ['only a site name', og('site_name', 'S'), null],
  [
    'latin1 in the Content-Type header',
    Buffer.from('<title>caf\xe9</title>', 'latin1'),
    { title: 'café' },
    'text/html; charset=ISO-8859-1',
  ],
  ['latin1 in a meta tag', Buffer.from('<meta charset="iso-8859-1"><title>caf\xe9</title>', 'latin1'), { title: 'café' }],
  [
    'latin1 by http-equiv',
    Buffer.from('<meta http-equiv="Content-Type" content="text/html; charset=latin1"><title>caf\xe9</title>', 'latin1'),
    { title: 'café' },
  ],
  [
    'different charsets in header and meta tag, of which it takes the header',
    Buffer.from('<meta charset="utf-8"><title>caf\xe9</title>', 'latin1'),
    { title: 'café' },
    'text/html; charset="latin1"',
  ],
  ['Windows-1252', Buffer.from('<meta charset="windows-1252"><title>5 \x80 \x96 \x93a\x94</title>', 'latin1'), { title: '5 € – “a”' }],
  [
    'a meta tag that mentions a charset before the one that names it',
    `<meta name="description" content="How charset=latin1 works"><!-- <meta charset="gbk"> --><meta charset="utf-8"><title>café</title>`,
    { title: 'café', description: 'How charset=latin1 works' },
  ],
  ['a script that mentions a charset', `<script>"<meta charset=gbk>"</script><title>café</title>`, { title: 'café' }],
  [
    'latin1 in an XML declaration',
    Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><html><head><title>caf\xe9</title></head></html>', 'latin1'),
    { title: 'café' },
    'application/xhtml+xml',
  ],
  [
    'XHTML with elements that end in their own tag',
    `<html><head><script src="a.js"/><title>a &amp; b</title><style/>${og('description', 'D&eacute;')}</head></html>`,
    { title: 'a & b', description: 'Dé' },
    'application/xhtml+xml; charset=utf-8',
  ],
  ['an invisible og:title', `<title>T</title>${og('title', '&#x200b;\u2060')}`, { title: 'T' }],
  ['an invisible og:title before another', `${og('title', '\ufeff\u200d')}${og('title', 'two')}`, { title: 'two' }],
  ['UTF-8 by default', '<title>café 😀</title>', { title: 'café 😀' }],
  ['UTF-8 with a byte order mark', '\ufeff<title>café</title>', { title: 'café' }],
  ['invalid UTF-8', Buffer.from('<title>caf\xe9</title>', 'latin1'), { title: 'caf�' }],
  ['UTF-16 LE with a byte order mark', utf16('\ufeff<title>café 😀</title>', false), { title: 'café 😀' }],
  ['UTF-16 BE with a byte order mark', utf16('\ufeff<title>café 😀</title>', true), { title: 'café 😀' }],
  ['UTF-16 in the Content-Type header', utf16('<title>café</title>', false), { title: 'café' }, 'text/html; charset=utf-16le'],
  [
    'a byte order mark and another charset in the header, of which it takes the mark',
    utf16('\ufeff<title>café</title>', false),
    { title: 'café' },
    'text/html; charset=utf-8',
  ],
  ['UTF-16 in a meta tag of a UTF-8 page', '<meta charset="utf-16"><title>café</title>', { title: 'café' }],
  [
    'Shift_JIS in a meta tag',
    Buffer.concat([Buffer.from('<meta charset="shift_jis"><title>'), Buffer.from([0x93, 0xfa, 0x96, 0x7b]), Buffer.from('</title>')]),
    { title: '日本' },
  ],
  ['an unknown charset', '<meta charset="klingon"><title>café</title>', { title: 'café' }, 'text/html; charset=vulcan'],
  ['a head after 2,000 bytes', `<head>${filler}<title>café</title></head>`, { title: 'café' }],
];

describe('page preview: head', () => {
  for (const [what, page, found, contentType] of pages)
    for (const pieceBytes of [Number.POSITIVE_INFINITY, 1])
      it(`reads ${what}${pieceBytes === 1 ? ', byte by byte' : ''}`, () =>
        expect(read(page, contentType, pieceBytes)).to.deep.equal(found && { url: link, ...found }));

  it('stops reading at the end of the head', () => {
    const reader = createHeadReader('text/html');
    expect(reader.write(Buffer.from(`<head>${filler}<title>T</title></head><body>`))).to.equal(true);
    expect(reader.write(Buffer.from(og('title', 'no')))).to.equal(true);
    expect(toPagePreview(reader.end(), link, link)).to.include({ title: 'T' });
  });

  for (const tags of ['<a>', '<b><i>', '<svg>', '<table><tr>', '<svg><title>', '<form><p>', '<!--', '<'])
    it(`reads 512 KiB of ${tags} within 5 s of CPU time`, () => {
      const bytes = `<title>T</title>${tags.repeat(Math.floor((512 * 1024) / tags.length))}`;
      const began = process.cpuUsage();
      expect(read(bytes, 'text/html', 65_536)).to.include({ title: 'T' });
      expect(process.cpuUsage(began).user / 1_000, 'CPU time of this process in ms').to.be.lessThan(5_000);
    });

  const images: readonly [address: string, found: string | undefined][] = [
    ['https://cdn.example/i.png', 'https://cdn.example/i.png'],
    ['http://cdn.example/i.png', 'http://cdn.example/i.png'],
    ['//cdn.example/i.png', 'https://cdn.example/i.png'],
    ['/i.png', 'https://example.com/i.png'],
    ['i.png?a=1&amp;b=2', 'https://example.com/a/i.png?a=1&b=2'],
    [' i j.png ', 'https://example.com/a/i%20j.png'],
    ['javascript:alert(1)', undefined],
    ['data:image/png;base64,AA', undefined],
    ['file:///etc/passwd', undefined],
    ['https://a:b@cdn.example/', undefined],
    ['https://[', undefined],
    [`/${'a'.repeat(2_100)}`, undefined],
  ];
  for (const [address, found] of images)
    it(`image ${address.slice(0, 40)} → ${found ?? 'none'}`, () => {
      const page = `<title>T</title>${og('image', address)}`;
      expect(read(page)).to.deep.equal({ url: link, title: 'T', ...(found ? { thumbnail: { url: found } } : {}) });
    });
  for (const [base, found] of [
    ['https://cdn.example/x/', 'https://cdn.example/x/i.png'],
    ['/x/', 'https://example.com/x/i.png'],
    ['//cdn.example', 'https://cdn.example/i.png'],
    ['javascript:alert(1)', 'https://example.com/a/i.png'],
    ['https://[', 'https://example.com/a/i.png'],
    ['', 'https://example.com/a/i.png'],
  ])
    it(`image with <base href="${base}"> → ${found}`, () => {
      const tags = [`<base target="x"><base href="${base}"><base href="/no/">`, '<title>T</title>', og('image', 'i.png')];
      for (const page of [tags, tags.toReversed()]) expect(read(page.join(''))?.thumbnail).to.deep.equal({ url: found });
    });
  it('shows a large image for a card of type summary_large_image', () => {
    const card = '<meta name="twitter:card" content="summary_large_image"><meta name="twitter:image" content="/i.png">';
    expect(read(`<title>T</title>${card}`)).to.deep.equal({ url: link, title: 'T', image: { url: 'https://example.com/i.png' } });
  });
});

describe('page preview: limits', () => {
  it('cuts texts to the limits of embeds, counted in code points, also when escaped', () => {
    for (const char of ['a', '😀', '*', '@', '\\']) {
      const page = `<title>${char.repeat(9_000)}</title>${og('description', char.repeat(9_000))}${og('site_name', char.repeat(9_000))}`;
      const found = read(page);
      const lengths = [found?.title, found?.description, found?.author?.name].map((text) => countCodePoints(text ?? ''));
      for (const [at, max] of [256, 4_096, 256].entries()) expect(lengths[at], char).to.be.within(max - 2, max);
      expect(found?.title?.endsWith('…')).to.equal(true);
    }
  });
  it('toPlainText returns at most the maximum length and no markup for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), fc.integer({ min: 1, max: 40 }), (text, max) => {
        const shown = toPlainText(text, max);
        expect(countCodePoints(shown)).to.be.at.most(max);
        for (const token of parseMarkup(shown)) expect(token.type).to.equal('text');
      }),
      { numRuns: 2_000 },
    );
  });
  it('reads any bytes without an error', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 3_000 }),
        fc.constantFrom('text/html', 'text/html; charset=utf-16be', 'text/html;charset=gb18030'),
        (bytes, type) => {
          read(bytes, type, 700);
        },
      ),
      { numRuns: 300 },
    );
  });
});
