import type { Page } from 'playwright-core';
import type { Demo } from '../../apps/local/demo-notes.ts';

/** How a page is opened, and the heading that shows that it is loaded. */
interface PageEntry {
  path: (demo: Demo) => string;
  heading: string | RegExp;
  /** Opens a dialog or panel of the page. */
  open?: (page: Page, demo: Demo) => Promise<unknown>;
}

const channel = ({ server }: Demo): string => `/servers/${server.id}/${server.channelId}`;
const settings = (page: string) => (demo: Demo) => `/servers/${demo.server.id}/settings/${page}`;

/** Every page of the client and the portal by a unique name, and dialogs and panels of them, as the demo user sees them. */
export const shownPages: Record<string, PageEntry> = {
  home: { path: () => '/', heading: /^Hello/ },
  'reset password': { path: () => '/reset-password', heading: 'Choose a new password' },
  'failed sign-in': { path: () => '/sign-in?error=expired', heading: 'Login with SSO failed' },
  channel: { path: channel, heading: 'general' },
  'pinned messages': { path: channel, heading: 'general', open: (page) => page.getByRole('button', { name: 'Pinned messages' }).click() },
  threads: { path: channel, heading: 'general', open: (page) => page.getByRole('button', { name: 'Threads' }).click() },
  profile: {
    path: channel,
    heading: 'general',
    open: async (page) => {
      await page.getByRole('article').getByRole('button', { name: 'Ada', exact: true }).first().click();
      await page.getByRole('dialog').getByText('Member since').waitFor();
    },
  },
  'emoji picker': {
    path: channel,
    heading: 'general',
    open: async (page) => {
      await page.getByRole('button', { name: 'Emoji', exact: true }).click();
      await page.getByLabel('Search emoji').waitFor();
    },
  },
  commands: {
    path: channel,
    heading: 'general',
    open: async (page) => {
      await page.getByRole('textbox', { name: 'Message general' }).fill('/');
      await page.getByRole('option').first().waitFor();
    },
  },
  'quick switcher': { path: channel, heading: 'general', open: (page) => page.keyboard.press('Control+k') },
  'keyboard shortcuts': { path: channel, heading: 'general', open: (page) => page.keyboard.press('Control+/') },
  discovery: { path: () => '/discovery', heading: 'Discovery' },
  apps: { path: () => '/apps', heading: /App/ },
  'page not found': { path: () => '/nothing', heading: 'Page not found' },
  'file not found': { path: () => '/files/nothing/photo.png', heading: 'File not found' },
};
shownPages['two-factor authentication'] = {
  path: () => '/settings/account',
  heading: 'Two-factor authentication',
  open: async (page, { person }) => {
    await page.getByRole('button', { name: 'Turn on two-factor authentication' }).click();
    await page.getByLabel('Your password').fill(person.password);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('img', { name: /^QR code/ }).waitFor();
  },
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
    open: (open) => open.getByRole('main').getByRole('heading').first().waitFor(),
  };
shownPages['portal applications'] = {
  path: () => '/developers',
  heading: 'My applications',
  open: (page) => page.getByRole('button', { name: 'New application' }).click(),
};
for (const page of ['', '/messages', '/gateway', '/events', '/permissions', '/errors', '/limits', '/types'])
  shownPages[`reference${page.replace('/', ' ')}`] = { path: () => `/developers/reference${page}`, heading: /^[A-Z]/ };
shownPages['reference try it'] = {
  path: () => '/developers/reference/interactions#answerInteraction',
  heading: 'Answer interaction',
  open: (page) => page.getByRole('button', { name: 'Try it: answerInteraction' }).click(),
};
shownPages['reference search'] = {
  path: () => '/developers/reference',
  heading: 'API reference',
  open: (page) => page.getByRole('combobox').fill('message'),
};
for (const guide of ['first-bot', 'permissions', 'from-discord', 'without-a-kit', 'javascript-kit', 'python-kit'])
  shownPages[`guide ${guide}`] = { path: () => `/developers/guides/${guide}`, heading: /^[A-Z]/ };
shownPages['reference guides'] = { path: () => '/developers/guides', heading: 'Guides' };

/** Opens a page of `shownPages`, and waits until its data are loaded. */
export async function openPage(page: Page, demo: Demo, name: string): Promise<void> {
  const entry = shownPages[name];
  if (!entry) throw new Error(`no page ${name}`);
  await page.goto(entry.path(demo));
  await page.getByRole('heading', { name: entry.heading }).first().waitFor();
  // The list of channels has a heading, too. It is shown before the code of a page is loaded.
  await page.getByRole('main').first().waitFor();
  await entry.open?.(page, demo);
  await page.locator('.spinner').first().waitFor({ state: 'detached' });
}
