import { once } from 'node:events';
import { expect } from 'chai';
import { type WebSocket, WebSocketServer } from 'ws';
import { connectGateway, type GatewayClient } from '../../apps/local/gateway-client.ts';

interface Frame {
  op: number;
  d: { token?: string; events?: string[]; sessionId?: string; seq?: string };
}

/** A gateway that sends the frames that the test chooses. */
class FakeGateway {
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
    if (!socket) throw new Error('no client is connected');
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

describe('connectGateway', () => {
  let gateway: FakeGateway;
  let client: GatewayClient;
  let events: string[];
  let states: string[];
  beforeEach(async () => {
    gateway = new FakeGateway();
    await once(gateway.server, 'listening');
    events = [];
    states = [];
    client = connectGateway({
      url: gateway.url,
      token: 'secret',
      events: ['MESSAGE_UPDATE'],
      onEvent: (name) => events.push(name),
      onState: (line) => states.push(line),
    });
    expect(await gateway.next()).to.deep.equal({ op: 2, d: { token: 'secret', events: ['MESSAGE_UPDATE'] } });
  });
  afterEach(() => {
    client.close();
    gateway.server.close();
  });
  const ready = (): void => gateway.event(0, 'READY', { sessionId: 's1', resumeUrl: gateway.url });

  it('identifies and passes on events in order', async () => {
    ready();
    gateway.event(1, 'MESSAGE_CREATE');
    gateway.event(2, 'INTERACTION_CREATE');
    await client.ready;
    while (events.length < 3) await new Promise((done) => setTimeout(done, 5));
    expect(events).to.deep.equal(['READY', 'MESSAGE_CREATE', 'INTERACTION_CREATE']);
  });

  const interruptions: [what: string, cut: () => void][] = [
    ['the connection breaks', () => gateway.last.terminate()],
    ['the gateway asks to reconnect', () => gateway.send({ op: 7, d: null })],
  ];
  for (const [what, cut] of interruptions)
    it(`resumes from the last position when ${what}`, async () => {
      ready();
      gateway.event(7, 'MESSAGE_CREATE');
      await client.ready;
      while (events.length < 2) await new Promise((done) => setTimeout(done, 5));
      cut();
      expect(await gateway.next()).to.deep.equal({ op: 6, d: { token: 'secret', sessionId: 's1', seq: '7' } });
    });

  it('waits after op 7 as long as the gateway asks for', async () => {
    ready();
    await client.ready;
    gateway.send({ op: 7, d: { retryAfterMs: 1 } });
    expect((await gateway.next()).op).to.equal(6);
    expect(states.at(-1)).to.match(/resuming in 0\.0 s$/); // without the request at least 0.1 s
  });

  it('identifies again when the session cannot be resumed', async () => {
    ready();
    await client.ready;
    gateway.send({ op: 9, d: { resumable: false, reason: 'the session does not exist' } });
    expect((await gateway.next()).op).to.equal(2);
  });

  it('stops when the token is refused', async () => {
    gateway.last.close(4004);
    const message = await client.ready.catch((error: Error) => error.message);
    expect(message).to.contain('the token is not valid');
    await client.done;
  });

  it('stops when it is closed', async () => {
    ready();
    await client.ready;
    client.close();
    await client.done;
  });
});
