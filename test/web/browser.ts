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
  context: BrowserContext;
  /** The script errors, violations of the content security policy, and requests to other hosts. */
  problems: string[];
}

let launched: Promise<Browser> | undefined;
/** The arguments of the browser. They disable its own requests to other hosts. */
export const launchArgs = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Returns the session cookie that logs a window in at `origin`. */
export const sessionCookie = (origin: string, token: string) =>
  ({ name: 'parlance_session', value: token, url: origin, httpOnly: true, sameSite: 'Lax' }) as const;

/** Whether there is a browser to test with. */
const hasBrowser = (): boolean => findChromium() !== null;

/** Returns the browser of this process; starts it at the first call. */
function browser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: findChromium() ?? '', args: launchArgs });
  return launched;
}

/** Ends the browser of this process, if one was started. */
async function closeBrowser(): Promise<void> {
  const closing = launched;
  launched = undefined;
  await (await closing)?.close();
}

async function openWindow(
  site: Pick<Site, 'origin'>,
  as: Pick<Person, 'token'> | undefined,
  options: WindowOptions,
): Promise<BrowserWindow> {
  const { width = 1280, height = 800, dark = false, bypassCSP = false } = options;
  const context = await (await browser()).newContext({
    baseURL: site.origin,
    viewport: { width, height },
    colorScheme: dark ? 'dark' : 'light',
    bypassCSP,
    locale: 'en-GB',
  });
  context.setDefaultTimeout(60_000);
  if (as) await context.addCookies([sessionCookie(site.origin, as.token)]);
  const page = await context.newPage();
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
  return { page, context, problems };
}

/** Opens a window in which `as` is logged in. It does not show a page yet. */
export type OpenPage = (site: Pick<Site, 'origin'>, as?: Pick<Person, 'token'>, options?: WindowOptions) => Promise<Page>;

/**
 * Returns a function that opens windows for the tests of the calling file. Each window is closed when its test ends. A test fails when a script fails in a
 * window, when the content security policy is violated, or when a page makes a request to another host or with an unknown field. A failed test prints the text of its windows. The
 * tests are skipped when there is no browser.
 */
export function usePages(): OpenPage {
  const windows: BrowserWindow[] = [];
  before(function () {
    if (!hasBrowser()) this.skip();
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
    await Promise.all(all.map(({ context }) => context.close()));
    const problems = all.flatMap((one) => one.problems);
    if (!this.currentTest?.isFailed()) expect(problems).to.deep.equal([]);
  });
  after(closeBrowser);
  return async (site, as, options = {}) => {
    const window = await openWindow(site, as, options);
    windows.push(window);
    return window.page;
  };
}
