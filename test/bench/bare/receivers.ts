import { WebSocket } from 'ws';

/** Requests to this process: connect; report when `sessions` sessions have received a mark; report how many sessions have received a mark. */
type Ask =
  | { kind: 'connect'; url: string; tokens: string[] }
  | { kind: 'expect'; mark: string; sessions: number }
  | { kind: 'received'; mark: string };

// Sockets of sessions that look for a mark in the messages they receive: a content that begins and ends with #.
const received = new Map<string, { sessions: number; lastAt: number }>();
let wanted: { mark: string; sessions: number } | null = null;

function reportIfComplete(): void {
  const found = wanted && received.get(wanted.mark);
  if (!wanted || !found || found.sessions < wanted.sessions) return;
  wanted = null;
  process.send?.({ at: found.lastAt });
}

function receive(text: string): void {
  const mark = text.includes('"t":"MESSAGE_CREATE"') ? /"content":"(#[^"#]+#)"/.exec(text)?.[1] : undefined;
  if (!mark) return;
  received.set(mark, { sessions: (received.get(mark)?.sessions ?? 0) + 1, lastAt: performance.timeOrigin + performance.now() });
  reportIfComplete();
}

function connect(url: string, token: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(url, { perMessageDeflate: false });
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const text = data.toString();
      if (text.includes('"op":10')) {
        socket.send(JSON.stringify({ op: 2, d: { token } }));
        setInterval(() => socket.send('{"op":1,"d":null}'), 20_000).unref();
      } else if (text.includes('"t":"READY"')) resolve();
      else receive(text);
    });
  });
}

async function connectAll(url: string, tokens: readonly string[]): Promise<void> {
  for (let at = 0; at < tokens.length; at += 50) await Promise.all(tokens.slice(at, at + 50).map((token) => connect(url, token)));
  process.send?.('done');
}

process.on('message', (ask: Ask) => {
  if (ask.kind === 'connect') void connectAll(ask.url, ask.tokens);
  else if (ask.kind === 'received') process.send?.(received.get(ask.mark) ?? { sessions: 0, lastAt: 0 });
  else {
    wanted = ask;
    reportIfComplete();
  }
});
process.send?.('ready');
