import '../harness/offline.ts';
import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { createOutbound, type OutboundResult } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { type Peer, type Site, startPeer, startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';

const reason = (result: OutboundResult): string => (result.ok ? `status ${result.status}` : `${result.step}: ${result.reason}`);

const certificates = {
  good: await makeCertificate(['site.example', 'localhost']),
  address: await makeCertificate(['127.0.0.1']),
  named: await makeCertificate(['other.example']),
  expired: await makeCertificate(['site.example'], -1),
  early: await makeCertificate(['site.example'], 10, 1),
  wild: await makeCertificate(['*.site.example']),
  unknown: await makeCertificate(['site.example']),
};

describe('outbound: TLS', () => {
  const { unknown: _unknown, ...trusted } = certificates;
  const ca = Object.values(trusted)
    .map(({ cert }) => cert)
    .join('');
  const sites: Partial<Record<keyof typeof certificates, Site>> = {};
  before(async () => {
    for (const name of Object.keys(certificates) as (keyof typeof certificates)[])
      sites[name] = await startSite((_request, response) => response.end('secret'), certificates[name]);
  });
  after(async () => {
    for (const site of Object.values(sites)) await site.close();
  });
  const portOf = (name: keyof typeof certificates): number => sites[name]?.port ?? 0;
  const request = async (name: keyof typeof certificates, host = 'site.example', own: string | undefined = ca): Promise<string> => {
    const pair = `${host}:${portOf(name)}`;
    const outbound = createOutbound({ allow: [pair], resolve: async () => ['127.0.0.1'], ...(own ? { ca: own } : {}) });
    return reason(await outbound({ url: `https://${pair}/`, timeoutMs: 5_000, maxBytes: 1_000 }));
  };

  it('accepts a certificate for the name, and one for the address when the URL has an address', async () => {
    expect(await request('good')).to.equal('status 200');
    expect(await request('good', 'localhost')).to.equal('status 200');
    expect(await request('address', '127.0.0.1')).to.equal('status 200');
  });
  it('fails for a certificate of an unknown authority', async () => {
    expect(await request('unknown')).to.equal('tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(await request('good', 'site.example', '')).to.equal('tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)');
  });
  it('fails for a certificate of another name, and for a certificate of a name when the URL has an address', async () => {
    expect(await request('named')).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(await request('good', '127.0.0.1')).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
  });
  it('fails for a certificate that is expired or not yet valid', async () => {
    expect(await request('expired')).to.equal('tls: failed (CERT_HAS_EXPIRED)');
    expect(await request('early')).to.equal('tls: failed (CERT_NOT_YET_VALID)');
  });
  it('matches a wildcard with one label, and ignores a final dot of the name', async () => {
    expect(await request('wild', 'a.site.example')).to.equal('status 200');
    for (const host of ['site.example', 'a.b.site.example', 'a.other.example'])
      expect(await request('wild', host)).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(await request('good', 'site.example.')).to.equal('status 200');
  });

  describe('fails with a peer that', () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const rows: readonly [what: string, peer: () => Promise<Peer>, reason: string][] = [
      [
        'supports at most TLS 1.1',
        () => startSite(() => undefined, { ...certificates.good, ...old }),
        'failed (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)',
      ],
      [
        'supports only HTTP/2',
        () => startSite(() => undefined, { ...certificates.good, ALPNProtocols: ['h2'] }),
        'failed (ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)',
      ],
      [
        'closes the connection at the ClientHello',
        () => startPeer((socket) => socket.once('data', () => socket.end())),
        'failed (ECONNRESET)',
      ],
      [
        'resets the connection at the ClientHello',
        () => startPeer((socket) => socket.once('data', () => socket.resetAndDestroy())),
        'failed (ECONNRESET)',
      ],
      [
        'speaks another protocol',
        () => startPeer((socket) => socket.once('data', () => socket.write('220 mail ESMTP\r\n'))),
        'failed (ERR_SSL_WRONG_VERSION_NUMBER)',
      ],
      [
        'stops within its first record',
        () => startPeer((socket) => socket.once('data', () => socket.write(Buffer.from([22, 3, 3, 0, 99, 2])))),
        'timed out',
      ],
    ];
    for (const [what, start, expected] of rows)
      it(what, async () => {
        const peer = await start();
        const outbound = createOutbound({ allow: [`site.example:${peer.port}`], resolve: async () => ['127.0.0.1'], ca });
        const timeoutMs = expected === 'timed out' ? 500 : 10_000;
        const result = await outbound({ url: `https://site.example:${peer.port}/`, timeoutMs, maxBytes: 1_000 });
        await peer.quiet();
        expect([reason(result), peer.opened()]).to.deep.equal([`tls: ${expected}`, 1]);
        await peer.close();
      });
  });

  it('sends nothing but the host name before it has verified the certificate', async () => {
    let received = Buffer.alloc(0);
    const { port } = sites.named as Site;
    const proxy = await startPeer((near) => {
      const far = connect(port, '127.0.0.1').on('error', () => near.destroy());
      near.on('data', (piece) => {
        received = Buffer.concat([received, piece]);
      });
      near.pipe(far).pipe(near);
    });
    const outbound = createOutbound({ allow: [`site.example:${proxy.port}`], resolve: async () => ['127.0.0.1'], ca });
    const result = await outbound({ url: `https://site.example:${proxy.port}/secret`, timeoutMs: 10_000, maxBytes: 1_000 });
    await proxy.quiet();
    await proxy.close();
    expect([reason(result), sites.named?.asked]).to.deep.equal(['tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)', []]);
    expect(received.includes('site.example')).to.equal(true);
  });
  it('verifies certificates also with NODE_TLS_REJECT_UNAUTHORIZED=0', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await request('unknown')).to.match(/^tls: /);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });
  it('fails for http to a port with TLS', async () => {
    const outbound = createOutbound({ allow: [`127.0.0.1:${portOf('good')}`], ca });
    const result = await outbound({ url: `http://127.0.0.1:${portOf('good')}/`, timeoutMs: 5_000, maxBytes: 1_000 });
    expect(reason(result)).to.match(/^status: failed|^status 400/);
  });
});

const certificate = await makeCertificate(['127.0.0.1']);

/** A script that requests each URL of its arguments and prints the results. It runs as a separate process because some of these variables are read only at its start. */
const child = `
  import { createOutbound } from './lib/outbound/request.ts';
  const urls = process.argv.slice(1);
  const outbound = createOutbound({ allow: urls.map((url) => new URL(url).host), ca: process.env.TEST_CA });
  const results = [];
  for (const url of urls) results.push(await outbound({ url, timeoutMs: 10_000, maxBytes: 1_000 }));
  console.log(JSON.stringify(results.map(({ status, reason }) => status ?? reason)));
`;

describe('outbound: proxies in the environment', () => {
  const proxy = use(() => startPeer((socket) => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')));
  const plain = use(() => startSite((_request, response) => response.end()));
  const secure = use(() => startSite((_request, response) => response.end(), certificate));

  const run = async (variables: Record<string, string>): Promise<unknown> => {
    const { PATH } = process.env;
    const node = spawn(process.execPath, ['--import=tsx', '--input-type=module', '--eval', child, plain.url, secure.url], {
      env: { PATH, TEST_CA: certificate.cert, ...variables },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    return JSON.parse(await text(node.stdout));
  };

  it('ignores every proxy variable', async () => {
    const names = ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY', 'npm_config_proxy', 'npm_config_https_proxy', 'GLOBAL_AGENT_HTTP_PROXY'];
    const at = `http://${proxy.pair}`;
    const variables = Object.fromEntries(names.flatMap((name) => [name, name.toLowerCase()]).map((name) => [name, at]));
    expect(await run({ ...variables, NODE_USE_ENV_PROXY: '1' })).to.deep.equal([200, 200]);
    expect([proxy.opened(), plain.opened(), secure.opened()]).to.deep.equal([0, 1, 1]);
  });
});
