import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { findChromium } from '../../apps/local/chromium.ts';
import { seed } from '../../apps/local/seed.ts';
import { launchArgs, sessionCookie, startSite } from './browser.ts';
import { openPage, shownPages } from './shown-pages.ts';

/*
 * `npx tsx test/web/pictures.ts <folder> [names…]` takes screenshots of every page of the client with the demo data, at three widths and in both themes, to
 * review a change of the pages. It uses the stores of MONGODB_URL and REDIS_URL.
 */
const [folder = 'pictures', ...names] = process.argv.slice(2);
await mkdir(folder, { recursive: true });
const site = await startSite();
const notes = await mkdtemp(join(tmpdir(), 'parlance-pictures-'));
const browser = await chromium.launch({ executablePath: findChromium() ?? '', args: launchArgs });
try {
  const demo = await seed(site.origin, notes);
  for (const dark of [false, true])
    for (const width of [360, 768, 1440]) {
      const context = await browser.newContext({
        baseURL: site.origin,
        viewport: { width, height: width === 360 ? 740 : 900 },
        colorScheme: dark ? 'dark' : 'light',
        reducedMotion: 'reduce',
      });
      await context.addCookies([sessionCookie(site.origin, demo.person.token)]);
      const page = await context.newPage();
      for (const name of names.length ? names : Object.keys(shownPages)) {
        await openPage(page, demo, name);
        await page.waitForLoadState('networkidle');
        await page.screenshot({ path: join(folder, `${name.replaceAll(' ', '-')}-${width}-${dark ? 'dark' : 'light'}.png`) });
      }
      await context.close();
    }
} finally {
  await browser.close();
  await site.close();
  await rm(notes, { recursive: true, force: true });
}
process.exit();
