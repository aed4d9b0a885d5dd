import { expect } from 'chai';
import { createLog } from '../../lib/base/log.ts';
import { sweepOutbox } from '../../lib/domain/relay/relay.ts';
import { openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startSweeps } from '../../workers/sweep.ts';
import { startTestApiWithWorker } from '../harness/api.ts';
import { postMessage } from '../harness/factories.ts';
import { waitUntil } from '../harness/interaction-fixture.ts';
import { withLog } from '../harness/intercept.ts';
import { sweepNewMessagesNow } from '../harness/new-messages.ts';
import { botOf } from '../harness/seed.ts';
import { startSeededApi } from '../harness/seeded-api.ts';
import { use } from '../harness/use.ts';

describe('Sweeps: two workers', () => {
  const api = use(() => startTestApiWithWorker(() => startSeededApi({ bots: 1, channels: 20 })));
  const other = use(() => openWorkerPlatform(api.platform.config, createLog('test', 'silent')), { each: true });
  const keys = Array.from({ length: 200 }, (_, n) => `key ${n}`);
  const ownedBy = (worker: WorkerPlatform): string[] => keys.filter(worker.shares.isOwner);
  /** Lets both workers know of each other. */
  const meet = async (): Promise<void> => {
    for (const worker of [api.worker, other, api.worker]) await worker.shares.recordHeartbeat();
  };
  afterEach(() => api.worker.shares.endHeartbeat());

  /** A worker that keeps its present share of the channels, and notes the channels whose events it appends. */
  const withFixedShare = (worker: WorkerPlatform): { worker: WorkerPlatform; owned: string[]; channelIds: string[] } => {
    const [owned, channelIds]: [string[], string[]] = [api.seeded.channelIds.filter(worker.shares.isOwner), []];
    const append: WorkerPlatform['eventLog']['append'] = async (place, events, options) => {
      const found = await worker.eventLog.append(place, events, options);
      channelIds.push(...events.flatMap(({ channelId }) => channelId ?? []));
      return found;
    };
    return {
      worker: { ...withLog(worker, { append }), shares: { ...worker.shares, isOwner: (key) => owned.includes(key) } },
      owned,
      channelIds,
    };
  };
  const countPending = (): Promise<number> => api.platform.db.messages.countDocuments({ outboxAt: { $exists: true } });
  /** Posts in every channel, and makes the events overdue. */
  const postOverdue = async (): Promise<void> => {
    for (const channelId of api.seeded.channelIds) await postMessage(api, botOf(api.seeded), channelId, 'x');
    await sweepNewMessagesNow(api.worker);
    await api.platform.db.messages.updateMany({ outboxAt: { $exists: true } }, { $set: { outboxAt: new Date(0) } });
  };

  it('each key belongs to one of them; without a heartbeat a worker owns every key', async () => {
    expect(ownedBy(other)).to.deep.equal(keys);
    await meet();
    expect([...ownedBy(api.worker), ...ownedBy(other)]).to.have.members(keys);
    expect(ownedBy(other)).to.not.deep.equal([]);
    await other.shares.endHeartbeat();
    await api.worker.shares.recordHeartbeat();
    expect(ownedBy(api.worker)).to.deep.equal(keys);
  });

  it('the events of each channel are relayed by its owner only', async () => {
    await meet();
    const workers = [withFixedShare(api.worker), withFixedShare(other)];
    await postOverdue();
    const sweeps = workers.map(({ worker }) => startSweeps(worker, 50));
    await waitUntil(async () => (await countPending()) === 0, 'all events to be relayed');
    for (const running of sweeps) await running.close();
    for (const { owned, channelIds } of workers) expect(channelIds).to.have.members(owned);
  });

  it('a worker that ends leaves the channels that it has not begun with to others', async () => {
    await postOverdue();
    let closed: Promise<void> | undefined;
    const append: WorkerPlatform['eventLog']['append'] = (...args) => {
      closed ??= sweeps.close();
      return api.worker.eventLog.append(...args);
    };
    const sweeps = startSweeps(withLog(api.worker, { append }), 50);
    await waitUntil(() => closed !== undefined, 'the first append');
    await closed;
    expect(await countPending()).to.be.greaterThan(0);
    await sweepOutbox(other, 'channel');
    expect(await countPending()).to.equal(0);
  });

  it('a worker that cannot reach the database loses its keys', async () => {
    await meet();
    const findOne = (): Promise<never> => Promise.reject(new Error('the database cannot be reached'));
    const db = { ...api.worker.db, meta: { findOne } } as unknown as WorkerPlatform['db'];
    const sweeps = startSweeps({ ...api.worker, db, log: createLog('test', 'silent') }, 50);
    await waitUntil(async () => {
      await other.shares.recordHeartbeat();
      return ownedBy(other).length === keys.length;
    }, 'the other worker owns all keys');
    await sweeps.close();
  });

  it('when a worker dies, the other one relays the events of its channels', async () => {
    await meet(); // the other one is dead from here on
    expect(ownedBy(api.worker)).to.not.deep.equal(keys);
    await postOverdue();
    const sweeps = startSweeps(api.worker, 50);
    await waitUntil(async () => (await countPending()) === 0, 'all events to be relayed');
    await sweeps.close();
  });
});
