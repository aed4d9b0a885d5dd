import { expect } from 'chai';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../apps/local/chromium.ts';
import { freePort } from '../../apps/local/probe.ts';
import type { Me } from '../../lib/contract/user.ts';
import { startParlance, type TestParlance } from '../harness/parlance.ts';

/** A complete Parlance that also serves the web client. */
export interface Site extends TestParlance {
  /** The origin of its pages, without a slash at the end. */
  origin: string;
}

/** Starts all roles with the pages of the last build (`npm run build`). */
export async function startSite(overrides: Record<string, string> = {}): Promise<Site> {
  const [port, gatewayPort] = [Number(overrides.PORT ?? (await freePort())), await freePort()];
  const origin = `http://localhost:${port}`;
  const parlance = await startParlance({
    PORT: String(port),
    GATEWAY_PORT: String(gatewayPort),
    BASE_URL: origin,
    GATEWAY_URL: `ws://localhost:${gatewayPort}/gateway`,
    ...overrides,
  });
  return { ...parlance, origin };
}

/** A person with an account, created by `signUp`. */
export interface Person {
  id: string;
  username: string;
  displayName: string;
  token: string;
  /** The Authorization value. */
  as: string;
}

let count = 0;

/** Creates an account over HTTP. */
export async function signUp(site: Pick<Site, 'call'>, displayName: string): Promise<Person> {
  const username = `${displayName.toLowerCase().replace(/[^a-z0-9_.]/g, '')}_${++count}`;
  const { status, body } = await site.call<{ user: Me; token: string }>('POST', '/api/auth/register', {
    body: { username, displayName, password: 'a good password' },
  });
  if (status !== 201) throw new Error(`register: ${status}`);
  return { id: body.user.id, username, displayName, token: body.token, as: `Bearer ${body.token}` };
}

/** The options of a window. By default it has the size of a laptop screen and the light theme. */
export interface WindowOptions {
  width?: number;
  height?: number;
  dark?: boolean;
  /** Disables the content security policy of the page, so that the test can run scripts in it, such as axe-core. */
  bypassCSP?: boolean;
}

/** A browser window with its own cookies. */
interface BrowserWindow {
  page: Page;
  kept: KeptContext;
  /** The script errors, violations of the content security policy, and requests to other hosts. */
  problems: string[];
}

/** The browser of this process. It is started at the first need, and ends some seconds after the last file that uses it, because many files follow each other. */
let launched: Promise<Browser> | undefined;
let closing: NodeJS.Timeout | undefined;
const idleMs = 3_000;

/** The arguments of the browser. They disable its own requests to other hosts, and let all pages of a context share a process (see `keepProcess`). */
export const launchArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--process-per-site',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Returns the session cookie that logs a window in at `origin`. */
export const sessionCookie = (origin: string, token: string) =>
  ({ name: 'parlance_session', value: token, url: origin, httpOnly: true, sameSite: 'Lax' }) as const;

/** A set of windows with the same cookies and cache. */
interface KeptContext {
  context: BrowserContext;
  /** An empty page that stays open (see `keepProcess`). */
  keeper: Page;
}

/**
 * Opens an empty page of `origin` in `context`. As long as it is open, all pages of the origin share its process, in which the scripts of the pages are already
 * compiled. A page costs half as much CPU time as in a process of its own.
 */
async function keepProcess(context: BrowserContext, origin: string): Promise<Page> {
  const keeper = await context.newPage();
  await keeper.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
  await keeper.goto(origin);
  return keeper;
}

const newContext = async (site: Pick<Site, 'origin'>, bypassCSP: boolean): Promise<KeptContext> => {
  launched ??= chromium.launch({ executablePath: findChromium() ?? '', args: launchArgs });
  const context = await (await launched).newContext({ baseURL: site.origin, bypassCSP, locale: 'en-GB' });
  context.setDefaultTimeout(60_000);
  return { context, keeper: await keepProcess(context, site.origin) };
};

/** Ends the browser of this process, if one was started and no file uses it soon. */
function closeBrowserLater(): void {
  closing = setTimeout(() => {
    const browser = launched;
    launched = undefined;
    void browser?.then((one) => one.close());
  }, idleMs);
}

/** Opens a page in `context`. What an earlier test has stored there is removed. */
async function openWindow(
  site: Pick<Site, 'origin'>,
  kept: KeptContext,
  as: Pick<Person, 'token'> | undefined,
  { width = 1280, height = 800, dark = false }: WindowOptions,
): Promise<BrowserWindow> {
  const { context, keeper } = kept;
  await context.clearCookies();
  if (as) await context.addCookies([sessionCookie(site.origin, as.token)]);
  await keeper.evaluate('localStorage.clear()');
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
  const problems: string[] = [];
  const { hostname } = new URL(site.origin);
  page.on('pageerror', (error) => problems.push(`script: ${error.message}`));
  page.on('console', (line) => {
    // The browser itself logs HTTP errors and failed gateway connections, which tests cause on purpose.
    if (line.type() === 'error' && !/^(Failed to load resource|WebSocket connection to)/.test(line.text()))
      problems.push(`console: ${line.text()}`);
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.hostname !== hostname) problems.push(`request to ${url.origin}`);
  });
  context.on('response', (response) => {
    const { warnings } = response.headers();
    if (warnings) problems.push(`${response.request().method()} ${new URL(response.url()).pathname}: ${warnings}`);
  });
  return { page, kept, problems };
}

/** Closes the pages of a context, so that another test can use it. */
async function clearContext({ context, keeper }: KeptContext): Promise<void> {
  context.removeAllListeners('request');
  context.removeAllListeners('response');
  await context.setOffline(false);
  const windows = context.pages().filter((page) => page !== keeper);
  await Promise.all(windows.map((page) => page.close()));
}

/** Opens a window in which `as` is logged in. It does not show a page yet. */
export type OpenPage = (site: Pick<Site, 'origin'>, as?: Pick<Person, 'token'>, options?: WindowOptions) => Promise<Page>;

/**
 * Returns a function that opens windows for the tests of the calling file. Each window is closed when its test ends; its cache stays for the next one. A test
 * fails when a script fails in a window, when the content security policy is violated, or when a page makes a request to another host or with an unknown
 * field. A failed test prints the text of its windows. The tests are skipped when there is no browser.
 */
export function usePages(): OpenPage {
  const windows: BrowserWindow[] = [];
  /** The contexts of this file, each with what cannot be changed in it. */
  const contexts: { kind: string; kept: Promise<KeptContext>; isUsed: boolean }[] = [];
  before(function () {
    clearTimeout(closing);
    if (!findChromium()) this.skip();
  });
  afterEach(async function () {
    const all = windows.splice(0);
    if (this.currentTest?.isFailed())
      for (const { page, problems } of all) {
        const text = await page
          .locator('body')
          .innerText({ timeout: 1_000 })
          .catch(() => '');
        process.stderr.write(`${page.url()} showed:\n${text.slice(0, 3_000)}\n${problems.join('\n')}\n`);
      }
    await Promise.all(all.map(({ kept }) => clearContext(kept)));
    for (const one of contexts) one.isUsed = false;
    const problems = all.flatMap((one) => one.problems);
    if (!this.currentTest?.isFailed()) expect(problems).to.deep.equal([]);
  });
  after(async () => {
    await Promise.all(contexts.map(async ({ kept }) => (await kept).context.close()));
    closeBrowserLater();
  });
  return async (site, as, options = {}) => {
    const { bypassCSP = false } = options;
    const kind = `${site.origin} ${bypassCSP}`;
    const unused = contexts.find((one) => one.kind === kind && !one.isUsed);
    const used = unused ?? { kind, kept: newContext(site, bypassCSP), isUsed: false };
    if (!unused) contexts.push(used);
    used.isUsed = true;
    const window = await openWindow(site, await used.kept, as, options);
    windows.push(window);
    return window.page;
  };
}
