import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Demo } from '../../apps/local/demo-notes.ts';
import { seed } from '../../apps/local/seed.ts';
import { tooWide, violations } from './axe.ts';
import { type Site, startSite, useScreens } from './browser.ts';

/** How each page of the client is reached, and what tells that it is there. */
interface Shown {
  path: (demo: Demo) => string;
  heading: string | RegExp;
  /** Opens what stands over or beside the page. */
  opens?: (page: Page) => Promise<unknown>;
}

const channel = ({ server }: Demo): string => `/servers/${server.id}/${server.channelId}`;
const settings = (page: string) => (demo: Demo) => `/servers/${demo.server.id}/settings/${page}`;

const shown: Record<string, Shown> = {
  home: { path: () => '/', heading: /^Hello/ },
  channel: { path: channel, heading: 'general' },
  'pinned messages': { path: channel, heading: 'general', opens: (page) => page.getByRole('button', { name: 'Pinned messages' }).click() },
  threads: { path: channel, heading: 'general', opens: (page) => page.getByRole('button', { name: 'Threads' }).click() },
  profile: {
    path: channel,
    heading: 'general',
    opens: async (page) => {
      await page.getByRole('article').getByRole('button', { name: 'Ada', exact: true }).first().click();
      await page.getByRole('dialog').getByText('Here since').waitFor();
    },
  },
  'emoji picker': {
    path: channel,
    heading: 'general',
    opens: async (page) => {
      await page.getByRole('button', { name: 'Emoji', exact: true }).click();
      await page.getByLabel('Search emoji').waitFor();
    },
  },
  commands: {
    path: channel,
    heading: 'general',
    opens: async (page) => {
      await page.getByRole('textbox', { name: 'Message general' }).fill('/');
      await page.getByRole('option').first().waitFor();
    },
  },
  'places by name': { path: channel, heading: 'general', opens: (page) => page.keyboard.press('Control+k') },
  keys: { path: channel, heading: 'general', opens: (page) => page.keyboard.press('Control+/') },
  discovery: { path: () => '/discovery', heading: 'Discovery' },
  apps: { path: () => '/apps', heading: /App/ },
  'not here': { path: () => '/servers/1', heading: 'Not here' },
};
for (const page of ['profile', 'status', 'appearance', 'developer'])
  shown[`own ${page}`] = { path: () => `/settings/${page}`, heading: /settings/i };
for (const page of [
  'overview',
  'channels',
  'roles',
  'members',
  'bans',
  'invites',
  'webhooks',
  'followers',
  'community',
  'discovery',
  'audit-log',
  'about',
])
  shown[`server ${page}`] = { path: settings(page), heading: /./ };

describe('web: every page of the client', function () {
  this.timeout(300_000);
  let site: Site;
  let demo: Demo;
  let folder = '';
  const open = useScreens();

  before(async () => {
    [site, folder] = await Promise.all([startSite(), mkdtemp(join(tmpdir(), 'parlance-pages-'))]);
    demo = await seed(site.origin, folder);
  });
  after(async () => {
    await site?.close();
    await rm(folder, { recursive: true, force: true });
  });

  for (const dark of [false, true])
    it(`axe-core finds nothing wrong in ${dark ? 'dark' : 'light'} colours, and nothing is wider than a phone`, async () => {
      const page = await open(site, demo.person, { dark, bypassCSP: true });
      const wrong: string[] = [];
      for (const [name, { path, heading, opens }] of Object.entries(shown)) {
        await page.setViewportSize({ width: 1280, height: 800 });
        await page.goto(path(demo));
        await page.getByRole('heading', { name: heading }).first().waitFor();
        await opens?.(page);
        // What is read from the service is there before it is judged.
        await page.locator('.spinner').first().waitFor({ state: 'detached' });
        wrong.push(...(await violations(page)).map((one) => `${name}: ${one}`));
        await page.setViewportSize({ width: 360, height: 740 });
        wrong.push(...(await tooWide(page)).map((one) => `${name}: wider than a phone: ${one}`));
      }
      expect(wrong.join('\n')).to.equal('');
    });

  it('the ways in too', async () => {
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${demo.server.id}/invites`, {
      as: `Bearer ${demo.person.token}`,
      body: {},
    });
    for (const dark of [false, true]) {
      const page = await open(site, undefined, { dark, width: 360, bypassCSP: true });
      for (const path of ['/login', '/register', `/invite/${invite.body.code}`]) {
        await page.goto(path);
        await page.getByRole('heading', { level: 1 }).waitFor();
        expect(await violations(page), path).to.deep.equal([]);
        expect(await tooWide(page), path).to.deep.equal([]);
      }
    }
  });
});
