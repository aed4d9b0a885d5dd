import { expect } from 'chai';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { Client, type Frame } from './client.ts';
import { useGateway } from './gateway-fixture.ts';

describe('gateway: close codes', () => {
  const { fixture, place, bot } = useGateway(1, { overrides: { BASE_URL: 'https://chat.example' } });

  const [token, sessionId, seq] = ['x', 'x', '1'];
  const refused: [what: string, code: number, reason: string, frame: unknown][] = [
    ['an unknown op', 4001, 'op 4 is unknown. Clients send 1, 2, 3, 6.', { op: 4, d: null }],
    ['an op that is not a number', 4001, 'op must be a number. Clients send 1, 2, 3, 6.', { op: '1'.repeat(1000) }],
    ['text that is not JSON', 4002, 'The message is not valid JSON.', '{'],
    ['JSON that is not an object', 4002, 'A message must be a JSON object.', '[1]'],
    ['null', 4002, 'A message must be a JSON object.', 'null'],
    ['no op', 4002, 'op is missing.', { d: 1 }],
    ['a watch before READY', 4003, 'Identify or resume before you send a watch list.', { op: 3, d: { watch: [] } }],
    ['a wrong token', 4004, 'The token is not valid.', { op: 2, d: { token: '0000000000000000000.'.padEnd(63, 'x') } }],
    ['a token that is not a string', 4004, 'token must be text.', { op: 2, d: { token: 7 } }],
    ['no token', 4004, 'token is missing.', { op: 2, d: {} }],
    ['an identify without data', 4004, 'token is missing.', { op: 2 }],
    ['an identify whose data is text', 4004, 'token is missing.', { op: 2, d: 'x' }],
    ['a resume with a wrong token', 4004, 'The token is not valid.', { op: 6, d: { token, sessionId, seq } }],
    ['a resume without a token', 4004, 'token is missing.', { op: 6, d: { sessionId, seq } }],
    ['a negative seq', 4007, 'seq must be the last s that you received.', { op: 6, d: { token, sessionId, seq: '-1' } }],
    ['a broken seq', 4007, 'seq must be the last s that you received.', { op: 6, d: { token, sessionId, seq: '1.5' } }],
    ['a seq that is not a string', 4007, 'seq must be the last s that you received.', { op: 6, d: { token, sessionId, seq: 1 } }],
    ['no seq', 4007, 'seq must be the last s that you received.', { op: 6, d: { token, sessionId } }],
    ['a resume without data', 4007, 'seq must be the last s that you received.', { op: 6 }],
    ['a heartbeat with a bad seq', 4007, 'd of a heartbeat must be the last s that you received, or null.', { op: 1, d: 'x' }],
    ['a heartbeat with an object', 4007, 'd of a heartbeat must be the last s that you received, or null.', { op: 1, d: {} }],
    ['a binary frame', 4002, 'Send text messages, not binary ones.', Buffer.from('{"op":1}')],
    ['a frame over 16 KiB', 1009, '', 'x'.repeat(16 * 1024 + 1)],
  ];
  for (const [what, code, reason, frame] of refused)
    it(`closes with ${code} for ${what}${reason && `: ${reason}`}`, async () => {
      const client = fixture.connect();
      await client.until(10);
      if (Buffer.isBuffer(frame)) client.ws.send(frame);
      else client.send(frame);
      expect(await client.closed).to.equal(code);
      expect(client.closeReason).to.equal(reason);
    });

  it('closes with 4005 for a second identify, also during the first, and for a resume after it', async () => {
    for (const op of [2, 6]) {
      const client = fixture.connect();
      await client.until(10);
      client.send({ op: 2, d: { token: bot.token } });
      client.send({ op, d: { token: bot.token, sessionId: 'x', seq: '1' } });
      expect(await client.closed).to.equal(4005);
    }
    const client = fixture.connect();
    await client.identify(`Bearer ${bot.token}`);
    client.send({ op: 2, d: { token: bot.token } });
    expect(await client.closed).to.equal(4005);
    expect(await fixture.worker.connections.areConnected([bot.id])).to.deep.equal([false]);
  });

  it('closes with 4012 for an unknown version; the default is 1', async () => {
    expect(await fixture.connect(0, '/?v=2').closed).to.equal(4012);
    expect(await fixture.connect(0, '/gateway?v=').closed).to.equal(4012);
    expect((await fixture.connect(0, '/?v=1').next()).op).to.equal(10);
    expect((await fixture.connect(0, '/anything/at/all').next()).op).to.equal(10);
  });

  it('closes with 4003 a socket that does not identify in time', async () => {
    const client = fixture.connect();
    await client.until(10);
    const { node } = fixture.nodes[0] ?? expect.fail();
    const [socket] = [...node.sockets].slice(-1);
    if (!socket) expect.fail();
    expect(socket.deadlineMs - performance.now()).to.be.within(1, 30_000);
    socket.deadlineMs = 0;
    expect(await client.closed).to.equal(4003);
  });

  it('closes with 4009 after 1.5 intervals without a heartbeat; the session can be resumed', async () => {
    const node = await fixture.addNode({ HEARTBEAT_INTERVAL_MS: 60_000 });
    const client = new Client(node.port);
    const { d, s } = await client.identify(bot.token);
    const active = new Client(node.port);
    await active.identify(bot.token);
    const [silent, alive] = node.node.sockets;
    if (!silent || !alive) expect.fail();
    for (const { deadlineMs } of [silent, alive]) expect(deadlineMs - performance.now()).to.be.within(60_001, 90_000);
    [silent.deadlineMs, alive.deadlineMs] = [0, performance.now() + 5_000];
    await active.heartbeat();
    expect(alive.deadlineMs - performance.now()).to.be.within(60_001, 90_000);
    expect(await client.closed).to.equal(4009);
    expect(active.ws.readyState).to.equal(active.ws.OPEN);
    const again = new Client(node.port);
    await again.resume(bot.token, d.sessionId, String(s));
    expect(await again.next()).to.include({ t: 'RESUMED' });
    for (const one of [active, again]) await one.cut();
  });

  it('closes with 4010 a reader more than 1 MiB behind, with a bounded buffer; it resumes without a loss', async () => {
    const client = fixture.connect();
    const { d } = await client.identify(bot.token);
    client.ws.pause();
    const { node } = fixture.nodes[0] ?? expect.fail();
    const session = node.sessions.get(d.sessionId) ?? expect.fail();
    const isOpen = (): boolean => session.state !== 'closing';
    let posted = 0;
    let held = 0;
    while (isOpen()) {
      await fixture.post(place.server, place.channel, `${posted++} ${'x'.repeat(200_000)}`);
      // One post at a time: with more, Redis would cut the subscription, and reading what was missed waits for a slow client.
      const last = await fixture.worker.readLastNumber(serverPlace(place.server));
      while (isOpen() && (node.lanes[0]?.sentNumber ?? 0) < (last ?? 0)) await new Promise((resolve) => setImmediate(resolve));
      held = Math.max(held, session.socket.tcpSocket.writableLength);
      if (posted > 500) expect.fail('never closed');
    }
    expect(held).to.be.lessThan(4 * 1024 * 1024);
    client.ws.resume();
    expect(await client.closed).to.equal(4010);
    const numberOf = ({ d: { content } }: Frame): number => Number.parseInt(String(content), 10);
    const got = client.frames.filter(({ t }) => t === 'MESSAGE_CREATE');
    const again = fixture.connect();
    await again.resume(bot.token, d.sessionId, String(client.frames.findLast(({ s }) => s)?.s));
    const rest = await again.events(posted - got.length);
    expect([...got, ...rest].map(numberOf)).to.deep.equal(Array.from({ length: posted }, (_, i) => i));
  });

  it('closes with 4004 after the token was reset, and for a resume with the old token', async () => {
    const victim = await fixture.makeAccount('bot', place.server);
    const client = fixture.connect();
    const { d, s } = await client.identify(victim.token);
    await fixture.changing(null, [victim.id], () => fixture.worker.db.tokens.deleteMany({ accountId: victim.id }), true);
    expect(await client.closed).to.equal(4004);
    const again = fixture.connect();
    await again.resume(victim.token, d.sessionId, String(s));
    expect(await again.closed).to.equal(4004);
  });

  it('closes nothing when a change of credentials keeps the token', async () => {
    const client = fixture.connect();
    await client.identify(bot.token);
    await fixture.changing(null, [bot.id], async () => undefined, true);
    await fixture.post(place.server, place.channel, 'still here');
    expect(await client.events(1)).to.have.length(1);
  });

  it('accepts the session cookie from our origin or without one, and not from another', async () => {
    const person = await fixture.makeAccount('person', place.server);
    const cookie = `theme=dark; __Host-parlance_session=${person.token}`;
    const old = `parlance_session=${person.token}; theme=dark`;
    // A neighbouring host can set a cookie without the prefix, but not another one with it.
    const planted = `parlance_session=${bot.token}; ${cookie}`;
    for (const headers of [{ cookie }, { cookie, origin: 'https://chat.example' }, { cookie: old }, { cookie: planted }]) {
      const client = fixture.connect(0, '/', headers);
      await client.until(10);
      client.send({ op: 2, d: {} });
      expect((await client.next()).d.user).to.include({ id: person.id, tag: null });
    }
    const foreign = fixture.connect(0, '/', { cookie, origin: 'https://evil.example' });
    await foreign.until(10);
    foreign.send({ op: 2, d: {} });
    expect(await foreign.closed).to.equal(4004);
  });

  it('answers GET /healthz with 200 and any other plain request with 426', async () => {
    const base = `http://127.0.0.1:${fixture.nodes[0]?.port}`;
    expect((await fetch(`${base}/healthz`)).status).to.equal(200);
    expect((await fetch(`${base}/`)).status).to.equal(426);
  });

  it('keeps nothing of closed sockets in memory', async () => {
    const { node } = fixture.nodes[0] ?? expect.fail();
    for (const client of fixture.clients) client.ws.terminate();
    await Promise.all(fixture.clients.map((client) => client.closed));
    while (node.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(node.sessions.size + node.accounts.size + node.places.size - node.unusedPlaces.size + node.pendingReleases.size).to.equal(0);
  });
});
