import { expect } from 'chai';
import { makeInvite, makePerson, makeServer } from '../harness/factories.ts';
import { type Site, startSite, usePages } from './browser.ts';

describe('web: registration that is not open', () => {
  const open = usePages();
  let site: Site;
  const start = async (registration: string): Promise<void> => {
    site = await startSite({ REGISTRATION: registration });
  };
  afterEach(() => site.close());

  it('asks for an invite, and registers who opens one', async () => {
    await start('invite');
    const owner = await makePerson(site);
    const server = await makeServer(site, owner, 'Lighthouse');
    const { code } = await makeInvite(site, owner, server.id);
    const page = await open(site);
    await page.goto('/register');
    await page.getByRole('heading', { name: 'You need an invite' }).waitFor();
    expect(await page.getByLabel('Username').count()).to.equal(0);
    await page.goto(`/invite/${code}`);
    await page.getByRole('link', { name: 'Create account' }).click();
    await page.getByRole('heading', { name: 'Create an account' }).waitFor();
    await page.getByLabel('Username').fill('grace');
    await page.getByLabel('Password').fill('a good password');
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('button', { name: 'Join Lighthouse' }).click();
    await page.getByRole('heading', { name: 'general', level: 1 }).waitFor();
  });

  it('says that registration is closed, and offers no account on the login page', async () => {
    await start('closed');
    const page = await open(site);
    await page.goto('/register');
    await page.getByRole('heading', { name: 'Registration is closed' }).waitFor();
    expect(await page.getByLabel('Username').count()).to.equal(0);
    await page.getByRole('link', { name: 'Log in' }).click();
    await page.getByRole('heading', { name: 'Log in to Parlance' }).waitFor();
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).to.equal(0);
  });
});
