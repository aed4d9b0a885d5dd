import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { make } from '../harness/use.ts';
import { Client } from './client.ts';
import { useGateway } from './gateway-fixture.ts';

const heartbeat = '{"op":1,"d":null}';
const paddedHeartbeat = (bytes: number): string => JSON.stringify({ op: 1, d: null, padding: 'x'.repeat(bytes) });
const repeat = (count: number, act: () => void): void => {
  for (let n = 0; n < count; n++) act();
};
const { gatewayFramesPerMinute: frames, gatewayBytesPerMinute: bytes } = limits;
const { gatewayFramesUnidentified: earlyFrames, gatewayBytesUnidentified: earlyBytes, gatewayFragments: fragments } = limits;

describe('gateway: limits per socket and address', () => {
  const rawSockets: Socket[] = [];
  after(() => {
    for (const raw of rawSockets) raw.destroy();
  });
  const { fixture, bot } = useGateway(0);
  const node = make(() => fixture.addNode({ TRUST_PROXY: 1 }));

  const at = (address: string, path = '/'): Client => new Client(node.port, path, { 'x-forwarded-for': address });
  const fromNewAddress = (): Client => at(`2001:db8:${Math.trunc(Math.random() * 0xffff).toString(16)}::1`);

  /** Each flood takes into account what the socket has sent already: `identify` is a frame. */
  const floods: [what: string, code: number, flood: (client: Client, mostFrames: number, mostBytes: number) => void][] = [
    ['heartbeats', 4008, (client, most) => repeat(most + 1, () => client.send(heartbeat))],
    ['pings', 4008, ({ ws }, most) => repeat(most + 1, () => ws.ping())],
    ['pongs', 4008, ({ ws }, most) => repeat(most + 1, () => ws.pong('x'.repeat(100)))],
    ['long frames', 4008, (client, _most, mostBytes) => repeat(mostBytes / 8192 + 1, () => client.send(paddedHeartbeat(8192)))],
    ['fragments of one frame', 1008, ({ ws }) => repeat(fragments + 1, () => ws.send('x', { fin: false }))],
  ];
  for (const [what, code, flood] of floods) {
    it(`closes with ${code} for too many ${what} before identify`, async () => {
      const client = fromNewAddress();
      await client.until(10);
      flood(client, earlyFrames, earlyBytes);
      expect(await client.closed).to.equal(code);
    });
    it(`closes with ${code} for too many ${what} after identify`, async () => {
      const client = fromNewAddress();
      await client.identify(bot.token);
      flood(client, frames - 1, bytes);
      expect(await client.closed).to.equal(code);
    });
  }

  it(`allows ${earlyFrames} frames before READY and ${frames} per minute after it`, async () => {
    const client = fromNewAddress();
    await client.until(10);
    repeat(earlyFrames - 1, () => client.send(heartbeat));
    client.send({ op: 2, d: { token: bot.token } });
    await client.until(0, 'READY');
    repeat(frames - earlyFrames, () => client.send(heartbeat));
    for (let n = 0; n < frames - earlyFrames; n++) await client.until(11);
    await client.cut();
  });

  it('stops reading from a flooding socket and terminates it when it does not close', async () => {
    const key = 'x-forwarded-for: 192.0.2.77\r\nsec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==';
    const raw: Socket = connect(node.port, '127.0.0.1');
    rawSockets.push(raw);
    raw.on('error', () => undefined);
    raw.resume();
    const closed = new Promise((resolve) => raw.once('close', resolve));
    raw.write(`GET / HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n${key}\r\n\r\n`);
    await new Promise((resolve) => raw.once('data', resolve));
    const [socket] = [...node.node.sockets].slice(-1);
    if (!socket) expect.fail();
    raw.once('close', () => clearInterval(flood));
    const pongs = Buffer.from('8a8000000000'.repeat(10_000), 'hex');
    const flood = setInterval(() => raw.writableLength < 10_000_000 && raw.write(pongs), 1);
    await closed;
    // One read of the connection is 64 KiB. The node may have read that much before it counted the first frames, but no more.
    expect(socket.tcpSocket.bytesRead).to.be.at.most(earlyBytes + 2 * 65_536);
  });

  it('allows 200 unidentified sockets per IPv4 address and per IPv6 /64', async () => {
    for (const [first, same, other] of [
      ['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.2'],
      ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'],
    ] as const) {
      const many = Array.from({ length: 200 }, () => at(`9.9.9.9, ${first}`));
      for (const client of many) await client.until(10);
      expect(await at(same).closed).to.equal(1006);
      const neighbour = at(other);
      expect((await neighbour.next()).op).to.equal(10);
      many[0]?.send({ op: 2, d: { token: bot.token } });
      await many[0]?.until(0, 'READY');
      const next = at(same);
      expect((await next.next()).op).to.equal(10);
      for (const client of [...many, neighbour, next]) client.ws.terminate();
    }
  });

  it('refuses new sockets of an address for a minute after 600 ended unidentified', async () => {
    const identified = at('192.0.2.3');
    await identified.identify(bot.token);
    await identified.cut();
    const batch = async (path: string): Promise<void> => {
      await Promise.all(Array.from({ length: 100 }, () => at('192.0.2.3', path).closed));
    };
    for (let n = 0; n < 6; n++) await batch('/?v=2');
    expect(await at('192.0.2.3', '/?v=2').closed).to.equal(1006);
    expect(await at('192.0.2.4', '/?v=2').closed).to.equal(4012);
    const usage = node.node.addresses.get('192.0.2.3') ?? expect.fail();
    expect(usage).to.include({ openCount: 0, failedCount: 600 });
    usage.windowStartMs -= 60_000;
    expect(await at('192.0.2.3', '/?v=2').closed).to.equal(4012);
  });
});
