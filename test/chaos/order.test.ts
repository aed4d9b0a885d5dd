import { expect } from 'chai';
import type { Switch } from '../../lib/base/failpoint.ts';
import { type OrderPlan, runOrder } from './order/order.ts';
import { type ChaosStores, startChaosStores } from './stores.ts';

/** The short form of `npm run order`: real processes, random changes of servers, and clients that come and go. */
describe('chaos: one order of what clients see', () => {
  let lines: string[] = [];
  let stores: ChaosStores;

  before(async () => {
    stores = await startChaosStores(false);
  });
  after(() => stores.close());
  beforeEach(() => {
    lines = [];
  });
  afterEach(function () {
    if (this.currentTest?.isFailed()) process.stderr.write(`${lines.slice(-100).join('\n')}\n`); // the steps before the failure
  });

  const plan: Omit<OrderPlan, 'partitions'> = {
    seed: 1,
    seconds: 24,
    people: 5,
    bots: 3,
    servers: 3,
    report: (line) => lines.push(line),
  };
  for (const partitions of [1, 4])
    it(`holds while clients lose their connections, with ${partitions} partitions`, async () => {
      const result = await runOrder(stores, { ...plan, partitions });
      expect(result.faults).to.deep.equal([]);
      expect([result.resumes, result.messages].every((count) => count > 0)).to.equal(true);
    }).timeout(600_000);

  for (const failpoints of ['no-replay', 'no-change-order', 'no-view-events'] satisfies Switch[])
    it(`negative control: finds a fault with ${failpoints}`, async () => {
      const result = await runOrder(stores, { ...plan, seconds: 120, partitions: 1, failpoints });
      expect(result.faults).to.not.deep.equal([]);
    }).timeout(600_000);
});
