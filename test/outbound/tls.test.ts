import '../harness/offline.ts';
import { connect } from 'node:net';
import { expect } from 'chai';
import { createOutbound, type OutboundResult } from '../../lib/outbound/request.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { type Peer, type Site, startPeer, startSite } from '../harness/site.ts';

const reason = (result: OutboundResult): string => (result.ok ? `answered ${result.status}` : `${result.step}: ${result.reason}`);

describe('outbound: TLS', () => {
  const certificates = {
    good: makeCertificate(['site.example', 'localhost']),
    address: makeCertificate(['127.0.0.1']),
    named: makeCertificate(['other.example']),
    expired: makeCertificate(['site.example'], -1),
    early: makeCertificate(['site.example'], 10, 1),
    wild: makeCertificate(['*.site.example']),
    unknown: makeCertificate(['site.example']),
  };
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
  const ask = async (name: keyof typeof certificates, host = 'site.example', own: string | undefined = ca): Promise<string> => {
    const pair = `${host}:${portOf(name)}`;
    const outbound = createOutbound({ allow: [pair], resolve: async () => ['127.0.0.1'], ...(own ? { ca: own } : {}) });
    return reason(await outbound({ url: `https://${pair}/`, timeoutMs: 5_000, maxBytes: 1_000 }));
  };

  it('a certificate for the name is accepted, one for the address at an address', async () => {
    expect(await ask('good')).to.equal('answered 200');
    expect(await ask('good', 'localhost')).to.equal('answered 200');
    expect(await ask('address', '127.0.0.1')).to.equal('answered 200');
  });
  it('fails for one of an unknown authority', async () => {
    expect(await ask('unknown')).to.equal('tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)');
    expect(await ask('good', 'site.example', '')).to.equal('tls: failed (DEPTH_ZERO_SELF_SIGNED_CERT)');
  });
  it('fails for one of another name, and for a name’s at its address', async () => {
    expect(await ask('named')).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(await ask('good', '127.0.0.1')).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
  });
  it('fails for one past its time, or before it', async () => {
    expect(await ask('expired')).to.equal('tls: failed (CERT_HAS_EXPIRED)');
    expect(await ask('early')).to.equal('tls: failed (CERT_NOT_YET_VALID)');
  });
  it('a star stands for one label; a final dot is no part of the name', async () => {
    expect(await ask('wild', 'a.site.example')).to.equal('answered 200');
    for (const host of ['site.example', 'a.b.site.example', 'a.other.example'])
      expect(await ask('wild', host)).to.equal('tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)');
    expect(await ask('good', 'site.example.')).to.equal('answered 200');
  });

  describe('fails with a peer that', () => {
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const rows: readonly [what: string, peer: () => Promise<Peer>, reason: string][] = [
      [
        'has TLS 1.1 at most',
        () => startSite(() => undefined, { ...certificates.good, ...old }),
        'failed (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION)',
      ],
      [
        'speaks HTTP/2 alone',
        () => startSite(() => undefined, { ...certificates.good, ALPNProtocols: ['h2'] }),
        'failed (ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL)',
      ],
      ['leaves at the greeting', () => startPeer((socket) => socket.once('data', () => socket.end())), 'failed (ECONNRESET)'],
      [
        'breaks off at the greeting',
        () => startPeer((socket) => socket.once('data', () => socket.resetAndDestroy())),
        'failed (ECONNRESET)',
      ],
      [
        'speaks something else',
        () => startPeer((socket) => socket.once('data', () => socket.write('220 mail ESMTP\r\n'))),
        'failed (ERR_SSL_WRONG_VERSION_NUMBER)',
      ],
      [
        'begins and stops',
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

  it('sends nothing of a request, and no name but the host’s, before the certificate is found good', async () => {
    let heard = Buffer.alloc(0);
    const { port } = sites.named as Site;
    const proxy = await startPeer((near) => {
      const far = connect(port, '127.0.0.1').on('error', () => near.destroy());
      near.on('data', (piece) => {
        heard = Buffer.concat([heard, piece]);
      });
      near.pipe(far).pipe(near);
    });
    const outbound = createOutbound({ allow: [`site.example:${proxy.port}`], resolve: async () => ['127.0.0.1'], ca });
    const result = await outbound({ url: `https://site.example:${proxy.port}/secret`, timeoutMs: 10_000, maxBytes: 1_000 });
    await proxy.quiet();
    await proxy.close();
    expect([reason(result), sites.named?.asked]).to.deep.equal(['tls: failed (ERR_TLS_CERT_ALTNAME_INVALID)', []]);
    expect(heard.includes('site.example')).to.equal(true);
  });
  it('fails although the environment says not to verify', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      expect(await ask('unknown')).to.match(/^tls: /);
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });
  it('fails where there is no TLS, and plain http fails where there is', async () => {
    const plain = await startSite((_request, response) => response.end('plain'));
    const outbound = createOutbound({ allow: [plain.pair, `127.0.0.1:${portOf('good')}`], ca });
    const bounds = { timeoutMs: 5_000, maxBytes: 1_000 };
    expect(reason(await outbound({ ...bounds, url: plain.url.replace('http:', 'https:') }))).to.match(/^tls: failed/);
    expect(reason(await outbound({ ...bounds, url: `http://127.0.0.1:${portOf('good')}/` }))).to.match(/^status: failed|^answered 400/);
    await plain.close();
  });
});
