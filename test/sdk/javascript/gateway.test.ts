import { mock } from 'node:test';
import { type Client, GatewayError } from '@parlance/bot';
import { expect } from 'chai';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { use } from '../../harness/use.ts';
import { collectContents, useClients } from './kit-fixture.ts';
import { ScriptedService } from './scripted-service.ts';

describe('JavaScript kit: the gateway connection', () => {
  const service = use(ScriptedService.start, { each: true });
  afterEach(() => {
    mock.timers.reset();
    mock.restoreAll();
  });
  const { makeClient, start } = useClients(service);
  /** A client with a session; returns its contents. */
  const connect = async (): Promise<{ client: Client } & ReturnType<typeof collectContents>> => {
    const client = makeClient();
    const collected = collectContents(client);
    await start(client);
    return { client, ...collected };
  };
  const resumeFrom = (seq: string) => ({ op: 6, d: { token: 'secret', sessionId: 's1', seq } });

  it('asks for the events that have listeners, and refuses listeners that come too late', async () => {
    const client = makeClient({ events: ['pinsUpdate'] });
    client.on('messageDelete', () => undefined).on('messageCreate', () => undefined);
    const started = client.start();
    expect(await service.next()).to.deep.equal({ op: 2, d: { token: 'secret', events: ['PINS_UPDATE', 'MESSAGE_DELETE'] } });
    service.ready();
    await started;
    client.on('messageDelete', () => undefined);
    expect(() => client.on('roleUpdate', () => undefined)).to.throw('roleUpdate before start()');
  });

  const interruptions: [what: string, cut: () => void][] = [
    ['the connection breaks', () => service.last.terminate()],
    ['the gateway stops', () => service.send({ op: 7, d: { retryAfterMs: 1 } })],
    ['another code closes the socket', () => service.last.close(4008)],
  ];
  for (const [what, cut] of interruptions)
    it(`resumes from the last position when ${what}`, async () => {
      const { contents, reach } = await connect();
      service.message(7);
      await reach(1);
      cut();
      expect(await service.next()).to.deep.equal(resumeFrom('7'));
      service.message(8);
      service.send({ op: 0, t: 'RESUMED', s: '8', d: { replayed: 1 } });
      await reach(2);
      expect(contents).to.deep.equal(['message 7', 'message 8']);
    });

  it('waits after op 7 as long as the gateway says', async () => {
    await connect();
    const beganAt = performance.now();
    service.send({ op: 7, d: { retryAfterMs: 1_500 } });
    await service.next();
    expect(performance.now() - beganAt).to.be.greaterThan(1_490);
  });

  it('waits at most a minute after op 7', async () => {
    const { client } = await connect();
    const isLost = new Promise((resolve) => client.on('disconnected', resolve));
    mock.timers.enable({ apis: ['setTimeout'] });
    service.send({ op: 7, d: { retryAfterMs: 2e9 } });
    await isLost;
    await new Promise((resolve) => setImmediate(resolve));
    mock.timers.tick(60_000);
    expect(await service.next()).to.deep.equal(resumeFrom('0'));
  });

  for (const [intervalMs, quietMs, dueMs] of [
    [0.001, 40, 50],
    [1e12, 500_000, 600_000],
  ] as const)
    it(`keeps the interval of heartbeats in bounds when the gateway says ${intervalMs} ms`, async () => {
      mock.method(Math, 'random', () => 0.9);
      mock.timers.enable({ apis: ['setTimeout'] });
      service.heartbeatIntervalMs = intervalMs;
      await connect();
      mock.timers.tick(quietMs);
      service.message(1);
      service.send({ op: 1, d: null });
      expect(await service.heartbeat(), 'only the one that was asked for').to.equal('1');
      mock.timers.tick(dueMs - quietMs);
      expect(await service.heartbeat()).to.equal('1');
    });

  it('sends heartbeats with its position, and resumes when one is not acknowledged', async () => {
    service.heartbeatIntervalMs = 100;
    await connect();
    expect(await service.heartbeat()).to.be.oneOf(['0', null]);
    service.message(3);
    await waitUntil(() => service.heartbeats.at(-1) === '3', 'a heartbeat with the position');
    service.acks = false;
    expect(await service.next()).to.deep.equal(resumeFrom('3'));
  });

  for (const [what, end] of [
    ['op 9', () => service.send({ op: 9, d: { resumable: false, reason: 'the session does not exist' } })],
    ['4007', () => service.last.close(4007)],
  ] as [string, () => void][])
    it(`identifies after ${what}, and says that events may be missing`, async () => {
      const { client } = await connect();
      const missed: string[] = [];
      client.on('eventsMissed', ({ reason }) => missed.push(reason));
      end();
      expect((await service.next()).op).to.equal(2);
      expect(missed).to.have.length(1);
    });

  for (const code of [4002, 4004, 4012]) {
    it(`rejects start() when the gateway closes with ${code}`, async () => {
      const started = makeClient().start();
      await service.next();
      service.last.close(code, 'UNKNOWN_EVENT');
      const error = await started.catch((one: unknown) => one);
      expect(error).to.be.instanceOf(GatewayError).with.property('closeCode', code);
      expect(String(error)).to.contain('UNKNOWN_EVENT');
    });

    it(`stops with an error when the gateway closes a session with ${code}`, async () => {
      const { client } = await connect();
      const errors: unknown[] = [];
      client.on('error', (error) => errors.push(error));
      service.last.close(code);
      await waitUntil(() => errors.length > 0, 'the error');
      expect(errors[0]).to.be.instanceOf(GatewayError);
      expect(service.sockets).to.have.length(1);
    });
  }

  it('starts events of a channel in order, as many at a time as it is told, and moves the session behind the oldest unfinished one', async () => {
    const started: string[] = [];
    const finish = new Map<string, () => void>();
    const client = makeClient({ concurrency: 2 });
    client.on('messageCreate', ({ content }) => {
      started.push(content);
      return new Promise<void>((resolve) => finish.set(content, resolve));
    });
    await start(client);
    for (const s of [1, 2, 3]) service.message(s);
    await waitUntil(() => started.length === 2, 'two events');
    finish.get('message 2')?.();
    await waitUntil(() => started.length === 3, 'the third event');
    expect(started).to.deep.equal(['message 1', 'message 2', 'message 3']);
    expect(client.session?.position).to.equal('0');
    finish.get('message 1')?.();
    await waitUntil(() => client.session?.position === '2', 'the position');
    finish.get('message 3')?.();
    await waitUntil(() => client.session?.position === '3', 'the position');
  });

  it('goes on with other channels while a handler takes longer than many others', async () => {
    const client = makeClient({ queueSize: 2 });
    const { reach } = collectContents(client);
    let finish = (): void => undefined;
    client.on('messageCreate', async ({ content }) => {
      if (content === 'message 1') await new Promise<void>((resolve) => (finish = resolve));
    });
    await start(client);
    for (let s = 1; s <= 10; s++) {
      service.message(s, s === 1 ? 'c1' : 'c2');
      await reach(s);
    }
    expect([service.last.readyState, client.session?.position]).to.deep.equal([1, '0']);
    finish();
    await waitUntil(() => client.session?.position === '10', 'the position');
  });

  it('does not count an event of the session before as handled in the new one', async () => {
    const { client, reach } = await connect();
    let finish = (): void => undefined;
    const positions: string[] = [];
    client.on('session', ({ position }) => positions.push(position));
    client.on('messageCreate', async ({ content }) => {
      if (content === 'message 7') await new Promise<void>((resolve) => (finish = resolve));
    });
    service.message(7);
    await reach(1);
    service.send({ op: 9, d: { reason: 'session_unknown' } });
    await service.next();
    service.ready('s2', '1');
    await waitUntil(() => client.session?.id === 's2', 'the new session');
    finish();
    service.message(2);
    await waitUntil(() => client.session?.position === '2', 'the position');
    expect(positions).to.deep.equal(['1', '2']);
  });

  it('ends its session when it stops, after the handlers have finished', async () => {
    const { client, contents } = await connect();
    let isFinished = false;
    client.on('messageCreate', () => new Promise<void>((resolve) => setTimeout(() => resolve(void (isFinished = true)), 50)));
    service.message(1);
    await waitUntil(() => contents.length === 1, 'the event');
    const closed = new Promise((resolve) => service.last.once('close', resolve));
    await client.stop();
    expect(isFinished).to.equal(true);
    expect(await closed).to.equal(1000);
  });

  it('keeps its session for the next process', async () => {
    const { client, reach } = await connect();
    service.message(5);
    await reach(1);
    const closed = new Promise((resolve) => service.last.once('close', resolve));
    await client.stop({ keepSession: true });
    expect(await closed).to.equal(4000);
    const saved = JSON.parse(JSON.stringify(client.session)) as Client['session'];
    const next = makeClient({ resumeFrom: saved });
    const started = next.start();
    expect(await service.next()).to.deep.equal(resumeFrom('5'));
    service.send({ op: 0, t: 'RESUMED', s: '5', d: { replayed: 0 } });
    await started;
  });

  it('reports an error of a handler and goes on', async () => {
    const { client, reach } = await connect();
    const errors: unknown[] = [];
    client.on('error', (error) => errors.push(error));
    client.on('messageCreate', ({ content }) => {
      if (content === 'message 1') throw new Error('a fault');
    });
    service.message(1);
    service.message(2);
    await reach(2);
    expect(String(errors)).to.equal('Error: a fault');
    await waitUntil(() => client.session?.position === '2', 'the position');
  });
});
