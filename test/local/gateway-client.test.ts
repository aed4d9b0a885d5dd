import { once } from 'node:events';
import { expect } from 'chai';
import { type WebSocket, WebSocketServer } from 'ws';
import { connectGateway, type GatewayClient } from '../../apps/local/gateway-client.ts';

interface Frame {
  op: number;
  d: { token?: string; events?: string[]; sessionId?: string; seq?: string };
}

/** A gateway whose answers the test gives. */
class Script {
  readonly server = new WebSocketServer({ port: 0 });
  private readonly sockets: WebSocket[] = [];
  private readonly frames: Frame[] = [];
  private wake: () => void = () => undefined;

  constructor() {
    this.server.on('connection', (socket) => {
      this.sockets.push(socket);
      socket.on('message', (data: Buffer) => {
        const frame = JSON.parse(data.toString()) as Frame;
        if (frame.op === 1) return;
        this.frames.push(frame);
        this.wake();
      });
      this.send({ op: 10, d: { heartbeatIntervalMs: 60_000 } });
    });
  }
  get url(): string {
    return `ws://127.0.0.1:${(this.server.address() as { port: number }).port}`;
  }
  get last(): WebSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error('nobody connected');
    return socket;
  }
  send(frame: object): void {
    this.last.send(JSON.stringify(frame));
  }
  event(s: number, t: string, d: object = {}): void {
    this.send({ op: 0, s: String(s), t, d });
  }
  async next(): Promise<Frame> {
    while (!this.frames.length)
      await new Promise<void>((done) => {
        this.wake = done;
      });
    return this.frames.shift() as Frame;
  }
}

describe('the gateway client of the demo', () => {
  let script: Script;
  let client: GatewayClient;
  let seen: string[];
  beforeEach(async () => {
    script = new Script();
    await once(script.server, 'listening');
    seen = [];
    client = connectGateway({ url: script.url, token: 'secret', events: ['MESSAGE_UPDATE'], onEvent: (name) => seen.push(name) });
    expect(await script.next()).to.deep.equal({ op: 2, d: { token: 'secret', events: ['MESSAGE_UPDATE'] } });
  });
  afterEach(() => {
    client.close();
    script.server.close();
  });
  const ready = (): void => script.event(0, 'READY', { sessionId: 's1', resumeUrl: script.url });

  it('identifies, and hands on events in order', async () => {
    ready();
    script.event(1, 'MESSAGE_CREATE');
    script.event(2, 'INTERACTION_CREATE');
    await client.ready;
    while (seen.length < 3) await new Promise((done) => setTimeout(done, 5));
    expect(seen).to.deep.equal(['READY', 'MESSAGE_CREATE', 'INTERACTION_CREATE']);
  });

  const interruptions: [what: string, cut: () => void][] = [
    ['the connection breaks', () => script.last.terminate()],
    ['the gateway asks to reconnect', () => script.send({ op: 7, d: null })],
    ['the gateway asks to reconnect after a while', () => script.send({ op: 7, d: { retryAfterMs: 5 } })],
  ];
  for (const [what, cut] of interruptions)
    it(`resumes from the last position when ${what}`, async () => {
      ready();
      script.event(7, 'MESSAGE_CREATE');
      await client.ready;
      while (seen.length < 2) await new Promise((done) => setTimeout(done, 5));
      cut();
      expect(await script.next()).to.deep.equal({ op: 6, d: { token: 'secret', sessionId: 's1', seq: '7' } });
    });

  it('identifies anew when the session is gone', async () => {
    ready();
    await client.ready;
    script.send({ op: 9, d: { resumable: false, reason: 'there is no such session' } });
    expect((await script.next()).op).to.equal(2);
  });

  it('gives up when the token is refused', async () => {
    script.last.close(4004);
    const fault = await client.ready.catch((error: Error) => error.message);
    expect(fault).to.contain('the token is not valid');
    await client.done;
  });

  it('ends when it is closed', async () => {
    ready();
    await client.ready;
    client.close();
    await client.done;
  });
});
