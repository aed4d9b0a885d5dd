import { expect } from 'chai';
import { waitUntil } from '../harness/interaction-fixture.ts';
import type { Client } from './client.ts';
import { contents, type TestAccount, useGateway } from './gateway-fixture.ts';

describe('gateway: people', () => {
  const { fixture, place } = useGateway();

  const person = async (...servers: string[]): Promise<TestAccount & { client: Client; sessionId: string }> => {
    const one = await fixture.makeAccount('person', ...servers);
    const client = fixture.connect();
    const { d } = await client.identify(one.token);
    return { ...one, client, sessionId: d.sessionId };
  };

  it('receive every kind of event of their servers', async () => {
    const { id, client } = await person(place.server);
    await fixture.post(place.server, place.channel, 'a');
    await fixture.post(place.server, place.channel, 'b', 'MESSAGE_UPDATE');
    await fixture.memberEvent(place.server, 'MEMBER_UPDATE', id, { serverId: place.server });
    expect((await client.events(3)).map(({ t, d }) => [t, d.content ?? d.serverId])).to.deep.equal([
      ['MESSAGE_CREATE', 'a'],
      ['MESSAGE_UPDATE', 'b'],
      ['MEMBER_UPDATE', place.server],
    ]);
  });

  it('receive only events of channels that they can view, from the next event after a change', async () => {
    const [sees, excluded] = [await person(place.server), await person(place.server)];
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

  it('receive events of a server that they joined at once, and none of one that they left', async () => {
    const { id, client } = await person(place.server);
    const other = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(other);
    await fixture.leave(place.server, id);
    await fixture.post(place.server, place.channel, 'gone');
    await fixture.join(other, id, false);
    await fixture.post(other, otherChannel, 'here');
    expect((await client.events(3)).map(({ t, d }) => [t, d.content ?? d.id])).to.deep.equal([
      ['SERVER_DELETE', place.server],
      ['SERVER_CREATE', other],
      ['MESSAGE_CREATE', 'here'],
    ]);
  });

  it('receive their own events on every session, and nobody else does', async () => {
    const [two, one] = [await person(place.server), await person(place.server)];
    const second = fixture.connect();
    await second.identify(one.token);
    const update = { id: fixture.worker.ids.next(), channelId: place.channel, state: 'answered' };
    await fixture.appendForAccount(one.id, 'INTERACTION_UPDATE', update);
    await fixture.appendForAccount(one.id, 'MESSAGE_CREATE', { ephemeral: true, content: 'psst' });
    for (const client of [one.client, second])
      expect((await client.events(2)).map(({ t, d }) => [t, d.state ?? d.content])).to.deep.equal([
        ['INTERACTION_UPDATE', 'answered'],
        ['MESSAGE_CREATE', 'psst'],
      ]);
    await fixture.post(place.server, place.channel, 'for all');
    expect(contents(await two.client.messages(1))).to.deep.equal(['for all']);
  });

  it('receive events of a server in order while permissions are read', async () => {
    const { client } = await person(place.server);
    const channels = await Promise.all(Array.from({ length: 10 }, () => fixture.makeChannel(place.server)));
    for (let i = 0; i < 100; i++) await fixture.post(place.server, channels[i % 10] ?? '', String(i));
    expect(contents(await client.messages(100))).to.deep.equal(Array.from({ length: 100 }, (_, i) => String(i)));
  });

  it('are connected while they have a socket', async () => {
    const { id, client } = await person(place.server);
    expect(await fixture.worker.connections.areConnected([id])).to.deep.equal([true]);
    await client.close(3000);
    await waitUntil(async () => !(await fixture.worker.connections.areConnected([id]))[0], 'the account to be offline');
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
