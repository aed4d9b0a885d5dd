import { expect } from 'chai';
import { catalogue } from '../../../lib/base/errors.ts';
import { unknownId } from '../../harness/factories.ts';
import { send } from '../../harness/requests.ts';
import { use } from '../../harness/use.ts';
import { startFlakyApi } from '../javascript/flaky-api.ts';
import { ScriptedService } from '../javascript/scripted-service.ts';
import { useCalls } from './calls.ts';
import { usePrograms, usePythonKit } from './python-fixture.ts';

describe('sdk/python: requests', () => {
  const kit = usePythonKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const { succeed, fail, log } = useCalls(kit, () => flaky.url, { TIMEOUT: '5', MAX_RETRIES: '3' });
  const listening = useCalls(kit, () => flaky.url, { PRINT_WARNINGS: '1' });
  beforeEach(() => {
    flaky.plan.length = 0;
    flaky.arrivals.length = 0;
  });
  const stored = (content: string): Promise<number> => kit.api.platform.db.messages.countDocuments({ content });

  for (const fate of ['refuse', 'hide', 'lose'] as const)
    it(`create nothing twice when requests fail (${fate})`, async () => {
      flaky.plan.push(fate, fate);
      await succeed('create_message', [kit.server.general], { content: `once, ${fate}` });
      expect(await stored(`once, ${fate}`)).to.equal(1);
      expect(flaky.arrivals).to.have.length(3);
      expect(new Set(flaky.arrivals.map(({ headers }) => headers['idempotency-key'])).size).to.equal(1);
    });

  for (const fate of ['forward', 'refuse', 'lose'] as const)
    it(`post into a channel in the order of the calls (${fate})`, async () => {
      flaky.plan.push(fate);
      const contents = Array.from({ length: 8 }, (_, at) => `in order ${at}, ${fate}`);
      const posted = await Promise.all(
        contents.map((content) => succeed<{ id: string }>('create_message', [kit.server.general], { content })),
      );
      const ids = posted.map(({ id }) => BigInt(id));
      expect(ids).to.deep.equal(ids.toSorted((a, b) => Number(a - b)));
    });

  it('add reactions and pins in the order of the calls', async () => {
    const channel = kit.server.general;
    const allowed = { allow: 1 << 5, deny: 0 }; // Manage Messages, to pin
    await send(kit.api, 200, kit.owner, 'PUT', `/api/channels/${channel}/overwrites/${kit.bot.id}`, allowed);
    const ids: string[] = [];
    for (const content of ['a', 'b', 'c', 'd']) ids.push((await succeed<{ id: string }>('create_message', [channel], { content })).id);
    const [message = ''] = ids;
    const emojis = ['🎲', '👋', '👍', '🎉'];
    for (const [call, paths] of [
      ['add_reaction', emojis.map((emoji) => [channel, message, emoji])],
      ['pin_message', ids.map((id) => [channel, id])],
    ] as const) {
      const [first = [], ...others] = paths;
      await succeed(call, first); // so that the rate limit is known, for which other requests wait
      flaky.delaysMs.push(200);
      await Promise.all(others.map((path) => succeed(call, path)));
    }
    const { reactions } = await succeed<{ reactions: { emoji: string }[] }>('get_message', [channel, message]);
    expect(reactions.map(({ emoji }) => emoji)).to.deep.equal(emojis);
    const pins = await succeed<{ id: string }[]>('list_pins', [channel]);
    expect(pins.map(({ id }) => id)).to.deep.equal(ids.toReversed());
  });

  it('keep the names of files', async () => {
    const names = ['größe.txt', 'my file.txt', '写真 1.txt', 'a+b&c=100%25.txt', "it's.txt"];
    const { attachments } = await succeed<{ attachments: { filename: string }[] }>('create_message', [kit.server.general], {
      files: names.map((name) => [name, 'text']),
    });
    expect(attachments.map(({ filename }) => filename)).to.deep.equal(names);
    expect(await succeed('create_message', [kit.server.general], { files: [['a\r\nX-Header: b"c\\d.txt', 'text']] })).to.have.property(
      'id',
    );
  });

  it('send back embeds as they were received', async () => {
    const image = { url: 'https://images.example/a.png' };
    const embed = { title: 'shown', image, thumbnail: image, author: { name: 'ada', iconUrl: image.url } };
    const first = await succeed<{ id: string }>('create_message', [kit.server.general], { embeds: [embed] });
    const again = await succeed<{ embeds: object[] }>('send_back', [kit.server.general, first.id]);
    expect(again.embeds[0]).to.have.nested.property('author.name', 'ada');
    expect(log()).to.not.include('proxy');
  });

  it('upload files once when the answer is lost', async () => {
    flaky.plan.push('lose');
    const files = [
      ['notes.txt', 'some notes'],
      ['table.csv', 'a,b\n'],
    ];
    const { attachments } = await succeed<{ attachments: { filename: string; size: number; contentType: string }[] }>(
      'create_message',
      [kit.server.general],
      { content: 'with files', files },
    );
    expect(attachments.map(({ filename, size, contentType }) => [filename, size, contentType])).to.deep.equal([
      ['notes.txt', 10, 'text/plain'],
      ['table.csv', 4, 'text/csv'],
    ]);
    expect(await stored('with files')).to.equal(1);
  });

  it('succeed when the answer to a deletion is lost', async () => {
    const { id } = await kit.post('to be deleted');
    flaky.plan.push('lose');
    await succeed('delete_message', [kit.server.general, id]).catch(() => undefined);
    const own = await succeed<{ id: string }>('create_message', [kit.server.general], { content: 'own' });
    flaky.plan.push('lose');
    await succeed('delete_message', [kit.server.general, own.id]);
    expect(await stored('own')).to.equal(0);
  });

  it('are not repeated if they may run only once', async () => {
    flaky.plan.push('lose');
    expect((await fail('start_typing', [kit.server.general])).code).to.equal('failed');
    expect(flaky.arrivals).to.have.length(1);
  });

  it('give up after the last attempt', async () => {
    flaky.plan.push(...Array.from({ length: 4 }, () => 'refuse' as const));
    expect(await fail('get_me', [])).to.include({
      status: 503,
      code: 'http_503',
      text: 'GET /api/auth/me: this answer does not come from Parlance, but from a proxy or another server (503)',
    });
    expect(flaky.arrivals).to.have.length(4);
  });

  for (const id of ['', '.', '..'])
    it(`are not sent for the id "${id}", which would lead to another path`, async () => {
      expect(await fail('get_channel', [id])).to.include({ code: 'refused by the kit', text: `channelId must not be '${id}'` });
      expect(flaky.arrivals).to.have.length(0);
    });

  it('are repeated when there is no answer in time', async () => {
    flaky.plan.push('hang');
    expect(await succeed('get_me', [])).to.have.property('id', kit.bot.id);
    expect(flaky.arrivals).to.have.length(2);
  });

  it('that are refused raise an ApiError', async () => {
    expect(await fail('get_channel', [unknownId])).to.include({ status: 404, code: 'not_found' });
    const missing = await fail('create_role', [kit.server.id], { name: 'x' });
    expect(missing).to.deep.include({ status: 403, code: 'missing_permission', missing: ['Manage Roles'] });
    expect(missing.text).to.equal('POST /api/servers/{serverId}/roles: Missing permission: Manage Roles. (403 missing_permission)');
    expect(missing.requestId).to.match(/^[\w-]{8,}$/);
    const faulty = await fail('create_message', [kit.server.general], { embeds: [{ title: 'x'.repeat(300) }] });
    expect(faulty.fields).to.deep.equal(['/embeds/0/title']);
    expect(faulty.text).to.match(/^POST \/api\/channels\/\{channelId\}\/messages: \/embeds\/0\/title: [^:]+ \(400 invalid_request\)$/);
  });

  it('keep what is not given, and clear what is None', async () => {
    const as = kit.owner.as;
    const role = await kit.api.call<{ id: string }>('POST', `/api/servers/${kit.server.id}/roles`, {
      as,
      body: { name: 'r', color: '#112233' },
    });
    const path = [kit.server.id, role.body.id];
    await kit.api.call('PATCH', `/api/servers/${kit.server.id}/roles/${kit.bot.roleId}`, {
      as,
      body: { permissions: 0b10001111, position: 2 },
    });
    expect(await succeed('update_role', path, { name: 'renamed' })).to.include({ name: 'renamed', color: '#112233' });
    expect(await succeed('update_role', path, { color: null })).to.include({ name: 'renamed', color: null });
  });

  it('log each warning of the service once, and no token', async () => {
    flaky.addedHeaders = { Warnings: 'unknown field /tts' };
    await succeed('get_me', []);
    await succeed('get_me', []);
    flaky.addedHeaders = {};
    expect(log().split('unknown field /tts')).to.have.length(2);
    expect((await fail('get_webhook', ['secret-part'])).text).to.not.include('secret-part');
    expect(log()).to.not.include(kit.bot.token);
  });

  it('hand warnings to a listener instead of the log', async () => {
    flaky.addedHeaders = { Warnings: 'unknown field /tts' };
    await listening.succeed('get_me', []);
    flaky.addedHeaders = {};
    expect((await listening.warning()).warning).to.equal('GET /api/auth/me: unknown field /tts');
    expect(listening.log()).to.not.include('unknown field');
  });

  it('send the token only where it is needed', async () => {
    await succeed('get_instance', []);
    await succeed('get_me', []);
    expect(flaky.arrivals.map(({ headers }) => headers.authorization)).to.deep.equal([undefined, `Bot ${kit.bot.token}`]);
  });
});

describe('sdk/python: rate limits', () => {
  const kit = usePythonKit(async () => ({ RATE_LIMIT: '20/10' }));
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const { succeed } = useCalls(kit, () => flaky.url);
  const run = usePrograms();

  it('are learned from the first request and waited for, so that few requests are refused', async () => {
    await Promise.all(Array.from({ length: 60 }, () => succeed('get_channel', [kit.server.general])));
    expect(flaky.arrivals.length).to.be.within(60, 66);
    const contents = Array.from({ length: 30 }, (_, at) => `limited ${at}`);
    const before = flaky.arrivals.length;
    await Promise.all(contents.map((content) => succeed('create_message', [kit.server.general], { content })));
    expect(flaky.arrivals.length - before).to.be.within(30, 36);
  });

  it('of an interaction are known to follow-ups after edits of the answer', async () => {
    const program = run('commands', { ...kit.env(), PARLANCE_URL: flaky.url });
    await program.waitFor(({ ready }) => ready !== undefined);
    flaky.statuses.length = 0;
    await kit.invoke('busy');
    await kit.answer('after the edits');
    expect(flaky.statuses).not.to.include(429);
  });
});

describe('sdk/python: the rate limit of a channel', () => {
  // A bot may post 20 messages at once into a channel, and 10 in a second.
  const kit = usePythonKit(async () => ({ RATE_LIMIT: '20/4' }));
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const { succeed } = useCalls(kit, () => flaky.url);

  it('is learned from a refusal, as no other answer tells of it', async () => {
    const contents = Array.from({ length: 50 }, (_, at) => `paced ${at}`);
    await Promise.all(contents.map((content) => succeed('create_message', [kit.server.general], { content })));
    expect(flaky.arrivals.length).to.be.within(50, 55);
  });
});

describe('sdk/python: limits of time', () => {
  const kit = usePythonKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  // What waits until the limit of a route is known would wait for longer than the tests.
  const { call, succeed, fail } = useCalls(kit, () => flaky.url, { TIME_LIMIT_SECS: '2', LEARN_SECS: '600' });
  const limited = { status: 429, headers: { 'retry-after': '0' }, body: '' };
  /** Makes the program wait for 3 seconds before its next request. */
  const exhaust = async (): Promise<void> => {
    const values = { bucket: 'caller', limit: '1', remaining: '0', 'reset-after': '3' };
    flaky.addedHeaders = Object.fromEntries(Object.entries(values).map(([name, value]) => [`x-ratelimit-${name}`, value]));
    await succeed('get_me', []);
    flaky.addedHeaders = {};
  };
  beforeEach(() => {
    flaky.plan.length = 0;
    flaky.arrivals.length = 0;
  });

  it('hold few requests after refusals that name no delay', async () => {
    flaky.plan.push(...Array.from({ length: 1000 }, () => limited));
    expect(await fail('get_instance', [])).to.include({ status: 429 });
    expect(flaky.arrivals.length).to.be.within(2, 8);
  });

  it('do not count the wait for the rate limit before the first attempt', async () => {
    await exhaust();
    flaky.plan.push(limited);
    await succeed('get_me', []);
    expect(flaky.arrivals).to.have.length(3);
  });

  it('do not hold a request back whose predecessor was cancelled while it waited', async () => {
    await exhaust();
    expect((await call('list_servers', [], {}, { cancelAfter: 0.05 })).error?.code).to.equal('cancelled');
    await succeed('list_servers', []);
    expect(flaky.arrivals).to.have.length(2);
  });
});

describe('sdk/python: answers of others than Parlance', () => {
  const kit = usePythonKit();
  const flaky = use(() => startFlakyApi(() => kit.api.url));
  const { succeed, fail } = useCalls(kit, () => flaky.url, { MAX_RETRIES: '1' });
  const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Please log in</h1>' };
  const redirect = { status: 302, headers: { location: 'https://portal.example/secret?token=1' } };
  beforeEach(() => {
    flaky.plan.length = 0;
    flaky.arrivals.length = 0;
  });

  const limits: [what: string, headers: Record<string, string>][] = [
    ['in seconds', { 'retry-after': '0.02' }],
    ['by a date', { 'retry-after': new Date(Date.now() - 1000).toUTCString() }],
    ['in words', { 'retry-after': 'soon' }],
    ['not at all', {}],
  ];
  for (const [what, headers] of limits)
    for (const body of ['', '<h1>Slow down</h1>', '[]'])
      it(`wait after 429 with "${body}" that says ${what} how long`, async () => {
        flaky.plan.push({ status: 429, headers, body }, { status: 429, headers, body }, { status: 429, headers, body });
        await succeed('start_typing', [kit.server.general]);
        expect(flaky.arrivals).to.have.length(4);
      });

  for (const body of ['{"code":429,"message":"Slow down"}', '{"code":"TOO_MANY_REQUESTS"}', '{"code":null}', '{"code":["slow"]}'])
    it(`wait after 429 with ${body}`, async () => {
      flaky.plan.push({ status: 429, headers: { 'retry-after': '0.02' }, body });
      await succeed('start_typing', [kit.server.general]);
      expect(flaky.arrivals).to.have.length(2);
    });

  for (const [code, { status }] of Object.entries(catalogue))
    if (status === 429 && code !== 'rate_limited')
      it(`are told from the refusal ${code} of Parlance, which is not repeated`, async () => {
        flaky.plan.push({ status, body: JSON.stringify({ code, message: 'Later.', retryAfter: 0.02 }) });
        expect((await fail('start_typing', [kit.server.general])).code).to.equal(code);
        expect(flaky.arrivals).to.have.length(1);
      });

  for (const answer of [page, redirect])
    it(`are no result: ${answer.status}`, async () => {
      flaky.plan.push(answer);
      expect(await succeed('get_me', [])).to.have.property('id', kit.bot.id);
      flaky.plan.push(answer, answer);
      const { code, text } = await fail('get_me', []);
      expect(code).to.equal('failed');
      expect(text).to.match(/the answer is not JSON \(text\/html\): a proxy|redirects to https:\/\/portal\.example: use/);
      expect(text).to.not.include('secret');
    });

  const bodies = ['<h1>No</h1>', '[]', '{"code":5,"errors":"x","missing":{},"retryAfter":[]}', '{"errors":[1,{}],"message":null}'];
  for (const body of bodies)
    it(`are errors with a clear text: ${body}`, async () => {
      flaky.plan.push({ status: 403, body });
      expect(await fail('get_me', [])).to.include({ status: 403 });
    });
});

describe('sdk/python: a service behind a portal', () => {
  const service = use(ScriptedService.start);
  const flaky = use(() => startFlakyApi(() => service.url));
  const run = usePrograms();

  it('is connected to when the portal lets it through', async () => {
    const page = { status: 200, headers: { 'content-type': 'text/html' }, body: '<h1>Please log in</h1>' };
    const program = run('record', { PARLANCE_URL: flaky.url, PARLANCE_TOKEN: 'secret' });
    flaky.plan.push({ status: 200, body: '{"id":"1"}' }, page, { status: 200, body: '{"url":5}' });
    expect((await service.next()).op).to.equal(2);
    service.ready();
    await program.waitFor(({ ready }) => ready === 's1');
    expect(flaky.arrivals.filter(({ line }) => line === 'GET /api/gateway')).to.have.length(3);
    expect(program.log()).to.include('the answer is not JSON').and.include('the answer does not come from Parlance');
  });
});
