import { setTimeout as pause } from 'node:timers/promises';
import { type RawData, WebSocket } from 'ws';

/** A frame of the gateway (docs/delivery.md#opcodes): only dispatches have an event name `t` and a position `s`. */
interface Frame {
  op: number;
  d: unknown;
  s?: string;
  t?: string;
}

/** What to connect to, and the callbacks. */
export interface GatewayOptions {
  /** The URL from `GET /api/gateway`. */
  url: string;
  token: string;
  /** Events to request beyond those that every client gets. */
  events?: readonly string[];
  /** Called for each event in order, including `READY` and `RESUMED`. */
  onEvent: (name: string, data: unknown) => void;
  /** Called with a text when the state of the connection changes. */
  onState?: (line: string) => void;
}

/** The client was closed before the first READY. */
export class ClientClosed extends Error {}

/** A connection that reconnects automatically. */
export interface GatewayClient {
  /** Resolves at the first READY; rejects if the token or version is refused, or with `ClientClosed`. */
  ready: Promise<void>;
  /** Resolves when the client has stopped: it was closed, or refused permanently. */
  done: Promise<void>;
  close(): void;
}

/** Close codes after which another attempt cannot succeed. */
const finalCodes: Record<number, string> = {
  4002: 'it requested an unknown event',
  4004: 'the token is not valid',
  4012: 'the gateway does not support this protocol version',
};
const backoffMs = { first: 250, most: 10_000 };
/** The close code that the client sends when it will reconnect: 1000 and 1001 would end the session. */
const reconnectCode = 4000;

/** Connects to the gateway, sends heartbeats, and resumes or identifies again after every interruption. */
export function connectGateway(options: GatewayOptions): GatewayClient {
  const client = new Client(options);
  return { ready: client.ready, done: client.run(), close: () => client.close() };
}

class Client {
  readonly ready: Promise<void>;
  readonly #options: GatewayOptions;
  #readyPromise: { resolve: () => void; reject: (error: Error) => void } = { resolve: () => undefined, reject: () => undefined };
  #session: { id: string; url: string } | undefined;
  /** The last `s` that was received. */
  #seq: string | null = null;
  /** The delay that the gateway requested before the next connection. */
  #retryAfterMs: number | undefined;
  #socket: WebSocket | undefined;
  #closed = false;
  #pauseMs = backoffMs.first;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.ready = new Promise((resolve, reject) => {
      this.#readyPromise = { resolve, reject };
    });
    // A caller that does not wait for `ready` gets the error from onState and done.
    this.ready.catch(() => undefined);
  }

  async run(): Promise<void> {
    while (!this.#closed) {
      const code = await this.#connect();
      const reason = finalCodes[code];
      if (reason) {
        this.#closed = true;
        this.#reportState(`refused: ${reason}`);
        this.#readyPromise.reject(new Error(`the gateway refused the connection: ${reason}`));
      }
      if (this.#closed) break;
      const waitMs = this.#retryAfterMs ?? this.#pauseMs * (0.5 + Math.random());
      this.#retryAfterMs = undefined;
      this.#reportState(`disconnected (${code}); ${this.#session ? 'resuming' : 'reconnecting'} in ${(waitMs / 1000).toFixed(1)} s`);
      this.#pauseMs = Math.min(this.#pauseMs * 2, backoffMs.most);
      await pause(waitMs);
    }
    this.#readyPromise.reject(new ClientClosed());
  }

  close(): void {
    this.#closed = true;
    this.#socket?.close(1000);
  }

  #reportState(line: string): void {
    this.#options.onState?.(line);
  }

  /** Runs one connection and resolves with its close code. */
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
      // No acknowledgment for a whole interval: the connection is dead, even if TCP has not noticed.
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
        socket.close(reconnectCode);
      } else if (frame?.op === 9) {
        this.#session = undefined;
        this.#reportState('the session cannot be resumed; events may have been missed');
        socket.close(reconnectCode);
      } else if (frame?.op === 0) this.#dispatch(frame);
    });
    socket.on('error', (error) => this.#reportState(`connection error: ${error.message || 'no response'}`));
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
      this.#reportState('connected');
      this.#readyPromise.resolve();
    }
    if (t === 'RESUMED') this.#reportState('resumed');
    this.#pauseMs = backoffMs.first;
    this.#options.onEvent(t, d);
  }
}

function readFrame(data: RawData): Frame | undefined {
  const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as Buffer);
  const frame: unknown = JSON.parse(bytes.toString());
  return typeof frame === 'object' && frame !== null && 'op' in frame ? (frame as Frame) : undefined;
}
