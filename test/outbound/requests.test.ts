import '../harness/offline.ts';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { expect } from 'chai';
import { createOutbound, type Outbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';

const bounds = { timeoutMs: 5_000, maxBytes: 1_000 } satisfies Omit<OutboundRequest, 'url'>;
/** The deadline of requests that miss it, and how late a late page comes: two late pages miss it, one does not. */
const timeoutMs = 600;
const lateMs = 400;
const failure = (result: OutboundResult): string => (result.ok ? `status ${result.status}` : `${result.step}: ${result.reason}`);
const text = (result: OutboundResult): string => (result.ok ? result.body.toString() : failure(result));

describe('outbound: requests', () => {
  let received: { method: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const pages: Record<string, (request: IncomingMessage, response: ServerResponse) => void> = {
    '/plain?a': (_request, response) => response.end('hello'),
    '/plain': (_request, response) => response.end('hello'),
    '/long': (_request, response) => response.end('x'.repeat(1_001)),
    '/brim': (_request, response) => response.end('x'.repeat(1_000)),
    '/endless': (_request, response) => {
      const more = (): void => void (response.destroyed || (response.write('x'.repeat(400)), setImmediate(more)));
      more();
    },
    '/late/to/late': (_request, response) => void setTimeout(() => response.writeHead(302, { location: '/late' }).end(), lateMs),
    '/late': (_request, response) => void setTimeout(() => response.end('late'), lateMs),
    '/half': (_request, response) => response.write('half'),
    '/headers': (_request, response) => response.setHeader('x-long', 'x'.repeat(20_000)).end(),
    '/gzip': (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(1_000_000))),
    '/cookie': (_request, response) => response.setHeader('set-cookie', 'a=b').end('cookie'),
    '/empty': (_request, response) => response.writeHead(204).end(),
    '/teapot': (_request, response) => response.writeHead(418).end('short and stout'),
    '/nowhere': (_request, response) => response.writeHead(302).end('no location'),
  };
  const site = use(() =>
    startSite((request, response) => {
      const path = request.url ?? '';
      const to = /^\/to\/(.*)$/.exec(path)?.[1];
      const count = Number(/^\/hops\/(\d+)$/.exec(path)?.[1] ?? Number.NaN);
      void (async () => {
        let body = '';
        for await (const piece of request) body += String(piece);
        received.push({ method: request.method ?? '', headers: request.headers, body });
        if (to !== undefined) response.writeHead(302, { location: decodeURIComponent(to) }).end();
        else if (count >= 0) response.writeHead(307, { location: count === 0 ? '/plain' : `/hops/${count - 1}` }).end();
        else pages[path]?.(request, response);
      })();
    }),
  );
  let outbound: Outbound;
  before(() => {
    outbound = createOutbound({ allow: [site.pair], resolve: async () => ['127.0.0.1'] });
  });
  beforeEach(() => {
    received = [];
  });
  afterEach(() => site.quiet());
  const get = (path: string, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> =>
    outbound({ ...bounds, url: site.url + path, ...more });

  it('returns status, headers, body and duration', async () => {
    const result = await get('/plain');
    expect([result.ok && result.status, text(result), result.ms >= 0]).to.deep.equal([200, 'hello', true]);
    expect(result).to.have.property('url', `${site.url}/plain`);
    expect(await get('/plain?a#b')).to.have.property('url', `${site.url}/plain?a`);
  });

  it('sends its user agent, requests no compression and stores no cookies', async () => {
    await get('/cookie');
    await get('/cookie');
    expect(received[1]?.headers).to.include({ 'user-agent': 'Parlance', 'accept-encoding': 'identity', host: site.pair });
    expect(received[1]?.headers).not.to.have.any.keys('cookie', 'authorization', 'referer');
  });

  it('sends a POST with the given bytes and headers once', async () => {
    const body = Buffer.from('{"type": "ping"}\u00e9');
    const result = await get('/plain', { method: 'POST', body, headers: { 'content-type': 'application/json', 'x-signature': 's' } });
    expect(text(result)).to.equal('hello');
    expect(received).to.have.length(1);
    expect(received[0]).to.deep.include({ method: 'POST', body: body.toString() });
    expect(received[0]?.headers).to.include({
      'content-type': 'application/json',
      'x-signature': 's',
      'content-length': String(body.length),
    });
  });

  it('returns a response of any status', async () => {
    for (const [path, status] of [
      ['/empty', 204],
      ['/teapot', 418],
      ['/nowhere', 302],
    ] as const)
      expect(await get(path)).to.include({ ok: true, status });
  });

  describe('response body', () => {
    it('reads a body of maxBytes, and fails for a longer one', async () => {
      expect(text(await get('/brim'))).to.have.length(1_000);
      expect(failure(await get('/long'))).to.equal('body: is longer than 1000 bytes');
      expect(await get('/long')).to.include({ status: 200 });
      expect(failure(await get('/endless'))).to.match(/^body: is longer/);
    });
    it('truncates a longer body with overflow: cut', async () => {
      expect(text(await get('/endless', { overflow: 'cut' }))).to.have.length(1_000);
    });
    it('stops reading when `shouldStop` returns true', async () => {
      const result = await get('/half', { shouldStop: (piece) => piece.includes('half') });
      expect(text(result)).to.equal('half');
    });
    it('does not read the body when `shouldReadBody` returns false', async () => {
      expect(text(await get('/endless', { shouldReadBody: ({ status }) => status !== 200 }))).to.equal('');
    });
    it('counts the bytes of a compressed body after decompression', async () => {
      expect(failure(await get('/gzip'))).to.match(/^body: is longer/);
      expect(text(await get('/gzip', { overflow: 'cut' }))).to.equal('\0'.repeat(1_000));
    });
  });

  it('has one deadline for all redirects together', async () => {
    expect(failure(await get('/late/to/late', { timeoutMs, maxRedirects: 3 }))).to.equal('status: timed out');
  });

  it('fails at status for headers over 16 KiB', async () => expect(failure(await get('/headers'))).to.match(/^status: failed/));

  describe('redirects', () => {
    const to = (url: string): string => `/to/${encodeURIComponent(url)}`;
    it('returns redirects as responses by default, and always for a POST', async () => {
      expect(await get(to('/plain'))).to.include({ ok: true, status: 302 });
      expect(await get(to('/plain'), { method: 'POST', maxRedirects: 3 })).to.include({ ok: true, status: 302 });
      expect(received).to.have.length(2);
    });
    it('follows up to three redirects, and fails at the fourth', async () => {
      const third = await get('/hops/2', { maxRedirects: 3 });
      expect([text(third), third.ok && third.url]).to.deep.equal(['hello', `${site.url}/plain`]);
      expect(failure(await get('/hops/3', { maxRedirects: 3 }))).to.equal('status: redirects too many times');
    });
    it('returns a redirect without a location as the response', async () => {
      expect(await get('/nowhere', { maxRedirects: 3 })).to.include({ ok: true, status: 302 });
    });
    const elsewhere: readonly [what: string, location: () => string, step: RegExp][] = [
      ['another port of the same host', () => `http://127.0.0.1:${site.port + 1}/`, /^url: is not an https URL/],
      ['loopback as IPv6', () => 'https://[::1]/', /^url: is not a public/],
      ['a URL with a username and password', () => `http://a:b@${site.pair}/plain`, /^url: must not contain a username or password/],
      ['another scheme', () => 'file:///etc/passwd', /^url: is not an https/],
      ['plain http on another host', () => 'http://example.com/', /^url: is not an https/],
    ];
    for (const [what, location, step] of elsewhere)
      it(`fails for a redirect to ${what}`, async () => {
        expect(failure(await get(to(location()), { maxRedirects: 3 }))).to.match(step);
      });
  });

  describe('OUTBOUND_ALLOW', () => {
    it('allows plain http and a private address for its host and port, in any notation', async () => {
      expect(text(await outbound({ ...bounds, url: `http://0x7f.1:${site.port}/plain` }))).to.equal('hello');
    });
    const others: readonly [what: string, url: () => string, step: RegExp][] = [
      ['another port', () => `https://127.0.0.1:${site.port + 1}/`, /^url: is not a public/],
      ['another port with plain http', () => `http://127.0.0.1:${site.port + 1}/`, /^url: is not an https/],
      ['another name of the host', () => `https://localhost:${site.port}/`, /^dns: the host has/],
      ['another loopback address', () => `https://127.0.0.2:${site.port}/`, /^url: is not a public/],
      ['the IPv6 loopback address', () => `https://[::1]:${site.port}/`, /^url: is not a public/],
      ['the unspecified address', () => `https://0:${site.port}/`, /^url: is not a public/],
      ['a subdomain-like name', () => `https://127.0.0.1.example:${site.port}/`, /^dns: the host has/],
      [
        'the pair as user info',
        () => `https://127.0.0.1:${site.port}@localhost:${site.port}/`,
        /^url: must not contain a username or password/,
      ],
      ['its IPv4-mapped address', () => `https://[::ffff:127.0.0.1]:${site.port}/`, /^url: is not a public/],
      ['a username', () => `http://a@${site.pair}/`, /^url: must not contain a username or password/],
    ];
    for (const [what, url, step] of others)
      it(`does not allow ${what}`, async () => {
        expect(failure(await outbound({ ...bounds, url: url() }))).to.match(step);
      });
    it('allows a name to resolve to a private address; a final dot makes it another name', async () => {
      const named = createOutbound({ allow: [`localhost:${site.port}`] });
      expect(text(await named({ ...bounds, url: `http://LOCALHOST:${site.port}/plain` }))).to.equal('hello');
      expect(failure(await named({ ...bounds, url: `http://localhost.:${site.port}/plain` }))).to.equal('url: is not an https URL');
      for (const host of ['127.0.0.1', 'a.localhost', 'localhost.localdomain'])
        expect(failure(await named({ ...bounds, url: `http://${host}:${site.port}/plain` }))).to.equal('url: is not an https URL');
    });
  });
});
