import '../harness/offline.ts';
import { expect } from 'chai';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { startPeer, startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';

const certificate = await makeCertificate(['site.example']);
const toHead = ['url', 'dns', 'connect', 'status'];
const toSecureHead = ['url', 'dns', 'connect', 'tls', 'status'];

describe('outbound: stages', () => {
  /** A loopback port on which nothing listens. */
  let closedPort = 0;
  let resolved: string[] = [];
  const handle: Parameters<typeof startSite>[0] = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://site.example');
    if (pathname === '/to') response.writeHead(302, { location: searchParams.get('url') ?? '' }).end('moved');
    else if (pathname === '/half') response.write('half');
    else if (pathname === '/long') response.end('x'.repeat(1_001));
    else if (pathname !== '/stuck') response.end('hello');
  };
  const plain = use(() => startSite(handle));
  const secure = use(() => startSite(handle, certificate));
  const silent = use(() => startPeer((socket) => socket.resume()));
  before(async () => {
    const closed = await startPeer(() => undefined);
    closedPort = closed.port;
    await closed.close();
  });
  beforeEach(() => {
    resolved = [];
  });
  afterEach(() => Promise.all([plain, secure, silent].map((one) => one.quiet())));

  const request = async (url: string, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> => {
    const ports = [plain.port, secure.port, silent.port, closedPort];
    const outbound = createOutbound({
      allow: ports.map((port) => `site.example:${port}`),
      ca: certificate.cert,
      resolve: async (host) => {
        resolved.push(host);
        if (host === 'stuck.example') return new Promise(() => undefined);
        return host === 'gone.example' ? [] : ['127.0.0.1'];
      },
    });
    return outbound({ url, timeoutMs: 10_000, maxBytes: 1_000, ...more });
  };
  const http = (path: string): string => `http://site.example:${plain.port}${path}`;
  const https = (path: string): string => `https://site.example:${secure.port}${path}`;
  const to = (url: string): string => http(`/to?url=${encodeURIComponent(url)}`);
  const steps = ({ stages }: OutboundResult): string[] => stages.map(({ step }) => step);

  const short = { timeoutMs: 600 };
  /** Every possible end of a request with its stages in order. A request fails at the last one. */
  const rows: readonly [what: string, url: () => string, stages: string[], outcome: RegExp, more?: Partial<OutboundRequest>][] = [
    ['a response over http', () => http('/'), [...toHead, 'body'], /^200$/],
    ['a response over https', () => https('/'), [...toSecureHead, 'body'], /^200$/],
    ['an invalid URL', () => 'nothing', ['url'], /^url: /],
    ['a private address', () => 'https://10.0.0.1/', ['url'], /^url: /],
    ['a name without addresses', () => 'https://gone.example/', ['url', 'dns'], /^dns: /],
    ['a name that resolves to loopback', () => 'https://other.example/', ['url', 'dns'], /^dns: /],
    ['name servers that do not respond', () => 'https://stuck.example/', ['url', 'dns'], /^dns: timed out/, short],
    ['a closed port', () => `https://site.example:${closedPort}/`, ['url', 'dns', 'connect'], /^connect: .*ECONNREFUSED/],
    ['https to a port without TLS', () => `https://site.example:${plain.port}/`, ['url', 'dns', 'connect', 'tls'], /^tls: failed/],
    [
      'a TLS handshake without a response',
      () => `https://site.example:${silent.port}/`,
      ['url', 'dns', 'connect', 'tls'],
      /^tls: timed out/,
      short,
    ],
    ['http without a response', () => `http://site.example:${silent.port}/`, toHead, /^status: timed out/, short],
    ['https without a response', () => https('/stuck'), toSecureHead, /^status: timed out/, short],
    ['an incomplete body', () => https('/half'), [...toSecureHead, 'body'], /^body: timed out/, short],
    ['a body over the limit', () => http('/long'), [...toHead, 'body'], /^body: is longer/],
    ['a body that is not wanted', () => https('/half'), [...toSecureHead, 'body'], /^200$/, { shouldReadBody: () => false }],
    ['a redirect that is not followed', () => to(https('/')), [...toHead, 'body'], /^302$/, { maxRedirects: 0 }],
    ['a redirect', () => to(http('/')), [...toHead, ...toHead, 'body'], /^200$/],
    ['a redirect to https', () => to(https('/')), [...toHead, ...toSecureHead, 'body'], /^200$/],
    ['three redirects', () => to(to(to(https('/')))), [...toHead, ...toHead, ...toHead, ...toSecureHead, 'body'], /^200$/],
    ['four redirects', () => to(to(to(to(https('/'))))), [...toHead, ...toHead, ...toHead, ...toHead], /^status: redirects too many times/],
    ['a redirect to an invalid URL', () => to('http://['), [...toHead, 'url'], /^url: redirects to/],
    ['a redirect to a private address', () => to('https://10.0.0.1/'), [...toHead, 'url'], /^url: is not a public/],
    ['a redirect to a name that resolves to loopback', () => to('https://other.example/'), [...toHead, 'url', 'dns'], /^dns: /],
    ['a redirect without a response', () => to(http('/stuck')), [...toHead, ...toHead], /^status: timed out/, short],
  ];
  for (const [what, url, stages, outcome, more] of rows)
    it(`${what}: ${stages.join(' ')}`, async () => {
      const result = await request(url(), { maxRedirects: 3, ...more });
      expect(result.ok ? String(result.status) : `${result.step}: ${result.reason}`).to.match(outcome);
      expect(steps(result)).to.deep.equal(stages);
      expect(result.stages.at(-1)?.step).to.equal(result.ok ? 'body' : result.step);
    });

  it('measures stages in whole milliseconds that add up to the total', async () => {
    for (const url of [http('/'), to(https('/')), 'https://10.0.0.1/']) {
      const { ms, stages } = await request(url, { maxRedirects: 1 });
      for (const fixture of stages) expect(fixture.ms).to.satisfy(Number.isInteger).and.at.least(0);
      const sum = stages.reduce((all, fixture) => all + fixture.ms, 0);
      expect(Math.abs(sum - ms)).to.be.at.most(stages.length);
    }
  });

  it('resolves the name again for each redirect', async () => {
    await request(to(to(https('/'))), { maxRedirects: 3 });
    expect(resolved).to.deep.equal(['site.example', 'site.example', 'site.example']);
  });

  it('returns the status of the last received response', async () => {
    expect(await request(https('/half'), short)).to.include({ step: 'body', status: 200 });
    expect(await request(to(to(to(to('/')))), { maxRedirects: 3 })).to.include({ step: 'status', status: 302 });
    expect(await request(to('https://10.0.0.1/'), { maxRedirects: 3 })).to.include({ step: 'url', status: null });
  });
});
