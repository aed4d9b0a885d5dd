import { type Dispatch, DispatchQueue } from './dispatch-queue.ts';
import { GatewayError } from './errors.ts';
import type { GatewayReady, Session } from './session.ts';
import { type Frame, openSocket, type Socket } from './socket.ts';
import { backoffMs, wait } from './wait.ts';

/** Settings of the gateway client. */
export interface GatewayOptions {
  token: string;
  /** The names of the events to ask for. */
  events: readonly string[];
  /** Asks the API for the address of the gateway. */
  findUrl: () => Promise<string>;
  /** A session of an earlier process to continue. */
  resumeFrom: Session | undefined;
  concurrency: number;
  capacity: number;
  /** Handles one event. It must not reject. */
  handle: (name: string, data: unknown) => Promise<void>;
  onReady: (ready: GatewayReady) => void;
  onResumed: (replayed: number) => void;
  /** The session is over, so events may have been missed. */
  onReset: (reason: string) => void;
  onDisconnect: (code: number, reason: string) => void;
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
  #isOverflowing = false;
  readonly #stopping = new AbortController();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#session = options.resumeFrom && { ...options.resumeFrom };
    this.#handled = options.resumeFrom;
    const { concurrency, capacity } = options;
    this.#queue = new DispatchQueue({
      concurrency,
      capacity,
      handle: ({ name, data }) => options.handle(name, data),
      isUrgent: ({ name }) => name === 'INTERACTION_CREATE',
      onHandled: (event) => this.#setHandled(event),
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
      if (refusal !== undefined) throw new GatewayError(code, reason ? `${refusal} (${reason})` : refusal);
      this.#options.onDisconnect(code, reason);
      if (code === 4007) this.#reset('the gateway does not know the position');
      if (lastedMs >= stableMs) failures = 0;
      const waitMs = this.#retryAfterMs ?? backoffMs(failures, backoff.first, backoff.most);
      if (this.#retryAfterMs === undefined) failures++;
      this.#retryAfterMs = undefined;
      await wait(waitMs, signal).catch(() => undefined);
      if (!this.#isOverflowing) continue;
      await this.#queue.shrinksTo(Math.floor(this.#options.capacity / 2));
      this.#isOverflowing = false;
    }
  }

  /** Disconnects, and resolves when all received events are handled or `timeoutMs` is over. `keepSession`: the session can be resumed later. */
  async stop({ keepSession, timeoutMs }: { keepSession: boolean; timeoutMs: number }): Promise<void> {
    this.#stopping.abort();
    this.#socket?.close(keepSession ? comeBackCode : 1000);
    const finished = new AbortController();
    await Promise.race([this.#queue.shrinksTo(0), wait(timeoutMs, finished.signal).catch(() => undefined)]);
    finished.abort();
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
    this.#options.onReset(reason);
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
      const onFrame = (frame: Frame): void => {
        if (frame.op === op.hello) {
          clearTimeout(late);
          const { heartbeatIntervalMs } = frame.d as { heartbeatIntervalMs: number };
          heartbeat = setTimeout(beat, heartbeatIntervalMs * Math.random(), heartbeatIntervalMs);
          this.#begin();
        } else if (frame.op === op.ack) isAcked = true;
        else this.#receive(frame);
      };
      const onClose = (code: number, reason: string): void => {
        clearTimeout(late);
        clearTimeout(heartbeat);
        this.#socket = undefined;
        resolve({ code, reason, lastedMs: performance.now() - startedAt });
      };
      openSocket(url, onFrame, onClose).then(
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
      this.#retryAfterMs = (frame.d as { retryAfterMs?: number } | null)?.retryAfterMs ?? 0;
      this.#socket?.close(comeBackCode);
    } else if (frame.op === op.invalid) {
      this.#reset((frame.d as { reason?: string } | null)?.reason ?? 'the session is over');
      this.#socket?.close(comeBackCode);
    }
  }

  #dispatch({ t: name = '', s: position = '', d: data }: Frame): void {
    if (name === 'READY') {
      const ready = data as GatewayReady;
      this.#session = { id: ready.sessionId, url: ready.resumeUrl, position };
      this.#handled = { ...this.#session };
      this.#options.onReady(ready);
      this.#options.onHandled(this.#handled);
      return;
    }
    if (!this.#session) return;
    if (name === 'RESUMED') {
      this.#session.position = position;
      this.#options.onResumed((data as { replayed: number }).replayed);
      return;
    }
    // The position stays, so that the resume brings this event again.
    if (this.#queue.isFull) {
      this.#isOverflowing = true;
      this.#socket?.close(comeBackCode);
      return;
    }
    this.#session.position = position;
    this.#queue.add({ name, data, sessionId: this.#session.id, position });
  }
}
