import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { freePort } from '../../../apps/local/probe.ts';
import { makeFolder } from '../../harness/folder.ts';
import { waitUntil } from '../../harness/interaction-fixture.ts';
import { startTcpProxy, type TcpProxy } from '../../harness/tcp-proxy.ts';
import { use } from '../../harness/use.ts';
import { ScriptedService } from '../javascript/scripted-service.ts';
import { contentsOf, type Program, usePrograms, usePythonKit } from './python-fixture.ts';

const texts = (count: number, start = 'message'): string[] => Array.from({ length: count }, (_, at) => `${start} ${at}`);

describe('sdk/python: the gateway connection', () => {
  const service = use(ScriptedService.start, { each: true });
  const run = usePrograms();
  const start = (env: Record<string, string> = {}): Program =>
    run('record', { PARLANCE_URL: service.url, PARLANCE_TOKEN: 'Bot secret', ...env });
  /** A program with the session `s1`. */
  const connect = async (env: Record<string, string> = {}): Promise<Program> => {
    const program = start(env);
    expect(await service.next()).to.deep.equal({ op: 2, d: { token: 'secret', events: ['MEMBER_ADD'] } });
    service.ready();
    await program.waitFor(({ ready }) => ready === 's1');
    return program;
  };
  /** Sends a `MESSAGE_CREATE` at this position. */
  const message = (s: number, content = `message ${s}`): void =>
    service.send({ op: 0, t: 'MESSAGE_CREATE', s: String(s), d: { content, author: {} } });
  const resumeFrom = (seq: string) => ({ op: 6, d: { token: 'secret', sessionId: 's1', seq } });

  const interruptions: [what: string, cut: () => void][] = [
    ['the connection breaks', () => service.last.terminate()],
    ['the gateway stops', () => service.send({ op: 7, d: { retryAfterMs: 1 } })],
    ['another code closes the socket', () => service.last.close(4008)],
  ];
  for (const [what, cut] of interruptions)
    it(`resumes from the last position when ${what}`, async () => {
      const program = await connect();
      message(7);
      await program.waitFor(({ content }) => content === 'message 7');
      cut();
      expect(await service.next()).to.deep.equal(resumeFrom('7'));
      message(8);
      service.send({ op: 0, t: 'RESUMED', s: '8', d: { replayed: 1 } });
      await program.waitFor(({ content }) => content === 'message 8');
      await program.waitFor(({ resumed }) => resumed === 1);
      expect(contentsOf(program)).to.deep.equal(['message 7', 'message 8']);
      expect(program.lines.filter(({ disconnected }) => disconnected)).to.have.length(1);
    });

  it('resumes when a heartbeat is not acknowledged', async () => {
    service.heartbeatIntervalMs = 100;
    service.acks = false;
    await connect();
    expect(await service.next()).to.deep.equal(resumeFrom('0'));
    expect(await service.heartbeat()).to.be.oneOf(['0', null]);
  });

  const ends: [what: string, end: () => void][] = [
    ['op 9', () => service.send({ op: 9, d: { resumable: false, reason: 'the session does not exist' } })],
    ['4007', () => service.last.close(4007)],
  ];
  for (const [what, end] of ends)
    it(`identifies after ${what}, and says that events may be missing`, async () => {
      const program = await connect();
      end();
      expect((await service.next()).op).to.equal(2);
      service.ready('s2');
      await program.waitFor(({ ready }) => ready === 's2');
      const order = program.lines.flatMap(({ ready, missed }) => ready ?? (missed ? 'missed' : []));
      expect(order).to.deep.equal(['s1', 'missed', 's2']);
    });

  for (const code of [4002, 4004, 4012])
    it(`ends with an error when the gateway closes with ${code}`, async () => {
      const program = await connect();
      service.last.close(code, 'the reason of the gateway');
      expect(await program.ended).to.equal(1);
      expect(program.log()).to.match(new RegExp(`GatewayClosed: .* ${code}: the reason of the gateway`));
      expect(service.sockets).to.have.length(1);
    });

  it('refuses listeners of events that it has not asked for', async () => {
    const program = await connect();
    expect(program.lines.find(({ ready }) => ready)?.late).to.include('role_create before the start');
  });

  it('reports an error of a listener and goes on', async () => {
    const program = await connect();
    message(1, 'faulty');
    message(2);
    await program.waitFor(({ content }) => content === 'message 2');
    const { error, notes } = await program.waitFor((line) => line.error !== undefined);
    expect([error, notes]).to.deep.equal(['a fault', ['It comes from a listener of message_create.']]);
    expect(await program.stop()).to.equal(0);
    expect(program.log()).to.include('the listener of errors fails too').and.not.include('a listener of message_create failed');
  });

  describe('across restarts', () => {
    const folder = use(makeFolder, { each: true });
    const sessionFile = (): string => join(folder.path, 'session.json');
    /** Starts the program again, which must resume from `position`. */
    const restart = async (position: string): Promise<void> => {
      start({ SESSION_FILE: sessionFile() });
      expect(await service.next()).to.deep.equal(resumeFrom(position));
    };

    for (const text of ['', '{}', '[]', 'null', '"s1"', '{"id":1,"url":2,"position":3}', '{"id":"s1","url":"ws://127.0.0.1/"}', '\0\0'])
      it(`begins a new session when the saved one is damaged: ${JSON.stringify(text)}`, async () => {
        writeFileSync(sessionFile(), text);
        const program = await connect({ SESSION_FILE: sessionFile() });
        await program.waitFor(({ saved }) => saved === '0');
      });

    it('begins a new session when the gateway does not understand the saved one', async () => {
      writeFileSync(sessionFile(), JSON.stringify({ id: 's1', url: 'nowhere', position: 'made up' }));
      const program = start({ SESSION_FILE: sessionFile() });
      expect(await service.next()).to.deep.equal(resumeFrom('made up'));
      service.last.close(4002, 'seq is not a position');
      expect((await service.next()).op).to.equal(2);
      service.ready();
      await program.waitFor(({ missed }) => missed !== undefined);
      await program.waitFor(({ ready }) => ready === 's1');
    });

    it('resumes from the start of a session that had no event', async () => {
      const program = await connect({ SESSION_FILE: sessionFile() });
      await program.waitFor(({ saved }) => saved === '0');
      await program.stop('SIGKILL');
      await restart('0');
    });

    for (const signal of ['SIGKILL', 'SIGTERM'] as const)
      it(`resumes before the first event whose listener did not end until ${signal}`, async () => {
        const program = await connect({ SESSION_FILE: sessionFile(), KEEP_SESSION: '1', STOP_TIMEOUT: '0.1' });
        message(1);
        message(2, 'endless');
        service.send({ op: 0, t: 'MEMBER_ADD', s: '3', d: { serverId: '1', member: { user: { username: 'ada' } } } });
        await program.waitFor(({ begun }) => begun === 'endless');
        await program.waitFor(({ joined }) => joined === 'ada');
        await program.waitFor(({ saved }) => saved === '1');
        await program.stop(signal);
        if (signal === 'SIGTERM') expect(program.lines.at(-1)).to.deep.equal({ last: '1' });
        await restart('1');
      });

    it('keeps its session, and finishes and saves its work before it ends', async () => {
      const program = await connect({ SESSION_FILE: sessionFile(), KEEP_SESSION: '1' });
      const closed = once(service.last, 'close');
      message(4, 'slow to the end');
      service.send({ op: 0, t: 'MEMBER_ADD', s: '5', d: { serverId: '1', member: { user: { username: 'ada' } } } });
      await program.waitFor(({ joined }) => joined === 'ada');
      expect(await program.stop()).to.equal(0);
      expect((await closed)[0]).to.equal(4000);
      expect(contentsOf(program)).to.deep.equal(['slow to the end']);
      await restart('5');
    });
  });

  it('handles the events of a channel one after another', async () => {
    const program = await connect();
    const sent = texts(12).map((text, at) => (at % 4 === 0 ? `slow ${text}` : text));
    for (const [at, text] of sent.entries()) message(at, text);
    await program.waitFor(({ content }) => content === sent.at(-1));
    expect(contentsOf(program)).to.deep.equal(sent);
  });

  it('goes on with commands and other channels when a listener never ends, and says which one', async () => {
    const program = await connect({ MAX_PENDING: '3', SLOW_SECS: '0.05', TWO_LISTENERS: '1' });
    const post = (s: number, channelId: string, content: string): void =>
      service.send({ op: 0, t: 'MESSAGE_CREATE', s: String(s), d: { channelId, content, author: {} } });
    post(1, '1', 'endless');
    for (let s = 2; s < 4; s++) post(s, '1', 'behind'); // as many as have room
    post(4, '3', 'in a third channel');
    await program.waitFor(({ content }) => content === 'in a third channel');
    expect(program.lines.filter((line) => line.missed !== undefined)).to.deep.equal([]);
    for (let s = 5; s < 8; s++) post(s, '1', 'skipped');
    post(8, '2', 'in another channel');
    const data = { name: 'hello', options: [] };
    service.send({ op: 0, t: 'INTERACTION_CREATE', s: '9', d: { id: '9', token: 't', channelId: '1', user: {}, data } });
    await program.waitFor(({ content }) => content === 'in another channel');
    await program.waitFor(({ used }) => used === 'hello');
    const { missed } = await program.waitFor((line) => line.missed !== undefined);
    expect(missed).to.equal('too many events of channel 1 are unfinished, so further ones are skipped');
    await waitUntil(() => program.log().includes('a listener of message_create has been running for more than'), 'the line');
    expect(program.lines.filter((line) => line.missed !== undefined)).to.have.length(1);
  });

  it('tells of a lost connection once, however many attempts fail', async () => {
    const program = await connect();
    for (let attempt = 0; attempt < 3; attempt++) {
      service.last.terminate();
      expect((await service.next()).op).to.equal(6);
    }
    service.send({ op: 0, t: 'RESUMED', s: '0', d: { replayed: 0 } });
    await program.waitFor(({ resumed }) => resumed === 0);
    expect(program.lines.filter(({ disconnected }) => disconnected)).to.have.length(1);
  });

  const badFrames: [what: string, frame: string | Buffer][] = [
    ['text that is not JSON', '<html>'],
    ['a number', '5'],
    ['null', 'null'],
    ['a list', '[]'],
    ['no op', '{"d":{}}'],
    ['an op that is text', '{"op":"0"}'],
    ['an op that is no number', '{"op":NaN}'],
    ['an event without a name', '{"op":0,"s":"8","d":{}}'],
    ['an event with a number as its name', '{"op":0,"t":1,"s":"8","d":{}}'],
    ['an event with a number as its position', '{"op":0,"t":"MESSAGE_CREATE","s":8,"d":{}}'],
    ['an event without data', '{"op":0,"t":"MESSAGE_CREATE","s":"8"}'],
    ['an event with text as its data', '{"op":0,"t":"MESSAGE_CREATE","s":"8","d":"text"}'],
    ['READY without a session', '{"op":0,"t":"READY","s":"8","d":{}}'],
    ['deep lists', '['.repeat(100_000)],
    ['a binary frame', Buffer.from('{"op":11}')],
  ];
  for (const [what, frame] of badFrames)
    it(`logs a frame that it does not understand, and resumes: ${what}`, async () => {
      const program = await connect();
      message(7);
      await program.waitFor(({ content }) => content === 'message 7');
      service.last.send(frame);
      expect(await service.next()).to.deep.equal(resumeFrom('7'));
      message(8);
      await program.waitFor(({ content }) => content === 'message 8');
      expect(program.log()).to.include('the gateway sent something that this client does not understand');
    });

  it('goes on behind an event whose content it cannot handle', async () => {
    const program = await connect();
    service.send({ op: 0, t: 'MESSAGE_CREATE', s: '7', d: { content: 5, author: 5 } });
    expect(await service.next()).to.deep.equal(resumeFrom('7'));
    message(8);
    await program.waitFor(({ content }) => content === 'message 8');
    expect(program.log()).to.include('could not be handled');
  });

  for (const interval of [-1, 0, Number.NaN, 'soon'])
    it(`connects again when the gateway wants a heartbeat every ${interval} ms`, async () => {
      service.heartbeatIntervalMs = interval as number;
      const program = start();
      await waitUntil(() => service.sockets.length > 1, 'the second attempt');
      service.heartbeatIntervalMs = 60_000;
      expect((await service.next()).op).to.equal(2);
      service.ready();
      await program.waitFor(({ ready }) => ready === 's1');
    });

  it('connects again when the gateway asks for a delay that is none', async () => {
    await connect();
    service.send({ op: 7, d: { retryAfterMs: 'soon' } });
    expect(await service.next()).to.deep.equal(resumeFrom('0'));
  });

  for (const keep of [true, false])
    it(`stops when a listener says so, and ends that listener (${keep ? 'keeps' : 'ends'} the session)`, async () => {
      const program = await connect({ STOP_TIMEOUT: '300', ...(keep ? { KEEP_SESSION: '1' } : {}) });
      message(1, 'slow');
      message(2, 'stop');
      message(3, 'behind it');
      expect(await program.ended).to.equal(0);
      expect(program.lines.find((line) => line.stopped)?.stopped).to.equal('this client is stopped; create a new Client');
      expect(contentsOf(program)).to.have.members(['slow', 'stop', 'behind it']);
      expect(program.lines.at(-1)).to.deep.equal({ last: keep ? '3' : null });
      expect(program.log()).to.not.include('cancelled');
    });

  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    it(`ends its session and finishes its work at ${signal}`, async () => {
      const program = await connect();
      const closed = once(service.last, 'close');
      message(1, 'slow to the end');
      message(2, 'read');
      service.send({ op: 0, t: 'MEMBER_ADD', s: '3', d: { serverId: '1', member: { user: { username: 'ada' } } } });
      await program.waitFor(({ joined }) => joined === 'ada'); // what came before has been read
      expect(await program.stop(signal)).to.equal(0);
      expect((await closed)[0]).to.equal(1000);
      expect(contentsOf(program)).to.deep.equal(['slow to the end', 'read']);
    });
});

describe('sdk/python: dropped connections', () => {
  let proxy: TcpProxy;
  const kit = usePythonKit(async () => {
    const port = String(await freePort());
    proxy = await startTcpProxy(`ws://127.0.0.1:${port}/gateway`, Number(port));
    return { GATEWAY_PORT: port, GATEWAY_URL: proxy.url, HEARTBEAT_INTERVAL_MS: '1000' };
  });
  after(() => proxy?.close());
  const run = usePrograms();

  it('lose no message, and bring none twice or out of order', async () => {
    const program = run('record', kit.env());
    await program.waitFor(({ ready }) => ready !== undefined);
    const posted = texts(60, 'posted');
    for (const [at, text] of posted.entries()) {
      await kit.post(text);
      if (at % 20 === 5) proxy.cut();
      if (at % 20 === 10) proxy.mend();
      if (at === 35) proxy.freeze('open'); // a peer that hangs: only missed acknowledgements show it
    }
    await program.waitFor(({ content }) => content === posted.at(-1));
    await program.waitFor(({ resumed }) => resumed !== undefined); // after what it missed
    expect(contentsOf(program)).to.deep.equal(posted);
    expect(program.lines.filter(({ ready }) => ready !== undefined)).to.have.length(1);
  });
});

const rounds = 3;
const perRound = 16;

describe('sdk/python: restarts of a bot that saves its session', () => {
  const kit = usePythonKit();
  const run = usePrograms();
  const folder = use(makeFolder, { each: true });
  const start = (): Program => run('record', { ...kit.env(), SESSION_FILE: join(folder.path, 'session.json'), KEEP_SESSION: '1' });

  /**
   * Posts messages, also while no program runs, and ends the program by `signal` in the middle of its work, `rounds` times. Returns what was posted, and the
   * programs.
   */
  async function restart(signal: NodeJS.Signals): Promise<{ posted: string[]; programs: Program[] }> {
    const posted: string[] = [];
    const post = async (): Promise<void> => {
      // Each fourth one takes its time.
      posted.push(`${posted.length % 4 === 0 ? 'slow' : 'quick'} ${posted.length}`);
      await kit.post(posted.at(-1) ?? '');
    };
    const programs = [start()];
    await programs[0]?.waitFor(({ ready }) => ready !== undefined);
    for (let round = 0; round < rounds; round++) {
      const first = posted.length;
      for (let left = perRound; left > 0; left--) await post();
      const program = programs.at(-1);
      await program?.waitFor(({ content }) => content === posted[first + perRound / 2]);
      await Promise.all([program?.stop(signal), post(), post()]);
      await post();
      programs.push(start());
    }
    await programs.at(-1)?.waitFor(({ content }) => content === posted.at(-1));
    return { posted, programs };
  }

  const expectOneSession = ([, ...restarted]: Program[]): void => {
    for (const { lines } of restarted) {
      expect(lines.filter(({ ready, missed }) => ready ?? missed)).to.have.length(0);
      expect(lines.filter(({ resumed }) => resumed !== undefined)).to.have.length(1);
    }
  };

  it('lose no message when the process is killed, and repeat only those that it had not finished or saved', async () => {
    const { posted, programs } = await restart('SIGKILL');
    const received = programs.flatMap(contentsOf);
    expect([...new Set(received)]).to.deep.equal(posted);
    expect(received.length - posted.length, 'repeated').to.be.below(rounds * perRound);
    expectOneSession(programs);
  });

  it('lose no message when the session is kept, and bring none twice or out of order', async () => {
    const { posted, programs } = await restart('SIGTERM');
    expect(programs.flatMap(contentsOf)).to.deep.equal(posted);
    expectOneSession(programs);
  });
});
