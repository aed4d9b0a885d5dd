import { expect } from 'chai';
import { type ChaosPlan, runChaos, summary } from './chaos.ts';
import { type ChaosStores, startChaosStores } from './stores.ts';

/** The short form of `npm run chaos`: real processes, on separate stores with durable settings. */
describe('chaos: faults of real processes', () => {
  let progressLines: string[] = [];
  const plan: ChaosPlan = {
    seconds: 0,
    postsPerSec: 30,
    servers: 4,
    channelsPerServer: 3,
    bots: 6,
    people: 10,
    serversEach: 2,
    faultEveryMs: 600,
    faults: 'each',
    report: (line) => progressLines.push(line),
  };
  let stores: ChaosStores;

  before(async () => {
    stores = await startChaosStores(false);
  });
  after(async () => {
    await stores.close();
  });

  beforeEach(() => {
    progressLines = [];
  });
  afterEach(function () {
    if (this.currentTest?.isFailed()) process.stderr.write(`${progressLines.join('\n')}\n`); // the steps before the failure
  });

  it('loses, doubles and reorders nothing while roles and stores are killed, workers paused and subscriptions cut', async () => {
    const result = await runChaos(stores, plan);
    expect(result, summary(result)).to.deep.include({ lost: 0, doubled: 0, outOfOrder: 0, silentHoles: 0 });
    expect(result.faults, summary(result)).to.be.at.least(9);
    expect(result.resumes + result.invalidated, summary(result)).to.be.at.least(1);
  }).timeout(600_000);

  it('loses and doubles nothing, and answers no 5xx, while every process is restarted in turn', async () => {
    const result = await runChaos(stores, { ...plan, postsPerSec: 15, bots: 2, people: 2, faults: 'restarts' });
    expect(result, summary(result)).to.deep.include({ lost: 0, doubled: 0, outOfOrder: 0, silentHoles: 0, serverErrors: 0, faults: 7 });
    expect(result.invalidated, summary(result)).to.equal(0);
    expect(result.reconnectPeak, summary(result)).to.be.greaterThan(0);
  }).timeout(600_000);

  it('negative control: without replay the same faults lose events', async () => {
    const result = await runChaos(stores, { ...plan, seconds: 5, faults: 'gateways', broken: 'no-replay' });
    expect(result.lost, summary(result)).to.be.greaterThan(0);
  }).timeout(600_000);
});
