import { expect } from 'chai';
import { cleanFilename, webpFilename } from '../../lib/base/filenames.ts';
import { countCodePoints } from '../../lib/base/text.ts';
import { fileDocs, getFile, rawBody, useUploads } from './fixture.ts';

describe('file names', () => {
  for (const [given, stored] of [
    ['photo.png', 'photo.png'],
    ['../../etc/passwd', 'passwd'],
    ['C:\\Users\\x\\note.txt', 'note.txt'],
    ['/', 'file'],
    ['..', 'file'],
    ['.', 'file'],
    ['', 'file'],
    ['   ', 'file'],
    [undefined, 'file'],
    ['a\0b\r\n\x1b[31m.txt', 'ab[31m.txt'],
    ['\u202egnp.exe', 'gnp.exe'],
    ['a\u2066b\u2069\u200e.txt', 'ab.txt'],
    ['half\ud800.txt', 'half.txt'],
    ['Grüße 日本 😀.txt', 'Grüße 日本 😀.txt'],
    ['.gitignore', '.gitignore'],
  ] as const)
    it(`stores ${JSON.stringify(given)} as ${stored}`, () => expect(cleanFilename(given)).to.equal(stored));

  it('cuts a long name to 255 code points and keeps its extension', () => {
    const name = cleanFilename(`${'😀'.repeat(300)}.tar.gz`);
    expect([countCodePoints(name), name.slice(-3), /\p{Cs}/u.test(name)]).to.deep.equal([255, '.gz', false]);
    expect(countCodePoints(cleanFilename(`a.${'b'.repeat(300)}`))).to.equal(255);
  });

  it('replaces the extension of a converted image by .webp', () => {
    expect(['photo.png', 'photo', 'a.b.jpeg', '.png'].map(webpFilename)).to.deep.equal([
      'photo.webp',
      'photo.webp',
      'a.b.webp',
      '.png.webp',
    ]);
    expect(countCodePoints(webpFilename(cleanFilename('x'.repeat(300))))).to.equal(255);
  });
});

describe('file names and types over HTTP', () => {
  const { api, upload, postFiles } = useUploads();

  it('hostile names contain no path separator and inject no header', async () => {
    const names = ['..\\..\\x/../evil.html', 'a"; filename="b.exe', 'line\r\nX-Injected: 1.txt', "quote'%0d%0a.txt", '日本.txt', '%00.txt'];
    const { attachments } = await postFiles(names.map((name) => ({ name, bytes: 'x', type: 'text/html' })));
    for (const attachment of attachments) {
      expect(attachment.filename).not.to.match(/[/\\\r\n\0]/);
      const served = await getFile(api, attachment);
      expect([served.status, served.headers.get('X-Injected')]).to.deep.equal([200, null]);
      expect(served.headers.get('Content-Disposition')).to.match(/^attachment; filename/);
    }
  });

  const sent = async (head: string, bytes: Buffer | string = 'x'): Promise<{ filename: string; contentType: string } | undefined> => {
    const { body, headers } = rawBody([{ head, bytes }]);
    return (await upload(body, headers)).body.attachments[0];
  };
  const files = 'Content-Disposition: form-data; name="files"';

  it('reads names in UTF-8 and in the format of RFC 5987, and uses "file" without one', async () => {
    expect((await sent(`${files}; filename="Grüße.txt"`))?.filename).to.equal('Grüße.txt');
    expect((await sent(`${files}; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%E2%82%AC.txt`))?.filename).to.equal('Grüße €.txt');
    expect((await sent(files))?.filename).to.equal('file');
    expect((await sent(`${files}; filename=""`))?.filename).to.equal('file');
  });

  it('refuses a name that is not in UTF-8, and stores nothing', async () => {
    const before = (await fileDocs(api)).length;
    const { body, headers } = rawBody([{ head: `${files}; filename="gr\u{e9}\u{df}e.txt"`, bytes: 'x' }]);
    const { status, body: answer } = await upload(new Uint8Array(Buffer.from(Buffer.from(body).toString('utf8'), 'latin1')), headers);
    expect([status, answer.code]).to.deep.equal([400, 'invalid_request']);
    expect((await fileDocs(api)).length).to.equal(before);
  });

  for (const [written, filename] of [
    ['filename="a\\"b.txt"', 'a"b.txt'],
    ['filename="say \\"hi\\""', 'say "hi"'],
    ['filename="\\"a\\"; b.txt"', '"a"; b.txt'],
    ['filename="a%22b.txt"', 'a"b.txt'],
    ['filename="a;b=c.txt"', 'a;b=c.txt'],
    ['filename="C:\\dir\\b.txt"', 'b.txt'],
    ['filename="C:\\\\dir\\\\b.txt"', 'b.txt'],
    ['filename="end\\"; x="y"', 'file'],
    ['filename=plain.txt', 'plain.txt'],
    ["filename*=UTF-8''a%22b%20c.txt", 'a"b c.txt'],
    ['filename*=utf-8\'de\'gr%C3%B6%C3%9Fe.txt; filename="groesse.txt"', 'größe.txt'],
    ['filename="groesse.txt"; filename*=UTF-8\'\'gr%C3%B6%C3%9Fe.txt', 'größe.txt'],
    ["filename*=ISO-8859-1''%A3.txt", '£.txt'],
    ['filename="a.txt"; filename*=UTF-8\'\'%E2%82', 'a.txt'],
    ["filename*=UTF-8''..%2F..%2Fpasswd", 'passwd'],
  ] as const)
    it(`reads ${written} as ${filename}`, async () => expect((await sent(`${files}; ${written}`))?.filename).to.equal(filename));

  for (const name of ['file', 'files', 'file1', 'files1', 'files[0]', 'file[12]', 'files[]'])
    it(`a part named ${name} is a file`, async () =>
      expect((await sent(`Content-Disposition: form-data; name="${name}"; filename="a.txt"`))?.filename).to.equal('a.txt'));

  it('files of several part names keep the order in which they are sent', async () => {
    const names = ['files[1]', 'file', 'files[0]', 'files'];
    const parts = names.map((name, at) => ({ head: `Content-Disposition: form-data; name="${name}"; filename="${at}.txt"`, bytes: 'x' }));
    const { body, headers } = rawBody(parts);
    const { attachments } = (await upload(body, headers)).body;
    expect(attachments.map(({ filename }: { filename: string }) => filename)).to.deep.equal(['0.txt', '1.txt', '2.txt', '3.txt']);
  });

  for (const [declared, stored] of [
    ['text/html; charset=utf-8', 'text/html'],
    ['image/svg+xml', 'image/svg+xml'],
    ['VIDEO/MP4', 'video/mp4'],
    ['image/png', 'application/octet-stream'],
    ['image/jpg', 'application/octet-stream'],
    ['nonsense', 'application/octet-stream'],
    ['text/<script>', 'application/octet-stream'],
    ['image/bmp', 'image/bmp'],
  ] as const)
    it(`stores text declared as ${declared} as ${stored}`, async () =>
      expect((await sent(`${files}; filename="a"\r\nContent-Type: ${declared}`))?.contentType).to.equal(stored));
});
