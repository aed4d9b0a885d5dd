import { WebSocket } from 'ws';
import { requireDocumentedClose, requireDocumentedFrame } from './gateway-document.ts';

/** A dispatched event as received. */
export interface Dispatch {
  t: string;
  /** The position; a resume after this event sends it. */
  s: string;
  d: Record<string, unknown>;
}

/** How a bot under test connects. */
export interface BotOptions {
  /** The gateway URL for each attempt; attempts are numbered from 0. */
  urlOf: (attempt: number) => string;
  token: string;
  events?: string[];
  onEvent?: (event: Dispatch) => void;
  /** Called when a session has begun. */
  onReady?: () => void;
  /** Called on op 9: the session has ended. */
  onInvalid?: () => void;
  /** Reconnects and resumes when the socket closes. Default true. */
  reconnects?: boolean;
}

/** What has happened to a bot's connection. */
export interface BotStats {
  connects: number;
  resumes: number;
  /** How many sessions the gateway invalidated with op 9. */
  invalidated: number;
  lastCloseCode: number | null;
}

/** A bot that keeps a session as a well-behaved client does: it sends heartbeats, resumes on any node, and identifies again after op 9. */
export interface BotClient {
  readonly stats: BotStats;
  /** The last position that it received; null before the first. */
  readonly position: () => string | null;
  /** Resolves when the first session is ready. */
  ready: Promise<void>;
  /** Watches these accounts from now on, also after a reconnect; resolves with those that are offline. */
  watch(ids: readonly string[]): Promise<string[]>;
  /** Cuts the connection without a closing handshake. */
  cut(): void;
  close(): Promise<void>;
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Connects a bot. It reconnects until it is closed, unless `reconnects` is false. */
export function connectBot(options: BotOptions): BotClient {
  const stats: BotStats = { connects: 0, resumes: 0, invalidated: 0, lastCloseCode: null };
  let socket: WebSocket | null = null;
  let sessionId: string | null = null;
  let position: string | null = null;
  let closed = false;
  let isEnding = false;
  let watched: readonly string[] | null = null;
  let answerWatch: (offline: string[]) => void = () => undefined;
  let attempt = 0;
  let heartbeat: NodeJS.Timeout | undefined;
  let retryAfterMs: number | null = null;
  let markReady: () => void = () => undefined;
  const ready = new Promise<void>((resolve) => {
    markReady = resolve;
  });

  const send = (op: number, d: unknown): void => socket?.send(JSON.stringify({ op, d }));
  /** Closes with `code`, or without one. The code in the event `close` is then not the gateway's. */
  const end = (code?: number): void => {
    isEnding = true;
    socket?.close(code);
  };
  const receive = (frame: { op: number; t?: string; s?: string; d: Record<string, unknown> }): void => {
    requireDocumentedFrame(frame);
    if (frame.op === 10) {
      const every = Number(frame.d.heartbeatIntervalMs);
      clearInterval(heartbeat);
      heartbeat = setInterval(() => send(1, position), every);
      if (sessionId) send(6, { token: options.token, sessionId, seq: position });
      else send(2, { token: options.token, ...(options.events ? { events: options.events } : {}) });
    } else if (frame.op === 9) {
      stats.invalidated++;
      sessionId = null;
      position = null;
      options.onInvalid?.();
      end();
    } else if (frame.op === 7) {
      retryAfterMs = Number(frame.d.retryAfterMs);
      socket?.terminate();
    } else if (frame.op === 3) answerWatch(frame.d.offline as string[]);
    else if (frame.op === 0) {
      position = String(frame.s);
      if (watched && (frame.t === 'READY' || frame.t === 'RESUMED')) send(3, { watch: watched });
      if (frame.t === 'READY') {
        sessionId = String(frame.d.sessionId);
        markReady();
        options.onReady?.();
      } else if (frame.t === 'RESUMED') stats.resumes++;
      else options.onEvent?.({ t: String(frame.t), s: position, d: frame.d });
    }
  };
  const open = (): Promise<void> =>
    new Promise((resolve) => {
      stats.connects++;
      const opened = new WebSocket(options.urlOf(attempt++), { perMessageDeflate: false, handshakeTimeout: 2_000 });
      socket = opened;
      isEnding = false;
      opened.on('message', (data: Buffer) => receive(JSON.parse(data.toString())));
      opened.on('error', () => undefined);
      opened.on('close', (code, reason) => {
        stats.lastCloseCode = code;
        clearInterval(heartbeat);
        resolve();
        if (!isEnding) requireDocumentedClose(code, reason.toString());
      });
    });
  const run = async (): Promise<void> => {
    while (!closed) {
      await open();
      if (options.reconnects === false) return;
      if (!closed) await wait(retryAfterMs ?? 50 + Math.random() * 100);
      retryAfterMs = null;
    }
  };
  const running = run();
  return {
    stats,
    position: () => position,
    ready,
    watch(ids) {
      watched = ids;
      return new Promise((resolve) => {
        answerWatch = resolve;
        send(3, { watch: ids });
      });
    },
    cut: () => socket?.terminate(),
    async close() {
      closed = true;
      end(1000);
      setTimeout(() => socket?.terminate(), 1_000).unref();
      await running;
    },
  };
}
