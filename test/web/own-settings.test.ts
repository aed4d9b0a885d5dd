import { readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { readArchive } from '../api/accounts/export-fixture.ts';
import { use } from '../harness/use.ts';
import { signUp, startSite, usePages } from './browser.ts';

describe('web: user settings', () => {
  const open = usePages();
  const site = use(() => startSite());

  it('previews and saves the profile, and keeps the status and the theme after a reload', async () => {
    const person = await signUp(site, 'Ada');
    const page = await open(site, person);
    await page.goto('/settings');
    await page.getByLabel('Display name').fill('Countess');
    await page.getByLabel('About you').fill('x'.repeat(191));
    const preview = page.getByRole('complementary', { name: 'Profile preview' });
    await preview.getByText('Countess').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.field-error').waitFor();
    await page.getByLabel('About you').fill('Engines');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Changes saved.').waitFor();
    await page.getByRole('link', { name: 'Status' }).click();
    await page.getByLabel('Do not disturb').check();
    await page.getByLabel('Custom status').fill('Counting');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Counting').first().waitFor();
    await page.getByRole('link', { name: 'Appearance' }).click();
    await page.getByLabel('Dark').check();
    await page.reload();
    await page.locator('html[data-theme=dark]').waitFor();
    await page.getByText('Countess').first().waitFor();
    await page.goto('/developers');
    await page.locator('html[data-theme=dark]').waitFor();
    const { body } = await site.call('GET', `/api/users/${person.id}/profile`, { as: person.as });
    expect(body).to.include({ bio: 'Engines' });
    const { body: me } = await site.call('GET', '/api/auth/me', { as: person.as });
    expect(me).to.include({ displayName: 'Countess', status: 'dnd', customStatus: 'Counting' });
  });

  it('lists and logs out devices, and changes the password', async () => {
    const person = await signUp(site, 'Edith');
    const logIn = async (password: string) =>
      (await site.call('POST', '/api/auth/login', { body: { username: person.username, password }, headers: { 'User-Agent': 'curl/8' } }))
        .status;
    expect([await logIn('a good password'), await logIn('a good password')]).to.deep.equal([200, 200]);
    const page = await open(site, person, { width: 360, height: 740 });
    await page.goto('/settings/account');
    const rows = page.getByRole('listitem').filter({ hasText: /This device|Last active/ });
    await rows.nth(2).waitFor();
    await page.getByRole('button', { name: 'Log out curl' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Log out' }).click();
    await page.getByText('The device has been logged out.').waitFor();
    expect(await rows.count()).to.equal(2);
    await page.getByLabel('Current password').fill('a wrong password');
    await page.getByLabel('New password', { exact: true }).fill('short');
    await page.getByLabel('Confirm new password').fill('short');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('Use 8 to 256 characters.').waitFor();
    await page.getByLabel('New password', { exact: true }).fill('another good password');
    await page.getByLabel('Confirm new password').fill('another good password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText('This is not your current password.', { exact: true }).waitFor();
    await page.getByLabel('Current password').fill('a good password');
    await page.getByRole('button', { name: 'Change password' }).click();
    await page.getByText(/^Password changed/).waitFor();
    await rows.nth(1).waitFor({ state: 'detached' });
    expect([await logIn('a good password'), await logIn('another good password')]).to.deep.equal([401, 200]);
  });

  it('requests, downloads and deletes the user’s data', async () => {
    const person = await signUp(site, 'Grace');
    const page = await open(site, person, { width: 360, height: 740 });
    await page.goto('/settings/account');
    const request = async (password: string): Promise<void> => {
      await page.getByRole('button', { name: 'Request data' }).click();
      await page.getByRole('dialog').getByLabel('Password').fill(password);
      await page.getByRole('dialog').getByRole('button', { name: 'Request data' }).click();
    };
    await request('a wrong password');
    await page.getByText('This is not your current password.', { exact: true }).waitFor();
    await page.getByRole('dialog').getByLabel('Password').fill('a good password');
    await page.getByRole('dialog').getByRole('button', { name: 'Request data' }).click();
    await page.getByText(/^Your archive is ready/).waitFor();
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'Download' }).click()]);
    expect(download.suggestedFilename()).to.match(/^parlance-\d{4}-\d\d-\d\d\.zip$/);
    expect(readArchive(await readFile(await download.path())).has('account.json')).to.equal(true);
    await page.getByRole('button', { name: 'Delete archive' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete archive' }).click();
    await page.getByText('The archive has been deleted.').waitFor();
    await request('a good password');
    await page.getByText(/^You can request your data once in 24 hours/).waitFor();
  });
});
