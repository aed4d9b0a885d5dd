import { request } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { type Answer, startTestApi, type TestApi } from '../../harness/api.ts';
import { expectError } from '../../harness/expect-error.ts';
import { makeWorld, type World } from '../../harness/world.ts';

describe('what requests bring', () => {
  let api: TestApi;
  let world: World;
  let as: string;
  let path: string;

  before(async () => {
    api = await startTestApi();
    world = await makeWorld(api.platform, { bots: 1, channels: 1 });
    as = `Bot ${world.bots[0]?.token}`;
    path = `/api/channels/${world.channelIds[0]}/messages`;
  });
  after(() => api.close());

  const post = (body: unknown, headers: Record<string, string> = {}): Promise<Answer> => api.call('POST', path, { as, body, headers });
  const stored = (): Promise<number> => api.platform.db.messages.countDocuments();

  describe('bodies', () => {
    for (const [what, body, code] of [
      ['broken JSON', '{"content":', 'invalid_request'],
      ['two values', '{} {}', 'invalid_request'],
      ['nothing but space', '   ', 'invalid_request'],
      ['a text', '"content"', 'invalid_request'],
      ['a number', '1', 'invalid_request'],
      ['null', 'null', 'invalid_request'],
      ['a list', '[]', 'invalid_request'],
      ['nested deeper than 32', `{"content":"x","deep":${'['.repeat(32)}${']'.repeat(32)}}`, 'invalid_request'],
      ['nested very deep', `{"content":"x","deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}`, 'invalid_request'],
    ] as const)
      it(`400 ${what}`, async () => {
        const before = await stored();
        expectError(await post(body), 400, code);
        expect(await stored()).to.equal(before);
      });

    it('32 levels pass', async () => {
      expect((await post(`{"content":"deep","x":${'['.repeat(31)}${']'.repeat(31)}}`)).status).to.equal(201);
    });

    it('unknown fields are ignored, also hostile ones', async () => {
      const { status, body } = await post('{"content":"plain","id":"1","authorId":"2","pinned":true,"$set":{"a":1},"constructor":{"x":1}}');
      expect(status).to.equal(201);
      expect(body).to.include({ content: 'plain', pinned: false });
      expect(body.id).not.to.equal('1');
      expect(body).not.to.have.property('$set');
    });

    it('__proto__ is no field: 400 as a name, but a text may speak of it', async () => {
      for (const body of ['{"content":"x","__proto__":{"pinned":true}}', '{"content":"x","a":{"\\u005f_proto__":{"pinned":true}}}'])
        expectError(await post(body), 400, 'invalid_request');
      expect((await post({ content: '{"__proto__":{}}' })).body.content).to.equal('{"__proto__":{}}');
      expect(({} as Record<string, unknown>).pinned).to.equal(undefined);
    });

    for (const [what, body, at] of [
      ['a number as text', { content: 'x', embeds: [{ title: 't', color: '5' }] }, '/embeds/0/color'],
      ['a text as number', { content: 5 }, '/content'],
      ['a boolean as text', { content: 'x', mentionReply: 'true' }, '/mentionReply'],
      ['null where it may only be left out', { content: null }, '/content'],
      ['an object for an id', { content: 'x', replyTo: { $ne: null } }, '/replyTo'],
      ['a list for a text', { content: ['x'] }, '/content'],
    ] as const)
      it(`400 ${what}, and errors says where`, async () => {
        const answer = await post(body);
        expectError(answer, 400, 'invalid_request');
        expect((answer.body.errors as { path: string }[])[0]?.path).to.equal(at);
      });

    it('null and absent are alike only where null is allowed', async () => {
      expect((await post({ content: 'x', replyTo: null })).status).to.equal(201);
    });

    it('400 without a body where one is needed', async () => {
      expectError(await api.call('POST', path, { as }), 400, 'invalid_request');
    });

    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'text/json', 'application/xml', ''])
      it(`415 ${type || 'no type'}`, async () =>
        expectError(await post('{"content":"x"}', { 'Content-Type': type }), 415, 'unsupported_media_type'));

    it('application/json with a charset passes', async () => {
      expect((await post('{"content":"ü"}', { 'Content-Type': 'application/json; charset=utf-8' })).body.content).to.equal('ü');
    });

    const large = JSON.stringify({ content: 'x', filler: 'y'.repeat(1024 * 1024) });
    it('413 over 1 MiB', async () => expectError(await post(large), 413, 'payload_too_large'));

    it('413 over 1 MiB in chunks, without a length', async () => {
      const answer = await new Promise<{ status: number; text: string }>((resolve, reject) => {
        const headers = { Authorization: as, 'Content-Type': 'application/json', 'Transfer-Encoding': 'chunked' };
        const sent = request(api.url + path, { method: 'POST', headers }, (response) => {
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

    const packed = (body: Buffer, encoding: string) =>
      fetch(api.url + path, {
        method: 'POST',
        headers: { Authorization: as, 'Content-Type': 'application/json', 'Content-Encoding': encoding },
        body: new Uint8Array(body),
      });
    it('a compressed body passes, one that grows over 1 MiB is 413, an unknown or broken coding 400', async () => {
      expect((await packed(gzipSync('{"content":"packed"}'), 'gzip')).status).to.equal(201);
      expect((await packed(gzipSync(Buffer.alloc(64 * 1024 * 1024, ' ')), 'gzip')).status).to.equal(413);
      expect((await packed(Buffer.from('{"content":"x"}'), 'gzip')).status).to.equal(400);
      expect((await packed(Buffer.from('{"content":"x"}'), 'rot13')).status).to.equal(400);
    });

    it('exactly 1 MiB passes', async () => {
      const body = (filler: string) => `{"content":"x","filler":"${filler}"}`;
      expect((await post(body('y'.repeat(1024 * 1024 - body('').length)))).status).to.equal(201);
    });

    it('the next request on the same connection is not disturbed by a refused body', async () => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1');
      const head = (length: number): string =>
        `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${as}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`;
      socket.write(`${head(12)}{"content":1GET /api/gateway HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      let text = '';
      for await (const part of socket) text += String(part);
      expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).to.deep.equal(['400', '200']);
    });
  });

  describe('queries', () => {
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=abc',
      'limit=',
      'limit=5&limit=6',
      'limit=1.5',
      'limit=%2B5',
      'limit[]=5',
      'before=x',
      'before=1&after=2',
    ])
      it(`400 or ignored, never 500: ?${query}`, async () => {
        const answer = await api.call('GET', `${path}?${query}`, { as });
        if (query === 'limit[]=5') expect(answer.status).to.equal(200);
        else expectError(answer, 400, 'invalid_request');
      });
    it('unknown and hostile names are ignored', async () => {
      expect((await api.call('GET', `${path}?__proto__=1&constructor=2&%E0%A4%A=3&limit=5`, { as })).status).to.equal(200);
    });
  });
});
