import { WebSocket } from 'ws';
import { requireDocumentedClose, requireDocumentedFrame } from '../harness/gateway-document.ts';

/** A frame from the gateway. */
export interface Frame {
  op: number;
  d: Record<string, unknown>;
  s?: string;
  t?: string;
}

/** A gateway client under test. It stores every frame, and waits for the frames that a test asks for. */
export class Client {
  readonly ws: WebSocket;
  readonly frames: Frame[] = [];
  /** Resolves with the code when the socket is closed. */
  readonly closed: Promise<number>;
  /** The reason of the close, once the socket is closed. */
  closeReason = '';
  private taken = 0;
  private wake = (): void => undefined;
  private isClosed = false;
  private isEnding = false;

  constructor(port: number, path = '/gateway', headers: Record<string, string> = {}) {
    this.ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers });
    this.ws.on('message', (data: Buffer) => {
      const frame = JSON.parse(data.toString()) as Frame;
      this.frames.push(frame);
      this.wake();
      requireDocumentedFrame(frame);
    });
    this.ws.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.ws.on('close', (code, reason) => {
        this.isClosed = true;
        this.closeReason = reason.toString();
        this.wake();
        resolve(code);
        if (!this.isEnding) requireDocumentedClose(code, this.closeReason);
      });
    });
  }

  /** The next frame, in order. Throws when the socket closes first. */
  async next(): Promise<Frame> {
    for (;;) {
      const frame = this.frames[this.taken];
      if (frame) {
        this.taken++;
        return frame;
      }
      if (this.isClosed) throw new Error(`closed with ${await this.closed}; frames: ${JSON.stringify(this.frames.slice(-3))}`);
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
  }

  /** The next frame with `op` (and event name `t`, if given); earlier frames are skipped. */
  async until(op: number, t?: string): Promise<Frame> {
    for (;;) {
      const frame = await this.next();
      if (frame.op === op && (t === undefined || frame.t === t)) return frame;
    }
  }

  /** The next `count` events, without READY and RESUMED. */
  async events(count: number): Promise<Frame[]> {
    const found: Frame[] = [];
    while (found.length < count) {
      const frame = await this.until(0);
      if (frame.t !== 'READY' && frame.t !== 'RESUMED') found.push(frame);
    }
    return found;
  }

  /** The next `count` events of messages; others are skipped. */
  async messages(count: number): Promise<Frame[]> {
    const found: Frame[] = [];
    while (found.length < count) found.push(...(await this.events(1)).filter(({ t }) => t?.startsWith('MESSAGE_')));
    return found;
  }

  send(frame: unknown): void {
    this.ws.send(typeof frame === 'string' ? frame : JSON.stringify(frame));
  }

  /** Identifies and waits for READY. */
  async identify(token: string, events?: string[]): Promise<Frame & { d: { sessionId: string; servers: string[] } }> {
    await this.until(10);
    this.send({ op: 2, d: { token, ...(events ? { events } : {}) } });
    return (await this.until(0, 'READY')) as Frame & { d: { sessionId: string; servers: string[] } };
  }

  /** Watches these accounts and waits for the reply; returns those that are offline. Frames that arrived before the reply are in `frames`. */
  async watch(...accounts: readonly { id: string }[]): Promise<unknown> {
    this.send({ op: 3, d: { watch: accounts.map(({ id }) => id) } });
    return (await this.until(3)).d.offline;
  }

  /** Sends a resume after the hello. */
  async resume(token: string, sessionId: string, seq: string): Promise<void> {
    await this.until(10);
    this.send({ op: 6, d: { token, sessionId, seq } });
  }

  /** Sends a heartbeat and waits for its ack. */
  async heartbeat(): Promise<void> {
    this.send({ op: 1, d: null });
    await this.until(11);
  }

  /** Closes the connection with `code`; resolves when it is closed. */
  close(code: number): Promise<number> {
    this.isEnding = true;
    this.ws.close(code);
    return this.closed;
  }

  /** Closes the connection without a close frame. */
  cut(): Promise<number> {
    this.ws.terminate();
    return this.closed;
  }
}
