import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'chai';
import type { Cluster } from 'ioredis';
import { createLog } from '../../lib/base/log.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { subscriberOptions } from '../../lib/store/redis/log/reader.ts';
import { createSubscriber } from '../../lib/store/redis/log/subscriber.ts';
import { connectNode, openRedis } from '../../lib/store/redis/redis.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import type { ClusterNode } from '../harness/redis-cluster.ts';
import type { SeededServer } from '../harness/seed.ts';
import { testConfig } from '../harness/stores.ts';
import { use } from '../harness/use.ts';
import { startClusterFixture } from './fixture.ts';

describe('Redis Cluster: failover during posts', () => {
  const fixture = use(() => startClusterFixture());
  let seeded: SeededServer;
  let master: ClusterNode;
  before(() => {
    seeded = fixture.servers[0] as SeededServer;
  });
  beforeEach(async () => {
    await fixture.redis.healthy();
    master = await masterOfLog();
  });

  const masterOfLog = (): Promise<ClusterNode> => fixture.redis.masterOf(fixture.logKey(seeded.serverId));
  const untilReplaced = (): Promise<void> => waitUntil(async () => (await masterOfLog()) !== master, 'another master serves the log');
  const isPending = async (messageId: string): Promise<boolean> =>
    ((await fixture.parlance.platform.db.log.findOne({ _id: 'log' }))?.announcedTo ?? '') <= messageId;
  const isReceived = (messageId: string): boolean =>
    fixture.listeners.filter((one) => one.seeded === seeded).every(({ received }) => received.flat().includes(messageId));

  it('a graceful failover ends no session, and no event is lost, duplicated or out of order', async () => {
    const replica = await fixture.redis.replicaOf(master);
    const { posted, invalidated } = await fixture.postDuring(async () => {
      await replica.redis.cluster('FAILOVER');
      await untilReplaced();
    });
    expect(posted).to.be.greaterThan(0);
    expect(invalidated).to.equal(0);
  });

  it('moving the slot of a server’s log ends no session, and no event is lost, duplicated or out of order', async () => {
    const roles = await Promise.all(fixture.redis.nodes.map((node) => node.role()));
    const to = fixture.redis.nodes.find((node, at) => roles[at] === 'master' && node !== master) as ClusterNode;
    const { invalidated } = await fixture.postDuring(() => fixture.redis.moveSlot(fixture.logKey(seeded.serverId), to));
    expect(await masterOfLog()).to.equal(to);
    expect(invalidated).to.equal(0);
  });

  it('an event is acknowledged only when a replica has it', async () => {
    const replica = await fixture.redis.replicaOf(master);
    process.kill(replica.pid as number, 'SIGSTOP');
    let id = '';
    try {
      id = await fixture.post(seeded, 'not replicated');
      await waitUntil(() => isReceived(id), 'all clients receive it');
      const failure: unknown = await sweepNewMessagesNow(fixture.parlance.worker).catch((error: unknown) => error);
      expect(failure).to.be.an('error').with.property('message').that.includes('has confirmed the events in time');
      expect(await isPending(id)).to.equal(true);
    } finally {
      process.kill(replica.pid as number, 'SIGCONT');
    }
    await waitUntil(async () => {
      await sweepNewMessagesNow(fixture.parlance.worker).catch(() => undefined);
      return !(await isPending(id));
    }, 'it is acknowledged');
  });

  for (const [what, keyOf] of [
    ['the log of a server', () => fixture.logKey(seeded.serverId)],
    ['the queue of commands', () => `{${fixture.parlance.platform.config.REDIS_PREFIX}-queue-interactions}`],
  ] as const)
    it(`killing the master of ${what} loses no acknowledged event, and duplicates none`, async () => {
      const killed = await fixture.redis.masterOf(keyOf());
      try {
        const { posted } = await fixture.postDuring(async () => {
          await killed.kill();
          await waitUntil(async () => (await fixture.redis.masterOf(keyOf())) !== killed, 'another master serves it');
        });
        expect(posted).to.be.greaterThan(0);
      } finally {
        await killed.start();
      }
    });

  it('events lost with a master without a replica: clients that received them get op 9, and miss nothing after a sync', async () => {
    const replica = await fixture.redis.replicaOf(master);
    process.kill(replica.pid as number, 'SIGSTOP');
    await master.redis.call('CLIENT', 'KILL', 'TYPE', 'replica');
    const id = await fixture.post(seeded, 'only on the master');
    await waitUntil(() => isReceived(id), 'all clients receive it');
    await master.kill();
    process.kill(replica.pid as number, 'SIGCONT');
    await untilReplaced();
    const { invalidated } = await fixture.postDuring(() => pause(500));
    expect(invalidated).to.be.greaterThan(0);
    await waitUntil(async () => {
      await sweepNewMessagesNow(fixture.parlance.worker).catch(() => undefined);
      return !(await isPending(id));
    }, 'it is acknowledged');
    await master.start();
  });

  it('subscriptions follow a failover in which the masters were not listed in time', async () => {
    const config = testConfig({ REDIS_URL: fixture.redis.url, LOG_LEVEL: 'silent', STORE_TIMEOUT_FACTOR: '2' });
    const log = createLog('gateway', config.LOG_LEVEL);
    const commands = (await openRedis(config, log, 'test')) as Cluster;
    const keys = createKeys(config.REDIS_PREFIX, config.LOG_PARTITIONS);
    const messages: string[] = [];
    const subscriber = createSubscriber(commands, keys, (node) => connectNode(config, log, 'subscriber', subscriberOptions, node), {
      onMessage: (_channel, message) => messages.push(message.toString()),
      onInterrupted: () => undefined,
    });
    const channel = keys.presenceChannel('1');
    const partition = keys.partitionOfChannel(channel);
    const killed = await fixture.redis.masterOf(channel);
    try {
      await waitUntil(() => subscriber.isUp(partition), 'the master is connected');
      await subscriber.subscribe(partition, [channel]);
      // On a busy machine each list of the masters may time out. Then the client knows the new master only from the redirect of a command.
      const refresh = commands.refreshSlotsCache.bind(commands);
      commands.refreshSlotsCache = () => undefined;
      await killed.kill();
      const isRedirected = (): Promise<boolean> =>
        commands.spublish(channel, 'lost').then(
          () => true,
          () => false,
        );
      await waitUntil(isRedirected, 'a command is redirected');
      await pause(500); // until the last list that the loss of the master causes has been asked for
      commands.refreshSlotsCache = refresh;
      await waitUntil(() => subscriber.isUp(partition), 'the new master is connected');
      await subscriber.subscribe(partition, [channel]);
      await commands.spublish(channel, 'received');
      await waitUntil(() => messages.includes('received'), 'a message arrives');
    } finally {
      subscriber.close();
      commands.disconnect();
      await killed.start();
    }
  });
});
