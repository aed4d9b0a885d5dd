import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import { around } from '../harness/around.ts';
import type { ClusterNode } from '../harness/redis-cluster.ts';
import { until } from '../harness/scene.ts';
import type { World } from '../harness/world.ts';
import { type ClusterFixture, startClusterFixture } from './fixture.ts';

describe('Redis Cluster: masters that are replaced while posts are under way', function () {
  this.timeout(240_000);
  let fixture: ClusterFixture;
  let world: World;
  let master: ClusterNode;
  before(async () => {
    fixture = await startClusterFixture();
    world = fixture.worlds[0] as World;
  });
  beforeEach(async () => {
    await fixture.redis.healthy();
    master = await masterOfLog();
  });
  after(() => fixture?.close());

  const masterOfLog = (): Promise<ClusterNode> => fixture.redis.masterOf(fixture.logKey(world.serverId));
  const untilReplaced = (): Promise<void> => until(async () => (await masterOfLog()) !== master, 'another master serves the log');
  const isPending = async (messageId: string): Promise<boolean> =>
    (await fixture.whole.platform.db.messages.findOne({ _id: messageId }).lean())?.obAt !== undefined;
  const isReceived = (messageId: string): boolean =>
    fixture.listeners.filter((one) => one.world === world).every(({ received }) => received.flat().includes(messageId));

  it('a graceful failover ends no session; nothing is lost, doubled or out of order', async () => {
    const replica = await fixture.redis.replicaOf(master);
    const { posted, invalidated } = await fixture.postDuring(async () => {
      await replica.redis.cluster('FAILOVER');
      await untilReplaced();
    });
    expect(posted).to.be.greaterThan(0);
    expect(invalidated).to.equal(0);
  });

  it('a slot that moves with the log of a server ends no session; nothing is lost, doubled or out of order', async () => {
    const roles = await Promise.all(fixture.redis.nodes.map((node) => node.role()));
    const to = fixture.redis.nodes.find((node, at) => roles[at] === 'master' && node !== master) as ClusterNode;
    const { invalidated } = await fixture.postDuring(() => fixture.redis.moveSlot(fixture.logKey(world.serverId), to));
    expect(await masterOfLog()).to.equal(to);
    expect(invalidated).to.equal(0);
  });

  it('an event is acknowledged when a replica has it, and not before', async () => {
    const replica = await fixture.redis.replicaOf(master);
    let refusal: unknown;
    around(fixture.whole.worker, 'acknowledge', async (real) => {
      await real().catch((error: unknown) => {
        refusal = error;
        throw error;
      });
    });
    process.kill(replica.pid as number, 'SIGSTOP');
    let id = '';
    try {
      id = await fixture.post(world, 'no replica has this');
      await until(() => isReceived(id), 'everybody receives it');
      await until(() => refusal !== undefined, 'it is not confirmed in time');
      expect(await isPending(id)).to.equal(true);
    } finally {
      process.kill(replica.pid as number, 'SIGCONT');
    }
    await until(async () => !(await isPending(id)), 'it is acknowledged');
  });

  for (const [what, keyOf] of [
    ['the log of a server', () => fixture.logKey(world.serverId)],
    ['the queue of the relay', () => `{${fixture.whole.platform.config.REDIS_PREFIX}-queue-relay}`],
  ] as const)
    it(`of a killed master that serves ${what} nothing acknowledged is lost, and nothing comes twice`, async () => {
      const killed = await fixture.redis.masterOf(keyOf());
      const { posted } = await fixture.postDuring(async () => {
        await killed.kill();
        await until(async () => (await fixture.redis.masterOf(keyOf())) !== killed, 'another master serves it');
      });
      expect(posted).to.be.greaterThan(0);
      await killed.start();
    });

  it('when events are gone with a master that had no replica, who was given them gets op 9, and misses nothing after a sync', async () => {
    const replica = await fixture.redis.replicaOf(master);
    process.kill(replica.pid as number, 'SIGSTOP');
    await master.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
    const id = await fixture.post(world, 'only the master has this');
    await until(() => isReceived(id), 'everybody receives it');
    await master.kill();
    process.kill(replica.pid as number, 'SIGCONT');
    await untilReplaced();
    const { invalidated } = await fixture.postDuring(() => pause(500));
    expect(invalidated).to.be.greaterThan(0);
    await until(async () => !(await isPending(id)), 'it is acknowledged');
    await master.start();
  });
});
