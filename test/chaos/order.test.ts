import { expect } from 'chai';
import { type OrderPlan, runOrder } from './order/order.ts';
import { type ChaosStores, startChaosStores } from './stores.ts';

/** The short form of `npm run order`: real processes, random changes of servers, and clients that come and go. */
describe('chaos: one order of what clients see', () => {
  let stores: ChaosStores;

  before(async () => {
    stores = await startChaosStores(false);
  });
  after(() => stores.close());

  const plan: Omit<OrderPlan, 'partitions'> = {
    seed: 1,
    seconds: 12,
    people: 5,
    bots: 3,
    servers: 3,
    report: () => undefined,
  };
  for (const partitions of [1, 4])
    it(`holds while clients lose their connections, with ${partitions} partitions`, async () => {
      const result = await runOrder(stores, { ...plan, partitions });
      expect(result.faults, result.story.join('\n')).to.deep.equal([]);
      expect([result.resumes, result.messages].every((count) => count > 0)).to.equal(true);
    }).timeout(600_000);

  // One control shows that the tester finds faults; `npm run order -- --broken` has one for each rule.
  it('finds a fault in a build whose changes of roles do not hide channels', async () => {
    const result = await runOrder(stores, { ...plan, seconds: 120, partitions: 1, broken: 'no-view-events' });
    expect(result.faults).to.not.deep.equal([]);
  }).timeout(600_000);
});
