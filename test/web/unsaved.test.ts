import { expect } from 'chai';
import type { Page } from 'playwright-core';
import type { Application } from '../../lib/contract/application.ts';
import { signUp } from './browser.ts';
import { useWebFixture } from './web-fixture.ts';

describe('web: unsaved changes', () => {
  const fixture = useWebFixture();
  const { request, newChannel, openPage } = fixture;

  const question = (page: Page) => page.getByRole('dialog', { name: 'Discard unsaved changes?' });
  const keep = async (page: Page): Promise<void> => {
    await question(page).getByRole('button', { name: 'Keep editing' }).click();
    await question(page).waitFor({ state: 'detached' });
  };
  const discard = (page: Page): Promise<void> => question(page).getByRole('button', { name: 'Discard changes' }).click();
  /** Opens a page from the home page, so that Back leads there, and changes the field with this label. */
  const openDraft = async (path: string, label: string, as = fixture.ada): Promise<Page> => {
    const page = await openPage(as);
    await page.goto(path.startsWith('/developers') ? '/developers' : '/');
    await page.evaluate(`history.pushState(null, '', '${path}'); dispatchEvent(new PopStateEvent('popstate'))`);
    const field = page.getByLabel(label, { exact: true }).first();
    await field.fill('a change that is not saved');
    return page;
  };
  const value = (page: Page, label: string): Promise<string> => page.getByLabel(label, { exact: true }).first().inputValue();

  const pages: [name: string, path: () => Promise<string>, label: string, link: string][] = [
    ['the profile', () => Promise.resolve('/settings/profile'), 'About you', 'Status'],
    ['the status', () => Promise.resolve('/settings/status'), 'Custom status', 'Profile'],
    ['the server', () => Promise.resolve(`/servers/${fixture.server.id}/settings/overview`), 'Name', 'Roles'],
    [
      'a channel',
      async () => `/servers/${fixture.server.id}/settings/channels?channel=${await newChannel('drafted')}`,
      'Name',
      'All channels',
    ],
    [
      'a role',
      async () => {
        const role = await request<{ id: string }>(fixture.ada, 'POST', `/api/servers/${fixture.server.id}/roles`, { name: 'drafted' });
        return `/servers/${fixture.server.id}/settings/roles?role=${role.id}`;
      },
      'Name',
      'All roles',
    ],
    ['Discovery', () => Promise.resolve(`/servers/${fixture.server.id}/settings/discovery`), 'Description', 'Overview'],
    ['a new webhook', () => Promise.resolve(`/servers/${fixture.server.id}/settings/webhooks`), 'Name', 'Overview'],
    [
      'an application',
      async () => `/developers/${(await request<Application>(fixture.ada, 'POST', '/api/applications', { name: 'Drafted' })).id}`,
      'Description',
      'Install',
    ],
  ];
  for (const [name, path, label, link] of pages)
    it(`asks before changes of ${name} are lost by a link, by Back and by leaving the document`, async () => {
      const page = await openDraft(await path(), label);
      const address = page.url();
      await page.getByRole('link', { name: link, exact: true }).first().click();
      await keep(page);
      expect(await value(page, label)).to.equal('a change that is not saved');
      await page.goBack();
      await keep(page);
      expect([await value(page, label), page.url()]).to.deep.equal(['a change that is not saved', address]);
      const asked = page.waitForEvent('dialog');
      const closed = page.close({ runBeforeUnload: true });
      const dialog = await asked;
      expect(dialog.type()).to.equal('beforeunload');
      await dialog.dismiss();
      await closed;
      await page.goBack();
      await discard(page);
      await page.waitForURL((url) => url.href !== address);
    });

  it('opens the link after the changes are discarded, and does not ask after they are saved', async () => {
    const page = await openDraft('/settings/profile', 'About you');
    await page.getByRole('link', { name: 'Status', exact: true }).click();
    await discard(page);
    await page.getByLabel('Custom status').waitFor();
    await page.getByRole('link', { name: 'Profile', exact: true }).click();
    await page.getByLabel('About you', { exact: true }).fill('saved');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('Changes saved.').waitFor();
    await page.getByRole('link', { name: 'Status', exact: true }).click();
    await page.getByLabel('Custom status').waitFor();
  });

  it('asks before changes are lost by joining a server and by logging out', async () => {
    const page = await openDraft('/settings/profile', 'About you', await signUp(fixture.site, 'Carol'));
    const join = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Create or join a server' }).click();
      await page.getByLabel('Invite link').fill('none');
      await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click();
    };
    await join();
    await keep(page);
    await page.getByRole('button', { name: 'Log out', exact: true }).first().click();
    await keep(page);
    expect(await value(page, 'About you')).to.equal('a change that is not saved');
    expect((await page.request.get('/api/auth/me')).status()).to.equal(200);
    await join();
    await discard(page);
    await page.getByRole('heading', { name: 'Invite not valid' }).waitFor();
    await page.goto('/settings/profile');
    await page.getByLabel('About you', { exact: true }).fill('another change');
    await page.getByRole('button', { name: 'Log out', exact: true }).first().click();
    await discard(page);
    await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
  });

  it('asks before another role or member is chosen while the permissions of one are changed', async () => {
    const channelId = await newChannel('overwritten');
    const page = await openPage(fixture.ada);
    await page.goto(`/servers/${fixture.server.id}/settings/channels?channel=${channelId}`);
    const group = page.getByRole('group', { name: 'Send Messages' });
    await group.getByLabel('Deny').check();
    await page.getByLabel('Add a member by username').fill(fixture.bob.username);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await keep(page);
    expect(await group.getByLabel('Deny').isChecked()).to.equal(true);
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await discard(page);
    await page.getByLabel('Role or member').filter({ hasText: 'Bob (member)' }).waitFor();
    const choice = page.getByLabel('Role or member');
    const chosen = await choice.inputValue();
    // Both happen before the page is painted again.
    await choice.evaluate(
      async (field, { deny, id }) => {
        (deny as unknown as { click(): void }).click();
        for (let turn = 0; turn < 20; turn++) await Promise.resolve();
        Object.assign(field, { value: id });
        field.dispatchEvent(new Event('change', { bubbles: true }));
      },
      { deny: await group.getByLabel('Deny').elementHandle(), id: fixture.server.id },
    );
    await keep(page);
    expect(await choice.inputValue()).to.equal(chosen);
  });
});
