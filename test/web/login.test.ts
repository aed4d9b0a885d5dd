import { expect } from 'chai';
import { type Site, signUp, startSite, useScreens } from './browser.ts';

describe('web: ways in', function () {
  this.timeout(300_000);
  let site: Site;
  const open = useScreens();
  before(async () => {
    site = await startSite();
  });
  after(() => site?.close());

  it('someone new makes an account and a first server, and writes there; a reload shows it all again', async () => {
    const page = await open(site);
    await page.goto('/');
    await page.getByRole('link', { name: 'Make an account' }).click();
    await page.getByLabel('Username').fill('grace');
    await page.getByLabel('Display name').fill('Grace');
    await page.getByLabel('Password').fill('short');
    await page.getByRole('button', { name: 'Make the account' }).click();
    await page.getByText(/8/).first().waitFor();
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Make the account' }).click();
    await page.getByRole('heading', { name: 'Hello, Grace' }).waitFor();
    await page.getByLabel('Name of the server').fill('Harbour');
    await page.getByRole('button', { name: 'Make the server' }).click();
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
    await page.getByRole('textbox', { name: /general/ }).fill('First words');
    await page.keyboard.press('Enter');
    await page.getByRole('article').getByText('First words').waitFor();
    await page.reload();
    await page.getByRole('article').getByText('First words').waitFor();
  });

  it('an invite leads through the login to the server', async () => {
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

  it('the code of a login link logs in once, and leaves the address bar', async () => {
    const person = await signUp(site, 'Linus');
    const { body } = await site.call<{ code: string }>('POST', '/api/auth/codes', { as: person.as });
    const first = await open(site);
    await first.goto(`/login#code=${body.code}`);
    await first.getByRole('heading', { name: 'Hello, Linus' }).waitFor();
    expect(first.url()).to.equal(`${site.origin}/`);
    const second = await open(site);
    await second.goto(`/login#code=${body.code}`);
    await second.getByRole('alert').waitFor();
    expect(second.url()).to.equal(`${site.origin}/login`);
  });

  it('a login link leads where it says; a server opens with the channel that was looked at last', async () => {
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
    await page.getByRole('heading', { name: 'second', level: 1 }).waitFor();
    await page.goto('/');
    await page.getByRole('link', { name: 'Pier' }).click();
    await page.getByRole('heading', { name: 'second', level: 1 }).waitFor();
    await site.call('DELETE', `/api/channels/${second.body.id}`, { as: person.as });
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
  });
});
