import '../harness/offline.ts';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { createOutbound, type Outbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { type Peer, startPeer } from '../harness/site.ts';

const response = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi';
/** What a peer does with the socket of each request. */
type Answer = (socket: Socket) => void;
const send =
  (text: string): Answer =>
  (socket) =>
    void socket.write(text);

describe('outbound: kept connections', () => {
  let peer: Peer;
  let outbound: Outbound;
  let sockets: Socket[];
  let asked: number;
  afterEach(() => peer.close());

  const start = async (answer: Answer): Promise<void> => {
    [sockets, asked] = [[], 0];
    peer = await startPeer((socket) => {
      sockets.push(socket);
      socket.on('data', () => {
        asked++;
        answer(socket);
      });
    });
    outbound = createOutbound({ allow: [peer.pair] });
  };
  const request = (more: Partial<OutboundRequest> = {}): Promise<OutboundResult> =>
    outbound({ url: `http://${peer.pair}/`, timeoutMs: 10_000, maxBytes: 100, keepFor: 'one', ...more });
  const body = (result: OutboundResult): string => (result.ok ? result.body.toString() : `${result.step}: ${result.reason}`);

  it('are used again by the same user for the same origin, also for another path, and not looked up again', async () => {
    await start(send(response));
    const first = await request();
    const second = await request({ url: `http://${peer.pair}/other`, method: 'POST', body: Buffer.from('{}') });
    expect([body(first), body(second), peer.opened()]).to.deep.equal(['hi', 'hi', 1]);
    expect(second.stages.map(({ step }) => step)).to.deep.equal(['url', 'status', 'body']);
  });

  for (const [who, more] of [
    ['another user', { keepFor: 'other' }],
    ['a request that names no user', { keepFor: undefined }],
    ['another origin', { url: '' }],
  ] as const)
    it(`are not used by ${who}`, async () => {
      await start(send(response));
      outbound = createOutbound({ allow: [peer.pair, `localhost:${peer.port}`] });
      await request();
      expect(body(await request({ ...more, ...('url' in more && { url: `http://localhost:${peer.port}/` }) }))).to.equal('hi');
      expect(peer.opened()).to.equal(2);
    });

  for (const [what, answer, more, outcome] of [
    [
      'whose answer was too long',
      send('HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n'.concat('x'.repeat(200))),
      {},
      'body: is longer than 100 bytes',
    ],
    [
      'whose answer was cut',
      send('HTTP/1.1 200 OK\r\ncontent-length: 200\r\n\r\n'.concat('x'.repeat(200))),
      { overflow: 'cut' },
      'x'.repeat(100),
    ],
    ['whose answer was not read', send(response), { shouldReadBody: () => false }, ''],
    ['that the server closes', send('HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nhi'), {}, 'hi'],
    ['whose end is the end of the answer', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\n\r\nhi'), {}, 'hi'],
    ['with bytes that nobody asked for', send(response + response), {}, 'hi'],
  ] as const)
    it(`a connection ${what} is not kept`, async () => {
      await start(answer);
      expect(body(await request(more))).to.equal(outcome);
      expect(body(await request(more))).to.equal(outcome);
      expect([peer.opened(), asked]).to.deep.equal([2, 2]);
    });

  it('that the server has closed meanwhile are opened again, and the request is sent once', async () => {
    await start(send(response));
    await request();
    const [socket] = sockets as [Socket];
    socket.end();
    await once(socket, 'close'); // once the client has closed its side, too
    expect(body(await request())).to.equal('hi');
    expect([peer.opened(), asked]).to.deep.equal([2, 2]);
  });

  it('a request that the server has received is not sent again, though its connection ends without an answer', async () => {
    await start((socket) => void (asked === 2 ? socket.destroy() : socket.write(response)));
    await request();
    expect(body(await request())).to.match(/^status: failed/);
    expect([peer.opened(), asked]).to.deep.equal([1, 2]);
  });

  it('skip interim responses before each answer', async () => {
    await start(send(`HTTP/1.1 100 Continue\r\n\r\n${response}`));
    expect([body(await request()), body(await request()), peer.opened()]).to.deep.equal(['hi', 'hi', 1]);
  });

  it('are at most 8 for each user and origin', async () => {
    const waiting: Socket[] = [];
    await start((socket) => void (waiting.push(socket) === 10 && waiting.splice(0).forEach(send(response))));
    await Promise.all(Array.from({ length: 10 }, () => request()));
    await Promise.all(Array.from({ length: 10 }, () => request()));
    expect(peer.opened()).to.equal(12);
  });
});
