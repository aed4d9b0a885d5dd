import type { Page } from 'playwright-core';
import type { Demo } from '../../apps/local/demo-notes.ts';

/** How each page of the client is reached, and what tells that it is there. */
interface Shown {
  path: (demo: Demo) => string;
  heading: string | RegExp;
  /** Opens what stands over or beside the page. */
  opens?: (page: Page) => Promise<unknown>;
}

const channel = ({ server }: Demo): string => `/servers/${server.id}/${server.channelId}`;
const settings = (page: string) => (demo: Demo) => `/servers/${demo.server.id}/settings/${page}`;

/** Every page of the client and the portal by a name of its own, with what stands over or beside one. The demo's person sees them. */
export const shownPages: Record<string, Shown> = {
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
  'page not found': { path: () => '/nothing', heading: 'Page not found' },
};
for (const page of ['profile', 'status', 'account', 'appearance', 'developer'])
  shownPages[`own ${page}`] = { path: () => `/settings/${page}`, heading: /settings/i };
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
  shownPages[`server ${page}`] = { path: settings(page), heading: /./ };
for (const page of ['general', 'bot', 'commands', 'install', 'directory', 'first-bot'])
  shownPages[`portal ${page}`] = {
    path: ({ application }) => `/developers/${application.id}/${page === 'general' ? '' : page}`,
    heading: /./,
    opens: (open) => open.getByRole('main').getByRole('heading').first().waitFor(),
  };
shownPages['portal applications'] = {
  path: () => '/developers',
  heading: 'My applications',
  opens: (page) => page.getByRole('button', { name: 'New application' }).click(),
};

/** Goes to a page of the table, and waits until what it reads from the service is there. */
export async function openPage(page: Page, demo: Demo, name: string): Promise<void> {
  const shown = shownPages[name];
  if (!shown) throw new Error(`no page ${name}`);
  await page.goto(shown.path(demo));
  await page.getByRole('heading', { name: shown.heading }).first().waitFor();
  await shown.opens?.(page);
  await page.locator('.spinner').first().waitFor({ state: 'detached' });
}
