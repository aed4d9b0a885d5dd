import '../harness/offline.ts';
import { BlockList, Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { isPublicAddress, isSameAddress } from '../../lib/base/addresses.ts';
import { clientAddress } from '../../lib/base/client-address.ts';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { type Site, startSite } from '../harness/site.ts';
import { spellings } from './spellings.ts';

const bounds = { timeoutMs: 2_000, maxBytes: 1_000, http: true } satisfies Omit<OutboundRequest, 'url'>;
const failure = (result: OutboundResult): string => (result.ok ? `answered ${result.status}` : result.step);

describe('outbound: addresses that are not public', () => {
  let site: Site;
  before(async () => {
    site = await startSite((_request, response) => response.end('reached'));
  });
  after(() => site.close());
  afterEach(() => expect(site.opened()).to.equal(0));

  const outbound = createOutbound({ allow: [], resolve: async () => ['127.0.0.1'] });
  it('the table has at least 200 spellings, none twice', () => {
    expect(new Set(spellings.map(([spelled]) => spelled)).size)
      .to.equal(spellings.length)
      .and.at.least(200);
  });
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

  it('clientAddress counts IPv4 by address, also as mapped into IPv6, and IPv6 by /64', () => {
    const counted = (remote?: string): string => clientAddress(undefined, remote, 0);
    expect(counted('::ffff:192.0.2.1')).to.equal(counted('192.0.2.1'));
    expect(counted('2001:db8::1:0:0:1')).to.equal(counted('2001:0DB8:0::ffff:0:0:2'));
    expect(counted('fe80::1%eth0')).to.equal(counted('fe80::2'));
    expect(counted('2001:db8::1')).to.not.equal(counted('2001:db8:0:1::1'));
    expect(counted('::1')).to.equal('::1');
    expect(counted()).to.equal('unknown');
  });

  it('isSameAddress compares addresses, not spellings', () => {
    expect(isSameAddress('2a00::1', '2a00:0:0::1')).to.equal(true);
    expect(isSameAddress('1.1.1.1', '1.1.1.2')).to.equal(false);
    expect(isSameAddress('', '')).to.equal(false);
  });

  // The special-purpose registries of IANA, read by another hand: the blocks that are not globally reachable, and those that relay for others.
  const special = {
    ipv4:
      '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.31.196.0/24 192.52.193.0/24 ' +
      '192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4',
    ipv6: '::/3 2001::/23 2001:db8::/32 2002::/16 2620:4f:8000::/48 3fff::/20 4000::/2 8000::/1',
  };
  for (const family of ['ipv4', 'ipv6'] as const)
    it(`agrees with the registry on 20,000 ${family} addresses`, () => {
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
