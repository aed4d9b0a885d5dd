import '../harness/offline.ts';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { type Peer, startPeer } from '../harness/site.ts';

const failure = (result: OutboundResult): string =>
  result.ok ? `status ${result.status}: ${result.body.toString()}` : `${result.step}: ${result.reason}`;

const statusLine = 'HTTP/1.1 200 OK\r\n';
const response = `${statusLine}content-length: 2\r\n\r\nhi`;
const chunked = `${statusLine}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n`;

type Serve = (socket: Socket) => void;

/** Sends `text` after the request, and nothing more. */
const send =
  (text: string): Serve =>
  (socket) =>
    void socket.once('data', () => socket.write(text, 'latin1'));
/** Sends `text` after the request and closes the connection. */
const sendAndEnd =
  (text: string): Serve =>
  (socket) =>
    void socket.once('data', () => socket.end(text, 'latin1'));
/** Sends `text`, then `piece` repeatedly until the connection is closed. */
const flood =
  (text: string, piece: string): Serve =>
  (socket) => {
    const some = piece.repeat(Math.ceil(4_096 / piece.length));
    const more = (): void => {
      while (!socket.destroyed && socket.write(some));
    };
    socket.on('drain', more).once('data', () => (socket.write(text), more()));
  };

/** The deadline of requests that end only at their deadline, in milliseconds. */
const shortMs = 400;

/** Unusual behavior of a peer, the expected result, and the deadline of the request if it is not 10 s. */
const rows: readonly [what: string, serve: Serve, outcome: string, timeoutMs?: number][] = [
  [
    'a response on a connection with keep-alive',
    send(response.replace(statusLine, `${statusLine}keep-alive: timeout=600\r\n`)),
    'status 200: hi',
  ],
  // responses with an ambiguous length or none
  ['a second response after the first', send(`${response}${response.replace('hi', 'ho')}`), 'status 200: hi'],
  ['a response before the request', (socket) => socket.resume().write(response), 'status 200: hi'],
  [
    'Content-Length and chunked encoding',
    send(chunked.replace(statusLine, `${statusLine}content-length: 2\r\n`)),
    'status: failed (UND_ERR_RES_CONTENT_LENGTH_MISMATCH)',
  ],
  [
    'two Content-Length headers',
    send(response.replace(statusLine, `${statusLine}content-length: 1\r\n`)),
    'status: failed (UND_ERR_RES_CONTENT_LENGTH_MISMATCH)',
  ],
  ['a negative Content-Length', send(response.replace(': 2', ': -2')), 'status: failed (not HTTP)'],
  ['a body that ends with the connection', sendAndEnd(`${statusLine}\r\nhi`), 'status 200: hi'],
  ['a body shorter than Content-Length', sendAndEnd(response.replace(': 2', ': 3')), 'body: failed (closed)'],
  ['a chunked body without the last chunk', sendAndEnd(chunked), 'body: failed (closed)'],
  ['a chunk with an invalid length', send(chunked.replace('\n2\r', '\nx\r')), 'body: failed (not HTTP)'],
  // invalid HTTP/1.1
  ['a body without status line and headers', send('<html>hi</html>'), 'status: failed (not HTTP)'],
  ['lines that end with LF alone', send(response.replaceAll('\r', '')), 'status: failed (not HTTP)'],
  ['a folded header', send(response.replace(statusLine, `${statusLine}x: a\r\n b\r\n`)), 'status: failed (not HTTP)'],
  ['NUL in a header', send(response.replace(statusLine, `${statusLine}x: a\0b\r\n`)), 'status: failed (not HTTP)'],
  ['CR in a header', send(response.replace(statusLine, `${statusLine}x: a\rset-cookie: b\r\n`)), 'status: failed (not HTTP)'],
  ['a space before a colon', send(response.replace(statusLine, `${statusLine}x : a\r\n`)), 'status: failed (not HTTP)'],
  ['a status of four digits', send(response.replace('200', '2000')), 'status: failed (not HTTP)'],
  [
    'headers named like object properties',
    send(response.replace(statusLine, `${statusLine}__proto__: a\r\nconstructor: b\r\n`)),
    'status 200: hi',
  ],
  // interim responses
  ['102 before the response', send(`HTTP/1.1 102 Processing\r\n\r\n${response}`), 'status 200: hi'],
  ['100, which was not requested', send(`HTTP/1.1 100 Continue\r\n\r\n${response}`), 'status 200: hi'],
  ['101', send('HTTP/1.1 101 Switching Protocols\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n'), 'status: failed (closed)'],
  ['endless 103 responses', flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 'status: timed out', shortMs],
  // endless headers and bodies
  ['endless headers', flood(statusLine, 'x-a: b\r\n'), 'status: failed (UND_ERR_HEADERS_OVERFLOW)'],
  ['an endless header', flood(`${statusLine}x-a: `, 'b'), 'status: failed (UND_ERR_HEADERS_OVERFLOW)'],
  ['an endless status line', flood('HTTP/1.1 200 ', 'O'), 'status: timed out', shortMs],
  ['endless trailers', flood(`${chunked}0\r\n`, 'x-a: b\r\n'), 'body: failed (UND_ERR_HEADERS_OVERFLOW)'],
  [
    'an endless body in chunks of one byte',
    flood(`${statusLine}transfer-encoding: chunked\r\n\r\n`, '1\r\na\r\n'),
    'body: is longer than 1000 bytes',
  ],
  ['an endless chunk extension', flood(`${statusLine}transfer-encoding: chunked\r\n\r\n2;`, 'a'), 'body: timed out', shortMs],
  // connections that end or hang
  ['a connection closed at once', (socket) => socket.resume().end(), 'status: failed (closed)'],
  ['a connection closed within the headers', sendAndEnd(statusLine), 'status: failed (closed)'],
  ['a reset after the request', (socket) => socket.once('data', () => socket.resetAndDestroy()), 'status: failed (ECONNRESET)'],
  ['no response', () => undefined, 'status: timed out', shortMs],
  ['incomplete headers', send(statusLine), 'status: timed out', shortMs],
  ['headers without the body', send(`${statusLine}content-length: 2\r\n\r\n`), 'body: timed out', shortMs],
  ['headers without the body that ends with the connection', send(`${statusLine}\r\n`), 'body: timed out', shortMs],
  ['an incomplete body', send(response.replace(': 2', ': 3')), 'body: timed out', shortMs],
  ['an incomplete body that ends with the connection', send(`${statusLine}\r\nhi`), 'body: timed out', shortMs],
  ['an incomplete chunked body', send(chunked), 'body: timed out', shortMs],
];

describe('outbound: unusual responses', () => {
  let peer: Peer | undefined;
  afterEach(() => peer?.close());

  /** Sends one request to a peer that runs `serve`, and waits until the connection is closed on both sides and no timer is left. */
  const request = async (serve: Serve, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> => {
    let accepted: Socket | undefined;
    peer = await startPeer((socket) => {
      accepted = socket;
      serve(socket);
    });
    const before = timers();
    const outbound = createOutbound({ allow: [peer.pair] });
    const result = await outbound({ url: `http://${peer.pair}/`, timeoutMs: 10_000, maxBytes: 1_000, ...more });
    // Timers of other tests in this process end at some time, but one that the request left would not.
    while (timers() > before) await new Promise((resolve) => setImmediate(resolve));
    accepted?.resume(); // a paused socket does not notice the end
    await peer.quiet();
    expect(peer.opened()).to.equal(1);
    return result;
  };
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

  for (const [what, serve, outcome, timeoutMs] of rows)
    it(`${what} → ${outcome}`, async () => {
      const result = await request(serve, timeoutMs ? { timeoutMs } : {});
      expect(failure(result)).to.equal(outcome);
      expect(result.stages.at(-1)?.step).to.equal(result.ok ? 'body' : result.step);
    });

  it('accepts a response before the request body was sent completely, and fails at the deadline if the peer does not read', async () => {
    const post = { method: 'POST', body: Buffer.alloc(20_000_000) } as const;
    expect(failure(await request((socket) => socket.write(response), post))).to.equal('status 200: hi');
    await peer?.close();
    expect(failure(await request(() => undefined, { ...post, timeoutMs: shortMs }))).to.equal('status: timed out');
  });

  it('takes the first of two equal headers, and header names do not change prototypes', async () => {
    const result = await request(send(response.replace(statusLine, `${statusLine}x: a\r\nX: b\r\n__proto__: c\r\n`)));
    expect(result.ok && result.headers.x).to.equal('a');
    expect(({} as { x?: string }).x).to.equal(undefined);
    expect(Object.getPrototypeOf(result.ok && result.headers)).to.equal(Object.prototype);
  });

  describe('a URL cannot inject headers', () => {
    let received = '';
    const record: Serve = (socket) =>
      void socket.on('data', (piece) => {
        received += piece.toString('latin1');
        if (received.endsWith('\r\n\r\n')) socket.write(response);
      });
    beforeEach(() => {
      received = '';
    });
    for (const [what, tail, path] of [
      ['CR and LF', 'a\r\nX-Evil: 1\r\n\r\nGET /b', 'aX-Evil:%201GET%20/b'],
      ['escaped CR and LF', 'a%0d%0aX-Evil:%201', 'a%0d%0aX-Evil:%201'],
      ['escaped CR and LF in a query', '?a%0D%0AX-Evil: 1', '?a%0D%0AX-Evil:%201'],
      ['other line separators', 'a\u2028X-Evil\u0085b\v\0c', 'a%E2%80%A8X-Evil%C2%85b%0B%00c'],
      ['characters whose low byte is CR or LF', 'a\u560d\u560aX-Evil: 1', 'a%E5%98%8D%E5%98%8AX-Evil:%201'],
      ['a space and a version', 'a HTTP/1.1', 'a%20HTTP/1.1'],
      ['a fragment', 'a#\r\nX-Evil: 1', 'a'],
    ] as const)
      it(what, async () => {
        peer = await startPeer(record);
        const outbound = createOutbound({ allow: [peer.pair] });
        const result = await outbound({ url: `http://${peer.pair}/${tail}`, timeoutMs: 10_000, maxBytes: 1_000 });
        expect(failure(result)).to.equal('status 200: hi');
        expect(received.split('\r\n')[0]).to.equal(`GET /${path} HTTP/1.1`);
        expect(received.toLowerCase()).not.to.include('\r\nx-evil');
      });
  });
});
