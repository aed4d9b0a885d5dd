import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Channel } from '../../lib/contract/channel.ts';
import type { Message } from '../../lib/contract/message.ts';
import { type Person, sessionCookie, signUp } from './browser.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: sessions that end, and links that are opened without a login', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openPage, openChannel } = fixture;
  const logIn = async (page: Page, { username }: Pick<Person, 'username'>): Promise<void> => {
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
  };
  const openWithoutLogin = async (page: Page, path: string): Promise<void> => {
    await page.goto('about:blank'); // a page without its session would leave to the login form by itself
    await page.context().clearCookies();
    await page.goto(path);
    await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
  };
  const waitForPath = (page: Page, path: string): Promise<void> => page.waitForURL((url) => url.pathname + url.search + url.hash === path);
  const post = (as: Person, channelId: string, content: string): Promise<Message> =>
    request(as, 'POST', `/api/channels/${channelId}/messages`, { content });
  /** Ends all sessions of an account by another session of it. */
  const endSessions = async ({ username }: Person): Promise<void> => {
    const body = { username, password: 'a good password' };
    const { body: session } = await fixture.site.call<{ token: string }>('POST', '/api/auth/login', { body });
    const { status } = await fixture.site.call('DELETE', '/api/users/@me/sessions', { as: `Bearer ${session.token}` });
    expect(status).to.equal(204);
  };

  const newMember = async (name: string): Promise<Person> => {
    const person = await signUp(fixture.site, name);
    const { code } = await request<{ code: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/invites`, {});
    await request(person, 'POST', `/api/invites/${code}`);
    return person;
  };

  /** The places that links lead to: each with its path, and what shows that it is open. */
  const places: Record<string, { path: () => Promise<string> | string; opens: (page: Page) => Promise<unknown> }> = {
    server: {
      path: () => `/servers/${fixture.server.id}`,
      opens: (page) => page.getByRole('heading', { name: 'general', level: 1 }).waitFor(),
    },
    channel: {
      path: async () => `/servers/${fixture.server.id}/${await newChannel('linked')}`,
      opens: (page) => page.getByRole('heading', { name: 'linked', level: 1 }).waitFor(),
    },
    message: {
      async path() {
        const channelId = await newChannel('with-a-message');
        const { id } = await post(fixture.ada, channelId, 'linked words');
        return `/servers/${fixture.server.id}/${channelId}?message=${id}`;
      },
      opens: (page) => page.getByRole('article').getByText('linked words').waitFor(),
    },
    thread: {
      async path() {
        const body = { name: 'linked thread' };
        const thread = await request<Channel>(fixture.ada, 'POST', `/api/channels/${await newChannel('with-a-thread')}/threads`, body);
        return `/servers/${fixture.server.id}/${thread.id}`;
      },
      opens: (page) => page.getByRole('heading', { name: 'linked thread', level: 1 }).waitFor(),
    },
    'own settings': { path: () => '/settings/account', opens: (page) => page.getByRole('heading', { name: 'Devices' }).waitFor() },
    'settings of the server': {
      path: () => `/servers/${fixture.server.id}/settings/about`,
      opens: (page) => page.getByRole('heading', { name: 'About', exact: true }).waitFor(),
    },
    'developer portal': {
      path: () => '/developers?from=mail#top',
      opens: (page) => page.getByRole('heading', { name: 'My applications' }).waitFor(),
    },
  };
  it('asks for a login and then opens a link', async () => {
    const page = await openPage(fixture.bob);
    for (const [name, { path, opens }] of Object.entries(places)) {
      const at = await path();
      await openWithoutLogin(page, at);
      await logIn(page, fixture.bob);
      await opens(page);
      if (name !== 'server' && name !== 'message') await waitForPath(page, at);
      expect(page.url()).to.include(at.split('?')[0] ?? '');
    }
  });

  it('opens a link after the registration', async () => {
    const page = await openPage(fixture.bob);
    for (const at of ['/discovery', '/developers']) {
      await openWithoutLogin(page, at);
      await page.getByRole('link', { name: 'Create an account' }).click();
      await page.getByRole('heading', { name: 'Create an account' }).waitFor();
      await page.getByRole('link', { name: 'Log in' }).click();
      await page.getByRole('link', { name: 'Create an account' }).click();
      await page.getByLabel('Username').fill(`new.${at.replaceAll(/\W/g, '')}`);
      await page.getByLabel('Password').fill('a good password');
      await page.getByRole('button', { name: 'Create account' }).click();
      await waitForPath(page, at);
    }
  });

  it('says that a message does not exist when its link was cut', async () => {
    const channelId = await newChannel('cut-link');
    await post(fixture.ada, channelId, 'still here');
    const page = await openPage(fixture.bob);
    await page.goto(`/servers/${fixture.server.id}/${channelId}?message=123`);
    await page.getByRole('textbox', { name: 'Message cut-link' }).waitFor();
    await page
      .getByText(/message (doesn’t exist|is deleted|no longer exists|was deleted)/i)
      .first()
      .waitFor();
    expect(await page.locator('body').innerText()).to.not.match(/19 digits|before/);
  });

  for (const path of ['channel', 'settings', 'portal'])
    it(`leaves to the login form when the session is ended elsewhere, and comes back: ${path}`, async () => {
      const person = await newMember('Eve');
      const channelId = await newChannel('ending');
      const at =
        { channel: `/servers/${fixture.server.id}/${channelId}`, settings: '/settings/profile', portal: '/developers' }[path] ?? '';
      const page = await openPage(person);
      await page.goto(at);
      await page.getByRole('heading').first().waitFor();
      if (path === 'channel') await page.getByRole('textbox', { name: 'Message ending' }).waitFor();
      await endSessions(person);
      if (path === 'portal') {
        await page.getByRole('button', { name: 'New application' }).click();
        await page.getByLabel('Name').fill('My bot');
        await page
          .getByRole('button', { name: /create/i })
          .last()
          .click();
      }
      await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
      expect(await page.locator('body').innerText()).to.not.match(/Authorization|ending/);
      await logIn(page, person);
      await waitForPath(page, at);
      if (path === 'channel') await page.getByRole('textbox', { name: 'Message ending' }).waitFor();
    });

  it('offers what was sent as the session ended in the field for messages after the login', async () => {
    const person = await newMember('Zoe');
    const channelId = await newChannel('unsent');
    const page = await openPage(person);
    await page.goto(`/servers/${fixture.server.id}/${channelId}`);
    const field = page.getByRole('textbox', { name: 'Message unsent' });
    await field.fill(`for <@${fixture.ada.id}>`);
    await page.context().clearCookies();
    await field.press('Enter');
    await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
    await logIn(page, person);
    await field.waitFor();
    expect(await field.inputValue()).to.equal(`for <@${fixture.ada.id}>`);
    expect(await request<Message[]>(fixture.ada, 'GET', `/api/channels/${channelId}/messages`)).to.deep.equal([]);
    await field.press('Enter');
    await page.locator('article:not(.outgoing)').getByText('for @Ada Lovelace').waitFor();
  });

  it('leaves to the login form when a request is refused before the gateway closes the connection', async () => {
    const person = await signUp(fixture.site, 'Kim');
    const page = await openPage(person);
    await page.goto('/settings/profile');
    await page.getByLabel('Display name').fill('Kimberly');
    await page.context().clearCookies();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
    await logIn(page, person);
    await waitForPath(page, '/settings/profile');
  });

  it('shows the other account when it logs in in another tab, and never acts as it for the first one', async () => {
    const channelId = await newChannel('two-tabs');
    const first = await openChannel(await newMember('Tim'), channelId);
    await first.getByRole('textbox', { name: 'Message two-tabs' }).waitFor();
    const second = await first.context().newPage();
    await second.goto('/settings/account');
    await second.getByRole('button', { name: 'Log out', exact: true }).first().click();
    await first.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
    await logIn(second, fixture.bob);
    await first.getByLabel('Your account').getByText('Bob', { exact: true }).waitFor();
    await first.getByRole('textbox', { name: 'Message two-tabs' }).waitFor();
  });

  it('refuses what a tab sends for another account than that of the cookie, and tells the tab', async () => {
    const channelId = await newChannel('stolen-cookie');
    const page = await openChannel(fixture.ada, channelId);
    const field = page.getByRole('textbox', { name: 'Message stolen-cookie' });
    await field.fill('written as Ada');
    await page.context().addCookies([sessionCookie(fixture.site.origin, fixture.bob.token)]);
    await field.press('Enter');
    await page.getByText(`You are now logged in as Bob (${fixture.bob.username}).`).waitFor();
    await page.getByLabel('Your account').getByText('Bob', { exact: true }).waitFor();
    expect(await request<Message[]>(fixture.bob, 'GET', `/api/channels/${channelId}/messages`)).to.deep.equal([]);
    // It is kept for the account that wrote it, and not shown to the other one.
    expect(await page.getByRole('textbox', { name: 'Message stolen-cookie' }).inputValue()).to.equal('');
    await page.context().addCookies([sessionCookie(fixture.site.origin, fixture.ada.token)]);
    await page.reload();
    await page.getByLabel('Your account').getByText('Ada Lovelace', { exact: true }).waitFor();
    expect(await page.getByRole('textbox', { name: 'Message stolen-cookie' }).inputValue()).to.equal('written as Ada');
  });

  it('does not rename the account of another tab', async () => {
    const page = await openPage(fixture.ada);
    await page.goto('/settings/profile');
    await page.getByLabel('Display name').fill('Countess');
    await page.context().addCookies([sessionCookie(fixture.site.origin, fixture.bob.token)]);
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText(`You are now logged in as Bob (${fixture.bob.username}).`).waitFor();
    const { body } = await fixture.site.call<{ displayName: string }>('GET', '/api/auth/me', { as: fixture.bob.as });
    expect(body.displayName).to.equal('Bob');
  });
});
