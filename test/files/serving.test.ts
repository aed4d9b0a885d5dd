import { readdirSync, readlinkSync } from 'node:fs';
import { get } from 'node:http';
import { expect } from 'chai';
import type { Attachment } from '../../lib/contract/message.ts';
import type { OpenBlob } from '../../lib/store/files/store.ts';
import { expectError } from '../harness/expect-error.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { interceptNext } from '../harness/intercept.ts';
import { inParallel, refused } from '../harness/requests.ts';
import { make } from '../harness/use.ts';
import { fileDocs, getFile, onDisk, useUploads } from './fixture.ts';

const types = [
  'text/plain',
  'text/html',
  'image/svg+xml',
  'application/pdf',
  'video/mp4',
  'audio/ogg',
  'image/bmp',
  'application/json',
  'video/svg+xml',
  'audio/x.y+xml',
  'text/javascript',
  'application/javascript',
  'text/css',
  'text/xml',
  'application/xhtml+xml',
  'application/wasm',
  'text/cache-manifest',
  'multipart/x-mixed-replace',
];

describe('GET /files/{key}/{filename}', () => {
  const { api, postFiles } = useUploads();
  /** Attachments by their type, each with the bytes 0 to 9. */
  const attachments: Record<string, Attachment> = make(async () => {
    const files = types.map((type) => ({ name: `${type.replace(/\W/g, '-')}.x`, bytes: '0123456789', type }));
    const posted = [await postFiles(files.slice(0, 10)), await postFiles(files.slice(10))];
    return Object.fromEntries(posted.flatMap((message) => message.attachments).map((one) => [one.contentType, one]));
  });
  const plain = (): Attachment => attachments['text/plain'] as Attachment;
  const read = (headers: Record<string, string> = {}, method = 'GET') => getFile(api, plain(), headers, method);

  for (const type of types) {
    const inline = ['video/mp4', 'audio/ogg'].includes(type);
    const served = inline || type === 'text/plain' ? type : 'application/octet-stream';
    it(`serves ${type} ${inline ? 'inline' : 'as a download'} as ${served}, without allowing scripts`, async () => {
      const { status, headers, body } = await getFile(api, attachments[type] as Attachment);
      expect([status, String(body)]).to.deep.equal([200, '0123456789']);
      expect([headers.get('Content-Type'), headers.get('Content-Length')]).to.deep.equal([served, '10']);
      expect(headers.get('Content-Disposition')).to.match(inline ? /^inline; filename=/ : /^attachment; filename=/);
      expect(headers.get('X-Content-Type-Options')).to.equal('nosniff');
      expect(headers.get('Content-Security-Policy')).to.equal("sandbox; default-src 'none'");
      expect(headers.get('Cross-Origin-Resource-Policy')).to.equal('cross-origin');
      expect(headers.get('Cache-Control')).to.equal('public, max-age=31536000, immutable');
      expect([headers.get('Accept-Ranges'), headers.get('Set-Cookie')]).to.deep.equal(['bytes', null]);
    });
  }

  for (const [range, part, contentRange] of [
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
    ['bytes=-100', '0123456789', 'bytes 0-9/10'],
    ['bytes=0-1,1-4', '01234', 'bytes 0-4/10'],
  ] as const)
    it(`206 for ${range}`, async () => {
      const { status, headers, body } = await read({ Range: range });
      expect([status, String(body)]).to.deep.equal([206, part]);
      expect([headers.get('Content-Range'), headers.get('Content-Length')]).to.deep.equal([contentRange, String(part.length)]);
    });

  for (const range of ['bytes=10-', 'bytes=-0', 'bytes=20-30'])
    it(`416 for ${range}`, async () => {
      const { status, headers, body } = await read({ Range: range });
      expect([status, body.length]).to.deep.equal([416, 0]);
      expect([headers.get('Content-Range'), headers.get('Cache-Control')]).to.deep.equal(['bytes */10', 'no-store']);
    });

  for (const range of ['bytes=0-1,4-5', 'lines=0-1', 'bytes=a-b', 'nonsense'])
    it(`200 with the whole file for ${range}`, async () => {
      const { status, body } = await read({ Range: range });
      expect([status, String(body)]).to.deep.equal([200, '0123456789']);
    });

  it('If-Range: 206 with the ETag of the file, 200 with another', async () => {
    const etag = String((await read()).headers.get('ETag'));
    expect((await read({ Range: 'bytes=0-0', 'If-Range': etag })).status).to.equal(206);
    expect((await read({ Range: 'bytes=0-0', 'If-Range': '"other"' })).status).to.equal(200);
  });

  it('If-None-Match: 304 with the ETag of the file, 200 with another', async () => {
    const etag = String((await read()).headers.get('ETag'));
    const { status, headers, body } = await read({ 'If-None-Match': `"a", ${etag}` });
    expect([status, body.length, headers.get('ETag')]).to.deep.equal([304, 0, etag]);
    expect((await read({ 'If-None-Match': '"a"' })).status).to.equal(200);
  });

  it('HEAD returns the same headers as GET and no body', async () => {
    const [head, full] = [await read({}, 'HEAD'), await read()];
    expect([head.status, head.body.length]).to.deep.equal([200, 0]);
    for (const name of ['Content-Length', 'Content-Type', 'ETag', 'Content-Disposition'])
      expect(head.headers.get(name), name).to.equal(full.headers.get(name));
    expect((await read({ Range: 'bytes=0-3' }, 'HEAD')).headers.get('Content-Length')).to.equal('4');
  });

  it('ignores the name in the path', async () => {
    const key = plain().url.split('/').at(-2);
    for (const name of ['other.exe', '', '%2e%2e%2f', '%E0%A4%A'])
      expect((await getFile(api, { url: `http://x/files/${key}/${name}` })).status, name).to.equal(200);
  });

  it('404 for unknown keys, 405 for other methods', async () => {
    const withoutName = `/files/${plain().url.split('/').at(-2)}`;
    for (const path of [`/files/${'0'.repeat(32)}/a.txt`, '/files/x/a.txt', '/files/', '/files', withoutName, '/files/a/b/c'])
      await refused(api, [404, 'not_found'], null, 'GET', path);
    const answer = await api.call('DELETE', new URL(plain().url).pathname);
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('Allow')).to.equal('GET');
  });

  it('503 unavailable with Retry-After while an image waits for conversion; 404 after it was deleted or its blob was lost', async () => {
    const [file] = (await postFiles([{ name: 'b.bin', bytes: 'bytes' }])).attachments as [Attachment];
    const path = new URL(file.url).pathname;
    const { files } = api.platform.db;
    await files.updateOne({ _id: file.id }, { $set: { state: 'waiting' } });
    const waiting = await api.call('GET', path);
    expectError(waiting, 503, 'unavailable');
    expect([waiting.headers.get('Retry-After'), waiting.headers.get('Cache-Control')]).to.deep.equal(['2', 'no-store']);
    await files.updateOne({ _id: file.id }, { $set: { state: 'freed' } });
    await refused(api, [404, 'not_found'], null, 'GET', path);
    await files.updateOne({ _id: file.id }, { $set: { state: 'stored' } });
    const doc = (await fileDocs(api)).find(({ _id }) => _id === file.id);
    await api.platform.blobs.delete(doc?.blob ?? '');
    const lost = await api.call('GET', path);
    expectError(lost, 404, 'not_found');
    expect(lost.headers.get('Cache-Control')).to.equal('no-store');
    expect([lost.headers.get('ETag'), lost.headers.get('Content-Disposition')]).to.deep.equal([null, null]);
  });

  it('needs no credentials, and closes the file when the client disconnects during the response', async () => {
    const big = { name: 'big.bin', bytes: Buffer.alloc(9 * 1024 * 1024) };
    const { attachments: sent } = await postFiles([big]);
    const address = api.url + new URL(sent[0]?.url ?? '').pathname;
    const target = (fd: string): string => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return '';
      }
    };
    const open = (): string[] =>
      readdirSync('/proc/self/fd')
        .map(target)
        .filter((path) => path.startsWith(api.platform.config.FILES_DIR));
    const disconnectEarly = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const request = get(address, (response) => {
          response.once('data', () => response.destroy());
          response.once('close', () => resolve());
          response.on('error', () => undefined);
        });
        request.on('error', reject);
      });
    for (let round = 0; round < 5; round++) await inParallel(10, disconnectEarly);
    await waitUntil(() => open().length === 0, 'the files are closed');
    expect((await onDisk(api)).incoming).to.deep.equal([]);
  });

  it('500 if a header cannot be set; closes the file, and forbids caching the response', async () => {
    const { blobs, db } = api.platform;
    const { id } = plain();
    let opened: OpenBlob | undefined;
    interceptNext(blobs, 'open', async (real) => (opened = (await real()) as OpenBlob));
    await db.files.updateOne({ _id: id }, { $set: { size: 'x\n' as unknown as number } });
    const { status, headers } = await read();
    await db.files.updateOne({ _id: id }, { $set: { size: plain().size } });
    expect([status, headers.get('Cache-Control'), opened?.stream.destroyed]).to.deep.equal([500, 'no-store', true]);
  });
});
