import { expect } from 'chai';
import { getLane } from '../../apps/gateway/lane.ts';
import { extendTails } from '../../apps/gateway/places.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { createKeys, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { connectRedis } from '../harness/stores.ts';
import { use } from '../harness/use.ts';
import { contents, useGateway } from './gateway-fixture.ts';

const view = permissionBits['View Channel'];

describe('gateway: positions of sessions', () => {
  const { fixture, place, bot } = useGateway(2, { each: true });
  const redis = use(() => connectRedis(fixture.config));
  /** Makes a role that grants View Channel; returns its id. */
  const makeRole = async (): Promise<string> => {
    const roleId = fixture.worker.ids.next();
    await fixture.setRoles(place.server, new Map([[roleId, view]]));
    return roleId;
  };
  /** Overwrites that show a channel only to the holders of a role. */
  const shownTo = (roleId: string) => [
    { id: place.server, allow: 0, deny: view },
    { id: roleId, allow: view, deny: 0 },
  ];

  it('a resume on the same node reads nothing, because the node still receives the places', async () => {
    const { client, id, s } = await fixture.openSession(bot);
    await client.cut();
    await fixture.post(place.server, place.channel, 'missed');
    await fixture.untilReceived(place.server);
    const { eventLog } = fixture.nodes[0]?.node ?? expect.fail();
    const read = eventLog.readLogs.bind(eventLog);
    eventLog.readLogs = () => Promise.reject(new Error('the log must not be read'));
    try {
      const again = fixture.connect();
      await again.resume(bot.token, id, s);
      expect(contents(await again.events(1))).to.deep.equal(['missed']);
      expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 1 });
    } finally {
      eventLog.readLogs = read;
    }
  });

  it('a resume on the same node uses the current permissions', async () => {
    const roleId = await makeRole();
    await fixture.setMemberRole(place.server, bot.id, roleId, true);
    await fixture.overwrite(place.server, place.channel, shownTo(roleId));
    const { client, id } = await fixture.openSession(bot);
    await fixture.post(place.server, place.channel, 'seen');
    const [seen] = await client.events(1);
    await client.cut();
    await fixture.post(place.server, place.channel, 'hidden');
    await fixture.setMemberRole(place.server, bot.id, roleId, false);
    const again = fixture.connect();
    await again.resume(bot.token, id, String(seen?.s));
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 0 });
  });

  for (const hasRole of [true, false])
    it(`a resume uses a role that the account ${hasRole ? 'gets' : 'loses'} after its members were read`, async () => {
      const roleId = await makeRole();
      const hidden = await fixture.makeChannel(place.server, shownTo(roleId));
      await fixture.setMemberRole(place.server, bot.id, roleId, !hasRole);
      const witness = await fixture.openSession(await fixture.makeAccount('bot', place.server), 1); // so that the node knows the rules
      const { client, id, s } = await fixture.openSession(bot);
      await client.cut();
      await fixture.post(place.server, place.channel, 'missed');
      await witness.client.messages(1);
      const { eventLog } = fixture.nodes[1]?.node ?? expect.fail();
      const readNumbers = eventLog.readAppendedNumbers.bind(eventLog);
      eventLog.readAppendedNumbers = async (events) => {
        eventLog.readAppendedNumbers = readNumbers;
        await fixture.setMemberRole(place.server, bot.id, roleId, hasRole);
        await fixture.post(place.server, hidden, 'in the hidden channel');
        return readNumbers(events);
      };
      const again = fixture.connect(1);
      await again.resume(bot.token, id, s);
      await again.until(0, 'RESUMED');
      await fixture.post(place.server, hidden, 'later');
      await fixture.post(place.server, place.channel, 'last');
      while (contents(again.frames).at(-1) !== 'last') await again.next();
      const expected = ['missed', ...(hasRole ? ['in the hidden channel', 'later'] : []), 'last'];
      expect(contents(again.frames.filter(({ t }) => t === 'MESSAGE_CREATE'))).to.deep.equal(expected);
    });

  it('parallel reads of a log from different positions read each entry once', async () => {
    const { node } = fixture.nodes[0] ?? expect.fail();
    const numbers: number[] = [];
    for (const content of ['1', '2', '3'])
      numbers.push(...(await fixture.post(place.server, place.channel, content)).map(({ number }) => number));
    await fixture.openSession(bot);
    const placeState = node.places.get(serverPlace(place.server)) ?? expect.fail();
    const lane = getLane(node, placeState);
    const reachTo = (after: number): Promise<boolean> => extendTails(node, lane, new Map([[placeState, after]]));
    const far = reachTo(0);
    while (!lane.tailRead) await Promise.resolve();
    const near = reachTo(numbers[1] as number);
    expect(await Promise.all([far, near])).to.deep.equal([true, true]);
    await reachTo(0);
    const read = placeState.tail.map(({ head }) => head.number);
    expect(read.filter((number) => number >= (numbers[0] as number))).to.deep.equal(numbers);
  });

  it('a resume sends SERVER_CREATE of a server joined meanwhile and then its events since the join', async () => {
    const { client, id, s } = await fixture.openSession(bot);
    await client.cut();
    const [other, late] = [await fixture.makeServer(), await fixture.makeServer()];
    const [otherChannel, lateChannel] = [await fixture.makeChannel(other), await fixture.makeChannel(late)];
    await fixture.post(other, otherChannel, 'before');
    const appendJoin = await fixture.joinWithoutEvent(other, bot.id, true);
    await fixture.post(other, otherChannel, '1');
    await appendJoin();
    await fixture.post(other, otherChannel, '2');
    const appendLateJoin = await fixture.joinWithoutEvent(late, bot.id, true);
    await fixture.post(late, lateChannel, '3');
    const again = fixture.connect(1);
    await again.resume(bot.token, id, s);
    await again.until(0, 'RESUMED');
    await appendLateJoin();
    await fixture.post(late, lateChannel, '4');
    await again.events(1);
    expect(contents(again.frames.filter(({ t }) => t === 'MESSAGE_CREATE'))).to.deep.equal(['1', '2', '3', '4']);
  });

  it('a resume does not follow a server that is deleted but whose members are not yet', async () => {
    const person = await fixture.makeAccount('person', place.server);
    const { client, id, s } = await fixture.openSession(person);
    await client.cut();
    const other = await fixture.makeServer();
    const channel = await fixture.makeChannel(other);
    await (await fixture.joinWithoutEvent(other, person.id, false))();
    const member = await fixture.openSession(person); // so that the node knows the member
    await fixture.post(other, channel, 'before');
    await member.client.events(1);
    const { accessVersions, db } = fixture.worker;
    const removal = { _id: other, kind: 'server' as const, serverId: other, ownerId: null, overwrites: [] };
    await db.removals.insertOne({ ...removal, at: new Date(), nextAt: new Date(Date.now() + 3_600_000) });
    await accessVersions.runChange({ servers: [other] }, () => db.servers.deleteOne({ _id: other }));
    let position = s;
    for (const content of ['relayed late', 'relayed later']) {
      const again = fixture.connect();
      await again.resume(person.token, id, position);
      const { s: at, d } = await again.until(0, 'RESUMED');
      expect(d).to.deep.equal({ replayed: 0 });
      position = String(at);
      await again.cut();
      await fixture.post(other, channel, content);
      await member.client.events(1);
    }
  });

  it('resumes from a position within the events of a server that was joined later', async () => {
    const { client, id } = await fixture.openSession(bot);
    const other = await fixture.makeServer();
    const otherChannel = await fixture.makeChannel(other);
    const appendJoin = await fixture.joinWithoutEvent(other, bot.id, true);
    for (const content of ['1', '2', '3']) await fixture.post(other, otherChannel, content);
    await appendJoin();
    const [, second] = await client.events(3);
    await client.cut();
    const again = fixture.connect(1);
    await again.resume(bot.token, id, String(second?.s));
    expect(contents(await again.events(1))).to.deep.equal(['3']);
    expect((await again.next()).d).to.deep.equal({ replayed: 1 });
  });

  it('resumes a client without events from the position of the node at its last heartbeat', async () => {
    const { client, id, s } = await fixture.openSession(bot);
    const elsewhere = await fixture.makeServer();
    const [otherClient, otherChannel] = [fixture.connect(), await fixture.makeChannel(elsewhere)];
    await otherClient.identify((await fixture.makeAccount('bot', elsewhere)).token);
    await fixture.post(elsewhere, otherChannel, 'not for the first');
    await otherClient.events(1);
    client.send({ op: 1, d: s });
    await client.until(11);
    const session = `${createKeys(fixture.config.REDIS_PREFIX, 1).partitionPrefix(0)}ses:${id}`;
    await waitUntil(async () => (await redis.hget(session, 's')) === s, 'the heartbeat to be stored');
    expect(Number(await redis.hget(session, 'at'))).to.be.greaterThan(Number(s));
    await client.cut();
    await fixture.post(place.server, place.channel, 'missed');
    const again = fixture.connect(1);
    await again.resume(bot.token, id, s);
    expect(contents(await again.events(1))).to.deep.equal(['missed']);
  });
});
