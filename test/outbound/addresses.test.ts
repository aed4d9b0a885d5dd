import '../harness/offline.ts';
import { BlockList, Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { isPublicAddress, isSameAddress } from '../../lib/base/addresses.ts';
import { clientAddress } from '../../lib/base/client-address.ts';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { startSite } from '../harness/site.ts';
import { use } from '../harness/use.ts';
import { spellings } from './spellings.ts';

const bounds = { timeoutMs: 2_000, maxBytes: 1_000, isHttpAllowed: true } satisfies Omit<OutboundRequest, 'url'>;
const failure = (result: OutboundResult): string => (result.ok ? `status ${result.status}` : result.step);

describe('outbound: addresses that are not public', () => {
  const site = use(() => startSite((_request, response) => response.end('reached')));
  afterEach(() => expect(site.opened()).to.equal(0));

  const outbound = createOutbound({ allow: [], resolve: async () => ['127.0.0.1'] });
  it('the table has at least 200 different URLs', () => {
    expect(new Set(spellings.map(([url]) => url)).size)
      .to.equal(spellings.length)
      .and.at.least(200);
  });
  for (const [url, step] of spellings)
    it(`${JSON.stringify(url.slice(0, 60))} fails at ${step}`, async () => {
      expect(failure(await outbound({ ...bounds, url: url.replaceAll('PORT', String(site.port)) }))).to.equal(step);
    });

  const resolved: readonly [what: string, addresses: string[]][] = [
    ['no address', []],
    ['an invalid address', ['localhost']],
    ['a public address and loopback', ['93.184.215.14', '127.0.0.1']],
    ['loopback and a public address', ['::1', '93.184.215.14']],
    ['an address with a zone', ['fe80::1%lo']],
    ['an IPv4-mapped address', ['::ffff:127.0.0.1']],
    ['the metadata address', ['169.254.169.254']],
    ['a NAT64 address', ['64:ff9b::7f00:1']],
    ['an abbreviated IPv4 address', ['127.1']],
  ];
  for (const [what, addresses] of resolved)
    it(`a name that resolves to ${what} fails at dns`, async () => {
      const request = createOutbound({ allow: [], resolve: async () => addresses });
      expect(failure(await request({ ...bounds, url: `http://example.com:${site.port}/` }))).to.equal('dns');
    });

  it('gives a reason without the address', async () => {
    const result = await outbound({ ...bounds, url: 'http://example.com/' });
    expect(result).to.deep.include({ ok: false, reason: 'the host has an address that is not public', status: null });
  });

  it('resolves a name once per request, and uses those addresses', async () => {
    let resolutions = 0;
    const rebinding = createOutbound({ allow: [], resolve: async () => [resolutions++ === 0 ? '93.184.215.14' : '127.0.0.1'] });
    // Tests may connect only to loopback, so the failure at connect shows that it used the public address.
    expect(failure(await rebinding({ ...bounds, url: `http://example.com:${site.port}/` }))).to.equal('connect');
    expect(resolutions).to.equal(1);
  });

  it('closes a connection to an address other than the checked one before it sends a byte', async () => {
    const prototype = Socket.prototype as { connect: (this: Socket, ...args: unknown[]) => Socket };
    const { connect } = prototype;
    const connected: unknown[] = [];
    const received: string[] = [];
    const trap = await startSite((request, response) => {
      received.push(request.url ?? '');
      response.end();
    });
    prototype.connect = function detour(first, ...rest) {
      const options = (Array.isArray(first) ? first[0] : first) as { host: string; port: number };
      connected.push(options.host);
      options.host = '127.0.0.1';
      return connect.call(this, first, ...rest);
    };
    try {
      const request = createOutbound({ allow: [], resolve: async () => ['93.184.215.14'] });
      expect(failure(await request({ ...bounds, url: `http://example.com:${trap.port}/secret` }))).to.equal('connect');
      expect(failure(await request({ ...bounds, url: `http://93.184.215.14:${trap.port}/secret` }))).to.equal('connect');
    } finally {
      prototype.connect = connect;
      await trap.close();
    }
    expect([connected, received]).to.deep.equal([['93.184.215.14', '93.184.215.14'], []]);
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

  it('clientAddress groups IPv4 by address, also IPv4-mapped ones, and IPv6 by /64', () => {
    const groupOf = (remote?: string): string => clientAddress(undefined, remote, 0);
    expect(groupOf('::ffff:192.0.2.1')).to.equal(groupOf('192.0.2.1'));
    expect(groupOf('2001:db8::1:0:0:1')).to.equal(groupOf('2001:0DB8:0::ffff:0:0:2'));
    expect(groupOf('fe80::1%eth0')).to.equal(groupOf('fe80::2'));
    expect(groupOf('2001:db8::1')).to.not.equal(groupOf('2001:db8:0:1::1'));
    expect(groupOf('::1')).to.equal('::1');
    expect(groupOf()).to.equal('unknown');
  });

  it('isSameAddress compares addresses, not their text', () => {
    expect(isSameAddress('2a00::1', '2a00:0:0::1')).to.equal(true);
    expect(isSameAddress('1.1.1.1', '1.1.1.2')).to.equal(false);
    expect(isSameAddress('', '')).to.equal(false);
  });

  // The special-purpose address registries of IANA, transcribed independently of the code: blocks that are not globally reachable, and relay blocks.
  const special = {
    ipv4:
      '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 ' +
      '192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
    ipv6: '::/3 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 4000::/2 8000::/1',
  };
  for (const family of ['ipv4', 'ipv6'] as const)
    it(`isPublicAddress agrees with the registry for 20,000 ${family} addresses`, () => {
      const bytes = family === 'ipv4' ? 4 : 16;
      const max = (1n << BigInt(bytes * 8)) - 1n;
      const list = new BlockList();
      const blocks = special[family].split(' ').map((block) => {
        const [net = '', size] = block.split('/');
        list.addSubnet(net, Number(size), family);
        const first = BigInt(`0x${Buffer.from(ipaddr.parse(net).toByteArray()).toString('hex')}`);
        return { first, last: first + (max >> BigInt(size ?? 0)) };
      });
      const within = fc.constantFrom(...blocks).chain(({ first, last }) => fc.bigInt({ min: first, max: last }));
      const atEdge = fc.constantFrom(...blocks.flatMap(({ first, last }) => [first - 1n, first, last, last + 1n]));
      const addresses = fc
        .oneof(fc.bigInt({ min: 0n, max }), within, atEdge)
        .filter((number) => number >= 0n && number <= max)
        .map((number) => ipaddr.fromByteArray([...Buffer.from(number.toString(16).padStart(bytes * 2, '0'), 'hex')]).toString());
      const agrees = (address: string): boolean => isPublicAddress(address) === !list.check(address, family);
      fc.assert(fc.property(addresses, agrees), { numRuns: 20_000 });
    });
});
