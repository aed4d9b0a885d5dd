import { expect } from 'chai';
import { loseAnswers } from '../harness/factories.ts';
import { inParallel } from '../harness/requests.ts';
import { expectNoOrphans, fileDocs, formOf, rawBody, type Sent, useUploads } from './fixture.ts';

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
