// Tests of what all routes have in common: paths, headers, credentials, bodies, validation, rate limits and Idempotency-Key; and of pages and the image proxy.
import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type Answer } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { startSeededApi } from '../../harness/seeded-api.ts';
import { use } from '../../harness/use.ts';

describe('bodies and queries of requests', () => {
  const api = use(startSeededApi);

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    api.call('POST', api.path, { as: api.as, body, headers });
  const stored = (): Promise<number> => api.platform.db.messages.countDocuments();

  describe('bodies', () => {
    for (const [what, body] of [
      ['broken JSON', '{"content":'],
      ['two values', '{} {}'],
      ['only whitespace', '   '],
      ['a string', '"content"'],
      ['a number', '1'],
      ['null', 'null'],
      ['a list', '[]'],
      ['33 levels of nesting', `{"content":"x","deep":${'['.repeat(32)}${']'.repeat(32)}}`],
      ['100,001 levels of nesting', `{"content":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
    ] as const)
      it(`400 for ${what}`, async () => {
        const before = await stored();
        expectError(await post(body), 400, 'invalid_request');
        expect(await stored()).to.equal(before);
      });

    it('201 for 32 levels of nesting', async () => {
      expect((await post(`{"content":"deep","x":${'['.repeat(31)}${']'.repeat(31)}}`)).status).to.equal(201);
    });

    it('201 for unknown fields, which are ignored', async () => {
      const { status, body } = await post('{"content":"plain","id":"1","authorId":"2","pinned":true,"$set":{"a":1},"constructor":{"x":1}}');
      expect(status).to.equal(201);
      expect(body).to.include({ content: 'plain', pinned: false });
      expect(body.id).not.to.equal('1');
      expect(body).not.to.have.property('$set');
    });

    it('400 for __proto__ as a field name, 201 for it in a text', async () => {
      for (const body of ['{"content":"x","__proto__":{"pinned":true}}', '{"content":"x","a":{"\\u005f_proto__":{"pinned":true}}}'])
        expectError(await post(body), 400, 'invalid_request');
      expect((await post({ content: '{"__proto__":{}}' })).body.content).to.equal('{"__proto__":{}}');
      expect(({} as Record<string, unknown>).pinned).to.equal(undefined);
    });

    for (const [what, body, at] of [
      ['text instead of a number', { content: 'x', embeds: [{ title: 't', color: '5' }] }, '/embeds/0/color'],
      ['a number instead of text', { content: 5 }, '/content'],
      ['text instead of a boolean', { content: 'x', mentionReply: 'true' }, '/mentionReply'],
      ['null in a field that is optional, not nullable', { content: null }, '/content'],
      ['an object instead of an id', { content: 'x', replyTo: { $ne: null } }, '/replyTo'],
      ['a list instead of text', { content: ['x'] }, '/content'],
    ] as const)
      it(`400 for ${what}, with its path in errors`, async () => {
        const answer = await post(body);
        expectError(answer, 400, 'invalid_request');
        expect((answer.body.errors as { path: string }[])[0]?.path).to.equal(at);
      });

    it('201 for null in a nullable field', async () => {
      expect((await post({ content: 'x', replyTo: null })).status).to.equal(201);
    });

    it('400 without a body', async () => {
      expectError(await api.call('POST', api.path, { as: api.as }), 400, 'invalid_request');
    });

    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/xml', ''])
      it(`415 for ${type || 'no content type'}`, async () =>
        expectError(await post('{"content":"x"}', { 'Content-Type': type }), 415, 'unsupported_media_type'));

    const json = '{"content":"Größe – €"}';
    const utf8 = Buffer.from(json);
    const cp1252 = Buffer.from(json.replace('–', '\x96').replace('€', '\x80'), 'latin1');
    /** A body whose content has exactly these bytes. */
    const jsonOf = (bytes: number[]): Buffer => Buffer.from(`{"content":"${String.fromCharCode(...bytes)}"}`, 'latin1');
    const postBytes = (body: Uint8Array, type: string, more: Record<string, string> = {}) => {
      const headers = { Authorization: api.as, 'Content-Type': type, ...more };
      return fetch(api.url + api.path, { method: 'POST', headers, body: new Uint8Array(body) });
    };
    for (const [what, charset, bytes, status] of [
      ['UTF-8', 'utf-8', utf8, 201],
      ['UTF-8 with a byte order mark', undefined, Buffer.from(`\ufeff${json}`), 201],
      ['an empty charset', '""', utf8, 201],
      ['Windows-1252', 'windows-1252', cp1252, 201],
      ['Latin-1', 'ISO-8859-1', cp1252, 201],
      ['UTF-16', 'utf-16le', Buffer.from(json, 'utf16le'), 201],
      ['Shift_JIS', 'shift_jis', jsonOf([0x93, 0xfa]), 201],
      ['Windows-1252 that is not declared', undefined, cp1252, 400],
      ['Windows-1252 that is declared as UTF-8', 'utf-8', cp1252, 400],
      ['a sequence that is cut', undefined, jsonOf([0xe2, 0x82]), 400],
      ['a surrogate in UTF-8', undefined, jsonOf([0xed, 0xa0, 0x80]), 400],
      ['an unknown charset', 'klingon', utf8, 415],
    ] as const) {
      const type = charset === undefined ? 'application/json' : `application/json; charset=${charset}`;
      it(`${status} for ${what}`, async () => {
        const before = await stored();
        const answer = await postBytes(bytes, type);
        expect(answer.status).to.equal(status);
        const { content } = (await answer.json()) as { content?: string };
        if (status === 201) expect(content).to.equal(what === 'Shift_JIS' ? '日' : 'Größe – €');
        expect(await stored()).to.equal(before + (status === 201 ? 1 : 0));
      });
    }

    it('decodes the part payload_json of a multipart body alike', async () => {
      const postPart = (type: string, bytes: Buffer) =>
        postBytes(
          Buffer.concat([
            Buffer.from(`--b\r\nContent-Disposition: form-data; name="payload_json"\r\nContent-Type: ${type}\r\n\r\n`),
            bytes,
            Buffer.from('\r\n--b--\r\n'),
          ]),
          'multipart/form-data; boundary=b',
        );
      const answer = await postPart('application/json; charset=windows-1252', cp1252);
      expect(((await answer.json()) as { content: string }).content).to.equal('Größe – €');
      expect((await postPart('application/json', cp1252)).status).to.equal(400);
      expect((await postPart('application/json; charset=klingon', utf8)).status).to.equal(415);
    });

    const large = JSON.stringify({ content: 'x', filler: 'y'.repeat(1024 * 1024) });
    it('413 for more than 1 MiB', async () => expectError(await post(large), 413, 'payload_too_large'));

    it('413 for more than 1 MiB in chunks without a length', async () => {
      const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { Authorization: api.as, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
        const sent = request(api.url + api.path, { method: 'POST', headers }, (response) => {
          let text = '';
          response.on('data', (part) => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
        });
        sent.on('error', reject);
        for (let at = 0; at < large.length; at += 65_536) sent.write(large.slice(at, at + 65_536));
        sent.end();
      });
      expect(answer.status).to.equal(413);
      expect(JSON.parse(answer.text).code).to.equal('payload_too_large');
    });

    const postEncoded = (body: Buffer, encoding: string) => postBytes(body, 'application/json', { 'Content-Encoding': encoding });
    it('201 for a compressed body, 413 for more than 1 MiB of content, 400 for an unknown or broken encoding', async () => {
      expect((await postEncoded(gzipSync('{"content":"packed"}'), 'gzip')).status).to.equal(201);
      expect((await postEncoded(gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), 'gzip')).status).to.equal(413);
      expect((await postEncoded(Buffer.from('{"content":"x"}'), 'gzip')).status).to.equal(400);
      expect((await postEncoded(Buffer.from('{"content":"x"}'), 'rot13')).status).to.equal(400);
    });

    it('201 for exactly 1 MiB', async () => {
      const body = (filler: string) => `{"content":"x","filler":"${filler}"}`;
      expect((await post(body('y'.repeat(1024 * 1024 - body('').length)))).status).to.equal(201);
    });

    it('a refused body does not affect the next request on the connection', async () => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
      const head = (length: number): string =>
        `POST ${api.path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${api.as}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
      socket.write(`${head(12)}{"content":1GET /api/gateway HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      let text = '';
      for await (const part of socket) text += String(part);
      expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['400', '200']);
    });
  });

  describe('queries', () => {
    const badLimits = ['0', '101', 'abc', '', '5&limit=6', '1.5', '%2B5'].map((value) => `limit=${value}`);
    for (const query of [...badLimits, 'before=x', 'before=1&after=2'])
      it(`400 for ?${query}`, async () => {
        expectError(await api.call('GET', `${api.path}?${query}`, { as: api.as }), 400, 'invalid_request');
      });
    for (const query of ['limit[]=5', '__proto__=1&constructor=2&%E0%A4%A=3&limit=5'])
      it(`200 for ?${query}: unknown names are ignored`, async () => {
        expect((await api.call('GET', `${api.path}?${query}`, { as: api.as })).status).to.equal(200);
      });
  });
});
