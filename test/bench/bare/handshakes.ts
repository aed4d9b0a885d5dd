import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { WebSocket } from 'ws';
import { percentile } from '../report.ts';
import type { LoadResult } from './load.ts';

/** A round of handshakes: `clients` clients, each of which connects again and again, by identifying or by resuming the session that it began with. */
export interface Handshakes {
  url: string;
  kind: 'identify' | 'resume';
  /** The tokens that the clients use in turn. */
  tokens: readonly string[];
  /** The address of all clients, behind a trusted proxy. */
  address: string;
  clients: number;
  /** How long a client waits between two handshakes, in milliseconds. */
  pauseMs: number;
  seconds: number;
}

interface Frame {
  op: number;
  t?: string;
  s?: string;
  d: { sessionId?: string };
}

/** Connects and sends `first` after the hello. Resolves with the last frame of the handshake; null if the gateway refuses it. Closes the socket with `code`. */
async function shakeHands({ url, address }: Handshakes, first: object, code: number): Promise<Frame | null> {
  const socket = new WebSocket(url, { perMessageDeflate: false, headers: { 'X-Forwarded-For': address } });
  const done = await new Promise<Frame | null>((resolve) => {
    socket.on('error', () => resolve(null));
    socket.on('close', () => resolve(null));
    socket.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      if (frame.op === 10) socket.send(JSON.stringify(first));
      else if (frame.op === 9) resolve(null);
      else if (frame.t === 'READY' || frame.t === 'RESUMED') resolve(frame);
    });
  });
  if (socket.readyState !== WebSocket.CLOSED) {
    const closed = once(socket, 'close');
    socket.close(code);
    await closed;
  }
  return done;
}

async function run(round: Handshakes): Promise<LoadResult> {
  const { kind, tokens, clients, pauseMs, seconds } = round;
  const latencies: number[] = [];
  let failed = 0;
  let turn = 0;
  const began = performance.now();
  const client = async (own: string): Promise<void> => {
    const identify = (token: string): object => ({ op: 2, d: { token } });
    const session = kind === 'resume' ? await shakeHands(round, identify(own), 4000) : null;
    while (performance.now() < began + seconds * 1000) {
      const at = performance.now();
      const first = session
        ? { op: 6, d: { token: own, sessionId: session.d.sessionId, seq: session.s } }
        : identify(tokens[turn++ % tokens.length] as string);
      if (await shakeHands(round, first, session ? 4000 : 1000)) latencies.push(performance.now() - at);
      else failed++;
      await pause(pauseMs);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, at) => client(tokens[at % tokens.length] as string)));
  const took = (performance.now() - began) / 1000;
  return { perSecond: latencies.length / took, p50: percentile(latencies, 0.5), p99: percentile(latencies, 0.99), failed };
}

process.on('message', (round: Handshakes) => {
  void run(round).then((result) => process.send?.(result));
});
process.send?.('ready');
