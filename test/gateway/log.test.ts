import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { ConfigurationError } from '../../lib/base/process.ts';
import { createLogState, type LogState } from '../../lib/store/mongo/log-state.ts';
import { openGatewayPlatform } from '../../lib/store/platform.ts';
import { type Appender, createAppender, type NewEntry } from '../../lib/store/redis/log/append.ts';
import { createConfirm } from '../../lib/store/redis/log/confirm.ts';
import { type Entry, readEntry } from '../../lib/store/redis/log/entry.ts';
import { createEpochs, epochSize, getEpoch } from '../../lib/store/redis/log/epochs.ts';
import { createKeys } from '../../lib/store/redis/log/keys.ts';
import { readPosition, writeNumbers, writePosition } from '../../lib/store/redis/log/position.ts';
import { connectRedis } from '../harness/stores.ts';
import { make, use } from '../harness/use.ts';
import { startGatewayFixture } from './gateway-fixture.ts';

type Evidence = Pick<LogState, 'readAcknowledged' | 'recordAcknowledged'>;

describe('gateway: the log', () => {
  const fixture = use(() => startGatewayFixture(1));
  const node = make(async () => fixture.nodes[0] ?? expect.fail());
  const keys = make(async () => createKeys(fixture.config.REDIS_PREFIX, 1));
  const redis = use(() => connectRedis(fixture.config));

  const event = (more: Partial<NewEntry> = {}): NewEntry => ({
    id: fixture.worker.ids.next(),
    name: 'MESSAGE_CREATE',
    payload: '{"id":"1"}',
    ...more,
  });
  const entriesOf = async (place: string): Promise<Entry[]> =>
    (await redis.xrangeBuffer(`${keys.partitionPrefix(0)}log:${place}`, '-', '+')).map(
      ([, fields]) => readEntry(fields[1] as Buffer) as Entry,
    );

  it('appends an event to a place once, also when called repeatedly and in parallel', async () => {
    const one = event();
    await Promise.all([1, 2, 3].map(() => fixture.worker.eventLog.append('server:once', [one])));
    await fixture.worker.eventLog.expireMarks([{ place: 'server:once', id: one.id }]);
    await fixture.worker.eventLog.append('server:once', [one]);
    expect(await entriesOf('server:once')).to.have.length(1);
    expect(await redis.pttl(`${keys.partitionPrefix(0)}mark:server:once:${one.id}`)).to.be.within(1, 600_000);
    // Redis has lost the marks, and a worker that read the event before the acknowledgement appends it again.
    await redis.del(`${keys.partitionPrefix(0)}mark:server:once:${one.id}`);
    await fixture.worker.eventLog.expireMarks([{ place: 'server:once', id: one.id }]);
    await fixture.worker.eventLog.confirm((await fixture.worker.eventLog.append('server:once', [one])).appended);
    expect(await entriesOf('server:once')).to.have.length(1);
    await fixture.worker.eventLog.append('server:twice', [one]);
    expect(await entriesOf('server:twice')).to.have.length(1);
  });

  it('appends the missing events of a batch in order, each with the number of the previous entry', async () => {
    const [first, second, third] = [event(), event(), event({ channelId: '9', payload: '{"a":"line\\nbreak"}' })];
    await fixture.worker.eventLog.append('server:batch', [first]);
    await fixture.worker.eventLog.append('server:batch', [first, second, third]);
    const found = await entriesOf('server:batch');
    expect(found.map(({ head }) => head.id)).to.deep.equal([first.id, second.id, third.id]);
    expect(found.map(({ head }) => head.previous)).to.deep.equal([0, ...found.slice(0, 2).map(({ head }) => head.number)]);
    expect(found[2]?.head.channelId).to.equal('9');
    expect(found[2]?.payload.toString()).to.equal(third.payload);
  });

  it('limits the bytes of a place: large events shorten its log', async () => {
    const payload = JSON.stringify('x'.repeat(16_000));
    for (let i = 0; i < 100; i++)
      await fixture.worker.eventLog.append(
        'server:large',
        Array.from({ length: 10 }, () => event({ payload })),
      );
    const size = (await entriesOf('server:large')).reduce((sum, one) => sum + one.payload.length, 0);
    expect(size).to.be.within(limits.logBytesPerPlace / 2, limits.logBytesPerPlace * 2);
  });

  it('forgets active places after `sessionRetentionMs` and reports older positions as incomplete', async () => {
    const at = keys.partitionPrefix(0);
    await fixture.worker.eventLog.append('server:old', [event()]);
    const runs = limits.sessionRetentionMs / 30_000;
    for (let run = 0; run <= runs; run++) {
      expect(await redis.zscore(`${at}active`, 'server:old'), `before run ${run}`).to.be.a('string');
      await redis.del(`${at}ticked`);
      await fixture.worker.eventLog.expirePlaces();
    }
    expect(await redis.zscore(`${at}active`, 'server:old')).to.equal(null);
    expect(await redis.hget(`${at}state`, 'keep')).to.equal(await redis.get(`${at}n`));
    const [found] = await node.node.eventLog.readLogs(0, [{ place: 'server:old', after: 5 }]);
    expect(found).to.deep.equal({ entries: [], isComplete: false });
  });

  it('reports an account as connected only while the node of its session has a lease', async () => {
    expect(await fixture.interact('nobody', {})).to.equal(false);
    await node.platform.sessions.open({ id: 'dead', accountId: 'dead', events: ['MESSAGE_CREATE'], node: 'dead-node', owner: 'o' });
    expect(await fixture.interact('dead', {})).to.equal(false);
    expect(await fixture.worker.connections.areConnected(['dead', 'nobody'])).to.deep.equal([false, false]);
    await node.platform.sessions.renewLease('dead-node');
    expect(await redis.pttl(`${keys.partitionPrefix(0)}node:dead-node`)).to.be.within(1, 5_000);
    expect(await fixture.interact('dead', {})).to.equal(true);
    expect(await fixture.worker.connections.areConnected(['dead', 'nobody'])).to.deep.equal([true, false]);
  });

  it('only the owner can refresh or leave a session; taking it over changes the owner', async () => {
    const { sessions } = node.platform;
    const session = { id: 'own', accountId: 'own' };
    await sessions.open({ ...session, events: ['MESSAGE_CREATE'], node: node.node.id, owner: 'first' });
    expect(await sessions.refresh({ ...session, owner: 'first', receivedPosition: { lastPosition: 'a', nodePosition: 'b' } })).to.equal(
      true,
    );
    const kept = { events: ['MESSAGE_CREATE'], lastPosition: 'a', nodePosition: 'b' };
    expect(await sessions.takeOver({ ...session, node: node.node.id, owner: 'second' })).to.deep.equal(kept);
    expect(await sessions.refresh({ ...session, owner: 'first' })).to.equal(false);
    await sessions.release({ ...session, owner: 'first' }, 'end');
    expect(await sessions.refresh({ ...session, owner: 'second' })).to.equal(true);
    await sessions.release({ ...session, owner: 'second' }, 'suspend');
    expect(await fixture.worker.connections.areConnected(['own'])).to.deep.equal([false]);
    expect(await sessions.takeOver({ ...session, accountId: 'other', node: 'n', owner: 'third' })).to.equal(null);
    expect(await redis.pttl(`${keys.partitionPrefix(0)}ses:own`)).to.be.within(limits.resumeWindowMs, limits.sessionRetentionMs);
  });

  it('positions are short strings that can be read back; anything else is rejected', () => {
    const numbers = Array.from({ length: 16 }, (_, k) => (k + 1) * epochSize + 2 ** 39 + k);
    const placeNumbers = new Map([['server:1574247429533528064', epochSize + 5]]);
    for (const some of [numbers, [numbers[0] as number]]) {
      const text = writePosition(writeNumbers(some), placeNumbers);
      expect(text.length).to.be.at.most(200);
      expect(readPosition(text, some.length)).to.deep.equal({ numbers: some, placeNumbers });
    }
    for (const wrong of [5, null, '', 'x', '-1', '1e3', `${epochSize}~`, `${epochSize}~server:x=1`, '9'.repeat(300)])
      expect(readPosition(wrong, 1), String(wrong)).to.equal(null);
    expect(readPosition('AAAA', 16)).to.equal(null);
  });

  it('a process with a different number of partitions refuses to start', async () => {
    const config = { ...fixture.config, LOG_PARTITIONS: 3 };
    const refusal = await openGatewayPlatform(config, createLog('test', 'silent')).catch((error: unknown) => error);
    expect(refusal).to.be.instanceOf(ConfigurationError);
    expect((refusal as Error).message).to.equal('LOG_PARTITIONS is 3, but this installation was created with 1. Set LOG_PARTITIONS to 1.');
  });

  describe('epochs', () => {
    const own = make(async () => createKeys(`${fixture.config.REDIS_PREFIX}-${fixture.worker.ids.next()}`, 1), { each: true });
    const at = (): string => own.partitionPrefix(0);
    /** A worker that acknowledges the events it appends. */
    const process = (
      evidence: Evidence = { readAcknowledged: () => Promise.resolve(0), recordAcknowledged: () => Promise.resolve() },
    ): { append: (...what: Parameters<Appender['append']>) => Promise<void>; losses: () => number } => {
      let losses = 0;
      const epochs = createEpochs(redis, own, () => losses++, evidence);
      const { append } = createAppender(redis, own, epochs, createMetrics('worker').events);
      const confirm = createConfirm(redis, own, evidence, epochs);
      return { append: async (place, events) => confirm((await append(place, events)).appended), losses: () => losses };
    };
    /** Simulates a restart of Redis that lost this many numbers. */
    const restart = (lost: number): Promise<unknown> => redis.multi().decrby(`${at()}n`, lost).hset(`${at()}state`, 'run', 'before').exec();

    it('a restart that kept every acknowledged entry starts an epoch and invalidates no position', async () => {
      const [one, two] = [process(), process()];
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      await restart(0);
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      expect([one.losses(), two.losses()]).to.deep.equal([0, 0]);
      expect(await redis.hmget(`${at()}state`, 'epoch', 'floor')).to.deep.equal(['2', null]);
    });

    it('a process that starts after a restart reads from the database what was acknowledged', async () => {
      await process(createLogState(fixture.worker.db)).append('server:1', [event()]);
      await restart(1);
      const next = process(createLogState(fixture.worker.db));
      await next.append('server:1', [event()]);
      expect(next.losses()).to.equal(1);
      expect(Number(await redis.hget(`${at()}state`, 'floor'))).to.equal(3 * epochSize);
    });

    it('a completely lost log restarts above the acknowledged numbers', async () => {
      const evidence: Evidence = {
        readAcknowledged: () => Promise.resolve(7 * epochSize + 3),
        recordAcknowledged: () => Promise.resolve(),
      };
      const one = process(evidence);
      await one.append('server:1', [event()]);
      expect(one.losses()).to.equal(1);
      expect(getEpoch(Number(await redis.get(`${at()}n`)))).to.be.greaterThan(7);
    });

    it('does not acknowledge events that were lost before the confirmation', async () => {
      const epochs = createEpochs(redis, own, () => undefined);
      const { append } = createAppender(redis, own, epochs, createMetrics('worker').events);
      const { appended } = await append('server:1', [event()]);
      await restart(1);
      const confirm = createConfirm(redis, own, createLogState(fixture.worker.db), epochs);
      const before = await createLogState(fixture.worker.db).readAcknowledged(0);
      expect(await confirm(appended).catch((error: Error) => error.message)).to.equal('Redis lost the appended events');
      await epochs.syncEpoch(0);
      expect(await confirm(appended).catch((error: Error) => error.message)).to.equal('Redis lost the appended events');
      expect(await createLogState(fixture.worker.db).readAcknowledged(0)).to.equal(before);
    });

    it('a restart that lost acknowledged entries raises the floor once, and numbers never repeat', async () => {
      const [one, two] = [process(), process()];
      await one.append('server:1', [event()]);
      await two.append('server:1', [event()]);
      await restart(1);
      await two.append('server:1', [event()]);
      await one.append('server:1', [event()]);
      expect([one.losses(), two.losses()]).to.deep.equal([0, 1]);
      const [epoch, floor] = await redis.hmget(`${at()}state`, 'epoch', 'floor');
      expect([Number(epoch), Number(floor)]).to.deep.equal([3, 3 * epochSize]);
      expect(Number(await redis.get(`${at()}n`))).to.equal(3 * epochSize + 2);
    });
  });
});
