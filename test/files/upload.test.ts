import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { expectError } from '../harness/expect-error.ts';
import { expectNoOrphans, fileDocs, formOf, getFile, onDisk, rawBody, type Sent, sendBody } from './fixture.ts';

const mebibyte = 1024 * 1024;
const text = (name: string, bytes: Buffer | string = 'text'): Sent => ({ name, bytes, type: 'text/plain' });
const disposition = (rest: string): string => `Content-Disposition: form-data; ${rest}`;

describe('POST /api/channels/{channelId}/messages with files', function () {
  let fixture: MessageFixture;
  let url: string;
  before(async () => {
    fixture = await messageFixture();
    url = fixture.api.url + fixture.path;
  });
  after(() => fixture.api.close());
  afterEach(() => expectNoOrphans(fixture.api));

  const post = (body: FormData, headers?: Record<string, string>) => sendBody(url, fixture.bot, body, headers);
  const count = async (): Promise<number> => (await fileDocs(fixture.api)).length;
  /** Expects that nothing came of `act`. */
  const storesNothing = async (act: () => Promise<unknown>): Promise<void> => {
    const [before, disk] = [await count(), await onDisk(fixture.api)];
    await act();
    expect(await count()).to.equal(before);
    expect(await onDisk(fixture.api)).to.deep.equal(disk);
  };

  for (const order of ['json first', 'files first'] as const)
    it(`201, ${order}: the message shows each file, and its address gives the bytes`, async () => {
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
        expect(address).to.match(new RegExp(`^${fixture.api.platform.config.baseUrl}/files/[0-9a-f]{32}/${files[at]?.name}$`));
        expect((await getFile(fixture.api, { url: address })).body.equals(Buffer.from(files[at]?.bytes ?? ''))).to.equal(true);
      }
      const [shown] = (await fixture.api.call<(typeof body)[]>('GET', `${fixture.path}?limit=1`, { as: fixture.bot })).body;
      expect(shown?.attachments).to.deep.equal(body.attachments);
      const docs = (await fileDocs(fixture.api)).filter(({ messageId }) => messageId === body.id);
      expect(docs.map(({ openAt }) => openAt)).to.deep.equal([undefined, undefined]);
    });

  it('201 with files and no payload_json, or no content in it', async () => {
    for (const payload of [undefined, {}, { content: '' }, { content: '  ' }])
      expect((await post(formOf(payload, [text('a.txt')]))).status).to.equal(201);
  });

  it('201 multipart without files, also without Attach Files', async () => {
    await fixture.withPermissions(3, async () => {
      const { status, body } = await post(formOf({ content: 'only fields' }, []));
      expect([status, body.content, body.attachments]).to.deep.equal([201, 'only fields', []]);
    });
  });

  it('201 with 10 files, 400 with 11, and nothing of those stays', async () => {
    const files = Array.from({ length: 11 }, (_, at) => text(`${at}.txt`, `file ${at}`));
    const { status, body } = await post(formOf({}, files.slice(1)));
    expect([status, body.attachments.map(({ filename }) => filename)]).to.deep.equal([201, files.slice(1).map(({ name }) => name)]);
    await storesNothing(async () => expectError(await post(formOf({}, files)), 400, 'invalid_request'));
  });

  it('201 with exactly 10 MiB, 413 with a byte more', async () => {
    const bytes = Buffer.alloc(10 * mebibyte, 'x');
    expect((await post(formOf({}, [text('most.txt', bytes)]))).body.attachments[0]?.size).to.equal(10 * mebibyte);
    await storesNothing(async () => {
      const over = await post(formOf({ content: 'x' }, [text('fine.txt'), text('over.txt', Buffer.concat([bytes, Buffer.from('x')]))]));
      expectError(over, 413, 'payload_too_large');
    });
  });

  it('413 while the sender still sends 60 MB: it sees the answer', async () => {
    const big = Array.from({ length: 4 }, (_, at) => text(`${at}.bin`, Buffer.alloc(15 * mebibyte)));
    await storesNothing(async () => expectError(await post(formOf({}, big)), 413, 'payload_too_large'));
  });

  for (const [what, files, body, status, code] of [
    ['no parts at all', [], undefined, 400, 'invalid_request'],
    ['no content and no files', [], { content: '' }, 400, 'invalid_request'],
    ['broken JSON', [text('a')], '{"content":', 400, 'invalid_request'],
    ['JSON that is no object', [text('a')], '[]', 400, 'invalid_request'],
    ['a field of a wrong type', [text('a')], { content: 5 }, 400, 'invalid_request'],
    ['2,001 characters', [text('a')], { content: 'x'.repeat(2001) }, 400, 'invalid_request'],
    ['nested deeper than 32', [text('a')], `{"x":${'['.repeat(32)}${']'.repeat(32)}}`, 400, 'invalid_request'],
    ['__proto__ as a name', [text('a')], '{"content":"x","__proto__":{}}', 400, 'invalid_request'],
    ['a reply to nothing', [text('a')], { replyTo: '1000000000000000001' }, 400, 'invalid_request'],
    ['payload_json over 1 MiB', [text('a')], { content: 'x', filler: 'y'.repeat(mebibyte) }, 413, 'payload_too_large'],
  ] as const)
    it(`${status} ${what}, nothing stored`, () =>
      storesNothing(async () => {
        for (const order of ['json first', 'files first'] as const) expectError(await post(formOf(body, files, order)), status, code);
      }));

  it('400 payload_json twice, an unknown part, a part without a name', () =>
    storesNothing(async () => {
      const json = { head: disposition('name="payload_json"'), bytes: '{"content":"x"}' };
      const file = { head: disposition('name="files"; filename="a.txt"'), bytes: 'x' };
      for (const parts of [
        [json, file, json],
        [json, { head: disposition('name="file"; filename="a.txt"'), bytes: 'x' }],
        [file, { head: disposition('name="content"'), bytes: 'x' }],
        [json, { head: disposition('filename="a.txt"'), bytes: 'x' }],
        [json, { head: 'Content-Type: text/plain', bytes: 'x' }],
        [json, { head: disposition('name="files"; filename="a.txt"').replace('form-data', 'attachment'), bytes: 'x' }],
        [json, { head: `${'A: b\r\n'.repeat(40)}${disposition('name="files"; filename="a.txt"')}`, bytes: 'x' }],
        [json, { head: `no header\r\n${disposition('name="files"; filename="a.txt"')}`, bytes: 'x' }, file],
      ]) {
        const { body, headers } = rawBody(parts);
        expectError(await sendBody(url, fixture.bot, body, headers), 400, 'invalid_request');
      }
    }));

  it('400 broken multipart: no boundary, another boundary, an end that never comes, payload_json that is not UTF-8', () =>
    storesNothing(async () => {
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
      for (const [bytes, type] of cases)
        expectError(await sendBody(url, fixture.bot, bytes, { 'Content-Type': String(type) }), 400, 'invalid_request');
    }));

  it('403 missing_permission without Attach Files, before anything is stored; 403 without Send Messages, 404 for who is outside', async () => {
    const form = (): FormData => formOf({ content: 'x' }, [text('a.txt', Buffer.alloc(3 * mebibyte))]);
    await storesNothing(async () => {
      await fixture.withPermissions(3, async () => {
        const answer = await post(form());
        expectError(answer, 403, 'missing_permission');
        expect(answer.body.missing).to.deep.equal(['Attach Files']);
      });
      await fixture.withPermissions(5, async () => {
        expect((await post(form())).body.missing).to.deep.equal(['Send Messages']);
      });
      const outside = `${fixture.api.url}/api/channels/1000000000000000001/messages`;
      expectError(await sendBody(outside, fixture.bot, form()), 404, 'not_found');
      expectError(await sendBody(url, 'Bot x.y', form()), 401, 'unauthorized');
    });
  });

  it('415 urlencoded, text and multipart of another kind; the answer names both types', async () => {
    for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/mixed; boundary=xyz']) {
      const answer = await sendBody(url, fixture.bot, 'content=x', { 'Content-Type': type });
      expectError(answer, 415, 'unsupported_media_type');
      expect((answer.body as unknown as { message: string }).message).to.contain('multipart/form-data');
    }
  });

  it('415 multipart on a route that takes no files', async () => {
    const { body } = await fixture.post({ content: 'x' });
    const response = await fetch(`${url}/${body.id}`, {
      method: 'PATCH',
      headers: { Authorization: fixture.bot },
      body: formOf({ content: 'y' }, []),
    });
    expect(response.status).to.equal(415);
  });

  it('429 for the eleventh upload at once of one caller', async () => {
    const bytes = Buffer.alloc(2 * mebibyte);
    const answers = await Promise.all(Array.from({ length: 40 }, () => post(formOf({}, [text('a.bin', bytes)]))));
    for (const { status } of answers) expect(status).to.be.oneOf([201, 429]);
    expect(answers.filter(({ status }) => status === 201).length).to.be.greaterThan(9);
    for (const answer of answers.filter(({ status }) => status === 429)) {
      expectError(answer, 429, 'rate_limited');
      expect(answer.headers.get('Retry-After')).to.equal('1');
    }
    expect((await post(formOf({}, [text('after.txt')]))).status).to.equal(201);
  });
});
