import { expect } from 'chai';
import type { Page } from 'playwright-core';
import { freePort } from '../../apps/local/probe.ts';
import type { OwnSignIn } from '../../lib/contract/sign-in.ts';
import { startOpenIdProvider, type TestProvider } from '../harness/openid-provider.ts';
import { type Site, signUp, startSite, usePages } from './browser.ts';

describe('web: sign-in by OpenID Connect', () => {
  let site: Site;
  let provider: TestProvider;
  const open = usePages();
  before(async () => {
    const port = await freePort();
    provider = await startOpenIdProvider(`http://localhost:${port}`);
    site = await startSite({ PORT: String(port), ...provider.settings });
  });
  after(async () => {
    await site?.close();
    await provider?.close();
  });

  const logInAtProvider = async (page: Page, name: string): Promise<void> => {
    await page.getByRole('heading', { name: 'Example login' }).waitFor();
    await page.getByLabel('Name').fill(name);
    await page.getByRole('button', { name: 'Continue' }).click();
  };

  it('creates an account, sets a first password, and unlinks', async () => {
    provider.people.set('ida-1', { preferred_username: 'Ida.B', name: 'Ida B.' });
    const page = await open(site);
    await page.goto('/login?next=/settings/account');
    await page.getByRole('link', { name: 'Log in with Example SSO' }).click();
    await logInAtProvider(page, 'ida-1');
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    expect(await page.getByLabel('Username').inputValue()).to.equal('ida.b');
    expect(await page.getByLabel('Display name').inputValue()).to.equal('Ida B.');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Log in with Example SSO' }).waitFor();
    await page.getByText(`Your account is linked to ${provider.issuer}`).waitFor();
    await page.getByRole('heading', { name: 'Set a password' }).waitFor();
    expect(await page.getByLabel('Current password').count()).to.equal(0);
    await page.getByLabel('New password', { exact: true }).fill('a good password');
    await page.getByLabel('Confirm new password').fill('a good password');
    await page.getByRole('button', { name: 'Set password' }).click();
    await page.getByRole('heading', { name: 'Change password' }).waitFor();
    await page.getByLabel('Password for unlinking').fill('a good password');
    await page.getByRole('button', { name: 'Unlink Example SSO' }).click();
    await page.getByRole('link', { name: 'Link Example SSO' }).waitFor();
  });

  it('links an existing account after its password, and logs in to it in another browser', async () => {
    const person = await signUp(site, 'Ludo');
    const page = await open(site);
    await page.goto('/register');
    await page.getByRole('link', { name: 'Log in with Example SSO' }).click();
    await logInAtProvider(page, 'ludo-1');
    await page.getByRole('button', { name: 'I already have an account' }).click();
    await page.getByLabel('Username').fill(person.username);
    await page.getByLabel('Password').fill('a wrong password');
    await page.getByRole('button', { name: 'Link account' }).click();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Link account' }).click();
    await page.getByRole('heading', { name: 'Hello, Ludo' }).waitFor();
    const other = await open(site);
    await other.goto('/login');
    await other.getByRole('link', { name: 'Log in with Example SSO' }).click();
    await logInAtProvider(other, 'ludo-1');
    await other.getByRole('heading', { name: 'Hello, Ludo' }).waitFor();
  });

  it('links from the settings of a logged-in person', async () => {
    const person = await signUp(site, 'Mona');
    const page = await open(site, person);
    await page.goto('/settings/account');
    await page.getByRole('link', { name: 'Link Example SSO' }).click();
    await logInAtProvider(page, 'mona-1');
    await page.getByRole('heading', { name: `Link Example SSO to ${person.username}?` }).waitFor();
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Link account' }).click();
    await page.getByText(`Your account is linked to ${provider.issuer}`).waitFor();
    const { body } = await site.call<OwnSignIn>('GET', '/api/users/@me/sign-in', { as: person.as });
    expect(body.linked?.issuer).to.equal(provider.issuer);
  });

  it('says why a sign-in failed, and begins it again', async () => {
    const page = await open(site);
    await page.goto('/login');
    await page.getByRole('link', { name: 'Log in with Example SSO' }).click();
    await logInAtProvider(page, 'refuse');
    await page.getByRole('heading', { name: 'Login with Example SSO failed' }).waitFor();
    await page.getByRole('alert').getByText('or you cancelled the login').waitFor();
    await page.getByRole('link', { name: 'Try again' }).click();
    await logInAtProvider(page, 'nina-1');
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
  });
});
