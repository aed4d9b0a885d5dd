import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiError, type Client, ConnectionError, openFile } from '@parlance/bot';
import { expect } from 'chai';
import { unknownId } from '../../harness/factories.ts';
import { makeFolder } from '../../harness/folder.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from './flaky-api.ts';
import { failureOf, texts, useKit } from './kit-fixture.ts';

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

  const bodies: [what: string, body: object, text: RegExp][] = [
    ['one faulty field', { content: 5 }, /^POST \S+: 400 invalid_request\. The request is not valid: check content \([^()]+\)\.$/],
    [
      'several',
      { content: 5, embeds: 'x' },
      /^POST \S+: 400 invalid_request\. The request is not valid: \/content: [^:]+ \/embeds: [^:]+$/,
    ],
  ];
  for (const [what, body, text] of bodies)
    it(`says once what is wrong with ${what}`, async () => {
      const { message } = (await failureOf(bot.api.createMessage(kit.server.general, body))) as ApiError;
      expect(message).to.match(text);
    });

  it('sends back the embeds of a message without a warning', async () => {
    const warnings: string[] = [];
    bot.on('warning', (text) => warnings.push(text));
    const picture = 'https://example.org/a.png';
    const embeds = [{ image: { url: picture }, thumbnail: { url: picture }, author: { name: 'A', iconUrl: picture }, fields: [] }];
    const first = await bot.api.createMessage(kit.server.general, { embeds });
    expect(first.embeds[0]?.image?.proxyUrl).to.be.a('string');
    const second = await bot.api.createMessage(kit.server.general, { embeds: first.embeds });
    const third = await bot.api.editMessage(kit.server.general, second.id, { embeds: first.embeds });
    const fourth = await bot.api.createMessage(kit.server.general, { embeds: first.embeds }, { files: [new File(['x'], 'x.txt')] });
    for (const { embeds: again } of [second, third, fourth]) expect(again).to.deep.equal(first.embeds);
    expect(warnings).to.deep.equal([]);
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

  it('sends the credential only where it is needed', async () => {
    await bot.api.getInstance();
    await bot.api.getMe();
    expect(flaky.arrivals.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, `Bot ${kit.bot.token}`]);
  });
});

describe('JavaScript kit: order of requests', () => {
  const kit = useKit({ RATE_LIMIT: 'off' });
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  let bot: Client;
  beforeEach(() => {
    bot = kit.client({ url: flaky.url });
    flaky.arrivals.length = 0;
    // So that each request would overtake the one before it.
    flaky.delaysMs = [50, 40, 30, 20, 10];
  });

  it('keeps that of the calls for posts without await, also when one has to be repeated', async () => {
    flaky.plan.push('forward', 'refuse', 'lose');
    await Promise.all(texts(5, 'post').map((content) => bot.api.createMessage(kit.server.general, { content })));
    const messages = await bot.api.listMessages(kit.server.general, { limit: 5 });
    expect(messages.map(({ content }) => content).sort()).to.deep.equal(texts(5, 'post'));
    const inOrder = messages.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(({ content }) => content);
    expect(inOrder).to.deep.equal(texts(5, 'post'));
  });

  it('keeps that of the calls around one that is aborted', async () => {
    const abort = new AbortController();
    const post = (content: string, options = {}) => bot.api.createMessage(kit.server.general, { content }, options);
    await post('before'); // the first answer of a route is waited for
    flaky.arrivals.length = 0;
    flaky.delaysMs = [100];
    const [first, aborted, third] = [post('first'), failureOf(post('never', { signal: abort.signal })), post('third')];
    while (flaky.arrivals.length === 0) await new Promise((resolve) => setImmediate(resolve));
    abort.abort(new Error('not wanted'));
    expect(await aborted).to.have.property('message', 'not wanted');
    expect(BigInt((await first).id) < BigInt((await third).id)).to.equal(true);
  });

  it('keeps that of edits, reactions and threads', async () => {
    const { id } = await bot.api.createMessage(kit.server.general, { content: 'first' });
    flaky.delaysMs = [50, 40, 30, 20, 10];
    await Promise.all(texts(5, 'edit').map((content) => bot.api.editMessage(kit.server.general, id, { content })));
    expect((await bot.api.getMessage(kit.server.general, id)).content).to.equal('edit 4');
    const emojis = ['🎉', '👍', '👀', '🚀'];
    flaky.delaysMs = [0, 40, 30, 20];
    await Promise.all(emojis.map((emoji) => bot.api.addReaction(kit.server.general, id, emoji)));
    const { reactions } = await bot.api.getMessage(kit.server.general, id);
    expect(reactions.map(({ emoji }) => emoji)).to.deep.equal(emojis);
  });

  it('does not hold other channels, reads, or a request whose predecessor was aborted', async () => {
    flaky.plan.push('hang', 'forward', 'forward');
    const abort = new AbortController();
    const hanging = failureOf(bot.api.createMessage(kit.server.general, { content: 'aborted' }, { signal: abort.signal }));
    while (flaky.arrivals.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const later = bot.api.createMessage(kit.server.general, { content: 'after the abort' });
    const waiting = failureOf(bot.api.createMessage(kit.server.general, { content: 'never' }, { signal: abort.signal }));
    await bot.api.getChannel(kit.server.general);
    abort.abort(new Error('not wanted'));
    for (const failure of [await hanging, await waiting]) expect(failure).to.have.property('message', 'not wanted');
    expect((await later).content).to.equal('after the abort');
  });
});

describe('JavaScript kit: answers of something in front of the API', () => {
  const kit = useKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const html = { 'content-type': 'text/html' };
  const date = (secs: number): string => new Date(Date.now() + secs * 1000).toUTCString();
  const answers: [what: string, status: number, headers: Record<string, string>, body: string][] = [
    ['a 429 without a body', 429, {}, ''],
    ['a 429 as HTML', 429, html, '<h1>Too many requests</h1>'],
    ['a 429 with seconds', 429, { ...html, 'retry-after': '1' }, '<h1>Too many requests</h1>'],
    ['a 429 with 0 seconds', 429, { 'retry-after': '0' }, ''],
    ['a 429 with a date', 429, { 'retry-after': date(1) }, ''],
    ['a 429 with a date in the past', 429, { 'retry-after': date(-60) }, ''],
    ['a 429 with JSON of its own', 429, { 'content-type': 'application/json' }, '{"error":"rate limited"}'],
    ['a 429 with JSON and a number as its code', 429, { 'content-type': 'application/json' }, '{"code":429,"message":"Slow down"}'],
    ['a 429 with JSON and a code of its own', 429, { 'content-type': 'application/json' }, '{"code":"TOO_MANY","message":"Slow down"}'],
    ['a 429 with JSON that is cut', 429, { 'content-type': 'application/json' }, '{"error":'],
    ['a 200 as HTML', 200, html, '<h1>Welcome</h1>'],
    ['a 503 with a date', 503, { 'retry-after': date(0) }, ''],
  ];
  for (const [what, status, headers, body] of answers)
    it(`repeats a request after ${what}`, async () => {
      const bot = kit.client({ url: flaky.url });
      const { id } = await bot.api.createMessage(kit.server.general, { content: 'to be pinned' });
      flaky.arrivals.length = 0;
      flaky.plan = [
        { status, headers, body },
        { status, headers, body },
      ];
      expect((await bot.api.createMessage(kit.server.general, { content: what })).content).to.equal(what);
      expect(flaky.arrivals).to.have.length(3);
      expect(await kit.api.platform.db.messages.countDocuments({ content: what })).to.equal(1);
      await bot.api.deleteMessage(kit.server.general, id);
    });

  it('gives up a 429 after the last retry, with its wait in seconds', async () => {
    const bot = kit.client({ url: flaky.url, maxRetries: 1 });
    flaky.plan = Array.from({ length: 2 }, () => ({ status: 429, headers: { 'retry-after': '0.5' }, body: '' }));
    expect(await failureOf(bot.api.getMe()))
      .to.be.instanceOf(ApiError)
      .with.property('retryAfter', 0.5);
  });

  it('names an answer that is not from the API', async () => {
    const bot = kit.client({ url: flaky.url, maxRetries: 0 });
    flaky.plan = [{ status: 200, headers: html, body: '<h1>Welcome</h1>' }];
    expect(String(await failureOf(bot.api.getMe()))).to.contain('The answer is not from the API: it is text/html.');
  });
});

describe('JavaScript kit: rate limits', () => {
  const kit = useKit({ RATE_LIMIT: '20/10' });
  const flaky = use(() => startFlakyApi(() => kit.api.url));

  it('learns a limit from the first answer, so that few of many requests at once are refused', async () => {
    const bot = kit.client({ url: flaky.url });
    flaky.statuses.length = 0;
    await Promise.all(texts(60).map(() => bot.api.getChannel(kit.server.general)));
    expect(flaky.statuses.filter((status) => status === 200)).to.have.length(60);
    expect(flaky.statuses.length, 'refused requests').to.be.lessThan(70);
    expect(flaky.statuses.slice(0, 10)).not.to.include(429);
  });

  it('posts many messages at once, in order', async () => {
    const bot = kit.client({ url: flaky.url });
    const contents = texts(40, 'limited');
    const posted = await Promise.all(contents.map((content) => bot.api.createMessage(kit.server.general, { content })));
    expect(posted.map(({ content }) => content)).to.deep.equal(contents);
    expect(posted.map(({ id }) => id)).to.deep.equal(posted.map(({ id }) => id).sort());
  });

  it('makes follow-ups wait for what edits of the answer have used up', async () => {
    flaky.statuses.length = 0;
    const bot = kit.client({ url: flaky.url }).command('busy', { description: 'Edits its answer' }, async (interaction) => {
      await interaction.reply('edit 0');
      for (const content of texts(6, 'edit')) await interaction.editReply(content);
      await interaction.followUp('after the edits');
    });
    await bot.start();
    await kit.invoke('busy');
    await kit.answer('after the edits');
    expect(flaky.statuses).not.to.include(429);
  });

  it('lets the other requests go when the first one of a route gets no answer', async () => {
    const bot = kit.client({ url: flaky.url, maxRetries: 1 });
    flaky.plan = ['lose'];
    await Promise.all(texts(5).map(() => bot.api.getServer(kit.server.id)));
  });
});

describe('JavaScript kit: the rate limit of a channel', () => {
  // A bot may post 20 messages at once into a channel, and 10 in a second.
  const kit = useKit({ RATE_LIMIT: '20/4' });
  const flaky = use(() => startFlakyApi(() => kit.api.url));

  it('is learned from a refusal, as no other answer tells of it', async () => {
    const bot = kit.client({ url: flaky.url });
    await Promise.all(texts(50).map((content) => bot.api.createMessage(kit.server.general, { content })));
    expect(flaky.statuses.filter((status) => status === 429).length).to.be.lessThan(6);
  });
});
