import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { createPasswordReset } from '../../lib/domain/accounts/password-resets.ts';
import { type Person, type Site, signUp, startSite, usePages } from './browser.ts';

describe('web: login, registration and invites', () => {
  let site: Site;
  const open = usePages();
  before(async () => {
    site = await startSite();
  });
  after(() => site?.close());

  it('registers an account, creates a server and posts a message, which is there after a reload', async () => {
    const page = await open(site);
    await page.goto('/');
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByRole('heading', { name: 'Create an account' }).waitFor(); // the page before has a field for the username, too
    await page.getByLabel('Username').fill('grace');
    await page.getByLabel('Display name').fill('Grace');
    await page.getByLabel('Password').fill('short');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.locator('input[aria-invalid=true]').waitFor(); // the refusal has come, so that the form can be sent again
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Hello, Grace' }).waitFor();
    await page.getByLabel('Server name').fill('Harbour');
    await page.getByRole('button', { name: 'Create server' }).click();
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    await page.getByRole('textbox', { name: /general/ }).fill('First words');
    await page.keyboard.press('Enter');
    await page.getByRole('article').getByText('First words').waitFor();
    await page.reload();
    await page.getByRole('article').getByText('First words').waitFor();
  });

  it('responds with 404 and says so for an unknown path, with and without a login', async () => {
    for (const person of [undefined, await signUp(site, 'Nora')]) {
      const page = await open(site, person);
      const response = await page.goto('/no/such/page');
      expect(response?.status()).to.equal(404);
      await page.getByRole('heading', { name: 'Page not found', level: 1 }).waitFor();
      const missing = await page.goto('/files/gone/photo.png');
      expect([missing?.status(), missing?.headers()['cache-control']]).to.deep.equal([404, 'no-store']);
      await page.getByRole('heading', { name: 'File not found', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'Go to home page' }).click();
      await page.getByRole('heading', { name: person ? 'Hello, Nora' : 'Log in to Parlance' }).waitFor();
    }
  });

  it('opens the server of an invite after the login', async () => {
    const [owner, guest] = [await signUp(site, 'Olga'), await signUp(site, 'Gus')];
    const server = await site.call<{ id: string }>('POST', '/api/servers', { as: owner.as, body: { name: 'Lighthouse' } });
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${server.body.id}/invites`, { as: owner.as, body: {} });
    const page = await open(site);
    await page.goto(`/invite/${invite.body.code}`);
    await page.getByText('Lighthouse').waitFor();
    await page.getByRole('link', { name: 'Log in' }).click();
    await page.getByLabel('Username').fill(guest.username);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('button', { name: 'Join Lighthouse' }).click();
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
  });

  const codeOf = async (person: Person): Promise<string> =>
    (await site.call<{ code: string }>('POST', '/api/auth/codes', { as: person.as })).body.code;
  const isLoggedInAs = async (page: Page, { id }: Person): Promise<void> => {
    const me = await page.request.get('/api/auth/me');
    expect(((await me.json()) as { id: string }).id).to.equal(id);
  };

  it('asks for confirmation before a login link logs in, accepts its code once and removes it from the URL', async () => {
    const person = await signUp(site, 'Linus');
    const code = await codeOf(person);
    const first = await open(site);
    await first.goto(`/login#code=${code}`);
    await first.getByRole('heading', { name: 'Continue as Linus?' }).waitFor();
    expect(first.url()).to.equal(`${site.origin}/login`);
    expect((await first.request.get('/api/auth/me')).status()).to.equal(401);
    await first.getByRole('button', { name: 'Continue as Linus' }).click();
    await first.getByRole('heading', { name: 'Hello, Linus' }).waitFor();
    expect(first.url()).to.equal(`${site.origin}/`);
    await first.goBack();
    expect(first.url()).to.not.include(code);
    const second = await open(site);
    await second.goto(`/login#code=${code}`);
    await second.getByRole('alert').waitFor();
    expect(second.url()).to.equal(`${site.origin}/login`);
  });

  it('switches to the account of a login link only after confirmation', async () => {
    const [victim, stranger] = [await signUp(site, 'Vera'), await signUp(site, 'Mallory')];
    const page = await open(site, victim);
    await page.goto(`/login#code=${await codeOf(stranger)}`);
    await page
      .getByText(`You are logged in as Vera (${victim.username}). This login link is for Mallory (${stranger.username}).`)
      .waitFor();
    await page.getByRole('button', { name: 'Stay logged in as Vera' }).click();
    await page.getByRole('heading', { name: 'Hello, Vera' }).waitFor();
    await isLoggedInAs(page, victim);
    await page.goto(`/login#code=${await codeOf(stranger)}`);
    await page.getByRole('button', { name: 'Switch to Mallory' }).click();
    await page.getByRole('heading', { name: 'Hello, Mallory' }).waitFor();
    await isLoggedInAs(page, stranger);
  });

  it('opens the page that a login link names, and a server at its last visited channel', async () => {
    const person = await signUp(site, 'Lena');
    const server = await site.call<{ id: string; channels: { id: string }[] }>('POST', '/api/servers', {
      as: person.as,
      body: { name: 'Pier' },
    });
    const { id } = server.body;
    const second = await site.call<{ id: string }>('POST', `/api/servers/${id}/channels`, {
      as: person.as,
      body: { name: 'second', kind: 'text' },
    });
    const { body } = await site.call<{ code: string }>('POST', '/api/auth/codes', { as: person.as });
    const page = await open(site);
    await page.goto(`/login?next=/servers/${id}/${second.body.id}#code=${body.code}`);
    await page.getByRole('button', { name: 'Continue as Lena' }).click();
    await page.getByRole('heading', { name: 'second', level: 1 }).waitFor();
    await page.goto('/');
    await page.getByRole('link', { name: 'Pier' }).click();
    await page.getByRole('heading', { name: 'second', level: 1 }).waitFor();
    await site.call('DELETE', `/api/channels/${second.body.id}`, { as: person.as });
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
  });

  it('sets a new password by the link of an operator, once, without the code in the address', async () => {
    const person = await signUp(site, 'Iris');
    const link = `/reset-password#code=${(await createPasswordReset(site.platform, person.id)).code}`;
    const page = await open(site);
    await page.goto(link);
    await page.getByText(`For the account ${person.username}.`).waitFor();
    expect(page.url()).to.equal(`${site.origin}/reset-password`);
    await page.getByLabel('New password').fill('short');
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.locator('input[aria-invalid=true]').waitFor();
    await page.getByLabel('New password').fill('a better password');
    await page.getByRole('button', { name: 'Save password' }).click();
    await page.getByRole('heading', { name: 'Password changed' }).waitFor();
    await page.getByRole('link', { name: 'Log in' }).click();
    await page.getByLabel('Username').fill(person.username);
    await page.getByLabel('Password').fill('a better password');
    await page.getByRole('button', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Hello, Iris' }).waitFor();
    const again = await open(site);
    await again.goto(link);
    await again.getByText('This password link has expired or was already used').waitFor();
  });
});
