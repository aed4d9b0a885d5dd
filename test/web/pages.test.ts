import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Demo } from '../../apps/local/demo-notes.ts';
import { seed } from '../../apps/local/seed.ts';
import { findOverflow, violations } from './axe.ts';
import { type Site, startSite, usePages } from './browser.ts';
import { openPage, shownPages } from './shown-pages.ts';

describe('web: every page of the client and the portal', () => {
  let site: Site;
  let demo: Demo;
  let folder = '';
  const open = usePages();

  before(async () => {
    [site, folder] = await Promise.all([startSite(), mkdtemp(join(tmpdir(), 'parlance-pages-'))]);
    demo = await seed(site.origin, folder);
  });
  after(async () => {
    await site?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Returns what is wrong with the page that is open: in the light and the dark theme, and on a phone. */
  const examine = async (page: Page): Promise<string[]> => {
    const inLight = await violations(page);
    await page.emulateMedia({ colorScheme: 'dark' });
    const inDark = await violations(page, ['color-contrast']);
    await page.emulateMedia({ colorScheme: 'light' });
    await page.setViewportSize({ width: 360, height: 740 });
    const widerThanPhone = await findOverflow(page);
    await page.setViewportSize({ width: 1280, height: 800 });
    return [...inLight, ...inDark, ...widerThanPhone];
  };

  for (const group of ['', 'own', 'server', 'portal', 'reference', 'guide'])
    it(`${group || 'other'} pages have no axe-core violations in the light and the dark theme, and are not wider than a phone`, async () => {
      const page = await open(site, demo.person, { bypassCSP: true });
      const groupOf = (name: string): string => /^(own|server|portal|reference|guide) /.exec(`${name} `)?.[1] ?? '';
      for (const name of Object.keys(shownPages).filter((one) => groupOf(one) === group)) {
        await openPage(page, demo, name);
        expect(await examine(page), name).to.deep.equal([]);
      }
    });

  it('the login, register and invite pages have no violations and fit a phone, too', async () => {
    const as = `Bearer ${demo.person.token}`;
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${demo.server.id}/invites`, { as, body: {} });
    const link = await site.call<{ code: string }>('POST', '/api/auth/codes', { as, body: {} });
    const page = await open(site, undefined, { bypassCSP: true });
    for (const path of ['/login', '/register', `/invite/${invite.body.code}`, `/login#code=${link.body.code}`]) {
      await page.goto(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      expect(await examine(page), path).to.deep.equal([]);
    }
  });
});
