import { expect } from 'chai';
import { use } from '../harness/use.ts';
import { findOverflow, violations } from './axe.ts';
import { signUp, startSite, usePages } from './browser.ts';

describe('web: the deletion of the user’s account', () => {
  const open = usePages();
  const site = use(() => startSite());

  it('names the servers to transfer first, asks for the password, shows a banner, and is cancelled', async () => {
    const person = await signUp(site, 'Grace');
    const { body: server } = await site.call<{ id: string }>('POST', '/api/servers', { as: person.as, body: { name: 'Navy' } });
    const page = await open(site, person, { bypassCSP: true });
    await page.goto('/settings/account');
    const section = page.getByRole('region', { name: 'Delete account' });
    expect(await section.getByRole('link', { name: 'Navy' }).getAttribute('href')).to.equal(`/servers/${server.id}/settings/overview`);
    expect(await section.getByRole('button').count()).to.equal(0);
    await site.call('DELETE', `/api/servers/${server.id}`, { as: person.as });
    await section.getByRole('button', { name: 'Delete account' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('14 days after you confirm').waitFor();
    const expectAccessible = async (): Promise<void> => {
      expect(await violations(page)).to.deep.equal([]);
      await page.setViewportSize({ width: 360, height: 740 });
      expect(await findOverflow(page)).to.deep.equal([]);
      await page.setViewportSize({ width: 1280, height: 800 });
    };
    await expectAccessible();
    await dialog.getByLabel('Your messages').selectOption('delete');
    await dialog.getByLabel('Your password').fill('a wrong password');
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await dialog.getByText('This is not your current password.', { exact: true }).waitFor();
    await dialog.getByLabel('Your password').fill('a good password');
    await dialog.getByRole('button', { name: 'Delete my account' }).click();
    await dialog.waitFor({ state: 'detached' });
    const banner = page.getByText(/^Your account will be deleted on .*\. Your messages will be deleted, too\.$/);
    await banner.waitFor();
    await section.getByText('is scheduled').waitFor();
    await expectAccessible();
    await page.goto('/');
    await banner.waitFor();
    await page.getByRole('button', { name: 'Keep my account' }).click();
    await banner.waitFor({ state: 'detached' });
    const { body } = await site.call('GET', '/api/users/@me/deletion', { as: person.as });
    expect(body).to.deep.equal({ deletion: null, graceDays: 14 });
  });
});
