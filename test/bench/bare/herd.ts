import { WebSocket } from 'ws';

/** Requests to this process: identify, or resume all sessions at once. It answers when every client has received READY or RESUMED. */
export type HerdAsk = { kind: 'identify'; url: string; tokens: string[] } | { kind: 'resume'; url: string };

/** The result of a resume: how many events were replayed, and the time until the last RESUMED, in milliseconds. */
export interface Herd {
  replayed: number;
  ms: number;
}

interface Session {
  token: string;
  id: string;
  s: string;
}

interface Frame {
  op: number;
  t?: string;
  s?: string;
  d: { sessionId?: string; replayed?: number };
}

const sessions: Session[] = [];
let sockets = 0;

/** Connects, sends `first` after the hello, and resolves with the data of the dispatch named `until`. Keeps the session's position up to date from then on. */
function connect(url: string, session: Session, first: object, until: string): Promise<Frame['d']> {
  return new Promise((resolve, reject) => {
    // Each client has its own address, because limits by address are not measured here.
    const number = sockets++;
    const headers = { 'X-Forwarded-For': `10.0.${number >> 8}.${number & 255}` };
    const socket = new WebSocket(url, { perMessageDeflate: false, headers });
    socket.on('error', reject);
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.s !== undefined) session.s = frame.s;
      if (frame.op === 10) socket.send(JSON.stringify(first));
      else if (frame.op === 9) reject(new Error('a session was not resumed'));
      else if (frame.t === until) resolve(frame.d);
    });
    socket.on('close', (code) => {
      reject(new Error(`closed with ${code} before ${until}`)); // no effect if `until` has arrived
      socket.off('error', reject).on('error', () => undefined);
    });
  });
}

async function identify(url: string, tokens: readonly string[]): Promise<void> {
  for (let at = 0; at < tokens.length; at += 50)
    await Promise.all(
      tokens.slice(at, at + 50).map(async (token) => {
        const session = { token, id: '', s: '' };
        session.id = String((await connect(url, session, { op: 2, d: { token } }, 'READY')).sessionId);
        sessions.push(session);
      }),
    );
}

async function resume(url: string): Promise<Herd> {
  const began = performance.now();
  const resumed = await Promise.all(
    sessions.map((session) =>
      connect(url, session, { op: 6, d: { token: session.token, sessionId: session.id, seq: session.s } }, 'RESUMED'),
    ),
  );
  return { replayed: resumed.reduce((sum, d) => sum + (d.replayed ?? 0), 0), ms: performance.now() - began };
}

process.on('message', (ask: HerdAsk) => {
  void (ask.kind === 'identify' ? identify(ask.url, ask.tokens) : resume(ask.url)).then((result) => process.send?.(result ?? 'done'));
});
process.send?.('ready');
