import { signal } from '@preact/signals';
import type { EventData, EventName } from '../../../lib/contract/events.ts';
import { backoffMs } from './backoff.ts';
import { call } from './call.ts';
import { isOtherAccount } from './shown-account.ts';

/** One gateway event: its name and payload (docs/delivery.md#events). */
export type GatewayEvent = { [N in EventName]: { t: N; d: EventData<N> } }[EventName];

/**
 * The state of the connection. `live`: receives all events. `away`: reconnects automatically. `refused`: the session is not accepted; reconnects, in case
 * that a new one has begun. `outdated`: this page speaks a protocol that the gateway does not accept; it must be loaded again.
 */
export type Connection = 'connecting' | 'live' | 'away' | 'refused' | 'outdated';

/** The state of this page's only connection. */
export const connection = signal<Connection>('connecting');

/** The callbacks of a connection. */
export interface Listener {
  onEvent: (event: GatewayEvent) => void;
  /**
   * The connection receives every event from now on. When `isResumed` is true, the events that were missed during the interruption have been received too.
   * Otherwise a new session has begun, and earlier changes must be loaded.
   */
  onLive: (isResumed: boolean) => void;
  /** These accounts are offline. They are accounts that `sendWatch` named for the first time. */
  onOffline: (accountIds: readonly string[]) => void;
  /** The session cookie is not valid any more, or it is of another account than the one that the page shows. */
  onRefused: () => void;
}

/** The data that is needed to resume a session on another socket. */
interface Session {
  id: string;
  resumeUrl: string;
  /** The `s` of the last received event. */
  seq: unknown;
}

type Frame =
  | { op: 0; t: 'READY'; d: { user?: { id: string }; sessionId: string; resumeUrl: string }; s: unknown }
  | { op: 0; t: 'RESUMED'; d: unknown; s: unknown }
  | ({ op: 0; s: unknown } & GatewayEvent)
  | { op: 1 | 9 | 11; d: unknown }
  | { op: 3; d: { offline: string[] } }
  | { op: 7; d: { retryAfterMs?: number } | null }
  | { op: 10; d: { heartbeatIntervalMs: number } };

const op = { dispatch: 0, heartbeat: 1, identify: 2, watch: 3, resume: 6, reconnect: 7, invalid: 9, hello: 10, ack: 11 } as const;
/** Close codes of a page that the gateway does not understand: a frame that is not accepted, and an unknown version. Reconnecting cannot succeed. */
const outdatedCloseCodes = [4002, 4012];
/** The close code for an invalid session. The page also uses it when the session is of another account. */
const refusedCode = 4004;
/** The close code of a gateway node that does not understand `seq`. */
const invalidSeqCode = 4007;
/** The close code that the page sends when it intends to resume. After 1000 and 1001 the gateway ends the session. */
const resumableClose = 4000;
/** How long a new socket waits for op 10, and then for READY or RESUMED, in milliseconds. After that the connection is treated as lost. */
const setupMs = { hello: 10_000, session: 30_000 };
/**
 * How often a heartbeat is sent at least, and how long the page waits for an answer before the connection is treated as lost, in milliseconds. The gateway asks
 * for fewer heartbeats; these let the user know soon.
 */
const heartbeatMs = { interval: 15_000, answer: 5_000 };
/** A connection that lasted this long resets the backoff, in milliseconds. */
const stableMs = 10_000;

let stop: (() => void) | undefined;
let send: ((code: number, d: unknown) => void) | undefined;

/** Replaces the list of accounts whose presence this page receives. Does nothing while the connection is not live. */
export const sendWatch = (accountIds: readonly string[]): void => send?.(op.watch, { watch: accountIds });

/** Connects with the session cookie, sends heartbeats, and reconnects after every interruption until `disconnect`. */
export function connect({ onEvent, onLive, onOffline, onRefused }: Listener): void {
  disconnect();
  connection.value = 'connecting';
  let session: Session | null = null;
  let socket: WebSocket | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let failures = 0;
  let liveAt: number | null = null;

  const open = async (): Promise<void> => {
    retry = undefined;
    try {
      // The resume URL may no longer work, so only one attempt uses it.
      const url = session && failures <= 1 ? session.resumeUrl : (await call<{ url: string }>('GET', '/api/gateway')).url;
      if (!stopped) socket = openSocket(url, session, { onEvent, onSession, onClose, onOffline });
    } catch {
      onClose(0);
    }
  };
  const onSession = (now: Session | null, isResumed: boolean, sendFrame: typeof send): void => {
    session = now;
    send = now ? sendFrame : undefined;
    if (!now) return;
    liveAt = performance.now();
    connection.value = 'live';
    onLive(isResumed);
  };
  const onClose = (code: number, retryAfterMs?: number): void => {
    if (stopped) return;
    send = undefined;
    if (liveAt !== null && performance.now() - liveAt >= stableMs) failures = 0;
    liveAt = null;
    if (code === invalidSeqCode) session = null;
    if (outdatedCloseCodes.includes(code)) {
      connection.value = 'outdated';
      return;
    }
    if (code === refusedCode) {
      session = null;
      connection.value = 'refused';
      onRefused();
    } else if (connection.value === 'live') connection.value = 'away';
    // After op 7 the gateway names the time, which spreads the clients of its node.
    retry = setTimeout(() => void open(), retryAfterMs ?? backoffMs(failures++));
  };
  const onOnline = (): void => {
    if (retry === undefined) return;
    clearTimeout(retry);
    failures = 0;
    void open();
  };

  window.addEventListener('online', onOnline);
  stop = () => {
    stopped = true;
    send = undefined;
    clearTimeout(retry);
    window.removeEventListener('online', onOnline);
    if (!socket) return;
    socket.onmessage = null;
    socket.close(1000);
  };
  void open();
}

/** Ends the connection and its session, after a logout. */
export function disconnect(): void {
  stop?.();
  stop = undefined;
}

/** The callbacks of a socket. `onSession` gets the session that is live now, or null when the session is lost. `onClose` is called once. */
interface SocketListener {
  onEvent: (event: GatewayEvent) => void;
  onSession: (session: Session | null, isResumed: boolean, send: (code: number, d: unknown) => void) => void;
  onOffline: Listener['onOffline'];
  onClose: (code: number, retryAfterMs?: number) => void;
}

/** Opens one socket and handles it until it closes. Resumes `session`, or begins a new one. */
function openSocket(url: string, session: Session | null, { onEvent, onSession, onClose, onOffline }: SocketListener): WebSocket {
  const socket = new WebSocket(`${url}${url.includes('?') ? '&' : '?'}v=1`);
  let heartbeatTimer: ReturnType<typeof setInterval> | undefined;
  let answerTimer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;
  const ended = new AbortController();
  const finish = (code: number, retryAfterMs?: number): void => {
    if (closed) return;
    closed = true;
    ended.abort();
    clearInterval(heartbeatTimer);
    clearTimeout(answerTimer);
    clearTimeout(setup);
    if (socket.readyState < WebSocket.CLOSING) socket.close(resumableClose);
    onClose(code, retryAfterMs);
  };
  let setup = setTimeout(finish, setupMs.hello, 0);
  const sendFrame = (code: number, d: unknown): void => {
    if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ op: code, d }));
  };
  const sendHeartbeat = (): void => {
    // A socket can stay open for minutes after its network is gone.
    answerTimer ??= setTimeout(finish, heartbeatMs.answer, 0);
    sendFrame(op.heartbeat, session?.seq ?? null);
  };
  const identifyOrResume = (): void => {
    clearTimeout(setup);
    setup = setTimeout(finish, setupMs.session, 0);
    if (session) sendFrame(op.resume, { sessionId: session.id, seq: session.seq });
    else sendFrame(op.identify, {});
  };
  const startSession = (now: Session, isResumed: boolean): void => {
    clearTimeout(setup);
    session = now;
    onSession(now, isResumed, sendFrame);
  };
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    if (closed) return;
    clearTimeout(answerTimer);
    answerTimer = undefined;
    const frame = JSON.parse(data) as Frame;
    switch (frame.op) {
      case op.hello:
        heartbeatTimer = setInterval(sendHeartbeat, Math.min(frame.d.heartbeatIntervalMs, heartbeatMs.interval));
        window.addEventListener('offline', sendHeartbeat, { signal: ended.signal });
        document.addEventListener('visibilitychange', sendHeartbeat, { signal: ended.signal });
        return identifyOrResume();
      case op.heartbeat:
        return sendFrame(op.heartbeat, session?.seq ?? null);
      case op.watch:
        return onOffline(frame.d.offline);
      case op.ack:
        return;
      case op.reconnect:
        return finish(0, frame.d?.retryAfterMs);
      case op.invalid:
        session = null;
        onSession(null, false, sendFrame);
        return identifyOrResume();
      case op.dispatch:
        break;
    }
    if (session) session.seq = frame.s;
    if (frame.t === 'READY' && frame.d.user && isOtherAccount(frame.d.user.id)) finish(refusedCode);
    else if (frame.t === 'READY') startSession({ id: frame.d.sessionId, resumeUrl: frame.d.resumeUrl, seq: frame.s }, false);
    else if (frame.t !== 'RESUMED') onEvent(frame);
    else if (session) startSession(session, true);
  };
  socket.onclose = ({ code }) => finish(code);
  return socket;
}
