import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
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

  describe('has no axe-core violations in the light and the dark theme, and is not wider than a phone', () => {
    for (const name of Object.keys(shownPages))
      it(name, async () => {
        const page = await open(site, demo.person, { bypassCSP: true });
        await page.setViewportSize({ width: 1280, height: 800 });
        await openPage(page, demo, name);
        const inLight = await violations(page);
        await page.emulateMedia({ colorScheme: 'dark' });
        const inDark = await violations(page, ['color-contrast']);
        await page.emulateMedia({ colorScheme: 'light' });
        await page.setViewportSize({ width: 360, height: 740 });
        expect({ inLight, inDark, widerThanPhone: await findOverflow(page) }).to.deep.equal({
          inLight: [],
          inDark: [],
          widerThanPhone: [],
        });
      });
  });

  it('the login, register and invite pages have no violations and fit a phone, too', async () => {
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${demo.server.id}/invites`, {
      as: `Bearer ${demo.person.token}`,
      body: {},
    });
    const link = await site.call<{ code: string }>('POST', '/api/auth/codes', { as: `Bearer ${demo.person.token}`, body: {} });
    for (const dark of [false, true]) {
      const page = await open(site, undefined, { dark, width: 360, bypassCSP: true });
      for (const path of ['/login', '/register', `/invite/${invite.body.code}`, `/login#code=${link.body.code}`]) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await violations(page), path).to.deep.equal([]);
        expect(await findOverflow(page), path).to.deep.equal([]);
      }
    }
  });
});
