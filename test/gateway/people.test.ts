import { expect } from 'chai';
import { until } from '../harness/scene.ts';
import type { Client } from './client.ts';
import { contents, type Someone, startWorld, type World } from './world.ts';

describe('gateway: people', () => {
  let world: World;
  let server: string;
  let channel: string;
  before(async () => {
    world = await startWorld(1);
    server = await world.server();
    channel = await world.channel(server);
  });
  after(() => world.close());

  const person = async (...servers: string[]): Promise<Someone & { client: Client; sessionId: string }> => {
    const one = await world.someone('person', ...servers);
    const client = world.connect();
    const { d } = await client.identify(one.token);
    return { ...one, client, sessionId: d.sessionId };
  };

  it('hear every kind of event of their servers', async () => {
    const { client } = await person(server);
    await world.post(server, channel, 'a');
    await world.post(server, channel, 'b', 'MESSAGE_UPDATE');
    await world.post(server, channel, 'c', 'MESSAGE_DELETE');
    expect((await client.events(3)).map(({ t, d }) => [t, d.content])).to.deep.equal([
      ['MESSAGE_CREATE', 'a'],
      ['MESSAGE_UPDATE', 'b'],
      ['MESSAGE_DELETE', 'c'],
    ]);
  });

  it('hear only channels that they may view, from the next event after a change', async () => {
    const [sees, blind] = [await person(server), await person(server)];
    const hidden = await world.channel(server, [
      { id: server, allow: 0, deny: 1 },
      { id: sees.id, allow: 1, deny: 0 },
    ]);
    await world.post(server, hidden, 'hidden');
    await world.post(server, channel, 'open');
    expect(contents(await sees.client.events(2))).to.deep.equal(['hidden', 'open']);
    expect(contents(await blind.client.events(1))).to.deep.equal(['open']);
    await world.overwrite(server, hidden, []);
    await world.post(server, hidden, 'shown');
    expect(contents(await sees.client.events(1))).to.deep.equal(['shown']);
    await world.overwrite(server, hidden, [{ id: sees.id, allow: 0, deny: 1 }]);
    await world.post(server, hidden, 'turned');
    await world.post(server, channel, 'end');
    expect(contents(await sees.client.events(1))).to.deep.equal(['end']);
    expect(contents(await blind.client.events(3))).to.deep.equal(['shown', 'turned', 'end']);
  });

  it('hear nothing more of a server that they left, and of one that they joined at once', async () => {
    const { id, client } = await person(server);
    const other = await world.server();
    const there = await world.channel(other);
    await world.leave(server, id);
    await world.post(server, channel, 'gone');
    await world.join(other, id, false);
    await world.post(other, there, 'here');
    expect((await client.events(2)).map(({ t, d }) => [t, d.content ?? d.id])).to.deep.equal([
      ['SERVER_CREATE', other],
      ['MESSAGE_CREATE', 'here'],
    ]);
  });

  it('hear what is theirs alone, on every session, and nobody else does', async () => {
    const [one, two] = [await person(server), await person(server)];
    const second = world.connect();
    await second.identify(one.token);
    const update = { id: world.worker.ids.next(), channelId: channel, state: 'answered' };
    await world.tell(one.id, 'INTERACTION_UPDATE', update);
    await world.tell(one.id, 'MESSAGE_CREATE', { id: '1', ephemeral: true, content: 'psst' });
    for (const client of [one.client, second])
      expect((await client.events(2)).map(({ t, d }) => [t, d.state ?? d.content])).to.deep.equal([
        ['INTERACTION_UPDATE', 'answered'],
        ['MESSAGE_CREATE', 'psst'],
      ]);
    await world.post(server, channel, 'for all');
    expect(contents(await two.client.events(1))).to.deep.equal(['for all']);
  });

  it('keep the order of a server’s events although permissions are read meanwhile', async () => {
    const { client } = await person(server);
    const channels = await Promise.all(Array.from({ length: 10 }, () => world.channel(server)));
    for (let i = 0; i < 100; i++) await world.post(server, channels[i % 10] ?? '', String(i));
    expect(contents(await client.events(100))).to.deep.equal(Array.from({ length: 100 }, (_, i) => String(i)));
  });

  it('are connected while they have a socket', async () => {
    const { id, client } = await person(server);
    expect(await world.worker.connected([id])).to.deep.equal([true]);
    client.ws.close(3000);
    await client.closed;
    await until(async () => !(await world.worker.connected([id]))[0], 'the account is gone');
  });

  it('4004 for the session that was logged out, the other one stays', async () => {
    const one = await world.someone('person', server);
    const { token, _id } = await world.anotherToken(one.id);
    const [stays, goes] = [world.connect(), world.connect()];
    await stays.identify(one.token);
    await goes.identify(token);
    await world.changing(null, [one.id], () => world.worker.db.tokens.deleteOne({ _id }), true);
    expect(await goes.closed).to.equal(4004);
    await world.post(server, channel, 'to who stays');
    expect(contents(await stays.events(1))).to.deep.equal(['to who stays']);
  });

  it('wait for what they may see while permissions cannot be read, and hear the rest of the node meanwhile', async () => {
    const [one, other] = [await person(server), await person(await world.server())];
    const { platform } = world.nodes[0] ?? expect.fail();
    const fresh = await world.channel(server);
    const real = platform.db.servers;
    let asked = false;
    const away = new Proxy(real, {
      get: () => () => {
        asked = true;
        throw new Error('the database is away');
      },
    });
    Object.assign(platform.db, { servers: away });
    try {
      await world.post(server, fresh, 'who may see this?');
      await until(() => asked, 'the question');
      await world.tell(other.id, 'INTERACTION_UPDATE', { id: '1' });
      await other.client.events(1);
    } finally {
      Object.assign(platform.db, { servers: real });
    }
    expect(contents(await one.client.events(1))).to.deep.equal(['who may see this?']);
  });
});
