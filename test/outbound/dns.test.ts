import '../harness/offline.ts';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Socket as Connection, isIP } from 'node:net';
import { expect } from 'chai';
import ipaddr from 'ipaddr.js';
import { createOutbound, type Outbound, type OutboundResult } from '../../lib/outbound/request.ts';
import { createDnsResolver } from '../../lib/outbound/target.ts';

/** The response of the test's name server for each name: addresses, no such name, a server failure or no response. */
const zone: Record<
  string,
  readonly string[] | 'none' | 'failed' | 'silent' | { 4: readonly string[] | 'failed' | 'silent'; 6: readonly string[] | 'failed' }
> = {
  'public.example': ['93.184.215.14', '2606:2800:21f:cb07::1'],
  'inside.example': ['10.1.2.3'],
  'inside6.example': { 4: ['93.184.215.14'], 6: ['fd00::1'] },
  'mixed.example': ['93.184.215.14', '127.0.0.1'],
  'mapped.example': { 4: ['93.184.215.14'], 6: ['::ffff:127.0.0.1'] },
  'half.example': { 4: ['93.184.215.14'], 6: 'failed' },
  'many.example': ['2606:2800:21f:cb07::1', '2606:2800:21f:cb07::2', '93.184.215.14', '93.184.215.15', '93.184.215.16'],
  'gone.example': 'none',
  'failed.example': 'failed',
  'silent.example': 'silent',
};

/** Names whose addresses change: those for the first query of each family, and for all later queries. */
const rebinding: Record<string, { 4: [first: string[], later: string[]]; 6: [first: string[], later: string[]] }> = {
  'rebind.example': { 4: [['93.184.215.14'], ['127.0.0.1']], 6: [[], []] },
  'rebind6.example': { 4: [['93.184.215.14'], ['93.184.215.14']], 6: [['2606:2800:21f:cb07::1'], ['::1']] },
  'other-family.example': { 4: [['93.184.215.14'], []], 6: [[], ['::1']] },
  'back.example': { 4: [['127.0.0.1'], ['93.184.215.14']], 6: [[], []] },
};

const typeOf = { 4: 1, 6: 28 } as const;

/** The number of queries for each name and family. */
const queries = new Map<string, number>();

/** The response to one DNS query; null for none. */
function answerTo(query: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size));
    at += size + 1;
  }
  const family = query.readUInt16BE(at + 1) === typeOf[4] ? 4 : 6;
  const name = labels.join('.').toLowerCase();
  const times = queries.get(`${name} ${family}`) ?? 0;
  queries.set(`${name} ${family}`, times + 1);
  const stored = zone[name] ?? 'none';
  const fixed = typeof stored === 'object' && '6' in stored ? stored[family] : stored;
  const entry = rebinding[name]?.[family][times > 0 ? 1 : 0] ?? fixed;
  if (entry === 'silent') return null;
  const records = typeof entry === 'string' ? [] : entry.filter((one) => isIP(one) === family);
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(0x8180 | (entry === 'none' ? 3 : entry === 'failed' ? 2 : 0), 2);
  for (const [offset, count] of [
    [4, 1],
    [6, records.length],
    [8, 0],
    [10, 0],
  ] as const)
    header.writeUInt16BE(count, offset);
  const rows = records.map((one) => {
    const data = Buffer.from(ipaddr.parse(one).toByteArray());
    const row = Buffer.from([0xc0, 12, 0, typeOf[family], 0, 1, 0, 0, 0, 0, 0, data.length]);
    return Buffer.concat([row, data]);
  });
  return Buffer.concat([header, query.subarray(12, at + 5), ...rows]);
}

const failure = (result: OutboundResult): string => (result.ok ? `status ${result.status}` : `${result.step}: ${result.reason}`);

describe('outbound: name servers', () => {
  let server: Socket;
  let outbound: Outbound;
  before(async () => {
    server = createSocket('udp4', (query, from) => {
      const answer = answerTo(query);
      if (answer) server.send(answer, from.port, from.address);
    });
    server.bind(0, '127.0.0.1');
    await once(server, 'listening');
    outbound = createOutbound({ allow: [], resolve: createDnsResolver([`127.0.0.1:${server.address().port}`]) });
  });
  after(() => {
    server.close();
  });
  const request = async (host: string, timeoutMs = 5_000): Promise<string> =>
    failure(await outbound({ url: `https://${host}/`, timeoutMs, maxBytes: 1_000 }));

  // Tests may connect only to loopback, so a failure at connect shows that the name was accepted.
  for (const host of ['public.example', 'PUBLIC.example.', 'half.example'])
    it(`accepts ${host}`, async () => expect(await request(host)).to.match(/^connect: /));
  for (const host of ['inside.example', 'inside6.example', 'mixed.example', 'mapped.example'])
    it(`refuses ${host}`, async () => expect(await request(host)).to.equal('dns: the host has an address that is not public'));
  for (const host of ['gone.example', 'failed.example', 'localhost', 'localhost.localdomain'])
    it(`does not find ${host}, also if the hosts file has it`, async () => expect(await request(host)).to.match(/^dns: /));
  it('fails at the deadline or earlier when the name server does not respond, and sends no more queries', async () => {
    expect(await request('silent.example', 200)).to.equal('dns: timed out');
    expect(await request('silent.example', 10_000)).to.equal('dns: the host was not found');
    // One attempt before the short deadline and two before the long one. A second attempt of the first request would have come in that time.
    expect([queries.get('silent.example 4'), queries.get('silent.example 6')]).to.deep.equal([3, 3]);
  });

  describe('a name whose addresses change to loopback', () => {
    const refused = 'dns: the host has an address that is not public';
    for (const host of ['rebind.example', 'rebind6.example', 'other-family.example'])
      it(`${host}: connects to the address of the first response, with one query per family, and refuses the next request`, async () => {
        expect(await request(host)).to.match(/^connect: /);
        expect([queries.get(`${host} 4`), queries.get(`${host} 6`)]).to.deep.equal([1, 1]);
        expect(await request(host)).to.equal(refused);
      });
    it('refuses a name while it resolves to loopback, and accepts it later', async () => {
      expect(await request('back.example')).to.equal(refused);
      expect(await request('back.example')).to.match(/^connect: /);
    });
  });

  it('tries four of many addresses, IPv4 first', async () => {
    const connected: string[] = [];
    const prototype = Connection.prototype as { connect: (this: Connection, ...args: unknown[]) => Connection };
    const { connect } = prototype;
    prototype.connect = function recorded(first, ...rest) {
      const { host } = (Array.isArray(first) ? first[0] : first) as { host?: string };
      if (host?.includes('2606:') || host?.startsWith('93.')) connected.push(host); // ignores connections of other test files in this process
      return connect.call(this, first, ...rest);
    };
    try {
      expect(await request('many.example')).to.match(/^connect: /);
      const found = ['2606:2800:21f:cb07::1', '93.184.215.14'];
      const other = createOutbound({ allow: [], resolve: async () => found });
      expect(failure(await other({ url: 'https://two.example/', timeoutMs: 5_000, maxBytes: 1_000 }))).to.match(/^connect: /);
    } finally {
      prototype.connect = connect;
    }
    expect(connected.map((one) => isIP(one))).to.deep.equal([4, 4, 4, 6, 4, 6]);
  });
});
