import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Stores, startStores } from '../../apps/local/stores.ts';
import { type ChaosPlan, runChaos, summary } from './chaos.ts';

/** The short form of `npm run chaos`: real processes, on stores of its own with durable settings. */
describe('chaos: 100 posts/s × 10 bots under SIGKILL', () => {
  let course: string[] = [];
  const plan: ChaosPlan = {
    seconds: 30,
    postsPerSec: 100,
    bots: 10,
    channels: 10,
    killEveryMs: 4_000,
    leastKills: 5,
    killStores: true,
    replay: true,
    report: (line) => course.push(line),
  };
  let dataDir: string;
  let stores: Stores;

  before(async function () {
    this.timeout(180_000);
    dataDir = await mkdtemp(join(tmpdir(), 'parlance-chaos-'));
    stores = await startStores({ dataDir, durable: true, own: true });
  });
  after(async function () {
    this.timeout(180_000);
    await stores.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  beforeEach(() => {
    course = [];
  });
  afterEach(function () {
    if (this.currentTest?.isFailed()) process.stderr.write(`${course.join('\n')}\n`); // where it stopped
  });

  it('gateways, workers, Redis and the database killed: nothing lost, doubled or out of order, every session resumes', async () => {
    const result = await runChaos(stores, plan);
    expect(result, summary(result)).to.deep.include({ lost: 0, dup: 0, ooo: 0, invalidated: 0 });
    expect(result.kills).to.be.at.least(5);
    expect(result.resumes).to.be.at.least(1);
  }).timeout(600_000);

  it('negative control: without replay the same faults lose events', async () => {
    const result = await runChaos(stores, { ...plan, leastKills: 2, seconds: 12, killStores: false, replay: false });
    expect(result.lost, summary(result)).to.be.greaterThan(0);
  }).timeout(600_000);
});
