import '../harness/offline.ts';
import { expect } from 'chai';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { type Peer, type Site, startPeer, startSite } from '../harness/site.ts';

const certificate = makeCertificate(['site.example']);
const toHead = ['url', 'dns', 'connect', 'status'];
const toSecureHead = ['url', 'dns', 'connect', 'tls', 'status'];

describe('outbound: stages', () => {
  let plain: Site;
  let secure: Site;
  let mute: Peer;
  /** A port of loopback where nobody listens. */
  let refusing = 0;
  let asked: string[] = [];
  before(async () => {
    const handle: Parameters<typeof startSite>[0] = (request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://site.example');
      if (pathname === '/to') response.writeHead(302, { location: searchParams.get('url') ?? '' }).end('moved');
      else if (pathname === '/half') response.write('half');
      else if (pathname === '/long') response.end('x'.repeat(1_001));
      else if (pathname !== '/stuck') response.end('hello');
    };
    plain = await startSite(handle);
    secure = await startSite(handle, certificate);
    mute = await startPeer((socket) => socket.resume());
    const gone = await startPeer(() => undefined);
    refusing = gone.port;
    await gone.close();
  });
  beforeEach(() => {
    asked = [];
  });
  afterEach(() => Promise.all([plain, secure, mute].map((one) => one.quiet())));
  after(() => Promise.all([plain, secure, mute].map((one) => one.close())));

  const ask = async (url: string, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> => {
    const ports = [plain.port, secure.port, mute.port, refusing];
    const outbound = createOutbound({
      allow: ports.map((port) => `site.example:${port}`),
      ca: certificate.cert,
      resolve: async (host) => {
        asked.push(host);
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

  /** Each way to end: its stages, in order. Where it fails, the last is where it failed. */
  const short = { timeoutMs: 600 };
  const rows: readonly [what: string, url: () => string, stages: string[], outcome: RegExp, more?: Partial<OutboundRequest>][] = [
    ['an answer over http', () => http('/'), [...toHead, 'body'], /^200$/],
    ['an answer over https', () => https('/'), [...toSecureHead, 'body'], /^200$/],
    ['what is no URL', () => 'nothing', ['url'], /^url: /],
    ['a private address', () => 'https://10.0.0.1/', ['url'], /^url: /],
    ['a name without addresses', () => 'https://gone.example/', ['url', 'dns'], /^dns: /],
    ['a name of loopback', () => 'https://other.example/', ['url', 'dns'], /^dns: /],
    ['name servers that hang', () => 'https://stuck.example/', ['url', 'dns'], /^dns: timed out/, short],
    ['a closed port', () => `https://site.example:${refusing}/`, ['url', 'dns', 'connect'], /^connect: .*ECONNREFUSED/],
    ['no TLS where it is asked for', () => `https://site.example:${plain.port}/`, ['url', 'dns', 'connect', 'tls'], /^tls: failed/],
    ['TLS that hangs', () => `https://site.example:${mute.port}/`, ['url', 'dns', 'connect', 'tls'], /^tls: timed out/, short],
    ['http that hangs', () => `http://site.example:${mute.port}/`, toHead, /^status: timed out/, short],
    ['https that hangs', () => https('/stuck'), toSecureHead, /^status: timed out/, short],
    ['half a body', () => https('/half'), [...toSecureHead, 'body'], /^body: timed out/, short],
    ['a long body', () => http('/long'), [...toHead, 'body'], /^body: is longer/],
    ['a body that nobody wants', () => https('/half'), [...toSecureHead, 'body'], /^200$/, { wants: () => false }],
    ['a redirect that is the answer', () => to(https('/')), [...toHead, 'body'], /^302$/, { redirects: 0 }],
    ['a redirect', () => to(http('/')), [...toHead, ...toHead, 'body'], /^200$/],
    ['a redirect to https', () => to(https('/')), [...toHead, ...toSecureHead, 'body'], /^200$/],
    ['three redirects', () => to(to(to(https('/')))), [...toHead, ...toHead, ...toHead, ...toSecureHead, 'body'], /^200$/],
    ['four', () => to(to(to(to(https('/'))))), [...toHead, ...toHead, ...toHead, ...toHead], /^status: redirects too many times/],
    ['a redirect to what is no URL', () => to('http://['), [...toHead, 'url'], /^url: redirects to/],
    ['a redirect to a private address', () => to('https://10.0.0.1/'), [...toHead, 'url'], /^url: is not a public/],
    ['a redirect to a name of loopback', () => to('https://other.example/'), [...toHead, 'url', 'dns'], /^dns: /],
    ['a redirect into nothing', () => to(http('/stuck')), [...toHead, ...toHead], /^status: timed out/, short],
  ];
  for (const [what, url, stages, outcome, more] of rows)
    it(`${what}: ${stages.join(' ')}`, async () => {
      const result = await ask(url(), { redirects: 3, ...more });
      expect(result.ok ? String(result.status) : `${result.step}: ${result.reason}`).to.match(outcome);
      expect(steps(result)).to.deep.equal(stages);
      expect(result.stages.at(-1)?.step).to.equal(result.ok ? 'body' : result.step);
    });

  it('are whole milliseconds that make up the whole time', async () => {
    for (const url of [http('/'), to(https('/')), 'https://10.0.0.1/']) {
      const { ms, stages } = await ask(url, { redirects: 1 });
      for (const stage of stages) expect(stage.ms).to.satisfy(Number.isInteger).and.at.least(0);
      const sum = stages.reduce((all, stage) => all + stage.ms, 0);
      expect(Math.abs(sum - ms)).to.be.at.most(stages.length);
    }
  });

  it('the name is resolved anew for each redirect', async () => {
    await ask(to(to(https('/'))), { redirects: 3 });
    expect(asked).to.deep.equal(['site.example', 'site.example', 'site.example']);
  });

  it('the status told is that of the last answer that came', async () => {
    expect(await ask(https('/half'), short)).to.include({ step: 'body', status: 200 });
    expect(await ask(to(to(to(to('/')))), { redirects: 3 })).to.include({ step: 'status', status: 302 });
    expect(await ask(to('https://10.0.0.1/'), { redirects: 3 })).to.include({ step: 'url', status: null });
  });
});
