import '../harness/offline.ts';
import { expect } from 'chai';
import { createOutbound, type OutboundResult } from '../../lib/store/outbound.ts';
import { makeCertificate } from '../harness/certificate.ts';
import { type Site, startSite } from '../harness/site.ts';

const reason = (result: OutboundResult): string => (result.ok ? `answered ${result.status}` : `${result.step}: ${result.reason}`);

describe('outbound: TLS', () => {
  const certificates = {
    good: makeCertificate(['site.example', 'localhost']),
    address: makeCertificate(['127.0.0.1']),
    named: makeCertificate(['other.example']),
    expired: makeCertificate(['site.example'], -1),
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
  it('fails for one past its time', async () => {
    expect(await ask('expired')).to.equal('tls: failed (CERT_HAS_EXPIRED)');
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
