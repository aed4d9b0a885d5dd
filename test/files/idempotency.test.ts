import { expect } from 'chai';
import { type MessageFixture, messageFixture } from '../api/messages/message-fixture.ts';
import { expectNoOrphans, fileDocs, formOf, rawBody, type Sent, sendBody } from './fixture.ts';

describe('Idempotency-Key with files', () => {
  let fixture: MessageFixture;
  let url: string;
  before(async () => {
    fixture = await messageFixture();
    url = fixture.api.url + fixture.path;
  });
  after(() => fixture.api.close());
  afterEach(() => expectNoOrphans(fixture.api));

  let last = 0;
  const file: Sent = { name: 'a.txt', bytes: 'bytes', type: 'text/plain' };
  const post = (key: string, payload: unknown, files: readonly Sent[], order?: 'files first') =>
    sendBody(url, fixture.bot, formOf(payload, files, order), { 'Idempotency-Key': key });
  const newKey = (): string => `key-${++last}`;

  it('the same fields and bytes under another boundary and in another order are the same body', async () => {
    const key = newKey();
    const first = await post(key, { content: 'x' }, [file]);
    const second = await post(key, { content: 'x' }, [file], 'files first');
    const { body, headers } = rawBody([
      { head: 'Content-Disposition: form-data; name="files"; filename="a.txt"\r\nContent-Type: text/plain', bytes: 'bytes' },
      { head: 'Content-Disposition: form-data; name="payload_json"', bytes: '{ "content" : "x" }' },
    ]);
    const third = await sendBody(url, fixture.bot, body, { ...headers, 'Idempotency-Key': key });
    expect([first.status, second.body.id, third.body.id]).to.deep.equal([201, first.body.id, first.body.id]);
    expect(third.body.attachments).to.deep.equal(first.body.attachments);
    expect((await fileDocs(fixture.api)).filter(({ messageId }) => messageId === first.body.id)).to.have.length(1);
  });

  for (const [what, files] of [
    ['other bytes', [{ ...file, bytes: 'bytez' }]],
    ['another name', [{ ...file, name: 'b.txt' }]],
    ['another type', [{ ...file, type: 'text/css' }]],
    ['one file more', [file, file]],
    ['no file', []],
  ] as const)
    it(`409 idempotency_conflict: ${what}`, async () => {
      const key = newKey();
      await post(key, { content: 'x' }, [file]);
      const { status, body } = await post(key, { content: 'x' }, files);
      expect([status, body.code]).to.deep.equal([409, 'idempotency_conflict']);
    });

  it('fields alone are one body as JSON and as multipart', async () => {
    const key = newKey();
    const first = await post(key, { content: 'plain' }, []);
    const second = await fixture.api.call('POST', fixture.path, {
      as: fixture.bot,
      body: { content: 'plain' },
      headers: { 'Idempotency-Key': key },
    });
    expect(second.body.id).to.equal(first.body.id);
  });

  it('twenty at once: one message, its files once', async () => {
    const key = newKey();
    const answers = await Promise.all(Array.from({ length: 20 }, () => post(key, { content: 'race' }, [file, file])));
    const made = answers.filter(({ status }) => status === 201);
    expect(new Set(made.map(({ body }) => body.id)).size).to.equal(1);
    for (const { status } of answers) expect(status).to.be.oneOf([201, 409, 429]);
    expect((await fileDocs(fixture.api)).filter(({ messageId }) => messageId === made[0]?.body.id)).to.have.length(2);
  });

  it('a create taken up again after its message was made keeps the message and drops its new files', async () => {
    const key = newKey();
    const first = await post(key, { content: 'x' }, [file]);
    // As a process leaves it that dies before it keeps its answer.
    await fixture.api.platform.db.idempotency.updateMany({}, { $set: { answer: null, claimedAt: new Date(0) } });
    const second = await post(key, { content: 'x' }, [file]);
    expect([second.status, second.body.id]).to.deep.equal([201, first.body.id]);
    expect(second.body.attachments).to.deep.equal(first.body.attachments);
  });
});
