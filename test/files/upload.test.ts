import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { permissionBits } from '../../lib/base/permissions.ts';
import type { Answer } from '../harness/api.ts';
import { expectError } from '../harness/expect-error.ts';
import { loseAnswers, unknownId, withEveryone } from '../harness/factories.ts';
import { inParallel } from '../harness/requests.ts';
import {
  expectNoOrphans,
  expectSameFiles,
  fileDocs,
  formOf,
  getFile,
  type Posted,
  rawBody,
  type Sent,
  sendBody,
  useUploads,
} from './fixture.ts';

const mebibyte = 1024 * 1024;
const text = (name: string, bytes: Buffer | string = 'text'): Sent => ({ name, bytes, type: 'text/plain' });
const disposition = (rest: string): string => `Content-Disposition: form-data; ${rest}`;

const { 'View Channel': viewChannel, 'Send Messages': sendMessages, 'Attach Files': attachFiles } = permissionBits;

describe('POST /api/channels/{channelId}/messages with files', () => {
  const { api, owner, server, bot, path, post: postText, list, upload: post } = useUploads();
  afterEach(() => expectNoOrphans(api));

  /** Expects that a body is refused, and that it stores no file. */
  const expectRefused = (send: () => Promise<Answer<Posted>>, status = 400, code = 'invalid_request'): Promise<void> =>
    expectSameFiles(api, async () => expectError(await send(), status, code));

  for (const order of ['json first', 'files first'] as const)
    it(`201, ${order}: the message lists each file, and its URL returns the bytes`, async () => {
      const bytes = randomBytes(300_000);
      const files = [text('one.txt', 'first'), { name: 'two.bin', bytes, type: 'application/octet-stream' }];
      const { status, body } = await post(formOf({ content: 'hello', nonce: 'n' }, files, order));
      expect([status, body.content, body.nonce]).to.deep.equal([201, 'hello', 'n']);
      expect(
        body.attachments.map(({ filename, contentType, size, width, height }) => [filename, contentType, size, width, height]),
      ).to.deep.equal([
        ['one.txt', 'text/plain', 5, null, null],
        ['two.bin', 'application/octet-stream', 300_000, null, null],
      ]);
      for (const [at, { url: address }] of body.attachments.entries()) {
        expect(address).to.match(new RegExp(`^${api.platform.config.baseUrl}/files/[0-9a-f]{32}/${files[at]?.name}$`));
        expect((await getFile(api, { url: address })).body.equals(Buffer.from(files[at]?.bytes ?? ''))).to.equal(true);
      }
      const [shown] = await list(bot, '?limit=1');
      expect(shown?.attachments).to.deep.equal(body.attachments);
      const docs = (await fileDocs(api)).filter(({ messageId }) => messageId === body.id);
      expect(docs.map(({ openAt }) => openAt)).to.deep.equal([undefined, undefined]);
    });

  it('201 with files and without payload_json or content', async () => {
    for (const payload of [undefined, {}, { content: '' }, { content: '  ' }])
      expect((await post(formOf(payload, [text('a.txt')]))).status).to.equal(201);
  });

  it('201 for multipart without files, also without Attach Files', async () => {
    await withEveryone(api, owner, server.id, viewChannel | sendMessages, async () => {
      const { status, body } = await post(formOf({ content: 'only fields' }, []));
      expect([status, body.content, body.attachments]).to.deep.equal([201, 'only fields', []]);
    });
  });

  it('201 with 10 files; 400 with 11, and stores none of them', async () => {
    const files = Array.from({ length: 11 }, (_, at) => text(`${at}.txt`, `file ${at}`));
    const { status, body } = await post(formOf({}, files.slice(1)));
    expect([status, body.attachments.map(({ filename }) => filename)]).to.deep.equal([201, files.slice(1).map(({ name }) => name)]);
    await expectRefused(() => post(formOf({}, files)));
  });

  it('201 with exactly 10 MiB, 413 with one byte more', async () => {
    const bytes = Buffer.alloc(10 * mebibyte, 'x');
    expect((await post(formOf({}, [text('most.txt', bytes)]))).body.attachments[0]?.size).to.equal(10 * mebibyte);
    const over = [text('fine.txt'), text('over.txt', Buffer.concat([bytes, Buffer.from('x')]))];
    await expectRefused(() => post(formOf({ content: 'x' }, over)), 413, 'payload_too_large');
  });

  it('413 for 60 MB, and the sender receives the response while it sends', async () => {
    const big = Array.from({ length: 4 }, (_, at) => text(`${at}.bin`, Buffer.alloc(15 * mebibyte)));
    await expectRefused(() => post(formOf({}, big)), 413, 'payload_too_large');
  });

  for (const [what, files, body, status, code] of [
    ['no parts at all', [], undefined, 400, 'invalid_request'],
    ['no content and no files', [], { content: '' }, 400, 'invalid_request'],
    ['broken JSON', [text('a')], '{"content":', 400, 'invalid_request'],
    ['JSON that is not an object', [text('a')], '[]', 400, 'invalid_request'],
    ['a field of the wrong type', [text('a')], { content: 5 }, 400, 'invalid_request'],
    ['2,001 characters', [text('a')], { content: 'x'.repeat(2001) }, 400, 'invalid_request'],
    ['JSON nested deeper than 32', [text('a')], `{"x":${'['.repeat(32)}${']'.repeat(32)}}`, 400, 'invalid_request'],
    ['a field named __proto__', [text('a')], '{"content":"x","__proto__":{}}', 400, 'invalid_request'],
    ['a reply to an unknown message', [text('a')], { replyTo: unknownId }, 400, 'invalid_request'],
    ['payload_json over 1 MiB', [text('a')], { content: 'x', filler: 'y'.repeat(mebibyte) }, 413, 'payload_too_large'],
  ] as const)
    it(`${status} for ${what}, and stores nothing`, async () => {
      for (const order of ['json first', 'files first'] as const) await expectRefused(() => post(formOf(body, files, order)), status, code);
    });

  it('400 for a second payload_json, an unknown part, a part without a name', () =>
    expectSameFiles(api, async () => {
      const json = { head: disposition('name="payload_json"'), bytes: '{"content":"x"}' };
      const file = { head: disposition('name="files"; filename="a.txt"'), bytes: 'x' };
      for (const parts of [
        [json, file, json],
        [json, { head: disposition('name="attachment"; filename="a.txt"'), bytes: 'x' }],
        [file, { head: disposition('name="content"'), bytes: 'x' }],
        [json, { head: disposition('filename="a.txt"'), bytes: 'x' }],
        [json, { head: 'Content-Type: text/plain', bytes: 'x' }],
        [json, { head: disposition('name="files"; filename="a.txt"').replace('form-data', 'attachment'), bytes: 'x' }],
        [json, { head: `${'A: b\r\n'.repeat(40)}${disposition('name="files"; filename="a.txt"')}`, bytes: 'x' }],
        [json, { head: `no header\r\n${disposition('name="files"; filename="a.txt"')}`, bytes: 'x' }, file],
      ]) {
        const { body, headers } = rawBody(parts);
        expectError(await post(body, headers), 400, 'invalid_request');
      }
    }));

  it('400 for multipart without a boundary, with another boundary or without an end, and for payload_json that is not UTF-8', () =>
    expectSameFiles(api, async () => {
      const file = { head: disposition('name="files"; filename="a.txt"'), bytes: Buffer.alloc(200_000) };
      const { body, headers } = rawBody([file]);
      const cases: [Uint8Array<ArrayBuffer>, string | undefined][] = [
        [body, 'multipart/form-data'],
        [body, 'multipart/form-data; boundary=other'],
        [rawBody([file], '').body, headers['Content-Type']],
        [body.slice(0, 150_000), headers['Content-Type']],
        [new Uint8Array(Buffer.from('no multipart')), headers['Content-Type']],
        [
          rawBody([{ head: disposition('name="payload_json"'), bytes: Buffer.from('{"content":"\xff"}', 'latin1') }]).body,
          headers['Content-Type'],
        ],
      ];
      for (const [bytes, type] of cases) expectError(await post(bytes, { 'Content-Type': String(type) }), 400, 'invalid_request');
    }));

  it('403 missing_permission without Attach Files or Send Messages, 404 outside of the server, 401 for an invalid token; stores nothing', async () => {
    const form = (): FormData => formOf({ content: 'x' }, [text('a.txt', Buffer.alloc(3 * mebibyte))]);
    await expectSameFiles(api, async () => {
      for (const [permissions, missing] of [
        [viewChannel | sendMessages, 'Attach Files'],
        [viewChannel | attachFiles, 'Send Messages'],
      ] as const)
        await withEveryone(api, owner, server.id, permissions, async () => {
          const answer = await post(form());
          expectError(answer, 403, 'missing_permission');
          expect(answer.body.missing).to.deep.equal([missing]);
        });
      expectError(await sendBody(`${api.url}/api/channels/${unknownId}/messages`, bot.as, form()), 404, 'not_found');
      expectError(await sendBody(api.url + path(), 'Bot x.y', form()), 401, 'unauthorized');
    });
  });

  it('415 for urlencoded, text and other multipart bodies; the message names multipart/form-data', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/mixed; boundary=xyz']) {
      const answer = await post('content=x', { 'Content-Type': type });
      expectError(answer, 415, 'unsupported_media_type');
      expect((answer.body as unknown as { message: string }).message).to.contain('multipart/form-data');
    }
  });

  it('415 for multipart on a route that accepts no files', async () => {
    const { id } = await postText('x');
    const init = { method: 'PATCH', headers: { Authorization: bot.as }, body: formOf({ content: 'y' }, []) };
    expect((await fetch(api.url + path(id), init)).status).to.equal(415);
  });

  it('429 for the eleventh parallel upload of one caller', async () => {
    const bytes = Buffer.alloc(2 * mebibyte);
    const answers = await inParallel(40, () => post(formOf({}, [text('a.bin', bytes)])));
    for (const { status } of answers) expect(status).to.be.oneOf([201, 429]);
    expect(answers.filter(({ status }) => status === 201).length).to.be.greaterThan(9);
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expectError(answer, 429, 'rate_limited');
      expect(answer.headers.get('Retry-After')).to.equal('1');
    }
    expect((await post(formOf({}, [text('after.txt')]))).status).to.equal(201);
  });
});

describe('Idempotency-Key with files', () => {
  const { api, bot, path, upload } = useUploads();
  afterEach(() => expectNoOrphans(api));

  let last = 0;
  const file: Sent = { name: 'a.txt', bytes: 'bytes', type: 'text/plain' };
  const post = (key: string, payload: unknown, files: readonly Sent[], order?: 'files first') =>
    upload(formOf(payload, files, order), { 'Idempotency-Key': key });
  const newKey = (): string => `key-${++last}`;

  it('treats the same fields and bytes as the same body, whatever their order and boundary', async () => {
    const key = newKey();
    const first = await post(key, { content: 'x' }, [file]);
    const second = await post(key, { content: 'x' }, [file], 'files first');
    const { body, headers } = rawBody([
      { head: 'Content-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain', bytes: 'bytes' },
      { head: 'Content-Disposition: form-data; name="payload_json"', bytes: '{ "content" : "x" }' },
    ]);
    const third = await upload(body, { ...headers, 'Idempotency-Key': key });
    expect([first.status, second.body.id, third.body.id]).to.deep.equal([201, first.body.id, first.body.id]);
    expect(third.body.attachments).to.deep.equal(first.body.attachments);
    expect((await fileDocs(api)).filter(({ messageId }) => messageId === first.body.id)).to.have.length(1);
  });

  for (const [what, files] of [
    ['other bytes', [{ ...file, bytes: 'bytez' }]],
    ['another name', [{ ...file, name: 'b.txt' }]],
    ['another type', [{ ...file, type: 'text/css' }]],
    ['one more file', [file, file]],
    ['no file', []],
  ] as const)
    it(`409 idempotency_conflict for ${what}`, async () => {
      const key = newKey();
      await post(key, { content: 'x' }, [file]);
      const { status, body } = await post(key, { content: 'x' }, files);
      expect([status, body.code]).to.deep.equal([409, 'idempotency_conflict']);
    });

  it('treats a body without files as the same, whether JSON or multipart', async () => {
    const key = newKey();
    const first = await post(key, { content: 'plain' }, []);
    const second = await api.call('POST', path(), { as: bot.as, body: { content: 'plain' }, headers: { 'Idempotency-Key': key } });
    expect(second.body.id).to.equal(first.body.id);
  });

  it('20 parallel requests post one message and store its files once', async () => {
    const key = newKey();
    const answers = await inParallel(20, () => post(key, { content: 'race' }, [file, file]));
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.id)).size).to.equal(1);
    for (const { status } of answers) expect(status).to.be.oneOf([201, 409, 429]);
    expect((await fileDocs(api)).filter(({ messageId }) => messageId === made[0]?.body.id)).to.have.length(2);
  });

  it('a retry after the message was stored returns that message and drops the retry’s files', async () => {
    const key = newKey();
    const first = await post(key, { content: 'x' }, [file]);
    await loseAnswers(api);
    const second = await post(key, { content: 'x' }, [file]);
    expect([second.status, second.body.id]).to.deep.equal([201, first.body.id]);
    expect(second.body.attachments).to.deep.equal(first.body.attachments);
  });
});
