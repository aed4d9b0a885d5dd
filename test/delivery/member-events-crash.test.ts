import { expect } from 'chai';
import type { Failpoint } from '../../lib/base/failpoint.ts';
import { limits } from '../../lib/base/limits.ts';
import type { Member } from '../../lib/contract/server.ts';
import { overdueKeys, relay } from '../../lib/domain/events/relay.ts';
import { recountMembers } from '../../lib/domain/members/membership.ts';
import { finishRemoval } from '../../lib/domain/servers/finish-removal.ts';
import { accountPlace } from '../../lib/store/redis/log/keys.ts';
import { around } from '../harness/around.ts';
import {
  type Bot,
  type Caller,
  makeBot,
  makeMember,
  makePerson,
  makeServer,
  type Place,
  refused,
  send,
  tally,
} from '../harness/factories.ts';
import { startOwn } from '../harness/own-process.ts';
import { type Scene, startScene } from '../harness/scene.ts';
import { caughtUp, type Ear, listenAs, startNode, type TestNode } from '../harness/whole.ts';

describe('members that come and go while processes die', function () {
  this.timeout(180_000); // a process starts in two
  let scene: Scene;
  let owner: Caller;
  let server: Place;
  /** A bot that asked for the events. */
  let bot: Bot;
  let node: TestNode;
  let ear: Ear;
  before(async () => {
    scene = await startScene();
    owner = await makePerson(scene.api);
    node = await startNode(scene.worker.config);
  });
  after(async () => {
    await node.close();
    await scene.close();
  });
  afterEach(() => ear.client.close());
  beforeEach(async () => {
    server = await makeServer(scene.api, owner);
    bot = await makeBot(scene.api, owner, server.id);
    ear = await listenAs(node, bot.token, ['MEMBER_ADD', 'MEMBER_REMOVE', 'SERVER_DELETE']);
  });

  const told = async (): Promise<string[]> => {
    await caughtUp(scene.worker, accountPlace(bot.id), bot.id, ear);
    return ear.heard.map(({ t, d }) => `${t} ${String(d.userId ?? (d.member as Member | undefined)?.user.id ?? d.id)}`);
  };
  const stored = async () => (await scene.api.platform.db.servers.findOne({ _id: server.id }).lean()) ?? expect.fail();
  /** What the sweep does when `ms` have passed: what is owed, and then the counts. */
  const sweepAfter = async (ms: number): Promise<void> => {
    const { servers, members } = scene.api.platform.db;
    const past = { $subtract: ['$$NOW', ms] };
    const older = {
      $map: { input: '$ob', as: 'one', in: { $mergeObjects: ['$$one', { data: { $mergeObjects: ['$$one.data', { at: past }] } }] } },
    };
    await servers.collection.updateMany({ ob: { $exists: true } }, [{ $set: { obAt: past, ob: older } }]);
    await members.collection.updateMany({ ob: { $exists: true } }, [{ $set: { obAt: past } }]);
    expect(await overdueKeys(scene.worker, 'server')).to.include(server.id);
    await relay(scene.worker, 'server', server.id);
    await relay(scene.worker, 'server', server.id);
    await recount();
  };
  const recount = async (): Promise<void> => {
    await scene.api.platform.db.servers.collection.updateMany({ recountAt: { $exists: true } }, { $set: { recountAt: new Date(0) } });
    await recountMembers(scene.worker);
  };
  /** Kicks through a process of its own that dies at `failpoint`. */
  const kickAndDie = async (failpoint: Failpoint, userId: string): Promise<void> => {
    const child = await startOwn('api', scene.api.platform.config, { failpoint });
    const url = `${child.url}/api/servers/${server.id}/members/${userId}`;
    expect(await fetch(url, { method: 'DELETE', headers: { Authorization: owner.as } }).catch(() => null)).to.equal(null);
    expect((await child.ended)[1]).to.equal('SIGKILL');
  };

  it('an api before the membership goes: they stay, nobody is told, and after 10 s nothing is owed', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    await relay(scene.worker, 'server', server.id);
    await recount();
    await kickAndDie('after-departure-intent', id);
    await sweepAfter(2_500);
    expect((await stored()).ob).to.have.length(1);
    await sweepAfter(10_500);
    expect(await stored())
      .to.include({ memberCount: 3 })
      .and.not.have.any.keys('ob', 'obAt', 'recountAt');
    expect((await told()).filter((one) => one.includes(id))).to.deep.equal([`MEMBER_ADD ${id}`]);
  });

  it('an api after the membership went: the sweep tells it once, and the count is right', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    await relay(scene.worker, 'server', server.id);
    await recount();
    await kickAndDie('after-departure', id);
    expect((await stored()).memberCount).to.equal(3);
    await sweepAfter(2_500);
    expect(await stored())
      .to.include({ memberCount: 2 })
      .and.not.have.any.keys('ob', 'obAt', 'recountAt');
    expect((await told()).filter((one) => one.includes(id))).to.deep.equal([`MEMBER_ADD ${id}`, `MEMBER_REMOVE ${id}`]);
  });

  it('a join that dies before it is counted: it is told and counted all the same', async () => {
    const person = await makePerson(scene.api);
    const { code } = await send<{ code: string }>(scene.api, 201, owner, 'POST', `/api/servers/${server.id}/invites`, {});
    await relay(scene.worker, 'server', server.id);
    await recount();
    around(scene.api.platform.db.servers, 'updateOne', () => Promise.reject(new Error('died')));
    expect((await scene.api.call('POST', `/api/invites/${code}`, { as: person.as })).status).to.equal(500);
    expect((await stored()).memberCount).to.equal(2);
    await sweepAfter(2_500);
    expect((await stored()).memberCount).to.equal(3);
    expect(await told()).to.include(`MEMBER_ADD ${person.id}`);
  });

  it('a removal that takes so long that the sweep gave it up is told after all', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    await relay(scene.worker, 'server', server.id);
    const { members } = scene.api.platform.db;
    const real = members.findOneAndDelete.bind(members);
    Object.assign(members, {
      findOneAndDelete: (filter: object) => ({
        lean: async () => {
          Object.assign(members, { findOneAndDelete: real });
          await sweepAfter(10_500);
          expect(await stored()).to.not.have.property('ob');
          return real(filter).lean();
        },
      }),
    });
    await send(scene.api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${id}`);
    await sweepAfter(2_500);
    expect((await told()).filter((one) => one.includes(id))).to.deep.equal([`MEMBER_ADD ${id}`, `MEMBER_REMOVE ${id}`]);
    expect((await stored()).memberCount).to.equal(2);
  });

  it('20 removals of one member at once: one 204 and one MEMBER_REMOVE', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    const kicks = Array.from({ length: 20 }, () => scene.api.call('DELETE', `/api/servers/${server.id}/members/${id}`, { as: owner.as }));
    const answers = tally(await Promise.all(kicks));
    expect([answers[204], answers[404]]).to.deep.equal([1, 19]);
    await Promise.all([relay(scene.worker, 'server', server.id), relay(scene.worker, 'server', server.id)]);
    await recount();
    expect((await told()).filter((one) => one === `MEMBER_REMOVE ${id}`)).to.have.length(1);
    expect((await stored()).memberCount).to.equal(2);
  });

  it('a server that owes 1,000 events lets nobody go and takes no more changes, 503; a member that does takes no role', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    const { id: roleId } = await send<{ id: string }>(scene.api, 201, owner, 'POST', `/api/servers/${server.id}/roles`, { name: 'x' });
    const ob = Array.from({ length: limits.eventsOwed }, () => ({ id: scene.worker.ids.next(), name: 'SERVER_UPDATE' }));
    const { servers, members } = scene.api.platform.db;
    const owe = { $set: { ob, obAt: new Date() } } as never;
    await servers.collection.updateOne({ _id: server.id as never }, owe);
    await members.collection.updateOne({ _id: `${server.id}:${id}` as never }, owe);
    const at = (path = ''): string => `/api/servers/${server.id}${path}`;
    for (const [method, path, body] of [
      ['DELETE', at(`/members/${id}`)],
      ['PATCH', at(), { name: 'y' }],
      ['POST', at('/roles'), { name: 'y' }],
      ['PATCH', at(`/roles/${roleId}`), { name: 'y' }],
      ['DELETE', at(`/roles/${roleId}`)],
      ['PUT', at(`/members/${id}/roles/${roleId}`)],
    ] as const)
      await refused(scene.api, [503, 'unavailable'], owner, method, path, body);
    await relay(scene.worker, 'server', server.id);
    await send(scene.api, 204, owner, 'PUT', at(`/members/${id}/roles/${roleId}`));
    await send(scene.api, 204, owner, 'DELETE', at(`/members/${id}`));
  });

  it('who was in a deleted server, or had just left it, is told once, also when the worker dies half way and the job runs twice', async () => {
    const { id } = await makeMember(scene.api, owner, server.id);
    await send(scene.api, 204, owner, 'DELETE', `/api/servers/${server.id}/members/${bot.id}`);
    await send(scene.api, 204, owner, 'DELETE', `/api/servers/${server.id}`);
    const { removals } = scene.api.platform.db;
    const removal = (await removals.findOne({ serverId: server.id, kind: 'members' }).lean()) ?? expect.fail();
    expect(removal.userIds).to.have.members([owner.id, id, bot.id]);
    let appends = 0;
    const append: typeof scene.worker.append = (...args) =>
      appends++ > 1 ? Promise.reject(new Error('died')) : scene.worker.append(...args);
    const fault = await finishRemoval({ ...scene.worker, append }, removal._id).catch((error: unknown) => error);
    expect(fault).to.be.an('error').with.property('message', 'died');
    await Promise.all([finishRemoval(scene.worker, removal._id), finishRemoval(scene.worker, removal._id)]);
    expect((await told()).filter((one) => one === `SERVER_DELETE ${server.id}`)).to.have.length(1);
    expect(await removals.exists({ _id: removal._id })).to.equal(null);
  });

  it('10,000 members cost one count', async () => {
    const { members } = scene.api.platform.db;
    const many = Array.from({ length: 10_000 }, (_, n) => ({
      _id: `${server.id}:${n}`,
      serverId: server.id,
      userId: String(n),
      roles: [],
    }));
    await members.collection.insertMany(many as never, { ordered: false });
    await scene.api.platform.db.servers.updateMany({}, { $unset: { recountAt: 1 } });
    let counts = 0;
    const real = members.countDocuments.bind(members);
    Object.assign(members, {
      countDocuments: (...args: Parameters<typeof real>) => {
        counts++;
        return real(...args);
      },
    });
    await scene.api.platform.db.servers.updateOne({ _id: server.id }, { $set: { recountAt: new Date(0) } });
    await recountMembers(scene.api.platform);
    await recountMembers(scene.api.platform);
    Object.assign(members, { countDocuments: real });
    expect([counts, (await stored()).memberCount]).to.deep.equal([1, 10_002]);
  });
});
