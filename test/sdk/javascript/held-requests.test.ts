import { mock } from 'node:test';
import { ApiError, Client, type ClientOptions } from '@parlance/bot';
import { expect } from 'chai';
import { use } from '../../harness/use.ts';
import { type FlakyApi, startFlakyApi } from './flaky-api.ts';
import { failureOf } from './kit-fixture.ts';

type Answer = Extract<FlakyApi['plan'][number], object>;
const answer = (status: number, body: unknown, headers: Record<string, string> = {}): Answer => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
});
const limited = (retryAfter: number, headers: Record<string, string> = {}): Answer =>
  answer(429, { code: 'rate_limited', message: 'Too many requests.', requestId: '12345678', retryAfter }, headers);
const bucket = (name: string, remaining: number): Record<string, string> => ({
  'x-ratelimit-bucket': name,
  'x-ratelimit-limit': '100',
  'x-ratelimit-remaining': String(remaining),
  'x-ratelimit-reset-after': '1',
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('JavaScript kit: requests that are held', () => {
  // Nothing is forwarded: each test plans all answers.
  const flaky = use(() => startFlakyApi(() => 'http://127.0.0.1:1'), { each: true });
  const aborts: AbortController[] = [];
  const makeClient = (options: ClientOptions = {}): Client => new Client({ url: flaky.url, token: 'secret', ...options });
  /** A signal that is aborted after the test. */
  const untilEnd = (): AbortController => {
    const abort = new AbortController();
    aborts.push(abort);
    return abort;
  };
  const lines = (): string[] => flaky.arrivals.map(({ line }) => line);
  /** Waits until the client has sent what it can, and read the answers: these requests have no limit. */
  const roundTrips = async (bot: Client): Promise<void> => {
    for (let count = 0; count < 3; count++) {
      await turn();
      flaky.plan.push(answer(200, {}));
      await bot.api.getInstance();
    }
  };
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
    for (const abort of aborts.splice(0)) abort.abort(new Error('the test is over'));
  });

  for (const name of ['caller', 'owner'])
    it(`wait in all channels after a refusal by the bucket \`${name}\``, async () => {
      const bot = makeClient();
      flaky.plan = [answer(200, {}, bucket('caller', 90)), limited(50, bucket(name, 0))];
      await bot.api.getChannel('1');
      const calls = [failureOf(bot.api.getChannel('1', untilEnd()))];
      while (flaky.arrivals.length < 2) await turn();
      await roundTrips(bot);
      calls.push(failureOf(bot.api.getChannel('2', untilEnd())));
      await roundTrips(bot);
      expect(lines().filter((line) => line.includes('/channels/'))).to.deep.equal(['GET /api/channels/1', 'GET /api/channels/1']);
      for (const abort of aborts) abort.abort(new Error('not wanted'));
      for (const failure of await Promise.all(calls)) expect(failure).to.have.property('message', 'not wanted');
    });

  it('end when they are aborted, also behind others', async () => {
    const bot = makeClient();
    flaky.plan = [answer(200, {}, bucket('caller', 90)), limited(50, bucket('caller', 0))];
    await bot.api.getChannel('1');
    void failureOf(bot.api.getChannel('1', untilEnd()));
    while (flaky.arrivals.length < 2) await turn();
    await roundTrips(bot);
    void failureOf(bot.api.getChannel('2', untilEnd()));
    const abort = untilEnd();
    let failure: unknown = 'none';
    void failureOf(bot.api.getChannel('3', abort)).then((error) => {
      failure = error;
    });
    await turn();
    abort.abort(new Error('not wanted'));
    await roundTrips(bot);
    expect(failure).to.have.property('message', 'not wanted');
  });

  it('do not wait for the first one of their route if that is aborted before it is sent', async () => {
    const bot = makeClient();
    expect(await failureOf(bot.api.getChannel('1', { signal: AbortSignal.abort(new Error('not wanted')) }))).to.be.instanceOf(Error);
    mock.timers.enable({ apis: ['setTimeout'] }); // so that the wait for the first one would not end
    flaky.plan = [answer(200, { id: '1' })];
    expect(await bot.api.getChannel('1')).to.deep.equal({ id: '1' });
  });

  const endless: [what: string, answer: Answer, status: number][] = [
    ['is refused by a rate limit', limited(0), 429],
    ['fails', answer(503, { message: 'down' }, { 'retry-after': '0' }), 503],
  ];
  for (const [what, again, status] of endless)
    it(`give up with the last error when one ${what} again and again for 5 minutes`, async () => {
      const now = performance.now.bind(performance);
      let laterMs = 0;
      mock.method(performance, 'now', () => now() + laterMs);
      mock.method(Math, 'random', () => 0);
      flaky.plan = Array.from({ length: 50 }, () => again);
      const failure = failureOf(makeClient({ maxRetries: 100 }).api.getChannel('1'));
      while (flaky.arrivals.length < 3) await turn();
      laterMs = 301_000;
      expect(await failure)
        .to.be.instanceOf(ApiError)
        .with.property('status', status);
      expect(flaky.arrivals.length).to.be.lessThan(50);
    });

  const strange: unknown[] = [
    { message: 'x', errors: { x: ['y'] } },
    { message: 'x', errors: null },
    { message: 'x', errors: ['text'] },
    { message: 'x', errors: [null, { path: 1 }] },
    { code: 400, message: { text: 'x' }, missing: 'x', requestId: 1 },
    null,
    'text',
    [],
  ];
  for (const body of strange)
    it(`that something else refuses with ${JSON.stringify(body)} throw an ApiError without fields`, async () => {
      flaky.plan = [answer(400, body)];
      const failure = await failureOf(makeClient().api.getChannel('1'));
      expect(failure).to.be.instanceOf(ApiError);
      expect(failure).to.deep.include({ status: 400, code: undefined, fields: [], missing: [], requestId: undefined });
    });
});
