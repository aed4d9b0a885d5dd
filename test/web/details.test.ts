import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import { type Bot, makeBot } from '../harness/factories.ts';
import { send } from '../harness/requests.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: details of the pages', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openPage, openChannel } = fixture;
  let bot: Bot;
  before(async () => {
    bot = await makeBot(fixture.site, fixture.ada, fixture.server.id);
    const option = (name: string) => ({ name, type: 'string', required: false, description: `the ${name}` });
    await send(fixture.site, 200, bot, 'PUT', `/api/applications/${bot.applicationId}/commands`, [
      { name: 'maybe', description: 'Has optional options', options: [option('first'), option('second')] },
    ]);
  });

  it('opens a field for a command whose options are all optional, and takes what is typed', async () => {
    const page = await openChannel(fixture.ada, await newChannel('optional'));
    await page.getByRole('textbox', { name: 'Message optional' }).pressSequentially('/maybe');
    await page.getByRole('option', { name: /maybe/ }).click();
    await page.getByRole('form', { name: 'Command maybe' }).waitFor();
    await page.keyboard.type('typed at once');
    expect(await page.getByLabel('first').first().inputValue()).to.equal('typed at once');
  });

  it('shows a message that covers neither the composer nor its buttons, and does not repeat the counter', async () => {
    const page = await openPage(fixture.bob);
    for (const width of [360, 1440]) {
      const channelId = await newChannel('covered');
      await page.setViewportSize({ width, height: 740 });
      await page.goto(`/servers/${fixture.server.id}/${channelId}`);
      const field = page.getByRole('textbox', { name: 'Message covered' });
      await field.fill('x'.repeat(4_100));
      await field.press('Enter');
      await page.getByText('too many').waitFor();
      expect(await page.locator('.toasts p').count()).to.equal(0);
      await field.fill('later');
      await request(fixture.ada, 'DELETE', `/api/channels/${channelId}`);
      const box = await page.locator('.toasts p').first().boundingBox();
      expect((box?.y ?? 0) + (box?.height ?? 740)).to.be.lessThan(740 - 150);
    }
  });

  const dialogs: Record<string, { path: () => string; open: (page: Page) => Promise<unknown>; focus: string }> = {
    'create channel': {
      path: () => `/servers/${fixture.server.id}/settings/channels`,
      open: (page) => page.getByRole('button', { name: 'Create channel' }).click(),
      focus: 'Name',
    },
    'create role': {
      path: () => `/servers/${fixture.server.id}/settings/roles`,
      open: (page) => page.getByRole('button', { name: 'Create role' }).click(),
      focus: 'Name',
    },
    'add a server': {
      path: () => '/',
      open: (page) => page.getByRole('button', { name: 'Create or join a server' }).click(),
      focus: 'Server name',
    },
    'new application': {
      path: () => '/developers',
      open: (page) => page.getByRole('button', { name: 'New application' }).click(),
      focus: 'Name',
    },
    'turn on two-factor authentication': {
      path: () => '/settings/account',
      open: (page) => page.getByRole('button', { name: /^Turn on two-factor/ }).click(),
      focus: 'Your password',
    },
  };
  it('focuses the first field of a dialog', async () => {
    const page = await openPage(fixture.ada);
    for (const [name, { path, open, focus }] of Object.entries(dialogs)) {
      await page.goto(path());
      await open(page);
      await page.getByRole('dialog').waitFor();
      const found = await page.evaluate(
        'document.activeElement.labels?.[0]?.textContent ?? document.activeElement.getAttribute("aria-label") ?? document.activeElement.tagName',
      );
      expect(found, name).to.match(new RegExp(`^${focus}`));
    }
  });

  it('focuses the main action of a dialog without fields', async () => {
    const channelId = await newChannel('confirm');
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: 'without files' });
    const page = await openChannel(fixture.ada, channelId);
    await page.getByRole('article').hover();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete message?' });
    await dialog.getByText('This cannot be undone.').waitFor();
    expect(await dialog.innerText()).to.not.include('files are deleted');
    expect(await page.evaluate('document.activeElement.textContent')).to.equal('Delete');
  });

  it('keeps the conversation visible when the page becomes narrow, as at 200 % zoom', async () => {
    const page = await openChannel(fixture.ada, await newChannel('zoomed'), { width: 1440, height: 900 });
    await page.getByRole('complementary', { name: 'Members' }).waitFor();
    await page.setViewportSize({ width: 720, height: 450 });
    await page.getByRole('complementary', { name: 'Members' }).waitFor({ state: 'detached' });
  });

  it('opens the channel after it was created, and shows the webhooks of the channel that has some', async () => {
    const page = await openPage(fixture.ada);
    await page.goto(`/servers/${fixture.server.id}/settings/channels`);
    await page.getByRole('button', { name: 'Create channel' }).click();
    await page.getByRole('dialog').getByLabel('Name').fill('fresh');
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /create/i })
      .click();
    await page.getByRole('textbox', { name: 'Message fresh' }).waitFor();
    const channelId = page.url().split('/').at(-1);
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/webhooks`, { name: 'Deploys' });
    await page.goto(`/servers/${fixture.server.id}/settings/webhooks`);
    await page.getByRole('heading', { name: 'Deploys' }).waitFor();
  });

  it('says in a voice channel that voice calls are not supported, and shows no composer', async () => {
    const at = `/api/servers/${fixture.server.id}/channels`;
    const voice = await request<Channel>(fixture.ada, 'POST', at, { name: 'bridge', kind: 'voice' });
    const page = await openChannel(fixture.bob, voice.id);
    await page.getByRole('heading', { name: 'bridge', level: 1 }).waitFor();
    await page.getByText('Parlance doesn’t support voice calls yet').waitFor();
    expect(await page.getByRole('textbox').count()).to.equal(0);
  });

  it('names values in the audit log in words', async () => {
    const channelId = await newChannel('audited');
    await request<Channel>(fixture.ada, 'PATCH', `/api/channels/${channelId}`, { contentMode: 'age_restricted' });
    const page = await openPage(fixture.ada);
    await page.goto(`/servers/${fixture.server.id}/settings/audit-log`);
    await page.getByText('no restriction → age-restricted').waitFor();
    expect(
      await page
        .locator('.audit-entry')
        .allInnerTexts()
        .then((all) => all.join('\n')),
    ).to.not.match(/[a-z]_[a-z]/);
  });

  it('keeps the name of a channel readable beside a long topic', async () => {
    const channelId = await newChannel('quite-a-long-name-for-a-channel');
    await request<Channel>(fixture.ada, 'PATCH', `/api/channels/${channelId}`, { topic: 'topic '.repeat(100) });
    const page = await openChannel(fixture.ada, channelId, { width: 1440 });
    const heading = page.getByRole('heading', { name: 'quite-a-long-name-for-a-channel', level: 1 });
    await heading.waitFor();
    expect(await heading.evaluate((one) => one.scrollWidth <= one.clientWidth)).to.equal(true);
  });

  it('shows no empty line after a code block, and the current channel as current under the pointer', async () => {
    const channelId = await newChannel('blocks');
    await request(fixture.ada, 'POST', `/api/channels/${channelId}/messages`, { content: '```\ncode\n```\nafter' });
    const page = await openChannel(fixture.ada, channelId);
    await page.getByRole('article').waitFor();
    expect(await page.locator('article .markup').evaluate((one) => one.lastChild?.textContent)).to.equal('after');
    const row = page.locator('.channel-row[aria-current]');
    const color = (): Promise<unknown> =>
      page.evaluate(`getComputedStyle(document.querySelector('.channel-row[aria-current]')).backgroundColor`);
    const before = await color();
    await row.hover();
    expect(await color()).to.equal(before);
  });

  it('offers :tada: before emoji of which less is typed', async () => {
    const page = await openChannel(fixture.ada, await newChannel('ranked'));
    await page.getByRole('textbox', { name: 'Message ranked' }).pressSequentially(':ta');
    await page.getByRole('option').first().waitFor();
    const names = await page.getByRole('option').allInnerTexts();
    const at = (name: string): number => names.findIndex((text) => text.includes(`:${name}:`));
    expect(at('tada')).to.be.greaterThan(-1);
    expect(at('tangerine') === -1 || at('tada') < at('tangerine')).to.equal(true);
  });

  it('styles the permissions of a new bot on a fresh load, and proposes those of everyone', async () => {
    await request(fixture.ada, 'PATCH', `/api/applications/${bot.applicationId}`, {
      public: true,
      inDirectory: true,
      description: 'A bot.',
    });
    const page = await openPage(fixture.ada);
    await page.goto('/apps');
    await page.getByRole('button', { name: /^Add/ }).first().click();
    const list = page.getByRole('dialog').locator('.permission-list');
    await list.waitFor();
    const style = await page.evaluate(`(({ display, borderTopWidth }) => [display, borderTopWidth])(
      getComputedStyle(document.querySelector('dialog .permission-list')))`);
    expect(style).to.deep.equal(['grid', '0px']);
    expect(await list.getByRole('checkbox', { name: 'Send Messages' }).isChecked()).to.equal(true);
  });

  it('says why no test request can be sent, requests nothing unknown for a private bot', async () => {
    const { body } = await fixture.site.call<{ id: string }>('POST', '/api/applications', {
      as: fixture.ada.as,
      body: { name: 'Private' },
    });
    const page = await openPage(fixture.ada);
    const missing: string[] = [];
    page.on('response', (response) => response.status() === 404 && missing.push(response.url()));
    for (const path of ['', '/bot', '/commands', '/install', '/directory', '/first-bot']) {
      await page.goto(`/developers/${body.id}${path}`);
      await page.getByRole('main').getByRole('heading').first().waitFor();
    }
    expect(missing).to.deep.equal([]);
    await page.goto(`/developers/${body.id}`);
    await page.getByText('Save a URL to send test requests to it.').waitFor();
    await page.getByLabel('Interactions Endpoint URL').fill('https://bot.example.org/');
    await page.getByText('Save the URL first. Saving it sends a test request, too.').waitFor();
  });
});
