import { expect } from 'chai';
import { deriveInteractionToken } from '../../lib/store/seal.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import type { Client } from './client.ts';
import { contents, useGateway } from './gateway-fixture.ts';

describe('gateway: events for bots', () => {
  const { fixture, place } = useGateway(2);
  /** Connects a new bot of the server. */
  const connect = async (): Promise<Client> => (await fixture.openSession(await fixture.makeAccount('bot', place.server))).client;

  it('sends hello, READY, and then each event with its own position', async () => {
    const bot = await fixture.makeAccount('bot', place.server);
    const client = fixture.connect();
    const hello = await client.next();
    expect(hello).to.deep.equal({ op: 10, d: { heartbeatIntervalMs: 30_000 } });
    client.send({ op: 2, d: { token: `Bot ${bot.token}` } });
    const ready = await client.next();
    expect(ready).to.include({ op: 0, t: 'READY' });
    expect(ready.s).to.be.a('string');
    expect(ready.d).to.include({ v: 1, resumeUrl: fixture.config.gatewayUrl });
    expect(ready.d.user).to.deep.equal({ id: bot.id, username: `bot_${bot.id}`, displayName: 'bot', avatarUrl: null, tag: 'bot' });
    expect(ready.d.servers).to.deep.equal([place.server]);
    expect(ready.d.applicationId).to.be.a('string');
    for (const content of ['a', 'b', 'ü€😀']) await fixture.post(place.server, place.channel, content);
    const events = await client.events(3);
    expect(contents(events)).to.deep.equal(['a', 'b', 'ü€😀']);
    expect(events.map(({ t }) => t)).to.deep.equal(Array(3).fill('MESSAGE_CREATE'));
    expect(new Set([ready, ...events].map(({ s }) => s)).size).to.equal(4);
  });

  it('forwards payloads of every frame length', async () => {
    const client = await connect();
    const texts = [10, 200, 5_000, 9_000, 70_000].map((length) => 'x'.repeat(length));
    for (const text of texts) await fixture.post(place.server, place.channel, text);
    expect(contents(await client.events(texts.length))).to.deep.equal(texts);
  });

  it('sends opt-in events only to bots that opted in', async () => {
    const [optedIn, other] = [await fixture.makeAccount('bot', place.server), await fixture.makeAccount('bot', place.server)];
    const [one, two] = [fixture.connect(), fixture.connect()];
    await one.identify(optedIn.token, ['MESSAGE_UPDATE']);
    await two.identify(other.token);
    await fixture.post(place.server, place.channel, 'edited', 'MESSAGE_UPDATE');
    await fixture.post(place.server, place.channel, 'new');
    expect((await one.events(2)).map(({ t }) => t)).to.deep.equal(['MESSAGE_UPDATE', 'MESSAGE_CREATE']);
    expect((await two.events(1)).map(({ t }) => t)).to.deep.equal(['MESSAGE_CREATE']);
  });

  it('keeps the order while hundreds of events arrive during a gap', async () => {
    const client = await connect();
    const post = (i: number): Promise<unknown> => fixture.post(place.server, place.channel, String(i));
    for (let i = 0; i < 250; i++) await (i % 7 < 3 ? fixture.withoutDelivery(place.server, () => post(i)) : post(i));
    expect(contents(await client.events(250))).to.deep.equal(Array.from({ length: 250 }, (_, i) => String(i)));
  });

  it('notices a missed event within two seconds, even if no other event follows', async () => {
    const client = await connect();
    await fixture.withoutDelivery(place.server, () => fixture.post(place.server, place.channel, 'lost'));
    expect(contents(await client.events(1))).to.deep.equal(['lost']);
  });

  it('sends an interaction with its token only to the newest session', async () => {
    const bot = await fixture.makeAccount('bot', place.server);
    const [old, young] = [fixture.connect(1), fixture.connect(0)];
    await old.identify(bot.token);
    await young.identify(bot.token);
    const id = fixture.worker.ids.next();
    await fixture.interact(bot.id, { id });
    await fixture.post(place.server, place.channel, 'after');
    const [received] = await young.events(1);
    expect(received?.t).to.equal('INTERACTION_CREATE');
    expect(received?.d).to.include({ id, token: deriveInteractionToken(fixture.config.APP_KEY, id) });
    expect(contents(await old.events(1))).to.deep.equal(['after']);
    await young.cut();
    await old.cut();
  });

  it('sends events of a new server from the join on, after SERVER_CREATE', async () => {
    const bot = await fixture.makeAccount('bot');
    const client = fixture.connect();
    await client.identify(bot.token);
    const other = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(other);
    await fixture.post(other, otherChannel, 'before');
    const appendJoin = await fixture.joinWithoutEvent(other, bot.id, true);
    await fixture.post(other, otherChannel, 'before SERVER_CREATE');
    await appendJoin();
    await fixture.post(other, otherChannel, 'after');
    expect(contents(await client.events(2))).to.deep.equal(['before SERVER_CREATE', 'after']);
  });

  it('sends the entries of other servers while it loads the rules of one', async () => {
    const added = await fixture.addNode();
    const at = fixture.nodes.indexOf(added);
    const other = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(other);
    const [waiting, watching] = [await fixture.makeAccount('bot', place.server), await fixture.makeAccount('bot', other)];
    const [one, two] = [fixture.connect(at), fixture.connect(at)];
    await one.identify(waiting.token);
    await two.identify(watching.token);
    await fixture.post(other, otherChannel, 'first');
    await two.events(1);
    const { members } = added.platform.db;
    const find = members.find.bind(members) as (...args: unknown[]) => { toArray: () => Promise<unknown> };
    const loads: (() => void)[] = [];
    const findLater = (...args: unknown[]) => ({
      toArray: () => new Promise((resolve) => loads.push(() => resolve(find(...args).toArray()))),
    });
    Object.assign(members, { find: findLater });
    try {
      await fixture.post(place.server, place.channel, 'waits');
      await fixture.post(other, otherChannel, 'goes on');
      expect(contents(await two.events(1))).to.deep.equal(['goes on']);
    } finally {
      Object.assign(members, { find });
    }
    for (const load of loads) load();
    expect(contents(await one.events(1))).to.deep.equal(['waits']);
  });

  it('counts sockets, deliveries and their latency in metrics', async () => {
    const client = await connect();
    await fixture.post(place.server, place.channel, 'counted');
    await client.events(1);
    const { node } = fixture.nodes[0] ?? expect.fail();
    const text = await node.metrics.registry.metrics();
    expect(text).to.match(/parlance_sockets\{kind="bot",role="gateway"\} [1-9]/);
    expect(text).to.match(/parlance_deliveries_total\{event="MESSAGE_CREATE",role="gateway"\} [1-9]/);
    expect(text).to.match(/parlance_delivery_seconds_count\{role="gateway"\} [1-9]/);
  });
});

describe('gateway: people', () => {
  const { fixture, place } = useGateway();

  const person = async (server = place.server): Promise<{ id: string; client: Client }> => {
    const one = await fixture.makeAccount('person', server);
    return { id: one.id, client: (await fixture.openSession(one)).client };
  };

  it('receive only events of channels that they can view, from the next event after a change', async () => {
    const [sees, excluded] = [await person(), await person()];
    const hidden = await fixture.makeChannel(place.server, [
      { id: place.server, allow: 0, deny: 1 },
      { id: sees.id, allow: 1, deny: 0 },
    ]);
    await fixture.post(place.server, hidden, 'hidden');
    await fixture.post(place.server, place.channel, 'open');
    expect(contents(await sees.client.messages(2))).to.deep.equal(['hidden', 'open']);
    expect(contents(await excluded.client.messages(1))).to.deep.equal(['open']);
    await fixture.overwrite(place.server, hidden, []);
    await fixture.post(place.server, hidden, 'shown');
    expect(contents(await sees.client.messages(1))).to.deep.equal(['shown']);
    await fixture.overwrite(place.server, hidden, [{ id: sees.id, allow: 0, deny: 1 }]);
    await fixture.post(place.server, hidden, 'turned');
    await fixture.post(place.server, place.channel, 'end');
    expect(contents(await sees.client.messages(1))).to.deep.equal(['end']);
    expect(contents(await excluded.client.messages(3))).to.deep.equal(['shown', 'turned', 'end']);
  });

  it('are closed with 4004 only on the session that was logged out', async () => {
    const one = await fixture.makeAccount('person', place.server);
    const { token, _id } = await fixture.makeToken(one.id);
    const [kept, ended] = [fixture.connect(), fixture.connect()];
    await kept.identify(one.token);
    await ended.identify(token);
    await fixture.changing(null, [one.id], () => fixture.worker.db.tokens.deleteOne({ _id }), true);
    expect(await ended.closed).to.equal(4004);
    await fixture.post(place.server, place.channel, 'for the other session');
    expect(contents(await kept.events(1))).to.deep.equal(['for the other session']);
  });

  it('receive events late while permissions cannot be read, without a delay for others', async () => {
    const server = await fixture.makeServer();
    const fresh = await fixture.makeChannel(server);
    const [one, other] = [await person(server), await person(await fixture.makeServer())];
    const { platform } = fixture.nodes[0] ?? expect.fail();
    const real = platform.db.servers;
    let wasRead = false;
    const failing = new Proxy(real, {
      get: () => () => {
        wasRead = true;
        throw new Error('the database is unavailable');
      },
    });
    Object.assign(platform.db, { servers: failing });
    try {
      await fixture.post(server, fresh, 'who may see this?');
      await waitUntil(() => wasRead, 'the question');
      await fixture.appendForAccount(other.id, 'INTERACTION_UPDATE', {});
      await other.client.events(1);
    } finally {
      Object.assign(platform.db, { servers: real });
    }
    expect(contents(await one.client.events(1))).to.deep.equal(['who may see this?']);
  });
});
