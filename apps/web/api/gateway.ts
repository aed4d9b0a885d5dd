import { signal } from '@preact/signals';
import type { EventData, EventName } from '../../../lib/contract/events.ts';
import { call } from './call.ts';

/** One event of the gateway: its name and payload (decisions 7). */
export type GatewayEvent = { [N in EventName]: { t: N; d: EventData<N> } }[EventName];

/** How the connection stands: `live` hears everything, `away` comes back by itself, `refused` needs a new login. */
export type Connection = 'connecting' | 'live' | 'away' | 'refused';

/** The state of the one connection of this page. */
export const connection = signal<Connection>('connecting');

/** Whom a connection tells. */
export interface Listener {
  onEvent: (event: GatewayEvent) => void;
  /** Everything is heard from here on: what passed before is to be read over REST. */
  onReady: () => void;
}

interface Frame {
  op: number;
  d: unknown;
  t?: string;
}

const op = { dispatch: 0, heartbeat: 1, identify: 2, reconnect: 7, invalid: 9, hello: 10, ack: 11 } as const;
/** Close codes after which another try cannot succeed: bad token, bad version. */
const finalCodes = [4004, 4012];
const backoffMs = { first: 500, most: 15_000 };
/** An op 10 or READY that does not come within this time, in milliseconds, means that the connection is dead. */
const patienceMs = 10_000;

let stop: (() => void) | undefined;

/** Connects by the session's cookie, heartbeats, and comes back after every interruption until `disconnect`. */
export function connect(listener: Listener): void {
  disconnect();
  connection.value = 'connecting';
  let socket: WebSocket | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let stopped = false;
  let wasReady = false;
  let pauseMs = backoffMs.first;

  const again = (code: number): void => {
    if (stopped) return;
    if (finalCodes.includes(code)) {
      connection.value = 'refused';
      return;
    }
    if (wasReady) connection.value = 'away';
    retry = setTimeout(() => void open(), pauseMs * (0.5 + Math.random()));
    pauseMs = Math.min(pauseMs * 2, backoffMs.most);
  };

  const open = async (): Promise<void> => {
    clearTimeout(retry);
    let url: string;
    try {
      ({ url } = await call<{ url: string }>('GET', '/api/gateway'));
    } catch {
      again(0);
      return;
    }
    if (stopped) return;
    socket = openSocket(url, {
      onEvent: listener.onEvent,
      onReady: () => {
        pauseMs = backoffMs.first;
        wasReady = true;
        connection.value = 'live';
        listener.onReady();
      },
      onClose: again,
    });
  };

  // Who comes back to a laptop or a train's end does not wait for the next try.
  const now = (): void => {
    if (connection.value === 'away') {
      pauseMs = backoffMs.first;
      if (!socket || socket.readyState === WebSocket.CLOSED) void open();
    }
  };
  window.addEventListener('online', now);
  stop = () => {
    stopped = true;
    clearTimeout(retry);
    window.removeEventListener('online', now);
    socket?.close(1000);
  };
  void open();
}

/** Ends the connection for good: after a logout. */
export function disconnect(): void {
  stop?.();
  stop = undefined;
}

/** One socket, from opening to its close. `onClose` is called once. */
function openSocket(
  url: string,
  on: { onEvent: (event: GatewayEvent) => void; onReady: () => void; onClose: (code: number) => void },
): WebSocket {
  const socket = new WebSocket(`${url}${url.includes('?') ? '&' : '?'}v=1`);
  let beating: ReturnType<typeof setInterval> | undefined;
  let acked = true;
  let closed = false;
  const end = (code: number): void => {
    if (closed) return;
    closed = true;
    clearInterval(beating);
    clearTimeout(patience);
    if (socket.readyState < WebSocket.CLOSING) socket.close(4000);
    on.onClose(code);
  };
  const patience = setTimeout(() => end(0), patienceMs);
  const send = (code: number, d: unknown): void => socket.send(JSON.stringify({ op: code, d }));
  const beat = (): void => {
    // Silence for a whole interval: the connection is dead, whatever the network believes.
    if (!acked) return end(0);
    acked = false;
    send(op.heartbeat, null);
  };
  socket.onmessage = ({ data }: MessageEvent<string>) => {
    if (closed) return;
    const frame = JSON.parse(data) as Frame;
    if (frame.op === op.hello) {
      beating = setInterval(beat, (frame.d as { heartbeatIntervalMs: number }).heartbeatIntervalMs);
      send(op.identify, {});
    } else if (frame.op === op.ack) acked = true;
    else if (frame.op === op.heartbeat) send(op.heartbeat, null);
    else if (frame.op === op.reconnect || frame.op === op.invalid) end(0);
    else if (frame.op === op.dispatch && frame.t === 'READY') {
      clearTimeout(patience);
      on.onReady();
    } else if (frame.op === op.dispatch) on.onEvent({ t: frame.t, d: frame.d } as GatewayEvent);
  };
  socket.onclose = ({ code }) => end(code);
  return socket;
}
