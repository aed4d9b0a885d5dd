import '../harness/offline.ts';
import type { Socket } from 'node:net';
import { expect } from 'chai';
import { createOutbound, type OutboundRequest, type OutboundResult } from '../../lib/outbound/request.ts';
import { type Peer, startPeer } from '../harness/site.ts';

const failure = (result: OutboundResult): string =>
  result.ok ? `answered ${result.status}: ${result.body.toString()}` : `${result.step}: ${result.reason}`;

const fine = 'HTTP/1.1 200 OK\r\n';
const hi = `${fine}content-length: 2\r\n\r\nhi`;
const chunked = `${fine}transfer-encoding: chunked\r\n\r\n2\r\nhi\r\n`;

type Serve = (socket: Socket) => void;

/** Says `text` once something was asked, and nothing more. */
const say =
  (text: string): Serve =>
  (socket) =>
    void socket.once('data', () => socket.write(text, 'latin1'));
/** The same, and closes the connection. */
const sayAndEnd =
  (text: string): Serve =>
  (socket) =>
    void socket.once('data', () => socket.end(text, 'latin1'));
/** Says `text`, and then `piece` for as long as anybody listens. */
const flood =
  (text: string, piece: string): Serve =>
  (socket) => {
    const some = piece.repeat(Math.ceil(4_096 / piece.length));
    const more = (): void => {
      while (!socket.destroyed && socket.write(some));
    };
    socket.on('drain', more).once('data', () => (socket.write(text), more()));
  };

/** How long the requests may take that only their deadline ends, in milliseconds. */
const short = 400;

/** What a peer may do that is not a plain answer, what comes of it, and how long the request may take. */
const rows: readonly [what: string, serve: Serve, outcome: string, timeoutMs?: number][] = [
  ['an answer on a connection that may stay open', say(hi.replace(fine, `${fine}keep-alive: timeout=600\r\n`)), 'answered 200: hi'],
  // answers that say where they end in two ways, or in none
  ['a second answer behind the first', say(`${hi}${hi.replace('hi', 'ho')}`), 'answered 200: hi'],
  ['an answer before it was asked', (socket) => socket.resume().write(hi), 'answered 200: hi'],
  [
    'a length and chunks',
    say(chunked.replace(fine, `${fine}content-length: 2\r\n`)),
    'status: failed (UND_ERR_RES_CONTENT_LENGTH_MISMATCH)',
  ],
  ['two lengths', say(hi.replace(fine, `${fine}content-length: 1\r\n`)), 'status: failed (UND_ERR_RES_CONTENT_LENGTH_MISMATCH)'],
  ['a negative length', say(hi.replace(': 2', ': -2')), 'status: failed (not HTTP)'],
  ['a body that ends with the connection', sayAndEnd(`${fine}\r\nhi`), 'answered 200: hi'],
  ['less than it says', sayAndEnd(hi.replace(': 2', ': 3')), 'body: failed (closed)'],
  ['chunks without an end', sayAndEnd(chunked), 'body: failed (closed)'],
  ['a chunk of no length', say(chunked.replace('\n2\r', '\nx\r')), 'body: failed (not HTTP)'],
  // what is no HTTP/1.1
  ['a page without a head', say('<html>hi</html>'), 'status: failed (not HTTP)'],
  ['lines that end with LF alone', say(hi.replaceAll('\r', '')), 'status: failed (not HTTP)'],
  ['a folded header', say(hi.replace(fine, `${fine}x: a\r\n b\r\n`)), 'status: failed (not HTTP)'],
  ['NUL in a header', say(hi.replace(fine, `${fine}x: a\0b\r\n`)), 'status: failed (not HTTP)'],
  ['CR in a header', say(hi.replace(fine, `${fine}x: a\rset-cookie: b\r\n`)), 'status: failed (not HTTP)'],
  ['a blank before a colon', say(hi.replace(fine, `${fine}x : a\r\n`)), 'status: failed (not HTTP)'],
  ['a status of four digits', say(hi.replace('200', '2000')), 'status: failed (not HTTP)'],
  ['names that objects have', say(hi.replace(fine, `${fine}__proto__: a\r\nconstructor: b\r\n`)), 'answered 200: hi'],
  // interim answers
  ['102 first', say(`HTTP/1.1 102 Processing\r\n\r\n${hi}`), 'answered 200: hi'],
  ['100, which was not asked for', say(`HTTP/1.1 100 Continue\r\n\r\n${hi}`), 'status: failed (closed)'],
  ['101', say('HTTP/1.1 101 Switching Protocols\r\nupgrade: a\r\nconnection: upgrade\r\n\r\n'), 'status: failed (closed)'],
  ['103 without end', flood('', 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n'), 'status: timed out', short],
  // heads and bodies without end
  ['headers without end', flood(fine, 'x-a: b\r\n'), 'status: failed (UND_ERR_HEADERS_OVERFLOW)'],
  ['one header without end', flood(`${fine}x-a: `, 'b'), 'status: failed (UND_ERR_HEADERS_OVERFLOW)'],
  ['a status line without end', flood('HTTP/1.1 200 ', 'O'), 'status: timed out', short],
  ['trailers without end', flood(`${chunked}0\r\n`, 'x-a: b\r\n'), 'body: failed (UND_ERR_HEADERS_OVERFLOW)'],
  ['chunks of one byte', flood(`${fine}transfer-encoding: chunked\r\n\r\n`, '1\r\na\r\n'), 'body: is longer than 1000 bytes'],
  ['an extension of a chunk without end', flood(`${fine}transfer-encoding: chunked\r\n\r\n2;`, 'a'), 'body: timed out', short],
  // connections that end or hang
  ['the end at once', (socket) => socket.resume().end(), 'status: failed (closed)'],
  ['the end within the head', sayAndEnd(fine), 'status: failed (closed)'],
  ['a reset once asked', (socket) => socket.once('data', () => socket.resetAndDestroy()), 'status: failed (ECONNRESET)'],
  ['nothing', () => undefined, 'status: timed out', short],
  ['half a head', say(fine), 'status: timed out', short],
  ['a head alone', say(`${fine}content-length: 2\r\n\r\n`), 'body: timed out', short],
  ['a head alone, its body to end with the connection', say(`${fine}\r\n`), 'body: timed out', short],
  ['half a body', say(hi.replace(': 2', ': 3')), 'body: timed out', short],
  ['half a body that is to end with the connection', say(`${fine}\r\nhi`), 'body: timed out', short],
  ['chunks that stop', say(chunked), 'body: timed out', short],
];

describe('outbound: odd answers', () => {
  let peer: Peer | undefined;
  afterEach(() => peer?.close());

  /** Serves one request of `more`, until the connection is gone at both ends and nothing is left to run. */
  const ask = async (serve: Serve, more: Partial<OutboundRequest> = {}): Promise<OutboundResult> => {
    let taken: Socket | undefined;
    peer = await startPeer((socket) => {
      taken = socket;
      serve(socket);
    });
    const before = timers();
    const outbound = createOutbound({ allow: [peer.pair] });
    const result = await outbound({ url: `http://${peer.pair}/`, timeoutMs: 10_000, maxBytes: 1_000, ...more });
    // Those of others in this process come and go: one that is left of this is never gone.
    while (timers() > before) await new Promise((resolve) => setImmediate(resolve));
    taken?.resume(); // the end of what nobody reads is not seen
    await peer.quiet();
    expect(peer.opened()).to.equal(1);
    return result;
  };
  const timers = (): number => process.getActiveResourcesInfo().filter((one) => one === 'Timeout').length;

  for (const [what, serve, outcome, timeoutMs] of rows)
    it(`${what} → ${outcome}`, async () => {
      const result = await ask(serve, timeoutMs ? { timeoutMs } : {});
      expect(failure(result)).to.equal(outcome);
      expect(result.stages.at(-1)?.step).to.equal(result.ok ? 'body' : result.step);
    });

  it('an answer before the whole of a body was sent is taken, and one that never reads ends at the deadline', async () => {
    const post = { method: 'POST', body: Buffer.alloc(20_000_000) } as const;
    expect(failure(await ask((socket) => socket.write(hi), post))).to.equal('answered 200: hi');
    await peer?.close();
    expect(failure(await ask(() => undefined, { ...post, timeoutMs: short }))).to.equal('status: timed out');
  });

  it('of a header sent twice the first counts, and no name reaches further than the answer', async () => {
    const result = await ask(say(hi.replace(fine, `${fine}x: a\r\nX: b\r\n__proto__: c\r\n`)));
    expect(result.ok && result.headers.x).to.equal('a');
    expect(({} as { x?: string }).x).to.equal(undefined);
    expect(Object.getPrototypeOf(result.ok && result.headers)).to.equal(Object.prototype);
  });

  describe('nothing in a URL becomes a header', () => {
    let heard = '';
    const hear: Serve = (socket) =>
      void socket.on('data', (piece) => {
        heard += piece.toString('latin1');
        if (heard.endsWith('\r\n\r\n')) socket.write(hi);
      });
    beforeEach(() => {
      heard = '';
    });
    for (const [what, tail, path] of [
      ['CR and LF', 'a\r\nX-Evil: 1\r\n\r\nGET /b', 'aX-Evil:%201GET%20/b'],
      ['escaped CR and LF', 'a%0d%0aX-Evil:%201', 'a%0d%0aX-Evil:%201'],
      ['the same in a query', '?a%0D%0AX-Evil: 1', '?a%0D%0AX-Evil:%201'],
      ['other line ends', 'a\u2028X-Evil\u0085b\v\0c', 'a%E2%80%A8X-Evil%C2%85b%0B%00c'],
      ['letters whose low byte is a line end', 'a\u560d\u560aX-Evil: 1', 'a%E5%98%8D%E5%98%8AX-Evil:%201'],
      ['blanks and a version', 'a HTTP/1.1', 'a%20HTTP/1.1'],
      ['a fragment', 'a#\r\nX-Evil: 1', 'a'],
    ] as const)
      it(what, async () => {
        peer = await startPeer(hear);
        const outbound = createOutbound({ allow: [peer.pair] });
        const result = await outbound({ url: `http://${peer.pair}/${tail}`, timeoutMs: 10_000, maxBytes: 1_000 });
        expect(failure(result)).to.equal('answered 200: hi');
        expect(heard.split('\r\n')[0]).to.equal(`GET /${path} HTTP/1.1`);
        expect(heard.toLowerCase()).not.to.include('\r\nx-evil');
      });
  });
});
