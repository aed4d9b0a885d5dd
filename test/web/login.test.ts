import { expect } from 'chai';
import { closeBrowser, hasBrowser, openScreen, type Site, signUp, startSite } from './browser.ts';

describe('web: ways in', function () {
  this.timeout(60_000);
  let site: Site;
  before(async function () {
    if (!hasBrowser()) this.skip();
    site = await startSite();
  });
  after(async () => {
    await closeBrowser();
    await site?.close();
  });

  it('someone new makes an account and a first server, and writes there; a reload shows it all again', async () => {
    const { page, problems, close } = await openScreen(site);
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
    expect(problems).to.deep.equal([]);
    await close();
  });

  it('an invite leads through the login to the server', async () => {
    const [owner, guest] = [await signUp(site, 'Olga'), await signUp(site, 'Gus')];
    const server = await site.call<{ id: string }>('POST', '/api/servers', { as: owner.as, body: { name: 'Lighthouse' } });
    const invite = await site.call<{ code: string }>('POST', `/api/servers/${server.body.id}/invites`, { as: owner.as, body: {} });
    const { page, problems, close } = await openScreen(site);
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
    expect(problems).to.deep.equal([]);
    await close();
  });

  it('the code of a login link logs in once, and leaves the address bar', async () => {
    const person = await signUp(site, 'Linus');
    const { body } = await site.call<{ code: string }>('POST', '/api/auth/codes', { as: person.as });
    const first = await openScreen(site);
    await first.page.goto(`/login#code=${body.code}`);
    await first.page.getByRole('heading', { name: 'Hello, Linus' }).waitFor();
    expect(first.page.url()).to.equal(`${site.origin}/`);
    await first.close();
    const second = await openScreen(site);
    await second.page.goto(`/login#code=${body.code}`);
    await second.page.getByRole('alert').waitFor();
    expect(second.page.url()).to.equal(`${site.origin}/login`);
    await second.close();
  });
});
