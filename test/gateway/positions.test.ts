import { expect } from 'chai';
import { Redis } from 'ioredis';
import { laneOf } from '../../apps/gateway/lane.ts';
import { extendTails } from '../../apps/gateway/places.ts';
import { permissionBits } from '../../lib/base/permissions.ts';
import { createKeys, serverPlace } from '../../lib/store/redis/log/keys.ts';
import { until } from '../harness/scene.ts';
import { contents, type Someone, startWorld, type World } from './world.ts';

describe('gateway: where a session stands', () => {
  let world: World;
  let server: string;
  let channel: string;
  let bot: Someone;
  before(async () => {
    world = await startWorld(2);
  });
  beforeEach(async () => {
    server = await world.server();
    channel = await world.channel(server);
    bot = await world.someone('bot', server);
  });
  after(() => world.close());

  it('who comes back to the node that it left makes it read nothing: the node went on receiving its places', async () => {
    const { client, id, s } = await world.begin(bot);
    await client.cut();
    await world.post(server, channel, 'missed');
    const { log } = world.nodes[0]?.node ?? expect.fail();
    const read = log.read.bind(log);
    log.read = () => Promise.reject(new Error('nothing is to be read'));
    const again = world.connect();
    await again.resume(bot.token, id, s);
    expect(contents(await again.events(1))).to.deep.equal(['missed']);
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 1 });
    log.read = read;
  });

  it('on the node that it left, which knows its rules: by what it may see now', async () => {
    const { versions, db, ids } = world.worker;
    const members = { members: [[server, bot.id] as [string, string]] };
    const roleId = ids.next();
    const setRoles = (roles: string[]) =>
      versions.changing(members, () => db.members.updateOne({ _id: `${server}:${bot.id}` }, { $set: { roles } }));
    await setRoles([roleId]);
    const view = permissionBits['View Channel'];
    const role = { id: roleId, name: 'role', color: null, hoist: false, permissions: view, botId: null };
    await world.changing(server, [], () => db.servers.updateOne({ _id: server }, { $push: { roles: role } }));
    await world.overwrite(server, channel, [
      { id: server, allow: 0, deny: view },
      { id: roleId, allow: view, deny: 0 },
    ]);
    const { client, id } = await world.begin(bot);
    await world.post(server, channel, 'seen');
    const [seen] = await client.events(1);
    await client.cut();
    await world.post(server, channel, 'hidden');
    await setRoles([]);
    const again = world.connect();
    await again.resume(bot.token, id, String(seen?.s));
    expect((await again.until(0, 'RESUMED')).d).to.deep.equal({ replayed: 0 });
  });

  it('reads each entry once, however far back those go who read a log together', async () => {
    const { node } = world.nodes[0] ?? expect.fail();
    const numbers: number[] = [];
    for (const content of ['1', '2', '3']) numbers.push(...(await world.post(server, channel, content)).map(({ number }) => number));
    await world.begin(bot);
    const place = node.places.get(serverPlace(server)) ?? expect.fail();
    const lane = laneOf(node, place);
    const reachTo = (after: number): Promise<boolean> => extendTails(node, lane, new Map([[place, after]]));
    const far = reachTo(0);
    while (!lane.reading) await Promise.resolve();
    const near = reachTo(numbers[1] as number);
    expect(await Promise.all([far, near])).to.deep.equal([true, true]);
    await reachTo(0);
    expect(place.tail.map(({ head }) => head.number)).to.deep.equal(numbers);
  });

  it('tells of a server that was joined meanwhile, and then of what happened there, also before it was told', async () => {
    const { client, id, s } = await world.begin(bot);
    await client.cut();
    const [other, late] = [await world.server(), await world.server()];
    const [there, later] = [await world.channel(other), await world.channel(late)];
    await world.post(other, there, 'before');
    const tell = await world.joinUntold(other, bot.id, true);
    await world.post(other, there, '1');
    await tell();
    await world.post(other, there, '2');
    const tellLate = await world.joinUntold(late, bot.id, true);
    await world.post(late, later, '3');
    const again = world.connect(1);
    await again.resume(bot.token, id, s);
    await again.until(0, 'RESUMED');
    await tellLate();
    await world.post(late, later, '4');
    await again.events(2);
    expect(contents(again.frames.filter(({ t }) => t === 'MESSAGE_CREATE'))).to.deep.equal(['1', '2', '3', '4']);
  });

  it('a position in the middle of a server that was joined late is resumed there', async () => {
    const { client, id } = await world.begin(bot);
    const other = await world.server();
    const there = await world.channel(other);
    const tell = await world.joinUntold(other, bot.id, true);
    for (const content of ['1', '2', '3']) await world.post(other, there, content);
    await tell();
    const [, second] = await client.events(3);
    await client.cut();
    const again = world.connect(1);
    await again.resume(bot.token, id, String(second?.s));
    expect(contents(await again.events(1))).to.deep.equal(['3']);
    expect((await again.next()).d).to.deep.equal({ replayed: 1 });
  });

  it('a client that hears nothing for long is resumed from where the node stood at its last heartbeat', async () => {
    const { client, id, s } = await world.begin(bot);
    const elsewhere = await world.server();
    const [quiet, loud] = [world.connect(), await world.channel(elsewhere)];
    await quiet.identify((await world.someone('bot', elsewhere)).token);
    await world.post(elsewhere, loud, 'not for the first');
    await quiet.events(1);
    client.send({ op: 1, d: s });
    await client.until(11);
    const redis = new Redis(world.config.REDIS_URL);
    const session = `${createKeys(world.config.REDIS_PREFIX, 1).partition(0)}ses:${id}`;
    await until(async () => (await redis.hget(session, 's')) === s, 'the heartbeat to be noted');
    expect(Number(await redis.hget(session, 'at'))).to.be.greaterThan(Number(s));
    redis.disconnect();
    await client.cut();
    await world.post(server, channel, 'missed');
    const again = world.connect(1);
    await again.resume(bot.token, id, s);
    expect(contents(await again.events(1))).to.deep.equal(['missed']);
  });
});
