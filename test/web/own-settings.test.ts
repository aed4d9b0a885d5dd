import { expect } from 'chai';
import { type Site, signUp, startSite, useScreens } from './browser.ts';

describe('web: own settings', function () {
  this.timeout(180_000);
  let site: Site;
  const open = useScreens();
  before(async () => {
    site = await startSite();
  });
  after(() => site?.close());

  it('the profile shows what is typed, then what was saved; the status and the look stay after a reload', async () => {
    const person = await signUp(site, 'Ada');
    const page = await open(site, person);
    await page.goto('/settings');
    await page.getByLabel('Display name').fill('Countess');
    await page.getByLabel('About you').fill('x'.repeat(191));
    const preview = page.getByRole('complementary', { name: 'How others see it' });
    await preview.getByText('Countess').waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.locator('.field-error').waitFor();
    await page.getByLabel('About you').fill('Engines');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Saved.').waitFor();
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
});
