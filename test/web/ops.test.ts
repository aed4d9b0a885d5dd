import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { startOps } from '../../apps/ops/start.ts';
import type { Listening } from '../../lib/base/http-server.ts';
import { createLog } from '../../lib/base/log.ts';
import { createMetrics } from '../../lib/base/metrics.ts';
import type { Running } from '../../lib/base/process.ts';
import { startMonitoring } from '../../lib/store/monitoring.ts';
import { type OpsPlatform, openOpsPlatform, openWorkerPlatform, type WorkerPlatform } from '../../lib/store/platform.ts';
import { prepareDatabase } from '../harness/migrations.ts';
import { testConfig } from '../harness/stores.ts';
import { findOverflow, violations } from './axe.ts';
import { usePages } from './browser.ts';

describe('operators’ overview in a browser', () => {
  const config = testConfig();
  const open = usePages();
  let worker: WorkerPlatform;
  let platform: OpsPlatform;
  let ops: Listening;
  let gateway: Running;
  const site = () => ({ origin: `http://127.0.0.1:${ops.port}` });
  const summary = (page: Page) => page.getByRole('status');
  /** Advances the clock of the page, which loads the overview every 5 s. */
  const advance = (page: Page, ms = 5_100) => page.clock.runFor(ms);
  const waitForStatus = async (page: Page, words: string): Promise<void> => summary(page).filter({ hasText: words }).waitFor();
  /** Advances the clock of the page until its status has these words, because ops collects the metrics at times of its own. */
  const advanceToStatus = async (page: Page, words: string): Promise<void> => {
    while (!(await summary(page).innerText()).includes(words)) {
      const loaded = page.waitForResponse('**/overview.json');
      await advance(page);
      await loaded;
    }
  };

  before(async () => {
    const [opened, opsPlatform] = await Promise.all([
      openWorkerPlatform(config, createLog('worker', 'silent')),
      openOpsPlatform(config, createLog('ops', 'silent')),
    ]);
    await prepareDatabase(config);
    worker = opened;
    // Healthy values, independent of the Redis of the tests and of the duration of the steps.
    const healthy = { memoryUsedBytes: 1, memoryMaxBytes: 100, evictionPolicy: 'noeviction', appendOnly: true };
    platform = { ...opsPlatform, readRedisInfo: async () => healthy, readWorkerHeartbeat: async () => Date.now() };
    ops = await startOps(platform, { collectIntervalMs: 50 });
    const metrics = createMetrics('gateway');
    metrics.sockets.set({ kind: 'bot' }, 7);
    gateway = await startMonitoring(platform, 'gateway', metrics.registry);
  });
  after(async () => {
    await ops.close();
    await gateway.close();
    await Promise.all([platform.close(), worker.close()]);
  });
  beforeEach(() => worker.db.messages.deleteMany({}));

  /** Adds an event that has been pending for a minute. */
  const addPendingEvent = () =>
    worker.db.messages.insertOne({ _id: '1', channelId: '1', outboxAt: new Date(Date.now() - 60_000) } as never);

  async function openOverview(look = {}): Promise<Page> {
    const page = await open(site(), undefined, look);
    await page.clock.install();
    await page.goto('/');
    await page.getByText('Last updated at').waitFor();
    return page;
  }

  it('refreshes automatically, and says what to do, in the row and in the summary', async () => {
    const page = await openOverview();
    await waitForStatus(page, 'Everything is normal.');
    await addPendingEvent();
    await advanceToStatus(page, 'Act now: Oldest undelivered event.');
    const row = page.getByRole('table', { name: 'Outbox' }).getByRole('row', { name: 'Oldest undelivered event' });
    expect(await row.innerText()).to.match(/\d (s|min) old[\s\S]+Critical[\s\S]+Check that a worker is running/);
    expect(await page.title()).to.equal('Critical · Parlance operations');
    await worker.db.messages.deleteMany({});
    await advanceToStatus(page, 'Everything is normal.');
  });

  it('says when the metrics cannot be loaded, keeps the last values, and recovers', async () => {
    const page = await openOverview();
    await waitForStatus(page, 'normal');
    await page.route('**/overview.json', (route) => route.abort());
    await advance(page);
    await waitForStatus(page, 'The metrics could not be loaded');
    expect(await page.getByRole('table', { name: 'Sockets' }).innerText()).to.contain('7 bots');
    await page.unroute('**/overview.json');
    await advance(page);
    await waitForStatus(page, 'normal');
  });

  it('loads nothing while it is hidden or paused, and loads at once when it is visible again', async () => {
    const page = await openOverview();
    await waitForStatus(page, 'normal');
    let requests = 0;
    page.on('request', (request) => {
      requests += Number(request.url().endsWith('/overview.json'));
    });
    // Passed as text: the compiler wraps functions in a helper that does not exist in the page.
    const setHidden = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${hidden} });
        document.dispatchEvent(new Event('visibilitychange'));`);
    await setHidden(true);
    await advance(page, 20_000);
    expect(requests).to.equal(0);
    const seen = page.waitForResponse('**/overview.json');
    await setHidden(false);
    await seen;
    await page.getByRole('button', { name: 'Pause' }).press('Space');
    await page.getByText('Paused.').waitFor();
    const before = requests;
    await advance(page, 20_000);
    expect(requests).to.equal(before);
    const again = page.waitForResponse('**/overview.json');
    await page.getByRole('button', { name: 'Pause' }).press('Enter');
    await again;
  });

  it('opens filled with the last hour of the server', async () => {
    const page = await openOverview();
    await waitForStatus(page, 'normal');
    const sockets = page.getByRole('table', { name: 'Sockets' });
    expect(await sockets.innerText()).to.contain('7 bots');
    // The line chart has values of the time before the page was opened.
    expect(await sockets.locator('.sparkline polyline').first().getAttribute('points')).to.match(/,\d/);
    expect(await sockets.getByRole('columnheader', { name: 'Last hour' }).count()).to.equal(1);
    expect(await page.getByRole('table', { name: 'Processes and stores' }).innerText()).to.contain('1 of 1 answer');
  });

  it('has no axe-core violations in the light and the dark theme, and is not wider than the window', async () => {
    await addPendingEvent();
    const page = await openOverview({ bypassCSP: true });
    await advanceToStatus(page, 'Act now');
    for (const width of [360, 768, 1440]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await findOverflow(page), `${width}`).to.deep.equal([]);
      // The layout at 768 is the same as at 360.
      if (width !== 768) expect(await violations(page), `${width}`).to.deep.equal([]);
    }
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await violations(page, ['color-contrast']), 'dark').to.deep.equal([]);
  });

  it('works with a password in the URL', async () => {
    const locked = await startOps({ ...platform, config: { ...config, OPS_PASSWORD: 'secret' } }, { collectIntervalMs: 50 });
    try {
      const page = await open({ origin: `http://127.0.0.1:${locked.port}` });
      await page.goto(`http://ops:secret@127.0.0.1:${locked.port}/`);
      await waitForStatus(page, 'normal');
    } finally {
      await locked.close();
    }
  });

  it('shows every queue in the queue dashboard', async () => {
    const page = await open(site());
    await page.goto('/queues');
    for (const { name } of platform.queues) await page.getByRole('link', { name, exact: true }).first().waitFor();
  });
});
