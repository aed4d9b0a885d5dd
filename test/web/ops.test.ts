import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startOps } from '../../apps/ops/start.ts';
import type { Listening } from '../../lib/base/http-server.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import { type OpsPlatform, openOpsPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { startMetricsFeed } from '../../lib/store/redis/metrics-feed.ts';
import { testConfig } from '../harness/stores.ts';
import { tooWide, violations } from './axe.ts';
import { useScreens } from './browser.ts';

describe('operators’ overview in a browser', function () {
  this.timeout(180_000);
  const config = testConfig();
  const open = useScreens();
  let worker: WorkerPlatform;
  let platform: OpsPlatform;
  let ops: Listening;
  let feed: { close(): Promise<void> };
  const site = () => ({ origin: `http://127.0.0.1:${ops.port}` });
  const summary = (page: Page) => page.getByRole('status');
  /** Lets the page's own time pass, as it reads every 5 s. */
  const pass = (page: Page, ms = 5_100) => page.clock.runFor(ms);
  const says = async (page: Page, words: string): Promise<void> => summary(page).filter({ hasText: words }).waitFor();

  before(async () => {
    const [opened, real] = await Promise.all([
      openWorkerPlatform(config, createLog('worker', 'silent')),
      openOpsPlatform(config, createLog('ops', 'silent')),
    ]);
    await opened.db.prepare();
    worker = opened;
    // Whatever Redis the tests have, and however long a step takes: all is well at first.
    const sound = { memoryUsedBytes: 1, memoryMaxBytes: 100, evictionPolicy: 'noeviction', appendOnly: true };
    platform = { ...real, redisFacts: async () => sound, workerBeatAt: async () => Date.now() };
    ops = await startOps(platform);
    const metrics = createMetrics('gateway');
    metrics.sockets.set({ kind: 'bot' }, 7);
    feed = startMetricsFeed(platform, 'gateway', metrics.registry);
  });
  after(async () => {
    await ops.close();
    await feed.close();
    await Promise.all([platform.close(), worker.close()]);
  });
  beforeEach(() => worker.db.messages.collection.deleteMany({}));

  /** An event that has waited for a minute. */
  const owe = () => worker.db.messages.collection.insertOne({ _id: '1', channelId: '1', obAt: new Date(Date.now() - 60_000) } as never);

  async function openOverview(look = {}): Promise<Page> {
    const page = await open(site(), undefined, look);
    await page.clock.install();
    await page.goto('/');
    await page.getByText('Last updated at').waitFor();
    return page;
  }

  it('reads by itself, and says what is to be done in words, at the figure and at the top', async () => {
    const page = await openOverview();
    await says(page, 'Everything is normal.');
    await owe();
    await pass(page);
    await says(page, 'Act now: Oldest undelivered event.');
    const row = page.getByRole('table', { name: 'Outbox' }).getByRole('row', { name: 'Oldest undelivered event' });
    expect(await row.innerText()).to.match(/\d (s|min) old[\s\S]+Act[\s\S]+Check that a worker is running/);
    expect(await page.title()).to.equal('Act · Parlance operations');
    await worker.db.messages.collection.deleteMany({});
    await pass(page);
    await says(page, 'Everything is normal.');
  });

  it('says when it cannot read, keeps what it knew, and goes on when it can again', async () => {
    const page = await openOverview();
    await says(page, 'normal');
    await page.route('**/metrics', (route) => route.abort());
    await pass(page);
    await says(page, 'The metrics cannot be loaded');
    expect(await page.getByRole('table', { name: 'Sockets' }).innerText()).to.contain('7 bots');
    await page.unroute('**/metrics');
    await pass(page);
    await says(page, 'normal');
  });

  it('reads nothing while it is hidden or paused, and at once when it is seen again', async () => {
    const page = await openOverview();
    await says(page, 'normal');
    let asked = 0;
    page.on('request', (request) => {
      asked += Number(request.url().endsWith('/metrics'));
    });
    // As text: what compiles the tests names functions by a helper that the page has not.
    const hide = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await hide(true);
    await pass(page, 20_000);
    expect(asked).to.equal(0);
    const seen = page.waitForResponse('**/metrics');
    await hide(false);
    await seen;
    await page.getByRole('button', { name: 'Pause' }).press('Space');
    await page.getByText('; paused.').waitFor();
    const before = asked;
    await pass(page, 20_000);
    expect(asked).to.equal(before);
    const again = page.waitForResponse('**/metrics');
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    await again;
  });

  for (const dark of [false, true])
    it(`axe-core finds nothing in ${dark ? 'dark' : 'light'}, and nothing is wider than the window`, async () => {
      await owe();
      const page = await openOverview({ dark, bypassCSP: true });
      await says(page, 'Act now');
      for (const width of [360, 768, 1440]) {
        await page.setViewportSize({ width, height: 800 });
        expect(await tooWide(page), `${width}`).to.deep.equal([]);
        // Between these two it is laid out as at 360.
        if (width !== 768) expect(await violations(page), `${width}`).to.deep.equal([]);
      }
    });

  it('works under a password, also when the address holds it', async () => {
    const locked = await startOps({ ...platform, config: { ...config, OPS_PASSWORD: 'secret' } });
    try {
      const page = await open({ origin: `http://127.0.0.1:${locked.port}` });
      await page.goto(`http://ops:secret@127.0.0.1:${locked.port}/`);
      await says(page, 'normal');
    } finally {
      await locked.close();
    }
  });

  it('the queue dashboard shows every queue under its policy', async () => {
    const page = await open(site());
    await page.goto('/queues');
    for (const { name } of platform.queues) await page.getByRole('link', { name, exact: true }).first().waitFor();
  });
});
