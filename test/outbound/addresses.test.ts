import '../harness/offline.ts';
import { Socket } from 'node:net';
import { expect } from 'chai';
import { isPublicAddress, isSameAddress } from '../../lib/base/addresses.ts';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/store/outbound.ts';
import { type Site, startSite } from '../harness/site.ts';

const bounds = { timeoutMs: 2_000, maxBytes: 1_000, http: true } satisfies Omit<OutboundRequest, 'url'>;
const failure = (result: OutboundResult): string => (result.ok ? `answered ${result.status}` : result.step);

/** Spellings of addresses that are not public, `PORT` being where a site listens on loopback; each with the step that refuses it. */
const spellings: readonly [url: string, step: 'url' | 'dns'][] = [
  ...[
    // loopback in IPv4
    '127.0.0.1',
    '127.1',
    '127.0.1',
    '127.255.255.254',
    '2130706433',
    '0x7f000001',
    '0X7F.1',
    '0x7f.0x0.0x0.0x1',
    '017700000001',
    '0177.0.0.1',
    '0177.0x0.0.1',
    '127.0.0.01',
    '127.0.0.1.',
    '%31%32%37.0.0.1',
    '127%2e0%2e0%2e1',
    '１２７.０.０.１',
    '①②⑦.⓪.⓪.①',
    '𝟏𝟐𝟕.𝟎.𝟎.𝟏',
    '127。0。0。1',
    '127．0．0．1',
    '127｡0｡0｡1',
    '127\u200b.0.0.1',
    '127\u00ad.0.0.1',
    '0',
    '0.0.0.0',
    '0x0',
    // other nets in IPv4
    '10.0.0.1',
    '012.1',
    '167772161',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.0.1',
    '3232235521',
    '169.254.169.254',
    '2852039166',
    '100.64.0.1',
    '192.0.0.1',
    '192.0.0.170',
    '192.0.2.1',
    '192.88.99.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    // IPv6
    '[::]',
    '[::1]',
    '[0:0:0:0:0:0:0:1]',
    '[0000:0000::0001]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[0:0:0:0:0:ffff:127.0.0.1]',
    '[::ffff:8.8.8.8]',
    '[::127.0.0.1]',
    '[::7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::1]',
    '[100::1]',
    '[2001::1]',
    '[2001:0:4136:e378:8000:63bf:3fff:fdd2]',
    '[2001:2::1]',
    '[2001:3::1]',
    '[2001:4:112::1]',
    '[2001:10::1]',
    '[2001:20::1]',
    '[2001:30::1]',
    '[2001:db8::1]',
    '[2002:7f00:1::]',
    '[2002:7f00:0001::1]',
    '[2620:4f:8000::1]',
    '[3fff::1]',
    '[4000::1]',
    '[5f00::1]',
    '[fc00::1]',
    '[fd00:ec2::254]',
    '[fe80::1]',
    '[fec0::1]',
    '[ff02::1]',
  ].map((host): [string, 'url'] => [`http://${host}:PORT/`, 'url']),
  // forms that are no URL, or more than one
  ['http://[fe80::1%25eth0]:PORT/', 'url'],
  ['http://[::1%25lo]:PORT/', 'url'],
  ['http://[127.0.0.1]:PORT/', 'url'],
  ['http://127.0.0.1%00:PORT/', 'url'],
  ['http://127.0.0.1%2f.example.com:PORT/', 'url'],
  ['http://256.0.0.1:PORT/', 'url'],
  ['http://1.1.1.1.1:PORT/', 'url'],
  ['http://example.com@127.0.0.1:PORT/', 'url'],
  ['http://user:pass@example.com:PORT/', 'url'],
  ['http://example.com:PORT@127.0.0.1:PORT/', 'url'],
  ['http:127.0.0.1:PORT/', 'url'],
  ['http:////127.0.0.1:PORT/', 'url'],
  ['http:\\\\127.0.0.1:PORT\\', 'url'],
  ['http://example.com\\@127.0.0.1:PORT/', 'dns'],
  ['http://\t127.0.\n0.1:PORT/', 'url'],
  ['http://.:PORT/', 'url'],
  ['http://:PORT/', 'url'],
  ['//127.0.0.1:PORT/', 'url'],
  ['127.0.0.1:PORT', 'url'],
  ['ftp://example.com/', 'url'],
  ['file:///etc/passwd', 'url'],
  ['data:text/html,hello', 'url'],
  ['ws://example.com/', 'url'],
  [`http://example.com/${'a'.repeat(9_000)}`, 'url'],
  ['', 'url'],
  // names that resolve to loopback
  ...[
    'localhost',
    'LOCALHOST',
    'localhost.',
    'localhost.localdomain',
    'lo%63alhost',
    'ⓛocalhost',
    'loca\u00adlhost',
    'a.localhost',
    'ip6-localhost',
    '127.0.0.1.nip.example',
    '0x7f000001.example',
  ].map((host): [string, 'dns'] => [`http://${host}:PORT/`, 'dns']),
];

describe('outbound: addresses that are not public', () => {
  let site: Site;
  before(async () => {
    site = await startSite((_request, response) => response.end('reached'));
  });
  after(() => site.close());
  afterEach(() => expect(site.opened()).to.equal(0));

  const outbound = createOutbound({ allow: [], resolve: async () => ['127.0.0.1'] });
  it(`the table has at least 100 spellings`, () => expect(spellings.length).to.be.greaterThan(100));
  for (const [spelled, step] of spellings)
    it(`${JSON.stringify(spelled.slice(0, 60))} fails at ${step}`, async () => {
      expect(failure(await outbound({ ...bounds, url: spelled.replaceAll('PORT', String(site.port)) }))).to.equal(step);
    });

  const answers: readonly [what: string, addresses: string[]][] = [
    ['nothing', []],
    ['what is no address', ['localhost']],
    ['a public address and loopback', ['93.184.215.14', '127.0.0.1']],
    ['loopback and a public address', ['::1', '93.184.215.14']],
    ['a zone', ['fe80::1%lo']],
    ['a mapped address', ['::ffff:127.0.0.1']],
    ['the metadata address', ['169.254.169.254']],
    ['NAT64', ['64:ff9b::7f00:1']],
    ['a short form', ['127.1']],
  ];
  for (const [what, addresses] of answers)
    it(`a name that resolves to ${what} fails at dns`, async () => {
      const asking = createOutbound({ allow: [], resolve: async () => addresses });
      expect(failure(await asking({ ...bounds, url: `http://example.com:${site.port}/` }))).to.equal('dns');
    });

  it('names what was wrong, never an address', async () => {
    const result = await outbound({ ...bounds, url: 'http://example.com/' });
    expect(result).to.deep.include({ ok: false, reason: 'the host has an address that is not public', status: null });
  });

  it('a name is resolved once a request, and what the second answer would say does not matter', async () => {
    let asked = 0;
    const rebinding = createOutbound({ allow: [], resolve: async () => [asked++ === 0 ? '93.184.215.14' : '127.0.0.1'] });
    // Tests may not connect off loopback: the failure shows where it wanted to go.
    expect(failure(await rebinding({ ...bounds, url: `http://example.com:${site.port}/` }))).to.equal('connect');
    expect(asked).to.equal(1);
  });

  it('a connection that reaches another address than the one checked is given up before a byte is sent', async () => {
    const prototype = Socket.prototype as unknown as { connect: (this: Socket, ...args: unknown[]) => Socket };
    const { connect } = prototype;
    const dialled: unknown[] = [];
    const sent: string[] = [];
    const trap = await startSite((request, response) => {
      sent.push(request.url ?? '');
      response.end();
    });
    prototype.connect = function detour(first, ...rest) {
      const options = (Array.isArray(first) ? first[0] : first) as { host: string; port: number };
      dialled.push(options.host);
      options.host = '127.0.0.1';
      return connect.call(this, first, ...rest);
    };
    try {
      const misled = createOutbound({ allow: [], resolve: async () => ['93.184.215.14'] });
      expect(failure(await misled({ ...bounds, url: `http://example.com:${trap.port}/secret` }))).to.equal('connect');
      expect(failure(await misled({ ...bounds, url: `http://93.184.215.14:${trap.port}/secret` }))).to.equal('connect');
    } finally {
      prototype.connect = connect;
      await trap.close();
    }
    expect([dialled, sent]).to.deep.equal([['93.184.215.14', '93.184.215.14'], []]);
  });
});

describe('isPublicAddress', () => {
  for (const address of [
    '1.1.1.1',
    '93.184.215.14',
    '172.15.0.1',
    '172.32.0.1',
    '100.128.0.1',
    '2606:2800:21f:cb07:6820:80da:af6b:8b2c',
    '2a00::1',
  ])
    it(`true for ${address}`, () => expect(isPublicAddress(address)).to.equal(true));
  for (const address of ['', 'localhost', '1.1.1', '0x1.1.1.1', '1.1.1.1.', '[2a00::1]', '2a00::1%eth0', ' 1.1.1.1', '1.1.1.1\0'])
    it(`false for ${JSON.stringify(address)}`, () => expect(isPublicAddress(address)).to.equal(false));

  it('isSameAddress compares addresses, not spellings', () => {
    expect(isSameAddress('2a00::1', '2a00:0:0::1')).to.equal(true);
    expect(isSameAddress('1.1.1.1', '1.1.1.2')).to.equal(false);
    expect(isSameAddress('', '')).to.equal(false);
  });
});
