import { setTimeout as pause } from 'node:timers/promises';
import { type RawData, WebSocket } from 'ws';

/** A frame of the gateway (docs/delivery.md#opcodes): `t` and the position `s` are on dispatches only. */
interface Frame {
  op: number;
  d: unknown;
  s?: string;
  t?: string;
}

/** What to connect to and whom to tell. */
export interface GatewayOptions {
  /** As `GET /api/gateway` gives it. */
  url: string;
  token: string;
  /** Events to ask for beyond those that everyone gets. */
  events?: readonly string[];
  /** Each event, in order, `READY` and `RESUMED` too. */
  onEvent: (name: string, data: unknown) => void;
  /** What happens to the connection, in words. */
  onState?: (line: string) => void;
}

/** A connection that comes back by itself. */
export interface GatewayClient {
  /** Resolves at the first READY; rejects when the token is refused or the client is closed before. */
  ready: Promise<void>;
  /** Resolves when the client gave up: closed, or refused for good. */
  done: Promise<void>;
  close(): void;
}

/** Close codes after which another try cannot succeed: bad token, bad version. */
const finalCodes: Record<number, string> = { 4004: 'the token is not valid', 4012: 'this gateway speaks another version' };
const backoffMs = { first: 250, most: 10_000 };
/** Ours for "I come back": 1000 and 1001 would end the session. */
const comeBackCode = 4000;

/** Connects to the gateway, heartbeats, and resumes or identifies anew after every interruption. */
export function connectGateway(options: GatewayOptions): GatewayClient {
  const client = new Client(options);
  return { ready: client.ready, done: client.run(), close: () => client.close() };
}

class Client {
  readonly ready: Promise<void>;
  readonly #options: GatewayOptions;
  #settle: { ready: () => void; refused: (fault: Error) => void } = { ready: () => undefined, refused: () => undefined };
  #session: { id: string; url: string } | undefined;
  /** The last `s` that was received. */
  #seq: string | null = null;
  /** How long the gateway asked to wait before the next connection. */
  #retryAfterMs: number | undefined;
  #socket: WebSocket | undefined;
  #closed = false;
  #pauseMs = backoffMs.first;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.ready = new Promise((ready, refused) => {
      this.#settle = { ready, refused };
    });
    // Who does not wait for it is told by onState and done.
    this.ready.catch(() => undefined);
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      const code = await this.#connect();
      const reason = finalCodes[code];
      if (reason) {
        this.#closed = true;
        this.#say(`refused: ${reason}`);
        this.#settle.refused(new Error(`the gateway refused the connection: ${reason}`));
      }
      if (this.#closed) break;
      const waitMs = this.#retryAfterMs ?? this.#pauseMs * (0.5 + Math.random());
      this.#retryAfterMs = undefined;
      this.#say(`disconnected (${code}); ${this.#session ? 'resuming' : 'connecting again'} in ${(waitMs / 1000).toFixed(1)} s`);
      this.#pauseMs = Math.min(this.#pauseMs * 2, backoffMs.most);
      await pause(waitMs);
    }
    this.#settle.refused(new Error('closed'));
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close(1000);
  }

  #say(line: string): void {
    this.#options.onState?.(line);
  }

  /** One connection, from opening to its close code. */
  #connect(): Promise<number> {
    const url = new URL(this.#session?.url ?? this.#options.url);
    url.searchParams.set('v', '1');
    const socket = new WebSocket(url, { handshakeTimeout: 10_000, maxPayload: 16 * 1024 * 1024 });
    this.#socket = socket;
    let timer: NodeJS.Timeout | undefined;
    let acked = true;
    const send = (op: number, d: unknown): void => {
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op, d }));
    };
    const beat = (): void => {
      // Silence for a whole interval: the connection is dead, whatever TCP believes.
      if (!acked) return socket.terminate();
      acked = false;
      send(1, this.#session ? this.#seq : null);
    };
    socket.on('message', (data: RawData) => {
      const frame = readFrame(data);
      if (frame?.op === 10) {
        const { heartbeatIntervalMs } = frame.d as { heartbeatIntervalMs: number };
        timer = setInterval(beat, heartbeatIntervalMs);
        const { token, events } = this.#options;
        if (this.#session) send(6, { token, sessionId: this.#session.id, seq: this.#seq });
        else send(2, { token, ...(events && { events }) });
      } else if (frame?.op === 11) acked = true;
      else if (frame?.op === 1) send(1, this.#session ? this.#seq : null);
      else if (frame?.op === 7) {
        this.#retryAfterMs = (frame.d as { retryAfterMs?: number } | null)?.retryAfterMs;
        socket.close(comeBackCode);
      } else if (frame?.op === 9) {
        this.#session = undefined;
        this.#say('the session cannot be resumed; events may have been missed');
        socket.close(comeBackCode);
      } else if (frame?.op === 0) this.#dispatch(frame);
    });
    socket.on('error', (fault) => this.#say(`cannot connect: ${fault.message || 'no answer'}`));
    return new Promise((done) => {
      socket.on('close', (code) => {
        clearInterval(timer);
        done(code);
      });
    });
  }

  #dispatch({ t = '', s, d }: Frame): void {
    if (s !== undefined) this.#seq = s;
    if (t === 'READY') {
      const { sessionId, resumeUrl } = d as { sessionId: string; resumeUrl: string };
      this.#session = { id: sessionId, url: resumeUrl };
      this.#say('connected');
      this.#settle.ready();
    }
    if (t === 'RESUMED') this.#say('resumed');
    this.#pauseMs = backoffMs.first;
    this.#options.onEvent(t, d);
  }
}

function readFrame(data: RawData): Frame | undefined {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  const frame: unknown = JSON.parse(bytes.toString());
  return typeof frame === 'object' && frame !== null && 'op' in frame ? (frame as Frame) : undefined;
}
