import { expect } from 'chai';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { findChromium } from '../../apps/local/chromium.ts';
import { freePort } from '../../apps/local/probe.ts';
import type { Me } from '../../lib/contract/user.ts';
import { startWhole, type Whole } from '../harness/whole.ts';

/** A whole Parlance that serves its pages, on the address that browsers know it by. */
export interface Site extends Whole {
  /** What stands in a browser's address bar, without a slash at the end. */
  origin: string;
}

/** Starts all roles with the pages of the last build (`npm run build`). */
export async function startSite(overrides: Record<string, string> = {}): Promise<Site> {
  const [port, gatewayPort] = [await freePort(), await freePort()];
  const origin = `http://localhost:${port}`;
  const whole = await startWhole({
    PORT: String(port),
    GATEWAY_PORT: String(gatewayPort),
    BASE_URL: origin,
    GATEWAY_URL: `ws://localhost:${gatewayPort}/gateway`,
    ...overrides,
  });
  return { ...whole, origin };
}

/** A person with an account, as `signUp` made it. */
export interface Person {
  id: string;
  username: string;
  displayName: string;
  token: string;
  /** The Authorization value. */
  as: string;
}

let count = 0;

/** Makes a person's account over HTTP. */
export async function signUp(site: Pick<Site, 'call'>, displayName: string): Promise<Person> {
  const username = `${displayName.toLowerCase().replace(/[^a-z0-9_.]/g, '')}_${++count}`;
  const { status, body } = await site.call<{ user: Me; token: string }>('POST', '/api/auth/register', {
    body: { username, displayName, password: 'a good password' },
  });
  if (status !== 201) throw new Error(`register: ${status}`);
  return { id: body.user.id, username, displayName, token: body.token, as: `Bearer ${body.token}` };
}

/** What a window is like; a laptop's in light colours by default. */
export interface Look {
  width?: number;
  height?: number;
  dark?: boolean;
  /** Lets scripts of the test run in the page although its policy forbids them: only to examine it. */
  bypassCSP?: boolean;
}

/** A browser window of its own, with cookies of its own. */
interface Screen {
  page: Page;
  context: BrowserContext;
  /** What went wrong in it: errors of scripts, breaches of the page's policy, requests to other origins. */
  problems: string[];
}

let launched: Promise<Browser> | undefined;
/** What the browser is started with: nothing of it asks another host. */
export const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The cookie that logs a window in at `origin`. */
export const sessionCookie = (origin: string, token: string) =>
  ({ name: 'parlance_session', value: token, url: origin, httpOnly: true, sameSite: 'Lax' }) as const;

/** Whether there is a browser to test with. */
const hasBrowser = (): boolean => findChromium() !== null;

/** The one browser of this process, started at its first use. */
function browser(): Promise<Browser> {
  launched ??= chromium.launch({ executablePath: findChromium() ?? '', args: flags });
  return launched;
}

/** Ends the browser of this process, if one was started. */
async function closeBrowser(): Promise<void> {
  const ending = launched;
  launched = undefined;
  await (await ending)?.close();
}

async function openScreen(site: Pick<Site, 'origin'>, as: Pick<Person, 'token'> | undefined, look: Look): Promise<Screen> {
  const { width = 1280, height = 800, dark = false, bypassCSP = false } = look;
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
    // A refusal that the page shows is written here too, by the browser itself, and so is a gateway that is away.
    if (line.type() === 'error' && !/^(Failed to load resource|WebSocket connection to)/.test(line.text()))
      problems.push(`console: ${line.text()}`);
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (!['data:', 'blob:'].includes(url.protocol) && url.hostname !== hostname) problems.push(`asked ${url.origin}`);
  });
  return { page, context, problems };
}

/** Opens a window; `as` is logged in there already. It stands on no page yet. */
export type Open = (site: Pick<Site, 'origin'>, as?: Pick<Person, 'token'>, look?: Look) => Promise<Page>;

/**
 * Windows for the tests of the file that calls this: each is closed when its test ends, and a test fails when a script failed in one, when the page's policy
 * was broken or when another origin was asked. A failed test says what its windows showed. Without a browser the tests are skipped.
 */
export function useScreens(): Open {
  const screens: Screen[] = [];
  before(function () {
    if (!hasBrowser()) this.skip();
  });
  afterEach(async function () {
    const all = screens.splice(0);
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
  return async (site, as, look = {}) => {
    const screen = await openScreen(site, as, look);
    screens.push(screen);
    return screen.page;
  };
}
