import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { parseDelivery } from '../../lib/domain/webhooks/codehost/index.ts';
import type { DeliveryDoc } from '../../lib/store/mongo/models/delivery.ts';
import { interceptNext } from '../harness/intercept.ts';
import { issue, range, titleOf, useDeliveries } from './fixture.ts';

const maxWaiting = limits.deliveriesWaiting;
const moreTitle = (count: number): string => `… and ${count.toLocaleString('en-US')} more event${count === 1 ? '' : 's'}`;

describe('Code host deliveries: more than 100 waiting', () => {
  const { fixture, hook } = useDeliveries();
  let lastNumber = 0;
  beforeEach(() => {
    lastNumber = 0;
  });

  /** Stores `count` waiting deliveries as if they had arrived one after another. */
  const storeWaiting = async (count: number): Promise<void> => {
    const { ids, db } = fixture.api.platform;
    const docs = range(1, count).map((): DeliveryDoc => {
      const number = ++lastNumber;
      const reading = parseDelivery('issues', issue(number));
      if (!('facts' in reading)) throw new Error(reading.ignored);
      const waits = { outcome: 'waiting', reason: null, facts: reading.facts, at: new Date(), recent: true } as const;
      return { _id: ids.next(), webhookId: hook.id, event: 'issues', action: 'opened', ...waits };
    });
    await db.deliveries.insertMany(docs);
  };
  const outcomes = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { outcome } of await hook.stored()) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };

  /** Runs the job once while no slot is free. */
  const mergeOnly = async (): Promise<void> => {
    const { webhooks } = fixture.api.platform.db;
    const soon = new Date(Date.now() + 60_000);
    await webhooks.updateOne({ _id: hook.id }, { $set: { deliveryPosts: Array(4).fill(soon) }, $unset: { drainAt: 1 } });
    await hook.runJob();
  };
  /** Returns the posts to come: the number of single ones, then the number of events in each merged one. */
  const countPosts = async (): Promise<[number, ...number[]]> => {
    const waiting = (await hook.stored()).filter(({ outcome }) => outcome === 'waiting');
    const merged = await Promise.all(
      waiting
        .filter((one) => one.more)
        .map(async ({ _id }) => 1 + (await fixture.api.platform.db.deliveries.countDocuments({ into: _id }))),
    );
    return [waiting.length - merged.length, ...merged];
  };

  /** Marks all single posts except the last `last` as posted, which saves time. */
  const markPostedExcept = async (last: number): Promise<void> => {
    const waiting = (await hook.stored()).filter((one) => one.outcome === 'waiting' && !one.more);
    const ids = waiting.slice(0, waiting.length - last).map(({ _id }) => _id);
    const done = { $set: { outcome: 'posted' }, $unset: { facts: 1 } } as const;
    await fixture.api.platform.db.deliveries.updateMany({ _id: { $in: ids } }, done);
  };

  it('posts 100 deliveries one by one', async () => {
    await storeWaiting(maxWaiting);
    await mergeOnly();
    expect(await countPosts()).to.deep.equal([maxWaiting]);
  });

  it('merges the rest into one post with their number, in the place of the first; later deliveries follow it', async () => {
    await storeWaiting(maxWaiting + 37);
    await mergeOnly();
    await markPostedExcept(3);
    await storeWaiting(2);
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([...range(98, 100).map(titleOf), moreTitle(37), ...range(138, 139).map(titleOf)]);
    expect(await outcomes()).to.deep.equal({ posted: maxWaiting + 2, merged: 37 });
    const [, , merged] = await hook.log();
    expect(merged).to.include({
      outcome: 'merged',
      reason: 'more than 100 deliveries were waiting, so this one was posted together with others',
    });
    expect((await hook.stored()).filter(({ facts }) => facts !== undefined)).to.deep.equal([]);
  });

  it('shows one delivery too many as "and 1 more event"', async () => {
    await storeWaiting(maxWaiting + 1);
    await mergeOnly();
    expect(await countPosts()).to.deep.equal([maxWaiting, 1]);
  });

  it('adds further deliveries to a merged post that still waits, once there are too many again', async () => {
    await storeWaiting(maxWaiting + 5);
    await mergeOnly();
    await storeWaiting(50);
    await mergeOnly();
    expect(await countPosts(), 'a second batch joins the merged post').to.deep.equal([maxWaiting, 55]);
    await markPostedExcept(maxWaiting - 30);
    await storeWaiting(30);
    await mergeOnly();
    expect(await countPosts(), '100 single deliveries are not too many').to.deep.equal([maxWaiting, 55]);
    await storeWaiting(1);
    await mergeOnly();
    expect(await countPosts()).to.deep.equal([maxWaiting - 30, 86]);
  });

  it('merges 1,400 deliveries at once and keeps the log short', async () => {
    for (let n = 0; n < 3; n++) await storeWaiting(500);
    await mergeOnly();
    expect(await countPosts()).to.deep.equal([maxWaiting, 1_400]);
    const recent = (await hook.stored()).filter((one) => one.recent && one.outcome !== 'waiting');
    expect(recent).to.have.length(limits.webhookDeliveriesListed);
  });

  // The counts must be right wherever a merge is interrupted.
  for (const [what, method] of [
    ['after the post was chosen', 'updateMany'],
    ['before the post was chosen', 'updateOne'],
  ] as const)
    it(`keeps the right count when a merge was interrupted ${what}`, async () => {
      await storeWaiting(maxWaiting + 20);
      interceptNext(fixture.worker.db.deliveries, method, () => Promise.reject(new Error('the process died')));
      await mergeOnly().catch(() => undefined);
      await mergeOnly();
      expect(await countPosts()).to.deep.equal([maxWaiting, 20]);
    });

  it('adds nothing to a post whose count was fixed, and keeps the count when the process dies', async () => {
    await storeWaiting(maxWaiting + 10);
    await mergeOnly();
    await markPostedExcept(0);
    await hook.freeSlots();
    interceptNext(fixture.worker.db.messages, 'insertOne', () => Promise.reject(new Error('the process died')));
    await hook.runJob().catch(() => undefined);
    await storeWaiting(maxWaiting + 7);
    await mergeOnly();
    await markPostedExcept(1);
    await hook.runAllJobs();
    expect(await hook.titles()).to.deep.equal([moreTitle(10), titleOf(2 * maxWaiting + 10), moreTitle(7)]);
  });
});
