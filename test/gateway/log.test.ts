import { expect } from 'chai';
import { Redis } from 'ioredis';
import { limits } from '../../lib/base/limits.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import { openGatewayPlatform } from '../../lib/store/platform.ts';
import { type Append, type Appender, createAppender } from '../../lib/store/redis/log/append.ts';
import { createConfirm } from '../../lib/store/redis/log/confirm.ts';
import { type Entry, readEntry } from '../../lib/store/redis/log/entry.ts';
import { createEpochs, epochOf, epochSize } from '../../lib/store/redis/log/epochs.ts';
import { createEvidence, type Evidence } from '../../lib/store/redis/log/evidence.ts';
import { createKeys, type Keys, versionKey } from '../../lib/store/redis/log/keys.ts';
import { readPosition, writeNumbers, writePosition } from '../../lib/store/redis/log/position.ts';
import { startWorld, type TestNode, type World } from './world.ts';

describe('the log', () => {
  let world: World;
  let node: TestNode;
  let keys: Keys;
  let redis: Redis;
  before(async () => {
    world = await startWorld(1);
    node = world.nodes[0] ?? expect.fail();
    keys = createKeys(world.config.REDIS_PREFIX, 1);
    redis = new Redis(world.config.REDIS_URL);
  });
  after(async () => {
    redis.disconnect();
    await world.close();
  });

  const event = (more: Partial<Append> = {}): Append => ({
    id: world.worker.ids.next(),
    name: 'MESSAGE_CREATE',
    payload: '{"id":"1"}',
    ...more,
  });
  const entriesOf = async (place: string): Promise<Entry[]> =>
    (await redis.xrangeBuffer(`${keys.partition(0)}log:${place}`, '-', '+')).map(([, fields]) => readEntry(fields[1] as Buffer));

  it('appends an event to a place once, however often it is called, also at once', async () => {
    const one = event();
    await Promise.all([1, 2, 3].map(() => world.worker.append('server:once', [one])));
    await world.worker.keepMarks('server:once', [one.id]);
    await world.worker.append('server:once', [one]);
    expect(await entriesOf('server:once')).to.have.length(1);
    expect(await redis.pttl(`${keys.partition(0)}mark:server:once:${one.id}`)).to.be.within(1, 600_000);
    // Redis has lost the marks, and a worker appends again that read the event before it was acknowledged.
    await redis.del(`${keys.partition(0)}mark:server:once:${one.id}`);
    await world.worker.keepMarks('server:once', [one.id]);
    await world.worker.confirm(await world.worker.append('server:once', [one]));
    expect(await entriesOf('server:once')).to.have.length(1);
    await world.worker.append('server:twice', [one]);
    expect(await entriesOf('server:twice')).to.have.length(1);
  });

  it('appends what is missing of a batch, in its order, each entry with the number of the one before it', async () => {
    const [first, second, third] = [event(), event(), event({ channelId: '9', payload: '{"a":"line\\nbreak"}' })];
    const version = versionKey(keys, 'batch');
    await world.worker.append('server:batch', [first]);
    const begun = await redis.get(version);
    await redis.set(version, '7');
    await world.worker.append('server:batch', [first, second, third]);
    const found = await entriesOf('server:batch');
    expect(found.map(({ head }) => [head.id, head.rulesVersion])).to.deep.equal([
      [first.id, begun],
      [second.id, '7'],
      [third.id, '7'],
    ]);
    expect(found.map(({ head }) => head.previous)).to.deep.equal([0, ...found.slice(0, 2).map(({ head }) => head.number)]);
    expect(found[2]?.head.channelId).to.equal('9');
    expect(found[2]?.payload.toString()).to.equal(third.payload);
  });

  it('keeps a place to its bytes: large events shorten its log', async () => {
    const payload = JSON.stringify('x'.repeat(16_000));
    for (let i = 0; i < 100; i++)
      await world.worker.append(
        'server:large',
        Array.from({ length: 10 }, () => event({ payload })),
      );
    const size = (await entriesOf('server:large')).reduce((sum, one) => sum + one.payload.length, 0);
    expect(size).to.be.within(limits.logBytesPerPlace / 2, limits.logBytesPerPlace * 2);
  });

  it('forgets after 6 minutes which places were active, and calls older positions too old', async () => {
    const at = keys.partition(0);
    await world.worker.append('server:old', [event()]);
    for (let tick = 0; tick < 13; tick++) {
      await redis.del(`${at}ticked`);
      await world.worker.retain();
    }
    expect(await redis.zscore(`${at}active`, 'server:old')).to.equal(null);
    expect(await redis.hget(`${at}state`, 'keep')).to.equal(await redis.get(`${at}n`));
    const [found] = await node.node.log.read(0, [{ place: 'server:old', after: 5 }]);
    expect(found).to.deep.equal({ entries: [], complete: false });
  });

  it('no session on a living node: nobody to hand an interaction to; a killed node’s lease ends what it held', async () => {
    expect(await world.interact('nobody', {})).to.equal(false);
    await node.platform.sessions.open({ id: 'dead', accountId: 'dead', events: ['MESSAGE_CREATE'], node: 'dead-node', owner: 'o' });
    expect(await world.interact('dead', {})).to.equal(false);
    expect(await world.worker.connected(['dead', 'nobody'])).to.deep.equal([false, false]);
    await node.platform.sessions.renewLease('dead-node');
    expect(await redis.pttl(`${keys.partition(0)}node:dead-node`)).to.be.within(4_000, 5_000);
    expect(await world.interact('dead', {})).to.equal(true);
    expect(await world.worker.connected(['dead', 'nobody'])).to.deep.equal([true, false]);
  });

  it('only the owner refreshes or leaves; a taken session is its new owner’s', async () => {
    const { sessions } = node.platform;
    const session = { id: 'own', accountId: 'own' };
    await sessions.open({ ...session, events: ['MESSAGE_CREATE'], node: node.node.id, owner: 'first' });
    expect(await sessions.refresh({ ...session, owner: 'first', received: { s: 'a', at: 'b' } })).to.equal(true);
    const kept = { events: ['MESSAGE_CREATE'], s: 'a', at: 'b' };
    expect(await sessions.take({ ...session, node: node.node.id, owner: 'second' })).to.deep.equal(kept);
    expect(await sessions.refresh({ ...session, owner: 'first' })).to.equal(false);
    await sessions.leave({ ...session, owner: 'first' }, 'end');
    expect(await sessions.refresh({ ...session, owner: 'second' })).to.equal(true);
    await sessions.leave({ ...session, owner: 'second' }, 'wait');
    expect(await world.worker.connected(['own'])).to.deep.equal([false]);
    expect(await sessions.take({ ...session, accountId: 'other', node: 'n', owner: 'third' })).to.equal(null);
    expect(await redis.pttl(`${keys.partition(0)}ses:own`)).to.be.within(limits.resumeWindowMs, limits.sessionKeptMs);
  });

  it('positions are short texts that are read back, and nothing else is one', () => {
    const numbers = Array.from({ length: 16 }, (_, k) => (k + 1) * epochSize + 2 ** 39 + k);
    const late = new Map([['server:1574247429533528064', epochSize + 5]]);
    for (const some of [numbers, [numbers[0] as number]]) {
      const text = writePosition(writeNumbers(some), late);
      expect(text.length).to.be.at.most(200);
      expect(readPosition(text, some.length)).to.deep.equal({ numbers: some, late });
    }
    for (const wrong of [
      5,
      null,
      '',
      'x',
      '-1',
      '1e3',
      `${epochSize}~`,
      `${epochSize}~server:x=1`,
      `${epochSize}~account:1=1`,
      '9'.repeat(300),
    ])
      expect(readPosition(wrong, 1), String(wrong)).to.equal(null);
    expect(readPosition('AAAA', 16)).to.equal(null);
  });

  it('a process with another number of partitions than the first refuses to start, in one line', async () => {
    const config = { ...world.config, LOG_PARTITIONS: 3 };
    const refusal = await openGatewayPlatform(config, createLog('test', 'silent')).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(ConfigurationError);
    expect((refusal as Error).message).to.equal('LOG_PARTITIONS is 3, but this installation began with 1. Set LOG_PARTITIONS to 1.');
  });

  describe('epochs', () => {
    let at: string;
    let own: Keys;
    /** A worker that acknowledges the events it appends. */
    const process = (
      evidence: Evidence = { read: () => Promise.resolve(0), note: () => Promise.resolve() },
    ): { append: (...what: Parameters<Appender['append']>) => Promise<void>; losses: () => number } => {
      let losses = 0;
      const epochs = createEpochs(redis, own, () => losses++, evidence);
      const { append } = createAppender(redis, own, epochs, createMetrics('worker').events);
      const confirm = createConfirm(redis, own, evidence, epochs);
      return { append: async (place, events) => confirm(await append(place, events)), losses: () => losses };
    };
    /** Simulates a restart of Redis that lost this many numbers. */
    const restart = (lost: number): Promise<unknown> => redis.multi().decrby(`${at}n`, lost).hset(`${at}state`, 'run', 'before').exec();
    beforeEach(() => {
      own = createKeys(`${world.config.REDIS_PREFIX}-${world.worker.ids.next()}`, 1);
      at = own.partition(0);
    });

    it('a restart that kept every acknowledged entry begins an epoch, and no position is void', async () => {
      const [one, two] = [process(), process()];
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      await restart(0);
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      expect([one.losses(), two.losses()]).to.deep.equal([0, 0]);
      expect(await redis.hmget(`${at}state`, 'epoch', 'floor')).to.deep.equal(['2', null]);
    });

    it('a process that starts after a restart knows from the database what was acknowledged', async () => {
      await process(createEvidence(world.worker.db)).append('server:1', [event()]);
      await restart(1);
      const next = process(createEvidence(world.worker.db));
      await next.append('server:1', [event()]);
      expect(next.losses()).to.equal(1);
      expect(Number(await redis.hget(`${at}state`, 'floor'))).to.equal(3 * epochSize);
    });

    it('a log that is gone as a whole begins above the numbers that were acknowledged', async () => {
      const evidence: Evidence = { read: () => Promise.resolve(7 * epochSize + 3), note: () => Promise.resolve() };
      const one = process(evidence);
      await one.append('server:1', [event()]);
      expect(one.losses()).to.equal(1);
      expect(epochOf(Number(await redis.get(`${at}n`)))).to.be.greaterThan(7);
    });

    it('events that are gone before they were confirmed are not acknowledged', async () => {
      const epochs = createEpochs(redis, own, () => undefined);
      const { append } = createAppender(redis, own, epochs, createMetrics('worker').events);
      const appended = await append('server:1', [event()]);
      await restart(1);
      const confirm = createConfirm(redis, own, createEvidence(world.worker.db), epochs);
      const before = await createEvidence(world.worker.db).read(0);
      expect(await confirm(appended).catch((error: Error) => error.message)).to.equal('the appended events were lost');
      await epochs.boot(0);
      expect(await confirm(appended).catch((error: Error) => error.message)).to.equal('the appended events were lost');
      expect(await createEvidence(world.worker.db).read(0)).to.equal(before);
    });

    it('a restart without acknowledged entries raises the floor once, and numbers never repeat', async () => {
      const [one, two] = [process(), process()];
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      await restart(1);
      await two.append('server:1', [event()]);
      await one.append('server:1', [event()]);
      expect([one.losses(), two.losses()]).to.deep.equal([0, 1]);
      const [epoch, floor] = await redis.hmget(`${at}state`, 'epoch', 'floor');
      expect([Number(epoch), Number(floor)]).to.deep.equal([3, 3 * epochSize]);
      expect(Number(await redis.get(`${at}n`))).to.equal(3 * epochSize + 2);
    });
  });
});
