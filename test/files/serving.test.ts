import { readdirSync, readlinkSync } from 'node:fs';
import { get } from 'node:http';
import { expect } from 'chai';
import type { Attachment } from '../../lib/contract/message.ts';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { expectError } from '../harness/expect-error.ts';
import { until } from '../harness/scene.ts';
import { fileDocs, formOf, getFile, onDisk, sendBody } from './fixture.ts';

describe('GET /files/{key}/{filename}', () => {
  let fixture: MessageFixture;
  const kept: Record<string, Attachment> = {};
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
  ];
  before(async () => {
    fixture = await messageFixture();
    const files = types.map((type) => ({ name: `${type.replace(/\W/g, '-')}.x`, bytes: '0123456789', type }));
    const { body } = await sendBody(fixture.api.url + fixture.path, fixture.bot, formOf({}, files));
    body.attachments.forEach((one, at) => {
      kept[types[at] as string] = one;
    });
  });
  after(() => fixture.api.close());
  const plain = (): Attachment => kept['text/plain'] as Attachment;
  const read = (headers: Record<string, string> = {}, method = 'GET') => getFile(fixture.api, plain(), headers, method);

  for (const type of types) {
    const inline = ['video/mp4', 'audio/ogg'].includes(type);
    it(`${type} is ${inline ? 'shown where it stands' : 'a download'}, and runs nothing`, async () => {
      const { status, headers, body } = await getFile(fixture.api, kept[type] as Attachment);
      expect([status, String(body), headers.get('Content-Type'), headers.get('Content-Length')]).to.deep.equal([
        200,
        '0123456789',
        type,
        '10',
      ]);
      expect(headers.get('Content-Disposition')).to.match(inline ? /^inline; filename=/ : /^attachment; filename=/);
      expect(headers.get('X-Content-Type-Options')).to.equal('nosniff');
      expect(headers.get('Content-Security-Policy')).to.equal("sandbox; default-src 'none'");
      expect(headers.get('Cross-Origin-Resource-Policy')).to.equal('cross-origin');
      expect(headers.get('Cache-Control')).to.equal('public, max-age=31536000, immutable');
      expect([headers.get('Accept-Ranges'), headers.get('Set-Cookie')]).to.deep.equal(['bytes', null]);
    });
  }

  for (const [asked, part, range] of [
    ['bytes=0-3', '0123', 'bytes 0-3/10'],
    ['bytes=4-', '456789', 'bytes 4-9/10'],
    ['bytes=-3', '789', 'bytes 7-9/10'],
    ['bytes=8-100', '89', 'bytes 8-9/10'],
    ['bytes=-100', '0123456789', 'bytes 0-9/10'],
    ['bytes=0-1,1-4', '01234', 'bytes 0-4/10'],
  ] as const)
    it(`206 ${asked}`, async () => {
      const { status, headers, body } = await read({ Range: asked });
      expect([status, String(body), headers.get('Content-Range'), headers.get('Content-Length')]).to.deep.equal([
        206,
        part,
        range,
        String(part.length),
      ]);
    });

  for (const asked of ['bytes=10-', 'bytes=-0', 'bytes=20-30'])
    it(`416 ${asked}`, async () => {
      const { status, headers, body } = await read({ Range: asked });
      expect([status, headers.get('Content-Range'), body.length, headers.get('Cache-Control')]).to.deep.equal([
        416,
        'bytes */10',
        0,
        'no-store',
      ]);
    });

  for (const asked of ['bytes=0-1,4-5', 'lines=0-1', 'bytes=a-b', 'nonsense'])
    it(`200 in full: ${asked}`, async () => {
      const { status, body } = await read({ Range: asked });
      expect([status, String(body)]).to.deep.equal([200, '0123456789']);
    });

  it('If-Range: the part when it names this file, else all of it', async () => {
    const etag = String((await read()).headers.get('ETag'));
    expect((await read({ Range: 'bytes=0-0', 'If-Range': etag })).status).to.equal(206);
    expect((await read({ Range: 'bytes=0-0', 'If-Range': '"other"' })).status).to.equal(200);
  });

  it('304 for who has it, 200 for who has another', async () => {
    const etag = String((await read()).headers.get('ETag'));
    const { status, headers, body } = await read({ 'If-None-Match': `"a", ${etag}` });
    expect([status, body.length, headers.get('ETag')]).to.deep.equal([304, 0, etag]);
    expect((await read({ 'If-None-Match': '"a"' })).status).to.equal(200);
  });

  it('HEAD answers the same headers and no bytes', async () => {
    const [head, full] = [await read({}, 'HEAD'), await read()];
    expect([head.status, head.body.length]).to.deep.equal([200, 0]);
    for (const name of ['Content-Length', 'Content-Type', 'ETag', 'Content-Disposition'])
      expect(head.headers.get(name), name).to.equal(full.headers.get(name));
    expect((await read({ Range: 'bytes=0-3' }, 'HEAD')).headers.get('Content-Length')).to.equal('4');
  });

  it('the name in the path is only for looks', async () => {
    const key = plain().url.split('/').at(-2);
    for (const name of ['other.exe', '', '%2e%2e%2f', '%E0%A4%A'])
      expect((await getFile(fixture.api, { url: `http://x/files/${key}/${name}` })).status, name).to.equal(200);
  });

  it('404 for keys that open nothing, 405 for other methods', async () => {
    for (const path of [
      `/files/${'0'.repeat(32)}/a.txt`,
      '/files/x/a.txt',
      '/files/',
      '/files',
      `/files/${plain().url.split('/').at(-2)}`,
      '/files/a/b/c',
    ])
      expectError(await fixture.api.call('GET', path), 404, 'not_found');
    const answer = await fixture.api.call('DELETE', new URL(plain().url).pathname);
    expectError(answer, 405, 'method_not_allowed');
    expect(answer.headers.get('Allow')).to.equal('GET');
  });

  it('503 unavailable with Retry-After while an image waits; 404 once it is given up, or its blob is lost', async () => {
    const { body } = await sendBody(fixture.api.url + fixture.path, fixture.bot, formOf({}, [{ name: 'b.bin', bytes: 'bytes' }]));
    const [file] = body.attachments as [Attachment];
    const path = new URL(file.url).pathname;
    const { files } = fixture.api.platform.db;
    await files.updateOne({ _id: file.id }, { $set: { state: 'waiting' } });
    const waiting = await fixture.api.call('GET', path);
    expectError(waiting, 503, 'unavailable');
    expect([waiting.headers.get('Retry-After'), waiting.headers.get('Cache-Control')]).to.deep.equal(['2', 'no-store']);
    await files.updateOne({ _id: file.id }, { $set: { state: 'freed' } });
    expectError(await fixture.api.call('GET', path), 404, 'not_found');
    await files.updateOne({ _id: file.id }, { $set: { state: 'stored' } });
    const doc = (await fileDocs(fixture.api)).find(({ _id }) => _id === file.id);
    await fixture.api.platform.blobs.delete(doc?.blob ?? '');
    const lost = await fixture.api.call('GET', path);
    expectError(lost, 404, 'not_found');
    expect([lost.headers.get('ETag'), lost.headers.get('Cache-Control'), lost.headers.get('Content-Disposition')]).to.deep.equal([
      null,
      'no-store',
      null,
    ]);
  });

  it('no credential is asked, and a reader that goes away in the middle leaves no file open', async () => {
    const big = { name: 'big.bin', bytes: Buffer.alloc(9 * 1024 * 1024) };
    const { body } = await sendBody(fixture.api.url + fixture.path, fixture.bot, formOf({}, [big]));
    const address = fixture.api.url + new URL(body.attachments[0]?.url ?? '').pathname;
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
        .filter((path) => path.startsWith(fixture.api.platform.config.FILES_DIR));
    const leave = (): Promise<void> =>
      new Promise((resolve, reject) => {
        const asked = get(address, (response) => {
          response.once('data', () => response.destroy());
          response.once('close', () => resolve());
          response.on('error', () => undefined);
        });
        asked.on('error', reject);
      });
    for (let round = 0; round < 5; round++) await Promise.all(Array.from({ length: 10 }, leave));
    await until(() => open().length === 0, 'files are closed');
    expect((await onDisk(fixture.api)).incoming).to.deep.equal([]);
  });
});
