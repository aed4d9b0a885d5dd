import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/** A frame that the client sent; heartbeats are kept apart. */
interface SentFrame {
  op: number;
  d: { token?: string; events?: string[]; sessionId?: string; seq?: string };
}

/** An API and a gateway that do what a test tells them. */
export class ScriptedService {
  readonly #http = createServer((request, response) => {
    const line = `${request.method} ${request.url}`;
    this.requests.push(line);
    const found = Object.entries(this.answers).find(([start]) => line.startsWith(start));
    const body = found ? found[1] : { url: `${this.url.replace('http', 'ws')}/gateway` };
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    this.#wake();
  });
  /** The requests to the API, such as `GET /api/gateway`. */
  readonly requests: string[] = [];
  /** The bodies of the answers, by the start of the request. All others get the address of the gateway. */
  answers: Record<string, unknown> = {};
  readonly #gateway = new WebSocketServer({ server: this.#http });
  readonly #frames: SentFrame[] = [];
  readonly heartbeats: unknown[] = [];
  sockets: WebSocket[] = [];
  heartbeatIntervalMs = 60_000;
  /** Whether heartbeats are acknowledged. */
  acks = true;
  #wake: () => void = () => undefined;

  constructor() {
    this.#gateway.on('connection', (socket) => {
      this.sockets.push(socket);
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as SentFrame;
        if (frame.op === 1) {
          this.heartbeats.push(frame.d);
          if (this.acks) socket.send(JSON.stringify({ op: 11, d: null }));
        } else this.#frames.push(frame);
        this.#wake();
      });
      this.send({ op: 10, d: { heartbeatIntervalMs: this.heartbeatIntervalMs } });
    });
  }

  /** Starts a service. */
  static async start(): Promise<ScriptedService> {
    const service = new ScriptedService();
    await new Promise<void>((resolve) => service.#http.listen(0, '127.0.0.1', resolve));
    return service;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#http.address() as AddressInfo).port}`;
  }

  get last(): WebSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error('no client is connected');
    return socket;
  }

  /** Sends a frame on the newest connection. */
  send(frame: object): void {
    this.last.send(JSON.stringify(frame));
  }

  /** Sends `READY` of the session `id`. */
  ready(id = 's1', s = '0'): void {
    this.send({ op: 0, t: 'READY', s, d: { sessionId: id, resumeUrl: `${this.url.replace('http', 'ws')}/gateway`, servers: [] } });
  }

  /** Sends a `MESSAGE_CREATE` of a channel at this position. */
  message(s: number, channelId = 'c1', content = `message ${s}`): void {
    this.send({ op: 0, t: 'MESSAGE_CREATE', s: String(s), d: { id: String(s), content, author: {}, channelId } });
  }

  /** Sends the use of the command `name` at this position. */
  use(s: number, name: string): void {
    const d = { id: `i${s}`, token: 't', channelId: 'c1', data: { name, options: [] } };
    this.send({ op: 0, t: 'INTERACTION_CREATE', s: String(s), d });
  }

  /** The next frame of the client that is not a heartbeat. */
  async next(): Promise<SentFrame> {
    for (;;) {
      const frame = this.#frames.shift();
      if (frame) return frame;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Waits for a heartbeat. */
  async heartbeat(): Promise<unknown> {
    for (;;) {
      if (this.heartbeats.length > 0) return this.heartbeats.shift();
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.terminate();
    this.#gateway.close();
    this.#http.closeAllConnections();
    await new Promise((resolve) => this.#http.close(resolve));
  }
}
