import { type Dispatch, DispatchQueue } from './dispatch-queue.ts';
import { GatewayError } from './errors.ts';
import { type GatewayReady, isSession, type Session } from './session.ts';
import { type Frame, openSocket, type Socket } from './socket.ts';
import { backoffMs, wait, waitFor } from './wait.ts';

/** Settings of the gateway client. */
export interface GatewayOptions {
  token: string;
  /** The names of the events to ask for. */
  events: readonly string[];
  /** Asks the API for the address of the gateway. */
  findUrl: () => Promise<string>;
  /** A session of an earlier process to continue. */
  resumeFrom: Session | undefined;
  /** How many events of one channel are handled at the same time. */
  concurrency: number;
  /** How many unfinished events of one channel are kept. */
  queueSize: number;
  /** Handles one event. `lane` names what waits for it, such as `events of channel 1`. It must not reject. */
  handle: (event: Dispatch, lane: string) => Promise<void>;
  /** Whether an event is a message that uses a prefix command. It is handled twice then: as a command, and as an event. */
  isPrefixCommand: (name: string, data: object) => boolean;
  onReady: (ready: GatewayReady) => void;
  onResumed: (replayed: number) => void;
  /** Events were missed: the session is over, or those of a channel were dropped. */
  onMissed: (reason: string) => void;
  /** The connection was lost, or there has been none yet. Called once until there is a session again. */
  onDisconnect: (code: number, reason: string) => void;
  /** The gateway sent something that is not in its protocol. The connection is closed and the session resumed. */
  onMalformed: (error: unknown) => void;
  /** All events up to the session's position are handled. */
  onHandled: (session: Session) => void;
}

/** After these codes another attempt would be refused too. */
const finalCodes: Record<number, string> = {
  4002: 'the bot sent something that the gateway does not accept',
  4004: 'the token is not valid',
  4012: 'the gateway does not support this version of the protocol',
};
const op = { dispatch: 0, heartbeat: 1, identify: 2, resume: 6, reconnect: 7, invalid: 9, hello: 10, ack: 11 };
/** The code for a close after which the bot comes back. 1000 and 1001 would end its session. */
const comeBackCode = 4000;
const helloMs = 15_000;
const backoff = { first: 1_000, most: 60_000 };
/** The bounds of times that the gateway names, in milliseconds. Timers of JavaScript end at once if they are longer than 25 days. */
const heartbeatMs = { least: 50, most: 600_000 };
const longestDelayMs = 60_000;
/** A connection that lasted this long was a success, in milliseconds. */
const stableMs = 10_000;

/** How a connection ended. */
interface Ending {
  code: number;
  reason: string;
  lastedMs: number;
}

/** Keeps a session: connects, sends heartbeats, and resumes after every interruption until it is stopped. */
export class Gateway {
  readonly #options: GatewayOptions;
  readonly #queue: DispatchQueue;
  /** The session, with the position of the last received event. */
  #session: Session | undefined;
  #handled: Session | undefined;
  #socket: Socket | undefined;
  #retryAfterMs: number | undefined;
  /** Whether the session has begun, or was resumed, on the newest connection. */
  #isOnline = false;
  #hasReportedLoss = false;
  readonly #stopping = new AbortController();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#session = options.resumeFrom && { ...options.resumeFrom };
    this.#handled = options.resumeFrom;
    const { concurrency, queueSize } = options;
    this.#queue = new DispatchQueue({
      concurrency,
      laneSize: queueSize,
      handle: options.handle,
      onHandled: (event) => this.#setHandled(event),
      onDrop: (lane) => options.onMissed(`too many ${lane} are unfinished, so further ones are skipped`),
    });
  }

  /** The session with the position up to which all events are handled. */
  get session(): Session | undefined {
    return this.#handled;
  }

  /** Runs until `stop` is called. Rejects with a `GatewayError` if the gateway refuses the bot for good. */
  async run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted; ) {
      const { code, reason, lastedMs } = await this.#connect(failures > 0);
      if (signal.aborted) return;
      const refusal = finalCodes[code];
      // A session from a file may be damaged. Without it the gateway can accept the bot.
      const isSessionRefused = code === 4007 || (code === 4002 && this.#session !== undefined && !this.#isOnline);
      if (refusal !== undefined && !isSessionRefused) throw new GatewayError(code, reason ? `${refusal} (${reason})` : refusal);
      this.#isOnline = false;
      if (!this.#hasReportedLoss) {
        this.#hasReportedLoss = true;
        this.#options.onDisconnect(code, reason);
      }
      if (isSessionRefused) this.#reset('the gateway does not know the position');
      if (lastedMs >= stableMs) failures = 0;
      const waitMs = this.#retryAfterMs ?? backoffMs(failures, backoff.first, backoff.most);
      if (this.#retryAfterMs === undefined) failures++;
      this.#retryAfterMs = undefined;
      await wait(waitMs, signal).catch(() => undefined);
    }
  }

  /**
   * Disconnects, and resolves when all received events are handled or `timeoutMs` is over; what is not handled by then comes again when the session is resumed.
   * `keepSession`: the session can be resumed later. A handler that calls it is not waited for.
   */
  async stop({ keepSession, timeoutMs }: { keepSession: boolean; timeoutMs: number }): Promise<void> {
    this.#stopping.abort();
    this.#socket?.close(keepSession ? comeBackCode : 1000);
    await waitFor(this.#queue.isEmpty(), timeoutMs);
    this.#queue.close();
  }

  #setHandled({ sessionId, position }: Dispatch): void {
    // An event of an earlier session says nothing about this one.
    if (this.#handled?.id !== sessionId) return;
    this.#handled = { ...this.#handled, position };
    this.#options.onHandled(this.#handled);
  }

  #reset(reason: string): void {
    if (!this.#session) return;
    this.#session = undefined;
    this.#options.onMissed(reason);
  }

  async #findUrl(hasFailed: boolean): Promise<string> {
    const url = new URL(this.#session && !hasFailed ? this.#session.url : await this.#options.findUrl());
    url.searchParams.set('v', '1');
    return url.href;
  }

  /** Runs one connection until it ends. */
  async #connect(hasFailed: boolean): Promise<Ending> {
    const startedAt = performance.now();
    let url: string;
    try {
      url = await this.#findUrl(hasFailed);
    } catch (error) {
      return { code: 1006, reason: (error as Error).message, lastedMs: 0 };
    }
    if (this.#stopping.signal.aborted) return { code: 1000, reason: '', lastedMs: 0 };
    return new Promise((resolve) => {
      let heartbeat: ReturnType<typeof setTimeout> | undefined;
      let isAcked = true;
      const late = setTimeout(() => this.#socket?.close(comeBackCode), helloMs);
      const beat = (intervalMs: number): void => {
        // No ack for a whole interval: the connection is dead, even if nobody has noticed yet.
        if (!isAcked) return this.#socket?.close(comeBackCode);
        isAcked = false;
        this.#socket?.send(op.heartbeat, this.#session?.position ?? null);
        heartbeat = setTimeout(beat, intervalMs, intervalMs);
      };
      const receive = (text: unknown): void => {
        const frame = parseFrame(text);
        if (frame.op === op.hello) {
          clearTimeout(late);
          clearTimeout(heartbeat);
          const { heartbeatIntervalMs } = frame.d as { heartbeatIntervalMs: unknown };
          if (typeof heartbeatIntervalMs !== 'number' || !(heartbeatIntervalMs > 0)) throw new TypeError('op 10 has no interval.');
          const intervalMs = Math.min(Math.max(heartbeatIntervalMs, heartbeatMs.least), heartbeatMs.most);
          heartbeat = setTimeout(beat, intervalMs * Math.random(), intervalMs);
          this.#begin();
        } else if (frame.op === op.ack) isAcked = true;
        else this.#receive(frame);
      };
      const onMessage = (text: unknown): void => {
        try {
          receive(text);
        } catch (error) {
          this.#options.onMalformed(error);
          this.#socket?.close(comeBackCode);
        }
      };
      const onClose = (code: number, reason: string): void => {
        clearTimeout(late);
        clearTimeout(heartbeat);
        this.#socket = undefined;
        resolve({ code, reason, lastedMs: performance.now() - startedAt });
      };
      openSocket(url, onMessage, onClose).then(
        (socket) => {
          this.#socket = socket;
          if (this.#stopping.signal.aborted) socket.close(1000);
        },
        (error: Error) => onClose(1006, error.message),
      );
    });
  }

  #begin(): void {
    const { token, events } = this.#options;
    if (this.#session) this.#socket?.send(op.resume, { token, sessionId: this.#session.id, seq: this.#session.position });
    else this.#socket?.send(op.identify, { token, ...(events.length > 0 ? { events } : {}) });
  }

  #receive(frame: Frame): void {
    if (frame.op === op.dispatch) this.#dispatch(frame);
    else if (frame.op === op.heartbeat) this.#socket?.send(op.heartbeat, this.#session?.position ?? null);
    else if (frame.op === op.reconnect) {
      const { retryAfterMs } = (frame.d ?? {}) as { retryAfterMs?: unknown };
      this.#retryAfterMs = typeof retryAfterMs === 'number' ? Math.min(Math.max(retryAfterMs, 0), longestDelayMs) : 0;
      this.#socket?.close(comeBackCode);
    } else if (frame.op === op.invalid) {
      this.#reset((frame.d as { reason?: string } | null)?.reason ?? 'the session is over');
      this.#socket?.close(comeBackCode);
    }
  }

  #dispatch({ t: name, s: position, d: data }: Frame): void {
    if (typeof name !== 'string' || typeof position !== 'string') throw new TypeError('An event has no name or no position.');
    if (name === 'READY') {
      const ready = data as GatewayReady;
      const session = { id: ready.sessionId, url: ready.resumeUrl, position };
      if (!isSession(session)) throw new TypeError('READY has no session.');
      this.#session = session;
      this.#handled = { ...session };
      this.#setOnline();
      this.#options.onReady(ready);
      this.#options.onHandled(this.#handled);
      return;
    }
    if (!this.#session) return;
    if (name === 'RESUMED') {
      const { replayed } = data as { replayed: number };
      this.#session.position = position;
      this.#setOnline();
      this.#options.onResumed(replayed);
      return;
    }
    if (typeof data !== 'object' || data === null) throw new TypeError(`${name} has no data.`);
    this.#session.position = position;
    const event = { name, data, sessionId: this.#session.id, position };
    if (this.#options.isPrefixCommand(name, data)) this.#queue.add({ ...event, isPrefixCommand: true });
    this.#queue.add(event);
  }

  #setOnline(): void {
    this.#isOnline = true;
    this.#hasReportedLoss = false;
  }
}

/** Reads a frame. Throws if it is none. */
function parseFrame(text: unknown): Frame {
  if (typeof text !== 'string') throw new TypeError('A frame is not text.');
  const frame = JSON.parse(text) as Frame | null;
  if (typeof frame?.op !== 'number') throw new TypeError('A frame has no op.');
  return frame;
}
