import { expect } from 'chai';
import { serverPlace } from '../../lib/store/redis/log/keys.ts';
import { Client, type Frame } from './client.ts';
import { type Someone, startWorld, type World } from './world.ts';

describe('gateway: what closes a socket', () => {
  let world: World;
  let server: string;
  let channel: string;
  let bot: Someone;
  before(async () => {
    world = await startWorld(1, { BASE_URL: 'https://chat.example' });
    server = await world.server();
    channel = await world.channel(server);
    bot = await world.someone('bot', server);
  });
  after(() => world.close());

  const refused: [what: string, code: number, frames: unknown[]][] = [
    ['an unknown op', 4001, [{ op: 4, d: null }]],
    ['an op that is no number', 4001, [{ op: '1' }]],
    ['text that is no JSON', 4002, ['{']],
    ['JSON that is no object', 4002, ['[1]']],
    ['null', 4002, ['null']],
    ['no op', 4002, [{ d: 1 }]],
    ['a watch before READY', 4003, [{ op: 3, d: { watch: [] } }]],
    ['a wrong token', 4004, [{ op: 2, d: { token: '0000000000000000000.'.padEnd(63, 'x') } }]],
    ['a token that is no text', 4004, [{ op: 2, d: { token: 7 } }]],
    ['no token', 4004, [{ op: 2, d: {} }]],
    ['an identify without data', 4004, [{ op: 2 }]],
    ['a resume with a wrong token', 4004, [{ op: 6, d: { token: 'x', sessionId: 'x', seq: '1' } }]],
    ['a negative seq', 4007, [{ op: 6, d: { token: 'x', sessionId: 'x', seq: '-1' } }]],
    ['a broken seq', 4007, [{ op: 6, d: { token: 'x', sessionId: 'x', seq: '1.5' } }]],
    ['a seq that is no text', 4007, [{ op: 6, d: { token: 'x', sessionId: 'x', seq: 1 } }]],
    ['no seq', 4007, [{ op: 6, d: { token: 'x', sessionId: 'x' } }]],
    ['a heartbeat with a bad seq', 4007, [{ op: 1, d: 'x' }]],
    ['a frame over 16 KiB', 1009, ['x'.repeat(16 * 1024 + 1)]],
  ];
  for (const [what, code, frames] of refused)
    it(`${code} for ${what}`, async () => {
      const client = world.connect();
      await client.until(10);
      for (const frame of frames) client.send(frame);
      expect(await client.closed).to.equal(code);
    });

  it('4002 for a binary frame', async () => {
    const client = world.connect();
    await client.until(10);
    client.ws.send(Buffer.from('{"op":1}'));
    expect(await client.closed).to.equal(4002);
  });

  it('4005 for a second identify, also while the first is under way, and for a resume after it', async () => {
    for (const op of [2, 6]) {
      const client = world.connect();
      await client.until(10);
      client.send({ op: 2, d: { token: bot.token } });
      client.send({ op, d: { token: bot.token, sessionId: 'x', seq: '1' } });
      expect(await client.closed).to.equal(4005);
    }
    const client = world.connect();
    await client.identify(`Bearer ${bot.token}`);
    client.send({ op: 2, d: { token: bot.token } });
    expect(await client.closed).to.equal(4005);
    expect(await world.worker.connected([bot.id])).to.deep.equal([false]);
  });

  it('4012 for a version that it does not speak; 1 is the default', async () => {
    expect(await world.connect(0, '/?v=2').closed).to.equal(4012);
    expect(await world.connect(0, '/gateway?v=').closed).to.equal(4012);
    expect((await world.connect(0, '/?v=1').next()).op).to.equal(10);
    expect((await world.connect(0, '/anything/at/all').next()).op).to.equal(10);
  });

  it('4003 when not identified in time', async () => {
    const client = world.connect();
    await client.until(10);
    const { node } = world.nodes[0] ?? expect.fail();
    const [socket] = [...node.sockets].slice(-1);
    if (!socket) expect.fail();
    expect(socket.deadline - performance.now()).to.be.within(1, 30_000);
    socket.deadline = 0;
    expect(await client.closed).to.equal(4003);
  });

  it('4009 without a heartbeat for one and a half intervals, and the session can be resumed', async () => {
    const node = await world.addNode({ HEARTBEAT_INTERVAL_MS: 60_000 });
    const client = new Client(node.port);
    const { d, s } = await client.identify(bot.token);
    const beating = new Client(node.port);
    await beating.identify(bot.token);
    const [silent, heard] = node.node.sockets;
    if (!silent || !heard) expect.fail();
    for (const { deadline } of [silent, heard]) expect(deadline - performance.now()).to.be.within(60_001, 90_000);
    [silent.deadline, heard.deadline] = [0, performance.now() + 5_000];
    await beating.heartbeat();
    expect(heard.deadline - performance.now()).to.be.within(60_001, 90_000);
    expect(await client.closed).to.equal(4009);
    expect(beating.ws.readyState).to.equal(beating.ws.OPEN);
    const again = new Client(node.port);
    await again.resume(bot.token, d.sessionId, String(s));
    expect(await again.next()).to.include({ t: 'RESUMED' });
    for (const one of [beating, again]) await one.cut();
  });

  it('4010 for a reader more than 1 MiB behind; what it holds for it is bounded, and it resumes without a loss', async () => {
    const client = world.connect();
    const { d } = await client.identify(bot.token);
    client.ws.pause();
    const { node } = world.nodes[0] ?? expect.fail();
    const session = node.sessions.get(d.sessionId) ?? expect.fail();
    const isOpen = (): boolean => session.state !== 'closing';
    let posted = 0;
    let held = 0;
    while (isOpen()) {
      await world.post(server, channel, `${posted++} ${'x'.repeat(200_000)}`);
      // One post at a time: with more, Redis would cut the subscription, and reading what was missed waits for a slow client.
      const last = await world.worker.lastNumber(serverPlace(server));
      while (isOpen() && (node.lanes[0]?.seen ?? 0) < (last ?? 0)) await new Promise((resolve) => setImmediate(resolve));
      held = Math.max(held, session.socket.raw.writableLength);
      if (posted > 500) expect.fail('never closed');
    }
    expect(held).to.be.lessThan(4 * 1024 * 1024);
    client.ws.resume();
    expect(await client.closed).to.equal(4010);
    const numberOf = ({ d: { content } }: Frame): number => Number.parseInt(String(content), 10);
    const got = client.frames.filter(({ t }) => t === 'MESSAGE_CREATE');
    const again = world.connect();
    await again.resume(bot.token, d.sessionId, String(client.frames.findLast(({ s }) => s)?.s));
    const rest = await again.events(posted - got.length);
    expect([...got, ...rest].map(numberOf)).to.deep.equal(Array.from({ length: posted }, (_, i) => i));
  });

  it('4004 on every node after the token was reset, and for a resume with the old one', async () => {
    const victim = await world.someone('bot', server);
    const client = world.connect();
    const { d, s } = await client.identify(victim.token);
    await world.changing(null, [victim.id], () => world.worker.db.tokens.deleteMany({ accountId: victim.id }), true);
    expect(await client.closed).to.equal(4004);
    const again = world.connect();
    await again.resume(victim.token, d.sessionId, String(s));
    expect(await again.closed).to.equal(4004);
  });

  it('a change of credentials that spares the token closes nothing', async () => {
    const client = world.connect();
    await client.identify(bot.token);
    await world.changing(null, [bot.id], async () => undefined, true);
    await world.post(server, channel, 'still here');
    expect(await client.events(1)).to.have.length(1);
  });

  it('lets a person in by cookie, from our origin or without one, and not from another', async () => {
    const person = await world.someone('person', server);
    const cookie = `theme=dark; parlance_session=${person.token}`;
    for (const headers of [{ cookie }, { cookie, origin: 'https://chat.example' }]) {
      const client = world.connect(0, '/', headers);
      await client.until(10);
      client.send({ op: 2, d: {} });
      expect((await client.next()).d.user).to.include({ id: person.id, tag: null });
    }
    const foreign = world.connect(0, '/', { cookie, origin: 'https://evil.example' });
    await foreign.until(10);
    foreign.send({ op: 2, d: {} });
    expect(await foreign.closed).to.equal(4004);
  });

  it('answers GET /healthz, and tells who asks for anything else to upgrade', async () => {
    const base = `http://127.0.0.1:${world.nodes[0]?.port}`;
    expect((await fetch(`${base}/healthz`)).status).to.equal(200);
    expect((await fetch(`${base}/`)).status).to.equal(426);
  });

  it('forgets everything about sockets that are gone', async () => {
    const { node } = world.nodes[0] ?? expect.fail();
    for (const client of world.clients) client.ws.terminate();
    await Promise.all(world.clients.map((client) => client.closed));
    while (node.sockets.size > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(node.sessions.size + node.accounts.size + node.places.size - node.leftPlaces.size + node.pendingReleases.size).to.equal(0);
  });
});
