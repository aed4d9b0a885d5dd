import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../../apps/local/chromium.ts';
import { freePort } from '../../../apps/local/probe.ts';
import { type SeededServer, seedServer } from '../../harness/seed.ts';
import { launchArgs, sessionCookie } from '../../web/browser.ts';
import { aboveRow, type Row } from '../report.ts';
import { type Bench, openSetting } from '../setting.ts';
import { paced } from './latency.ts';

/** The number of messages in the measured channel, and how many arrive in it per second. */
const loaded = 5_000;
const perSec = 50;

/** A logged-in person in a browser. */
interface Visitor {
  browser: Browser;
  origin: string;
  token: string;
}

/** A page to visit, and how to detect that it has loaded. */
interface Visit {
  path: string;
  ready: (page: Page) => Promise<void>;
}

/** Opens a window with an empty cache in which the person is logged in. */
async function openWindow({ browser, origin, token }: Visitor): Promise<{ context: BrowserContext; page: Page }> {
  const context = await browser.newContext({ baseURL: origin, viewport: { width: 1280, height: 800 } });
  context.setDefaultTimeout(120_000);
  await context.addCookies([sessionCookie(origin, token)]);
  return { context, page: await context.newPage() };
}

/** Kilobytes of compressed script that a first visit to `path` loads until `ready` resolves. */
async function scriptBytes(visitor: Visitor, { path, ready }: Visit): Promise<number> {
  const { context, page } = await openWindow(visitor);
  const cdp = await context.newCDPSession(page);
  await cdp.send('Network.enable');
  const scripts = new Set<string>();
  let bytes = 0;
  cdp.on('Network.responseReceived', ({ requestId, type }) => void (type === 'Script' && scripts.add(requestId)));
  cdp.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) bytes += encodedDataLength;
  });
  await page.goto(path);
  await ready(page);
  await context.close();
  return bytes / 1000;
}

/** Milliseconds from the request for a page until `ready` resolves, with an empty cache. */
async function coldLoad(visitor: Visitor, { path, ready }: Visit): Promise<number> {
  const { context, page } = await openWindow(visitor);
  const began = performance.now();
  await page.goto(path, { waitUntil: 'commit' });
  await ready(page);
  const took = performance.now() - began;
  await context.close();
  return took;
}

/** The minimum for a page: one HTML file whose script fetches 50 messages and shows them. */
async function startBarePage(messages: unknown): Promise<{ origin: string; close(): void }> {
  const html = `<!doctype html><title>bare</title><ul id="list"></ul><textarea aria-label="Message"></textarea><script type="module">
    for (const one of await (await fetch('/messages')).json()) {
      const item = document.createElement('li');
      item.textContent = one.content;
      list.append(item);
    }
    document.body.dataset.ready = '';
  </script>`;
  const json = JSON.stringify(messages);
  const server = createServer((request, response) => {
    const page = request.url !== '/messages';
    response.writeHead(200, { 'Content-Type': page ? 'text/html' : 'application/json' }).end(page ? html : json);
  });
  await new Promise<void>((resolve) => server.listen(0, resolve));
  return { origin: `http://localhost:${(server.address() as AddressInfo).port}`, close: () => void server.close() };
}

const post = (origin: string, channelId: string, token: string, content: string): Promise<Response> =>
  fetch(`${origin}/api/channels/${channelId}/messages`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bot ${token}` },
    body: JSON.stringify({ content }),
  });

/** Scrolls up until the whole channel is loaded, and back to its end. */
async function loadAll(page: Page): Promise<void> {
  const list = page.locator('.message-scroll');
  const beginning = page.getByText('This is the beginning of this channel.');
  while (!(await beginning.isVisible()))
    await list.evaluate((element: { scrollTop: number }) => {
      element.scrollTop = 0;
    });
  await list.press('End');
}

/** How many tasks of the page take longer than 50 ms while messages arrive. */
async function longTasks(bench: Bench, page: Page, contentOf: (n: number) => string, send: (content: string) => void): Promise<number> {
  await page.evaluate('window.tasks = 0');
  const count = perSec * bench.seconds;
  await paced(count, perSec, (n) => send(contentOf(n)));
  // A locator would search the page in every frame and cause long tasks itself.
  const shown = `document.querySelector('.message-rows')?.textContent?.includes(${JSON.stringify(contentOf(count - 1))})`;
  while (!(await page.evaluate<boolean>(shown))) await setTimeout(500);
  return page.evaluate<number>('window.tasks');
}

async function measure(bench: Bench, browser: Browser, seeded: SeededServer, origin: string): Promise<Row[]> {
  const [bot] = seeded.bots;
  const [channelId = '', longId = ''] = seeded.channelIds;
  if (!bot) throw new Error('no bot');
  for (let n = 0; n < 60; n++) await post(origin, channelId, bot.token, `message ${n} of the channel that is opened`);
  const channel = (id: string): string => `/servers/${seeded.serverId}/${id}`;
  const usable: Visit = {
    path: channel(channelId),
    ready: async (page) => {
      await page.getByText('message 59 of the channel').waitFor();
      await page.getByRole('textbox', { name: /^Message/ }).waitFor();
    },
  };
  const portal: Visit = { path: '/developers', ready: (page) => page.getByRole('heading', { name: 'My applications' }).waitFor() };
  const answer = await fetch(`${origin}/api/channels/${channelId}/messages`, { headers: { Authorization: `Bot ${bot.token}` } });
  const bare = await startBarePage(await answer.json());
  const barePage: Visit = { path: '/', ready: (page) => page.locator('[data-ready]').waitFor() };
  const visitor: Visitor = { browser, origin, token: seeded.ownerToken };
  const [client, developers, cold, coldBare, tasks]: number[][] = [[], [], [], [], []] as number[][];
  const insert = Array.from({ length: loaded }, (_, n) => n);
  for (let at = 0; at < insert.length; at += 50)
    await Promise.all(
      insert.slice(at, at + 50).map((n) => post(origin, longId, bot.token, `old message ${n} with some words to fill its line`)),
    );
  const { context, page } = await openWindow(visitor);
  try {
    await page.goto(channel(longId));
    await page.getByRole('article').first().waitFor();
    await loadAll(page);
    await page.evaluate(`new PerformanceObserver((list) => (window.tasks += list.getEntries().length)).observe({ type: 'longtask' })`);
    for (let round = 0; round < bench.rounds; round++) {
      client?.push(await scriptBytes(visitor, usable));
      developers?.push(await scriptBytes(visitor, portal));
      cold?.push(await coldLoad(visitor, usable));
      coldBare?.push(await coldLoad({ browser, origin: bare.origin, token: '-' }, barePage));
      tasks?.push(
        await longTasks(
          bench,
          page,
          (n) => `arrives as ${n} of round ${round}.`,
          (content) => void post(origin, longId, bot.token, content),
        ),
      );
    }
  } finally {
    await context.close();
    bare.close();
  }
  return [
    aboveRow('script of the client, first visit, compressed', 'kB', client ?? [], null, 90),
    aboveRow('script of the portal, first visit, compressed', 'kB', developers ?? [], null, 90),
    aboveRow('cold load → usable channel', 'ms', cold ?? [], coldBare ?? [], 1_500),
    aboveRow(`tasks over 50 ms, ${perSec} messages/s in ${loaded} loaded`, 'tasks', tasks ?? [], null, 0),
  ];
}

/** Costs for browsers: bytes of script, a cold load compared with a page that only shows messages, and long tasks while messages arrive. */
export async function pageRows(bench: Bench): Promise<Row[]> {
  const executablePath = findChromium();
  if (!executablePath) {
    bench.log('pages: skipped, because no Chromium was found. Install one, or set CHROMIUM to its path.');
    return [];
  }
  const [port, gatewayPort] = [await freePort(), await freePort()];
  const origin = `http://localhost:${port}`;
  const setting = await openSetting(
    bench,
    { api: 1, gateway: 1, worker: 1 },
    { PORT: String(port), GATEWAY_PORT: String(gatewayPort), BASE_URL: origin, GATEWAY_URL: `ws://localhost:${gatewayPort}/gateway` },
  );
  const browser = await chromium.launch({ executablePath, args: launchArgs });
  try {
    return await measure(bench, browser, await seedServer(setting.platform, { bots: 1, channels: 2 }), origin);
  } finally {
    await browser.close();
    await setting.close();
  }
}
