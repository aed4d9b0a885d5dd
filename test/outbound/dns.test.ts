import '../harness/offline.ts';
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { Socket as Connection, isIP } from 'node:net';
import { expect } from 'chai';
import ipaddr from 'ipaddr.js';
import { createOutbound, type Outbound, type OutboundResult } from '../../lib/outbound/request.ts';
import { askNameServers } from '../../lib/outbound/target.ts';

/** What the name server of the test says of each name: addresses, that there is none, that it failed, or nothing at all. */
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

/** Names whose owner changes what they say: the addresses of the first question of each family, and of all later ones. */
const rebinding: Record<string, { 4: [first: string[], later: string[]]; 6: [first: string[], later: string[]] }> = {
  'rebind.example': { 4: [['93.184.215.14'], ['127.0.0.1']], 6: [[], []] },
  'rebind6.example': { 4: [['93.184.215.14'], ['93.184.215.14']], 6: [['2606:2800:21f:cb07::1'], ['::1']] },
  'other-family.example': { 4: [['93.184.215.14'], []], 6: [[], ['::1']] },
  'back.example': { 4: [['127.0.0.1'], ['93.184.215.14']], 6: [[], []] },
};

const typeOf = { 4: 1, 6: 28 } as const;

/** How often each name was asked for, by family. */
const asked = new Map<string, number>();

/** The answer to one DNS question; null for silence. */
function answerTo(query: Buffer): Buffer | null {
  const labels: string[] = [];
  let at = 12;
  for (let size = query[at] ?? 0; size > 0; size = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + size));
    at += size + 1;
  }
  const family = query.readUInt16BE(at + 1) === typeOf[4] ? 4 : 6;
  const name = labels.join('.').toLowerCase();
  const times = asked.get(`${name} ${family}`) ?? 0;
  asked.set(`${name} ${family}`, times + 1);
  const said = zone[name] ?? 'none';
  const standing = typeof said === 'object' && '6' in said ? said[family] : said;
  const entry = rebinding[name]?.[family][times > 0 ? 1 : 0] ?? standing;
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

const failure = (result: OutboundResult): string => (result.ok ? `answered ${result.status}` : `${result.step}: ${result.reason}`);

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
    outbound = createOutbound({ allow: [], resolve: askNameServers([`127.0.0.1:${server.address().port}`]) });
  });
  after(() => {
    server.close();
  });
  const ask = async (host: string, timeoutMs = 5_000): Promise<string> =>
    failure(await outbound({ url: `https://${host}/`, timeoutMs, maxBytes: 1_000 }));

  // Tests may not connect off loopback: failing there shows that the name was let through.
  for (const host of ['public.example', 'PUBLIC.example.', 'half.example'])
    it(`${host} is let through`, async () => expect(await ask(host)).to.match(/^connect: /));
  for (const host of ['inside.example', 'inside6.example', 'mixed.example', 'mapped.example'])
    it(`${host} is refused`, async () => expect(await ask(host)).to.equal('dns: the host has an address that is not public'));
  for (const host of ['gone.example', 'failed.example', 'localhost', 'localhost.localdomain'])
    it(`${host} is not found, whatever this machine's own files say`, async () => expect(await ask(host)).to.match(/^dns: /));
  it('one that nobody answers for ends at the deadline, or sooner, and nobody is asked any more', async () => {
    expect(await ask('silent.example', 200)).to.equal('dns: timed out');
    expect(await ask('silent.example', 10_000)).to.equal('dns: the host was not found');
    // One try before the deadline, two where there was time: while those waited, the first request's second would have come.
    expect([asked.get('silent.example 4'), asked.get('silent.example 6')]).to.deep.equal([3, 3]);
  });

  describe('a name that is turned to loopback', () => {
    const refused = 'dns: the host has an address that is not public';
    for (const host of ['rebind.example', 'rebind6.example', 'other-family.example'])
      it(`${host} goes where the first answer said, asked once a family; the next request is refused`, async () => {
        expect(await ask(host)).to.match(/^connect: /);
        expect([asked.get(`${host} 4`), asked.get(`${host} 6`)]).to.deep.equal([1, 1]);
        expect(await ask(host)).to.equal(refused);
      });
    it('the other way round it is refused first', async () => {
      expect(await ask('back.example')).to.equal(refused);
      expect(await ask('back.example')).to.match(/^connect: /);
    });
  });

  it('of many addresses four are tried, those of IPv4 first', async () => {
    const dialled: string[] = [];
    const prototype = Connection.prototype as unknown as { connect: (this: Connection, ...args: unknown[]) => Connection };
    const { connect } = prototype;
    prototype.connect = function noted(first, ...rest) {
      const { host } = (Array.isArray(first) ? first[0] : first) as { host?: string };
      if (host?.includes('2606:') || host?.startsWith('93.')) dialled.push(host); // not what other files left open in this process
      return connect.call(this, first, ...rest);
    };
    try {
      expect(await ask('many.example')).to.match(/^connect: /);
      const found = ['2606:2800:21f:cb07::1', '93.184.215.14'];
      const other = createOutbound({ allow: [], resolve: async () => found });
      expect(failure(await other({ url: 'https://two.example/', timeoutMs: 5_000, maxBytes: 1_000 }))).to.match(/^connect: /);
    } finally {
      prototype.connect = connect;
    }
    expect(dialled.map((one) => isIP(one))).to.deep.equal([4, 4, 4, 6, 4, 6]);
  });
});
