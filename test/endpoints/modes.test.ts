import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import type { EndpointDeliveryOutcome } from '../../lib/contract/endpoint.ts';
import type { InteractionState } from '../../lib/contract/interaction.ts';
import { type Answering, reply } from '../harness/endpoint.ts';
import { useEndpointFixture } from '../harness/endpoint-fixture.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';

/** Answers 200 with these bytes. */
const bytes =
  (body: Buffer | string, headers: Record<string, string> = {}): Answering =>
  (_received, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)), ...headers });
    response.end(body);
  };
/** Writes these bytes to the socket and closes it. */
const raw =
  (...pieces: readonly string[]): Answering =>
  (_received, response) =>
    void response.socket?.end(pieces.join('\r\n'));

const message = (content: string) => ({ type: 'message', content });
const json = JSON.stringify(message('hi'));
const padded = (size: number): string => json.padEnd(size, ' ');
const sized = `Content-Length: ${json.length}`;
const maxBytes = limits.endpointResponseBytes;

describe('Interactions Endpoint: answers of the endpoint', () => {
  const other = use(() => startSite((_request, response) => response.end(json)));
  const { endpointFixture, fixture } = useEndpointFixture(() => [other.pair, `localhost:${other.port}`]);

  /** Uses the command and runs its job twice. Expects exactly one request, on at most one new connection, and this outcome in the owner's log. */
  const deliver = async (
    by: Answering,
    outcome: EndpointDeliveryOutcome,
    status: number | null,
    reason: RegExp | null,
  ): Promise<string> => {
    const { endpoint } = endpointFixture;
    const { site } = endpoint;
    endpoint.answer(by);
    const [asked, opened] = [site.asked.length, site.opened()];
    const id = await fixture.use();
    await endpointFixture.post(id);
    await endpointFixture.post(id);
    expect(site.asked.length).to.equal(asked + 1);
    expect(site.opened() - opened).to.be.within(0, 1);
    expect(other.opened()).to.equal(0);
    const [latest] = await endpointFixture.log();
    expect(latest).to.include({ id, interactionId: id, status, outcome });
    if (reason) expect(latest?.reason).to.match(reason);
    else expect(latest?.reason).to.equal(null);
    return id;
  };
  const contents = async (): Promise<string[]> => (await fixture.messages()).map(({ content }) => content);
  /** Expects that the interaction is unanswered, that the person was told of `updates`, and that a callback can answer it. */
  const expectUnanswered = async (id: string, updates: readonly string[] = []): Promise<void> => {
    const { endpoint } = endpointFixture;
    const [known, asked] = [await contents(), endpoint.site.asked.length];
    expect(await endpointFixture.view(id)).to.include({ state: 'created', messageId: null });
    expect(await fixture.relayedStates(id)).to.deep.equal(updates);
    expect(await fixture.botEvents()).to.deep.equal([]);
    expect((await fixture.send('callback', id, message(`by callback ${id}`))).status).to.equal(201);
    expect(await contents()).to.deep.equal([...known, `by callback ${id}`]);
    expect(await fixture.relayedStates(id)).to.deep.equal(['answered']);
    await endpointFixture.post(id);
    expect(endpoint.site.asked).to.have.length(asked);
  };

  const interim = ['HTTP/1.1 100 Continue', 'X-A: b', '', 'HTTP/1.1 102 Processing', '', 'HTTP/1.1 103 Early Hints', 'Link: </x>', ''];
  const compressed = {
    gzip: gzipSync(json),
    'X-GZip': gzipSync(json),
    deflate: deflateSync(json),
    br: brotliCompressSync(json),
    identity: Buffer.from(json),
    'deflate, gzip, br': brotliCompressSync(gzipSync(deflateSync(json))),
  };
  const applied: readonly (readonly [what: string, by: Answering, content: string])[] = [
    ['200 with a message', reply(200, message('hi')), 'hi'],
    ['200 with embeds alone', reply(200, { type: 'message', embeds: [{ title: 't' }] }), ''],
    ['additional unknown fields', reply(200, { ...message('hi'), id: '1', state: 'expired', nonce: 'n', authorId: '2' }), 'hi'],
    ['content like an expression', reply(200, message('$answer')), '$answer'],
    ['content like a variable', reply(200, message('$$NOW')), '$$NOW'],
    ['exactly 2000 characters', reply(200, message('😀'.repeat(2000))), '😀'.repeat(2000)],
    ['half a surrogate pair', bytes('{"type":"message","content":"a\\ud800"}'), 'a\ufffd'],
    ['another Content-Type', bytes(json, { 'content-type': 'text/html' }), 'hi'],
    ['a byte order mark first', bytes(`\ufeff${json}`), 'hi'],
    ['JSON of exactly 256 KiB', bytes(padded(maxBytes)), 'hi'],
    [
      'a body in pieces',
      (_received, response) => void (response.write(json.slice(0, 9)), setImmediate(() => response.end(json.slice(9)))),
      'hi',
    ],
    ['several cookies', (_received, response) => void response.setHeader('set-cookie', ['a=b', 'c=d']).end(json), 'hi'],
    ['100 Continue with headers, then 102 and 103', raw(...interim, 'HTTP/1.1 200 OK', sized, '', json), 'hi'],
    [
      '100 Continue in pieces',
      (_received, { socket }) => {
        const pieces = ['HTTP', '/1.1 100 Contin', 'ue\r\n\r', '\nHTTP/1.', `1 200 OK\r\n${sized}\r\n\r`, `\n${json}`];
        const next = (): void => void (pieces.length ? socket?.write(pieces.shift() ?? '', () => setImmediate(next)) : socket?.end());
        next();
      },
      'hi',
    ],
    ...Object.entries(compressed).map(([coding, body]) => [coding, bytes(body, { 'content-encoding': coding }), 'hi'] as const),
    ['deflate without the header of zlib', bytes(deflateRawSync(json), { 'content-encoding': 'deflate' }), 'hi'],
    ['deflate of 256 KiB', bytes(deflateRawSync(padded(maxBytes)), { 'content-encoding': 'deflate' }), 'hi'],
    ['HTTP/1.0 without a length', raw('HTTP/1.0 200 OK', '', json), 'hi'],
  ];
  for (const [what, by, content] of applied)
    it(`${what}: the interaction is answered`, async () => {
      const known = await contents();
      const id = await deliver(by, 'answered', 200, null);
      const [last] = (await fixture.messages()).slice(known.length);
      expect(last).to.include({ content, authorId: fixture.bot.id });
      expect(last?.interaction).to.deep.equal({ id, userId: fixture.seeded.ownerId, name: 'hello' });
      expect(await contents()).to.have.length(known.length + 1);
      expect(await endpointFixture.view(id)).to.include({ state: 'answered', messageId: last?._id });
      expect(await fixture.relayedStates(id)).to.deep.equal(['answered']);
      expect((await fixture.send('callback', id, message('again'))).body.code).to.equal('already_answered');
    });

  const hidden: readonly [what: string, body: object, outcome: EndpointDeliveryOutcome, state: InteractionState, sees: string[]][] = [
    ['an ephemeral message', { ...message('secret'), ephemeral: true }, 'answered', 'answered', ['hidden: secret', 'answered']],
    ['a defer', { type: 'defer' }, 'deferred', 'deferred', ['deferred']],
    ['an ephemeral defer', { type: 'defer', ephemeral: true }, 'deferred', 'deferred', ['deferred']],
  ];
  for (const [what, body, outcome, state, sees] of hidden)
    it(`200 with ${what}: the interaction is ${outcome}`, async () => {
      const known = await contents();
      const id = await deliver(reply(200, body), outcome, 200, null);
      expect(await endpointFixture.view(id)).to.include({ state, messageId: null });
      expect(await fixture.relayedStates(id)).to.deep.equal(sees);
      expect(await contents()).to.deep.equal(known);
      expect((await fixture.send('callback', id, message('again'))).body.code).to.equal('already_answered');
      if (state === 'answered') return;
      expect((await fixture.send('followup', id, { content: what })).status).to.equal(201);
      const secret = 'ephemeral' in body;
      expect(await fixture.relayedStates(id)).to.deep.equal(secret ? [`hidden: ${what}`, 'answered'] : ['answered']);
      expect(await contents()).to.deep.equal(secret ? known : [...known, what]);
    });

  const empty: readonly [what: string, by: Answering, status?: number][] = [
    ['204', reply(204), 204],
    ['204 after 100 Continue', raw('HTTP/1.1 100 Continue', '', 'HTTP/1.1 204 No Content', '', ''), 204],
    ['gzip of nothing', bytes(gzipSync(''), { 'content-encoding': 'gzip' })],
    ['no bytes, said to be gzip', bytes('', { 'content-encoding': 'gzip' })],
    ['200 with Content-Length 0', bytes('')],
    ['200 without any chunk', (_received, response) => void response.writeHead(200, { 'transfer-encoding': 'chunked' }).end()],
    ['200 without a length, and closes', raw('HTTP/1.1 200 OK', 'Connection: close', '', '')],
  ];
  for (const [what, by, status = 200] of empty)
    it(`${what}: the outcome is empty and a callback can answer`, async () => {
      await expectUnanswered(await deliver(by, 'empty', status, null));
    });

  const to = (status: number, location: () => string): Answering => {
    return (_received, response) => void response.writeHead(status, { location: location() }).end(json);
  };
  const noJson = /^body: is not valid JSON in UTF-8$/;
  const noObject = /^invalid_request: .*check the body \(This must be an object\)/;
  const tooLong = /^body: is longer than 262144 bytes$/;
  const nested = (depth: number): string => `{"type":"message","content":"x","deep":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const refused: readonly (readonly [what: string, by: Answering, status: number | null, reason: RegExp])[] = [
    ...[201, 202, 206, 400, 401, 404, 429, 500, 503].map(
      (status) => [String(status), reply(status, json), status, new RegExp(`^status: is ${status}; only 200 is accepted$`)] as const,
    ),
    ['500 with an endless body', (_received, response) => response.writeHead(500).write('x'), 500, /^status: is 500;/],
    ...[301, 302, 303, 307, 308].flatMap(
      (status) =>
        [
          [`${status} to itself`, to(status, () => endpointFixture.endpoint.url), status, /^status: is 30/],
          [`${status} to loopback`, to(status, () => `${other.url}/`), status, /^status: is 30/],
          [`${status} to another name`, to(status, () => `http://localhost:${other.port}/`), status, /^status: is 30/],
          [`${status} to a public name`, to(status, () => 'https://example.com/'), status, /^status: is 30/],
        ] as const,
    ),
    ['a blank body', bytes(' \r\n'), 200, noJson],
    ['text that is not JSON', bytes('hello'), 200, noJson],
    ['JSON cut off', bytes('{"type":"message","content":"h'), 200, noJson],
    ['two JSON values', bytes(json + json), 200, noJson],
    ['bytes that are not UTF-8', bytes(Buffer.from('{"type":"message","content":"\xff"}', 'latin1')), 200, noJson],
    ['null', bytes('null'), 200, noObject],
    ['an array', bytes(`[${json}]`), 200, noObject],
    ['a string', bytes('"message"'), 200, noObject],
    ['a number', bytes('0'), 200, noObject],
    ['JSON nested too deep', bytes(nested(32)), 200, /^body: is nested deeper than 32 levels$/],
    ['JSON nested 100,000 deep', bytes(nested(100_000)), 200, /^body: is nested deeper than 32 levels$/],
    ['no type', reply(200, { content: 'hi' }), 200, /^invalid_request: .*check type \(This field is required\)/],
    ...['pong', 'ping', 'Message', 1, null].map(
      (type) =>
        [`the type ${String(type)}`, reply(200, { ...message('hi'), type }), 200, /^invalid_request: .*check type \(Use one of: /] as const,
    ),
    ['a message without content', reply(200, { type: 'message' }), 200, /^invalid_request: .*needs content/],
    ['2001 characters', reply(200, message('x'.repeat(2001))), 200, /^invalid_request: .*check content /],
    ['a coding that is not known', bytes(json, { 'content-encoding': 'compress' }), 200, /^body: has a Content-Encoding other than/],
    ['gzip four times over', bytes(json, { 'content-encoding': 'gzip, gzip, gzip, gzip' }), 200, /^body: is compressed more than 3 times$/],
    ['gzip that is not', bytes(json, { 'content-encoding': 'gzip' }), 200, /^body: failed/],
    ['gzip cut off', bytes(gzipSync(json).subarray(0, 20), { 'content-encoding': 'gzip' }), 200, /^body: failed/],
    ['more than 256 KiB of gzip content', bytes(gzipSync(padded(50_000_000)), { 'content-encoding': 'gzip' }), 200, tooLong],
    ['one byte more than 256 KiB', bytes(padded(maxBytes + 1)), 200, tooLong],
    ['300 KB', bytes(padded(300_000)), 200, tooLong],
    ['300 KB in chunks', (_received, response) => void (response.write(padded(150_000)), response.end(' '.repeat(150_000))), 200, tooLong],
    ['headers over 16 KiB', bytes(json, { 'x-long': 'x'.repeat(17_000) }), null, /^status: failed/],
    ['only interim responses', raw('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000)), null, /^status: failed/],
    ['text that is not HTTP', raw('SSH-2.0-odd', ''), null, /^status: failed/],
    ['nothing, and closes', (_received, { socket }) => void socket?.end(), null, /^status: failed/],
    ['nothing, and resets', (_received, { socket }) => void socket?.resetAndDestroy(), null, /^status: failed/],
    [
      'half the body, and resets',
      (_received, response) => void response.writeHead(200, { 'content-length': '9' }).write('{', () => response.socket?.resetAndDestroy()),
      200,
      /^body: failed/,
    ],
  ];
  for (const [what, by, status, reason] of refused)
    it(`${what}: the delivery fails and a callback can answer`, async () => {
      await expectUnanswered(await deliver(by, 'failed', status, reason), ['endpoint failed']);
    });
});
