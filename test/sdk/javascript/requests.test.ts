import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type Client, ConnectionError, openFile } from '@parlance/bot';
import { expect } from 'chai';
import { unknownId } from '../../harness/factories.ts';
import { makeFolder } from '../../harness/folder.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from './flaky-api.ts';
import { texts, useKit } from './kit-fixture.ts';

const failureOf = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('JavaScript kit: requests', () => {
  const kit = useKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const folder = use(makeFolder);
  let bot: Client;
  beforeEach(() => {
    bot = kit.client({ url: flaky.url, maxRetries: 3 });
    flaky.plan.length = 0;
    flaky.arrivals.length = 0;
  });
  const stored = async (content: string): Promise<number> => kit.api.platform.db.messages.countDocuments({ content });

  const fates = ['refuse', 'hide', 'lose'] as const;
  for (const fate of fates)
    it(`creates nothing twice when requests fail (${fate})`, async () => {
      flaky.plan.push(fate, fate);
      const { content } = await bot.api.createMessage(kit.server.general, { content: `once, ${fate}` });
      expect(content).to.equal(`once, ${fate}`);
      expect(await stored(content)).to.equal(1);
      expect(new Set(flaky.arrivals.map(({ headers }) => headers['idempotency-key'])).size).to.equal(1);
      expect(flaky.arrivals).to.have.length(3);
    });

  it('creates a message with files once when the answer is lost', async () => {
    flaky.plan.push('lose');
    const path = join(folder.path, 'notes.txt');
    writeFileSync(path, 'from disk');
    const files = [
      new File(['from a File'], 'file.txt', { type: 'text/plain' }),
      { name: 'bytes.bin', data: Buffer.from([1, 2, 3]) },
      await openFile(path),
    ];
    const { attachments } = await bot.api.createMessage(kit.server.general, { content: 'with files' }, { files });
    expect(attachments.map(({ filename, size }) => [filename, size])).to.deep.equal([
      ['file.txt', 11],
      ['bytes.bin', 3],
      ['notes.txt', 9],
    ]);
    expect(await stored('with files')).to.equal(1);
  });

  it('succeeds when the answer to a deletion is lost', async () => {
    const { id } = await bot.api.createMessage(kit.server.general, { content: 'to be deleted' });
    flaky.plan.push('lose');
    await bot.api.deleteMessage(kit.server.general, id);
    expect(await stored('to be deleted')).to.equal(0);
  });

  it('does not repeat a request that may run only once', async () => {
    flaky.plan.push('lose');
    expect(await failureOf(bot.api.startTyping(kit.server.general))).to.be.instanceOf(ConnectionError);
    expect(flaky.arrivals).to.have.length(1);
  });

  it('gives up after the last retry', async () => {
    flaky.plan.push('refuse', 'refuse', 'refuse', 'refuse');
    const error = await failureOf(bot.api.getMe());
    expect(error).to.be.instanceOf(ApiError).with.property('status', 503);
    expect(flaky.arrivals).to.have.length(4);
  });

  it('ends at its timeout and by its signal', async () => {
    flaky.plan.push('hang', 'hang');
    const impatient = kit.client({ url: flaky.url, maxRetries: 0 });
    expect(await failureOf(impatient.api.getMe({ timeoutMs: 50 }))).to.be.instanceOf(ConnectionError);
    expect(await failureOf(bot.api.getMe({ signal: AbortSignal.abort(new Error('not wanted')) }))).to.have.property(
      'message',
      'not wanted',
    );
  });

  const refusals: [what: string, call: () => Promise<unknown>, expected: Partial<ApiError>][] = [
    ['an unknown channel', () => bot.api.getChannel(unknownId), { status: 404, code: 'not_found' }],
    [
      'a missing permission',
      () => bot.api.createRole(kit.server.id, { name: 'x' }),
      { status: 403, code: 'missing_permission', missing: ['Manage Roles'] },
    ],
  ];
  for (const [what, call, expected] of refusals)
    it(`throws an ApiError for ${what}`, async () => {
      const error = (await failureOf(call())) as ApiError;
      expect(error).to.be.instanceOf(ApiError);
      expect(error).to.deep.include(expected);
      expect(error.requestId).to.match(/^[\w-]{8,}$/);
    });

  for (const id of ['', '.', '..'])
    it(`sends no request for the id "${id}", which would lead to another path`, async () => {
      expect(await failureOf(bot.api.getChannel(id))).to.be.instanceOf(TypeError);
      expect(await failureOf(bot.api.getChannel('../servers'))).to.be.instanceOf(ApiError);
      expect(flaky.arrivals.map(({ line }) => line)).to.deep.equal(['GET /api/channels/..%2Fservers']);
    });

  it('names the faulty fields of a refused body', async () => {
    const embeds = [{ title: 'x'.repeat(300) }];
    const error = (await failureOf(bot.api.createMessage(kit.server.general, { embeds }))) as ApiError;
    expect(error.fields.map(({ path }) => path)).to.deep.equal(['/embeds/0/title']);
  });

  it('reports each warning of the API once', async () => {
    const warnings: string[] = [];
    bot.on('warning', (text) => warnings.push(text));
    flaky.addedHeaders = { Warnings: 'unknown field /tts' };
    await bot.api.getMe();
    await bot.api.getMe();
    flaky.addedHeaders = {};
    expect(warnings).to.deep.equal(['GET /api/auth/me: unknown field /tts']);
  });

  it('registers commands only when they have changed', async () => {
    const declare = async (description: string): Promise<string[]> => {
      const client = kit.client({ url: flaky.url });
      await client.command('one', { description, options: { text: { description: 'Text' } } }, () => undefined).registerCommands();
      return flaky.arrivals.splice(0).map(({ line }) => line.slice(0, 3));
    };
    expect(await declare('First')).to.deep.equal(['GET', 'GET', 'PUT']);
    expect(await declare('First')).to.deep.equal(['GET', 'GET']);
    expect(await declare('Second')).to.deep.equal(['GET', 'GET', 'PUT']);
  });

  it('sends the credential only where it is needed', async () => {
    await bot.api.getInstance();
    await bot.api.getMe();
    expect(flaky.arrivals.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, `Bot ${kit.bot.token}`]);
  });
});

describe('JavaScript kit: rate limits', () => {
  const kit = useKit({ RATE_LIMIT: '20/10' });
  const flaky = use(() => startFlakyApi(() => kit.api.url));

  it('waits for rate limits, so that all requests succeed, and learns to send no more than allowed', async () => {
    const bot = kit.client({ url: flaky.url });
    const contents = texts(40, 'limited');
    const posted = await Promise.all(contents.map((content) => bot.api.createMessage(kit.server.general, { content })));
    expect(posted.map(({ content }) => content)).to.deep.equal(contents);
    // The first answer tells which bucket the route has.
    await bot.api.getChannel(kit.server.general);
    const before = flaky.arrivals.length;
    await Promise.all(texts(40).map(() => bot.api.getChannel(kit.server.general)));
    expect(flaky.arrivals.length - before, 'once the bucket is known, few requests are refused').to.be.within(40, 60);
  });
});
