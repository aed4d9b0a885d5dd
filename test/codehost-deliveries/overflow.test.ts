import { expect } from 'chai';
import { limits } from '../../lib/base/limits.ts';
import { readDelivery } from '../../lib/domain/webhooks/codehost/index.ts';
import type { DeliveryDoc } from '../../lib/store/mongo/models/delivery.ts';
import { around } from '../harness/around.ts';
import { type Hook, issue, range, type Scene, startDeliveries, titleOf } from './fixture.ts';

const most = limits.deliveriesWaiting;
const more = (count: number): string => `… and ${count.toLocaleString('en-US')} more event${count === 1 ? '' : 's'}`;

describe('more than 100 waiting', () => {
  let scene: Scene;
  let hook: Hook;
  let numbered = 0;
  before(async () => {
    scene = await startDeliveries();
  });
  after(() => scene.close());
  beforeEach(async () => {
    hook = await scene.make();
    numbered = 0;
  });

  /** Stores so many waiting deliveries as if they had come one after another. */
  const pile = async (count: number): Promise<void> => {
    const { ids, db } = scene.api.platform;
    const docs = range(1, count).map((): DeliveryDoc => {
      const number = ++numbered;
      const reading = readDelivery('issues', issue(number));
      if (!('facts' in reading)) throw new Error(reading.ignored);
      const waits = { outcome: 'waiting', reason: null, facts: reading.facts, at: new Date(), recent: true } as const;
      return { _id: ids.next(), webhookId: hook.id, event: 'issues', action: 'opened', ...waits };
    });
    await db.deliveries.collection.insertMany(docs as never);
  };
  const outcomes = async (): Promise<Record<string, number>> => {
    const counts: Record<string, number> = {};
    for (const { outcome } of await hook.stored()) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };

  /** Drains once without a place to be had. */
  const mergeOnly = async (): Promise<void> => {
    const { webhooks } = scene.api.platform.db;
    const soon = new Date(Date.now() + 60_000);
    await webhooks.collection.updateOne(
      { _id: hook.id as never },
      { $set: { deliveryPosts: Array(4).fill(soon) }, $unset: { drainAt: 1 } },
    );
    await hook.drain();
  };
  /** The posts to come: how many single ones, then the counts of those of more events. */
  const toCome = async (): Promise<[number, ...number[]]> => {
    const waiting = (await hook.stored()).filter(({ outcome }) => outcome === 'waiting');
    const merged = await Promise.all(
      waiting.filter((one) => one.more).map(async ({ _id }) => 1 + (await scene.api.platform.db.deliveries.countDocuments({ into: _id }))),
    );
    return [waiting.length - merged.length, ...merged];
  };

  /** Marks all but the last so many single posts to come as posted, which saves their time. */
  const skipTo = async (last: number): Promise<void> => {
    const waiting = (await hook.stored()).filter((one) => one.outcome === 'waiting' && !one.more);
    const ids = waiting.slice(0, waiting.length - last).map(({ _id }) => _id);
    const done = { $set: { outcome: 'posted' }, $unset: { facts: 1 } } as const;
    await scene.api.platform.db.deliveries.collection.updateMany({ _id: { $in: ids } } as never, done);
  };

  it('100 are posted one by one', async () => {
    await pile(most);
    await mergeOnly();
    expect(await toCome()).to.deep.equal([most]);
  });

  it('what is past them is one post with the true number, where the first of it stood; what comes later stands after it', async () => {
    await pile(most + 37);
    await mergeOnly();
    await skipTo(3);
    await pile(2);
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([...range(98, 100).map(titleOf), more(37), ...range(138, 139).map(titleOf)]);
    expect(await outcomes()).to.deep.equal({ posted: most + 2, merged: 37 });
    const [, , merged] = await hook.log();
    expect(merged).to.include({ outcome: 'merged', reason: 'more than 100 were waiting: told together with others' });
    expect((await hook.stored()).filter(({ facts }) => facts !== undefined)).to.deep.equal([]);
  });

  it('one more than 100 is "and 1 more event"', async () => {
    await pile(most + 1);
    await mergeOnly();
    expect(await toCome()).to.deep.equal([most, 1]);
  });

  it('one post takes in all that comes while it waits, when there are too many again', async () => {
    await pile(most + 5);
    await mergeOnly();
    await pile(50);
    await mergeOnly();
    expect(await toCome(), 'before the post and after it').to.deep.equal([most, 55]);
    await skipTo(most - 30);
    await pile(30);
    await mergeOnly();
    expect(await toCome(), '100 single ones again: not too many').to.deep.equal([most, 55]);
    await pile(1);
    await mergeOnly();
    expect(await toCome()).to.deep.equal([most - 30, 86]);
  });

  it('many are merged at once, and the log stays short', async () => {
    for (let n = 0; n < 3; n++) await pile(500);
    await mergeOnly();
    expect(await toCome()).to.deep.equal([most, 1_400]);
    const recent = (await hook.stored()).filter((one) => one.recent && one.outcome !== 'waiting');
    expect(recent).to.have.length(limits.webhookDeliveriesListed);
  });

  // The counts have to be true wherever a merge is cut short.
  for (const [what, method] of [
    ['after the post was chosen', 'updateMany'],
    ['before the post was chosen', 'updateOne'],
  ] as const)
    it(`cut short ${what}: the numbers are true all the same`, async () => {
      await pile(most + 20);
      around(scene.worker.db.deliveries, method, () => Promise.reject(new Error('the process died')));
      await mergeOnly().catch(() => undefined);
      await mergeOnly();
      expect(await toCome()).to.deep.equal([most, 20]);
    });

  it('a post whose number was fixed takes nothing more in, and its number stays though the process dies', async () => {
    await pile(most + 10);
    await mergeOnly();
    await skipTo(0);
    await hook.rest();
    around(scene.worker.db.messages.collection, 'insertOne', () => Promise.reject(new Error('the process died')));
    await hook.drain().catch(() => undefined);
    await pile(most + 7);
    await mergeOnly();
    await skipTo(1);
    await hook.drainAll();
    expect(await hook.titles()).to.deep.equal([more(10), titleOf(2 * most + 10), more(7)]);
  });
});
