import { WebSocket } from 'ws';

/** Requests to this process: connect; report when `events` events have arrived; report how many have arrived since then; end all sessions. */
type Ask =
  | { kind: 'connect'; urls: string[]; tokens: string[] }
  | { kind: 'connectPlain'; url: string; count: number }
  | { kind: 'expect'; events: number }
  | { kind: 'seen' }
  | { kind: 'close' };

// Many sockets that identify and then only count frames, so that the receiving side uses as little CPU as possible.
const sockets: WebSocket[] = [];
let seen = 0;
let wanted = Number.POSITIVE_INFINITY;
let lastAt = 0;
const count = (): void => {
  seen++;
  lastAt = performance.timeOrigin + performance.now();
  if (seen >= wanted) {
    wanted = Number.POSITIVE_INFINITY;
    process.send?.({ at: lastAt, seen });
  }
};

const messageStart = Buffer.from('{"op":0,"t":"MESSAGE_CREATE"');
/** Whether a frame is a message, and not another event or a heartbeat acknowledgment. Checks the most distinctive byte first. */
const isMessage = (data: Buffer): boolean =>
  data[13] === 0x4d && data.compare(messageStart, 0, messageStart.length, 0, messageStart.length) === 0;

/** How many sockets have the same address: fewer than one address may open at once. */
const socketsPerAddress = 1_000;

function connect(url: string, token: string | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const localAddress = `127.0.0.${1 + (Math.floor(sockets.length / socketsPerAddress) % 250)}`;
    const socket = new WebSocket(url, { perMessageDeflate: false, localAddress });
    sockets.push(socket);
    socket.on('error', reject);
    socket.on('close', (code, reason) => reject(new Error(`closed with ${code} ${reason.toString()}`)));
    if (token === null) {
      socket.on('message', count);
      socket.on('open', () => resolve());
      return;
    }
    let ready = false;
    socket.on('message', (data: Buffer) => {
      if (ready) {
        if (isMessage(data)) count();
        return;
      }
      const frame = JSON.parse(data.toString()) as { op: number; t?: string; d: { heartbeatIntervalMs: number } };
      if (frame.op === 10) {
        socket.send(JSON.stringify({ op: 2, d: { token } }));
        setInterval(() => socket.send('{"op":1,"d":null}'), frame.d.heartbeatIntervalMs).unref();
      } else if (frame.t === 'READY') {
        ready = true;
        resolve();
      }
    });
  });
}

async function forEachInBatches<T>(items: readonly T[], act: (item: T, at: number) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += 50) await Promise.all(items.slice(at, at + 50).map((item, i) => act(item, at + i)));
}

/** Ends all sessions, so that they cannot be resumed, and waits until their sockets are closed. */
async function endAll(): Promise<void> {
  await Promise.all(
    sockets.splice(0).map((socket) => {
      socket.close(1000);
      return new Promise((resolve) => socket.once('close', resolve));
    }),
  );
}

const done = (): void => void process.send?.('done');
const replyWhenDone = async (work: Promise<void>): Promise<void> => {
  await work;
  done();
};

process.on('message', (ask: Ask) => {
  if (ask.kind === 'connect')
    void replyWhenDone(forEachInBatches(ask.tokens, (token, at) => connect(ask.urls[at % ask.urls.length] as string, token)));
  else if (ask.kind === 'connectPlain')
    void replyWhenDone(forEachInBatches(Array.from({ length: ask.count }), () => connect(ask.url, null)));
  else if (ask.kind === 'expect') {
    seen = 0;
    wanted = ask.events;
    done();
  } else if (ask.kind === 'seen') process.send?.(seen);
  else void replyWhenDone(endAll());
});
process.send?.('ready');
